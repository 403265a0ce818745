/* budget.h - what one request may cost the core
 *
 * A handler that loops over what a request names spends units: one for what it looks at,
 * BUDGET_CHANGE for what it changes; a unit is some 100 ns.  When the turn is spent, the handler
 * keeps a cursor and goes on by core_again(), behind what other users have asked meanwhile.
 * When the request is spent, the handler refuses what is left. Counted, not timed: the same
 * request takes the same turns everywhere. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_TURN 50000u       /* units of one turn */
#define BUDGET_REQUEST 20000000u /* units of one request, some seconds in all */
#define BUDGET_CHANGE 100u       /* a job changed, and written down */

struct budget {
    uint64_t total;
    uint32_t turn;
    uint32_t turns; /* that ended because they were spent */
};

static inline void budget_spend(struct budget *b, uint64_t units)
{
    b->total += units;
    b->turn = units < UINT32_MAX - b->turn ? b->turn + (uint32_t)units : UINT32_MAX;
}

/* Must the handler give way? */
static inline bool budget_turn_over(const struct budget *b)
{
    return b->turn >= BUDGET_TURN;
}

static inline bool budget_over(const struct budget *b)
{
    return b->total >= BUDGET_REQUEST;
}

static inline void budget_next_turn(struct budget *b)
{
    b->turns += budget_turn_over(b);
    b->turn = 0;
}
