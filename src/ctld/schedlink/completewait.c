/* completewait.c - jobs that still clean up hold up the starts of others; see completewait.h
 *
 * A list of the jobs that are COMPLETING and ended less than CompleteWait ago; it is empty without
 * the key.  The scheduler is told of partitions again when the list changed, in the same batch as
 * the nodes that came free.  After a new start of the controller nothing is held up. */
#include "ctld/schedlink/completewait.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/must.h"
#include "base/timefmt.h"
#include "ctld/core/service.h"

struct ending {
    uint32_t job_id;
    int64_t until_us;
};

struct completewait {
    struct ending *items;
    size_t n, cap;
    bool moved; /* since the scheduler was told */
};

static bool spares_others(const struct ctld *ctld)
{
    return conf_option(ctld->conf, CONF_SCHEDULER_PARAMETERS, "reduce_completing_frag", NULL, NULL);
}

static bool shares_nodes(const struct ctld *ctld, const struct ending *e, const struct partition *p)
{
    const struct job *j = cluster_job(ctld->cluster, e->job_id);
    const struct partition *own = j ? cluster_partition(ctld->cluster, j->rec->partition) : NULL;

    return own && (own == p || bitmap_count_and(own->nodes, p->nodes) > 0);
}

bool completewait_pauses(const struct ctld *ctld, const struct partition *p)
{
    const struct completewait *w = ctld->completewait;

    if (!w || !w->n)
        return false;
    if (!spares_others(ctld))
        return true;
    for (size_t i = 0; i < w->n; i++)
        if (shares_nodes(ctld, &w->items[i], p))
            return true;
    return false;
}

bool completewait_moved(struct ctld *ctld)
{
    struct completewait *w = ctld->completewait;
    bool moved = w && w->moved;

    if (w)
        w->moved = false;
    return moved;
}

static void forget_ending(struct completewait *w, size_t i)
{
    w->items[i] = w->items[--w->n];
    w->moved = true;
}

static void add_ending(struct completewait *w, uint32_t job_id, int64_t until_us)
{
    if (w->n == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 16;

        w->items = must(reallocarray(w->items, cap, sizeof(*w->items)));
        w->cap = cap;
    }
    w->items[w->n++] = (struct ending){ job_id, until_us };
    w->moved = true;
}

/* ---- the service ----------------------------------------------------------------------------- */

static void follow_job(struct ctld *ctld, struct job *j, Pst__EventKind kind)
{
    struct completewait *w = ctld->completewait;
    bool cleans = job_has_flag(j->rec, JOB_FLAG(COMPLETING));
    int64_t wait_us = (int64_t)conf_num(ctld->conf, CONF_COMPLETE_WAIT) * USEC_PER_SEC;

    if (!w)
        return; /* the journal is read */
    if (kind == PST__EVENT_KIND__EV_JOB_END && cleans && wait_us)
        add_ending(w, j->rec->job_id, core_now() + wait_us);
    for (size_t i = 0; !cleans && i < w->n; i++)
        if (w->items[i].job_id == j->rec->job_id)
            forget_ending(w, i--);
}

static void forget_job(struct ctld *ctld, struct job *j)
{
    struct completewait *w = ctld->completewait;

    for (size_t i = 0; w && i < w->n; i++)
        if (w->items[i].job_id == j->rec->job_id)
            forget_ending(w, i--);
}

static void forget_late(struct ctld *ctld, int64_t now_us)
{
    struct completewait *w = ctld->completewait;

    for (size_t i = 0; w && i < w->n; i++)
        if (w->items[i].until_us <= now_us)
            forget_ending(w, i--);
}

static void begin_waits(struct ctld *ctld)
{
    ctld->completewait = must(calloc(1, sizeof(*ctld->completewait)));
}

static void free_waits(struct ctld *ctld)
{
    if (ctld->completewait)
        free(ctld->completewait->items);
    free(ctld->completewait);
    ctld->completewait = NULL;
}

const struct ctld_service completewait_service = {
    .name = "completewait",
    .recovered = begin_waits,
    .free = free_waits,
    .tick = forget_late,
    .on_job = follow_job,
    .on_job_gone = forget_job,
};
