/* gallop.h - the first place from which on something holds
 *
 * For questions that cost much and whose answer changes once, from no to yes, over places 1 .. n.
 */
#pragma once

#include <stdint.h>

/* Does it hold at place `at`?  The answer is the same for all places in (*lo, *hi], at - 1 and at
 * unless the callee knows of more.  1, 0 or a negative errno. */
typedef int gallop_fn(void *ctx, uint32_t at, uint32_t *lo, uint32_t *hi);

/* *ret_at: the first place at which it holds, 0 when there is none.  Asks about 2 log2(*ret_at)
 * times, so that an early place is found cheaply.  Errors: those of fn. */
int gallop(uint32_t n, gallop_fn *fn, void *ctx, uint32_t *ret_at);
