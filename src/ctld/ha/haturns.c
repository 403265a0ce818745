/* haturns.c - the rules of who leads; see haturns.h.  Pure. */
#include "ctld/ha/haturns.h"

#include <strings.h>

#include "base/cleanup.h"

#define STAGGER_PART 8         /* of a lease, for each line before ours */
#define STAGGER_MAX_US 1000000 /* at most */

/* Of several that wait, the first in the list gets there first. */
static int64_t stagger_us(const struct turn_view *v)
{
    int64_t each = MIN((int64_t)v->lease_ms * 1000 / STAGGER_PART, (int64_t)STAGGER_MAX_US);

    return v->index > 1 ? (int64_t)(v->index - 1) * each : 0;
}

int64_t turn_left_us(const struct turn_view *v, int64_t now_us)
{
    struct term_record r = v->record;

    if (!v->readable || !r.lease_ms)
        r.lease_ms = v->lease_ms; /* what its writer had is not known, or it has ended */
    return r.lease_ms ? lease_watch_left_us(&v->watch, &r, now_us) + stagger_us(v) : 0;
}

static bool has_run_out(const struct turn_view *v, int64_t now_us)
{
    return turn_left_us(v, now_us) <= 0;
}

static enum turn turn_after_end(const struct turn_view *v, int64_t now_us)
{
    if (v->record.successor[0])
        return strcasecmp(v->record.successor, v->host) == 0 || has_run_out(v, now_us) ? TURN_OURS
                                                                                       : TURN_WAIT;
    if (strcasecmp(v->record.host, v->host) == 0 || (v->index == 0 && v->claims))
        return TURN_OURS;
    return has_run_out(v, now_us) ? TURN_OURS : TURN_WAIT; /* it may be starting again */
}

enum turn turn_decide(const struct turn_view *v, int64_t now_us)
{
    if (v->unknown || v->barred)
        return TURN_WAIT;
    if (!v->any)
        return v->lock_free ? TURN_OURS : TURN_WAIT;
    if (!v->readable)
        return has_run_out(v, now_us) ? TURN_OURS : TURN_WAIT;
    if (v->record.flags & TERM_RELEASED)
        return turn_after_end(v, now_us);
    if (strcasecmp(v->record.host, v->host) == 0 && v->lock_free)
        return TURN_OURS; /* it was we, and we died: no other process has our name and the lock */
    if (v->record.lease_ms && has_run_out(v, now_us))
        return TURN_OURS;
    return v->claims && v->index < v->record.index ? TURN_ASK : TURN_WAIT;
}
