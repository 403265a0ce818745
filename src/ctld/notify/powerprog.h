/* powerprog.h - which program switches the power of which node: PowerAction lines
 *
 * Core thread.  A node's record names the action that an operator asked for (power_action); else
 * the program of the configuration is meant. */
#pragma once

#include "conf/cloud/conf_power.h"
#include "ctld/ctld.h"

struct bitmap;
struct program;

/* May an operator name it for this purpose?  0 or an ESLURM code. */
int powerprog_check(const struct ctld *ctld, enum conf_key key, const char *action);
/* The program of a node; an action that the configuration has no more is told, and that of `key`
 * taken.  False: there is none. */
bool powerprog_of(const struct ctld *ctld, enum conf_key key, const Pst__NodeRecord *r,
                  struct power_program *ret);
/* Call fn for the nodes of each program. */
typedef void powerprog_fn(void *ctx, const struct power_program *program,
                          const struct bitmap *nodes);
void powerprog_each(const struct ctld *ctld, enum conf_key key, const struct bitmap *nodes,
                    powerprog_fn *fn, void *ctx);
/* Path and arguments; what follows is the caller's. */
void powerprog_fill(struct program *p, const struct power_program *program);
/* What was given to it behind these: a list of nodes. */
const char *powerprog_nodes(const struct program *p);
