/* tgapply.h - changes of a topology told to the running cluster, without a reconfigure */
#pragma once

#include "topograph/write/topofile.h"

/* What every node was told last, by name. */
struct tgapply;

int tgapply_new(struct tgapply **ret); /* -ENOMEM */
struct tgapply *tgapply_free(struct tgapply *a);
DEFINE_CLEANUP(struct tgapply *, tgapply_free)

/* Give each node whose units differ from what it was told its new ones, with one `scontrol update
 * NodeName=LIST Topology=UNITS` for those that get the same.  Nodes of the run before that are
 * gone get none.  *ret_changed: how many nodes changed; *ret_failed: how many of them the cluster
 * refused, which are tried again next time.  Errors: -ENOMEM, -ENOENT no scontrol. */
int tgapply_units(struct tgapply *a, const struct graph *g, const struct topofile_units *u,
                  size_t *ret_changed, size_t *ret_failed, struct err *err);
