/* gresrow.h - a row: what a node has of one kind of device (one name and type) */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/base/cbits.h"

struct node;
struct sched;
struct sched_gres_share;
struct sched_gres_spec;

struct gres_row {
    uint32_t name, type; /* type STRTAB_NONE = untyped */
    uint64_t total, used;
    bool indexed, explicit_only, no_consume;
    bool gpu;                        /* GPUs themselves, which others are shares of */
    uint32_t first;                  /* index of the first device */
    struct cbits dev;                /* held devices, bit 0 = index first */
    struct sched_gres_share *shares; /* of GPUs, or NULL */
    uint32_t nshares;
    uint64_t *near; /* CPUs near each device, node.nwords each; or NULL */
    int32_t *links; /* total x total, or NULL */
};

void gres_row_done(struct gres_row *row);
/* Make a row of what a node is said to have.  -EINVAL: the shares do not add up to the count;
 * -ENOMEM.  After a failure there is nothing to free. */
int gres_row_build(struct sched *s, const struct node *n, const struct sched_gres_spec *in,
                   struct gres_row *row);
/* Do two rows have the same devices in the same places?  What is held does not matter. */
bool gres_row_alike(const struct node *n, const struct gres_row *a, const struct gres_row *b);
