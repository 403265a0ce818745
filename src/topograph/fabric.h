/* fabric.h - switches and cables as they are, made a tree
 *
 * A fabric is a Clos network: every switch of a level reaches every one of the next, and on a
 * rail-optimised one a node has a cable to each of several leaf switches.  Switches of one level
 * that reach the same things are one unit: they are merged, level by level from the nodes up.  So
 * are switches that share at least half of what the smaller one reaches: one that lost a cable is
 * still of its group.  What then hangs below several units goes to the one to which it has most
 * cables, and the graph says so in a note.
 *
 * Pure data, one thread per object. */
#pragma once

#include "topograph/graph.h"

#define FABRIC_CABLES_MAX 2000000u

struct fabric;

int fabric_new(struct fabric **ret_fabric);
struct fabric *fabric_free(struct fabric *f); /* always NULL */
DEFINE_CLEANUP(struct fabric *, fabric_free)

/* Switches are told by their ids; name may be NULL.  Errors: those of graph_add_switch(). */
int fabric_add_switch(struct fabric *f, const char *id, const char *name, uint32_t *ret_switch,
                      struct err *err);
int fabric_add_host(struct fabric *f, const char *id, const char *name, uint32_t *ret_host,
                    struct err *err);
/* A cable; the same one from its other end counts once.  Errors: -E2BIG, -ENOMEM. */
int fabric_link(struct fabric *f, uint32_t a, uint32_t b, struct err *err);
int fabric_plug(struct fabric *f, uint32_t host, uint32_t sw, struct err *err);
/* Add switches, nodes and notes to g.  Switches without a way to a node are left out.
 * O(cables x log cables).  Errors: -ENOMEM, those of graph.h. */
int fabric_build(const struct fabric *f, struct graph *g, struct err *err);
