/* gpubind.h - which GPUs of a step each of its tasks on a node sees: --gpu-bind,
 * --tres-bind=gres/gpu:...
 *
 * Pure: in positions of the step's list of GPUs on the node. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bitmap.h"
#include "base/err.h"

#define GPUBIND_ITEMS_MAX 4096u
#define GPUBIND_GPUS_MAX 64u /* of a mask */

enum gpubind_kind {
    GPUBIND_NONE,     /* every task sees all */
    GPUBIND_CLOSEST,  /* those near its CPUs */
    GPUBIND_SINGLE,   /* the first n tasks the first GPU, the next n the second ... */
    GPUBIND_PER_TASK, /* n GPUs of its own */
    GPUBIND_MAP,      /* the item-th GPU */
    GPUBIND_MASK,     /* those of the item's bits */
};

struct gpubind {
    enum gpubind_kind kind;
    bool verbose;
    uint32_t n;
    uint64_t *items; /* of MAP and MASK, dealt out in turn; free with gpubind_done() */
    size_t n_items;
};

/* "[verbose,]closest", "single:2", "per_task:1", "map_gpu:0,1*2", "mask_gpu:0x3,0x1", "none"; as
 * --tres-bind has it "gres/gpu:[verbose,]map:0,1".  NULL or "" is none.  Errors: -EINVAL with the
 * sentence, -ENOMEM. */
int gpubind_parse(const char *text, struct gpubind *ret, struct err *err);
void gpubind_done(struct gpubind *b);
/* Does it begin as a binding does?  Users may write numbers that no task can follow. */
bool gpubind_is_word(const char *text);

/* The GPUs of task `index` of the node's; ret has n_gpus bits and is empty.  near: of CLOSEST, the
 * GPUs that are near the task's CPUs (NULL: unknown, all are).  False: what was asked for names no
 * GPU of the step, and the first is taken. */
bool gpubind_task(const struct gpubind *b, uint32_t index, const struct bitmap *near,
                  struct bitmap *ret);
