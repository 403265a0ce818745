/* blockorder.h - the records of an array in the order of scontrol show job ARRAY
 *
 * The record with the array's own number comes first (tasks that wait, or the task that took the
 * number last), the others behind it, the newest first.  Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct block {
    uint32_t job_id;
    size_t begin, end; /* of its text */
};

/* Blocks of a text, one behind the other: all zero at first. */
struct block_order {
    struct block *blocks;
    size_t n, cap;
};

/* A block that ends at `end` and begins where the one before ends.  Errors: -ENOMEM. */
int block_order_add(struct block_order *o, uint32_t job_id, size_t end);
/* Bring the blocks of text into order, and forget them.  Errors: -ENOMEM, text as it was. */
int block_order_apply(struct block_order *o, uint32_t array_job_id, struct strbuf *text);
void block_order_done(struct block_order *o);
