/* powerplan.c - see powerplan.h */
#include "ctld/node/powerplan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"

#define FLAG(x) (1u << PST__NODE_FLAG__NODE_FLAG_##x)
#define OFF_OR_CHANGING                                                                            \
    (FLAG(POWERED_DOWN) | FLAG(POWERING_DOWN) | FLAG(POWERING_UP) | FLAG(POWER_UP))

/* ---- rates ----------------------------------------------------------------------------------- */

uint32_t power_rate_take(struct power_rate *r, uint32_t per_min, int64_t now_us, uint32_t wanted)
{
    double per_us = per_min / (60.0 * USEC_PER_SEC);
    uint32_t n;

    if (!per_min || !wanted)
        return wanted;
    if (!r->at_us)
        r->left = per_min;
    else if (now_us > r->at_us)
        r->left = MIN(per_min, r->left + per_us * (double)(now_us - r->at_us));
    r->at_us = now_us;
    n = MIN(wanted, (uint32_t)(r->left + 1e-6)); /* sums of parts stay a little below the whole */
    r->left -= n;
    return n;
}

/* ---- choices --------------------------------------------------------------------------------- */

/* SuspendTime of each node by its partitions; the longest counts.  NULL: no partition has one.
 * Where none has a word it is UINT32_MAX - 1: as the cluster has it. */
#define AS_CLUSTER (UINT32_MAX - 1)

static int partition_times(const struct cluster *c, uint32_t **ret)
{
    uint32_t *times = NULL;

    for (size_t p = 0; p < c->nparts; p++) {
        const Pst__PartitionRecord *r = c->parts[p]->rec;
        uint32_t s = r->has_suspend_never && r->suspend_never ? POWER_NEVER : r->suspend_time_s;

        if (!(r->has_suspend_never && r->suspend_never) && !r->has_suspend_time_s)
            continue;
        if (!times) {
            times = malloc((c->nnodes + 1) * sizeof(*times));
            if (!times)
                return -ENOMEM;
            for (uint32_t i = 0; i < c->nnodes; i++)
                times[i] = AS_CLUSTER;
        }
        BITMAP_FOREACH (c->parts[p]->nodes, i)
            if (i < c->nnodes)
                times[i] = times[i] == AS_CLUSTER ? s : MAX(times[i], s);
    }
    *ret = times;
    return 0;
}

/* Nodes that a partition powers down as soon as they are idle. */
static int partition_idle(const struct cluster *c, struct bitmap *out)
{
    for (size_t p = 0; p < c->nparts; p++) {
        const Pst__PartitionRecord *r = c->parts[p]->rec;

        if (!r->has_power_down_on_idle || !r->power_down_on_idle)
            continue;
        BITMAP_FOREACH (c->parts[p]->nodes, i)
            if (i < out->nbits)
                bitmap_set(out, i);
    }
    return 0;
}

static uint32_t time_of(const Pst__NodeRecord *r, const uint32_t *times,
                        const struct power_policy *p)
{
    if (r->has_suspend_never && r->suspend_never)
        return POWER_NEVER;
    if (r->has_suspend_time_s)
        return r->suspend_time_s;
    return times && times[r->node_id] != AS_CLUSTER ? times[r->node_id] : p->suspend_time_s;
}

static bool is_excepted(const struct power_except *e, const Pst__NodeRecord *r)
{
    if (!e)
        return false;
    return (r->node_id < e->never->nbits && bitmap_test(e->never, r->node_id)) ||
           (r->state_flags & e->flags) || (e->down && r->state == PST__NODE_STATE__NODE_DOWN);
}

/* It is on, has no job, and is in a state that it can leave by power. */
static bool can_go_down(const struct node *n)
{
    const Pst__NodeRecord *r = n->rec;

    return n->jobs == 0 && !(r->state_flags & (OFF_OR_CHANGING | FLAG(REBOOT_ISSUED))) &&
           (r->state == PST__NODE_STATE__NODE_IDLE || r->state == PST__NODE_STATE__NODE_DOWN);
}

/* Idle since then: its last job was over, its power was switched, its slurmd began. */
static int64_t idle_since(const Pst__NodeRecord *r)
{
    int64_t since = r->has_last_busy_us ? r->last_busy_us : 0;

    since = MAX(since, r->has_power_us ? r->power_us : 0);
    since = MAX(since, r->has_slurmd_start_us ? r->slurmd_start_us : 0);
    return since ? since : r->registered_us;
}

/* Jobs could use it. */
static bool is_usable(const Pst__NodeRecord *r)
{
    return r->state == PST__NODE_STATE__NODE_IDLE &&
           !(r->state_flags & (OFF_OR_CHANGING | FLAG(DRAIN) | FLAG(FAIL) | FLAG(NOT_RESPONDING)));
}

static void keep_some(const struct cluster *c, const struct power_keep *k, struct bitmap *out)
{
    uint32_t left = k->count;

    BITMAP_FOREACH (k->nodes, i) {
        if (!left)
            return;
        if (i < c->nnodes && c->nodes[i] && c->nodes[i]->jobs == 0 && is_usable(c->nodes[i]->rec)) {
            bitmap_clear(out, i);
            left--;
        }
    }
}

int power_choose(const struct cluster *c, const struct power_policy *p, int64_t now_us,
                 struct bitmap *out)
{
    _cleanup_free_ uint32_t *times = NULL;
    _cleanup_(bitmap_free) struct bitmap *at_once = NULL;
    int r = bitmap_new(c->nnodes + 1, &at_once);

    if (r == 0)
        r = partition_times(c, &times);
    if (r == 0)
        r = partition_idle(c, at_once);
    if (r < 0)
        return r;
    bitmap_zero(out);
    for (uint32_t i = 0; i < c->nnodes; i++) {
        const struct node *n = c->nodes[i];
        uint32_t after;

        if (!n || !can_go_down(n) || is_excepted(p->except, n->rec))
            continue;
        after = time_of(n->rec, times, p);
        if (after != POWER_NEVER && now_us - idle_since(n->rec) >= (int64_t)after * USEC_PER_SEC)
            bitmap_set(out, i);
        else if (bitmap_test(at_once, i) && n->rec->has_last_busy_us &&
                 n->rec->last_busy_us > n->rec->power_us)
            bitmap_set(out, i);
    }
    for (size_t i = 0; p->except && i < p->except->nkeeps; i++)
        keep_some(c, &p->except->keeps[i], out);
    return 0;
}
