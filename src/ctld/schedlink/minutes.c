/* minutes.c - limits by minutes; see minutes.h.
 *
 * The levels that have such limits are few; they are listed anew when accounting records have
 * changed. */
#include "ctld/schedlink/minutes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"
#include "ctld/schedlink/feedlimits.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/job/lifecycle.h"
#include "ctld/policy/policy.h"
#include "ctld/policy/policy_tres.h"
#include "ctld/core/service.h"
#include "feed/feedmem.h"
#include "feed/limitrecords.h"
#include "model/words/names.h"
#include "model/use/usage.h"

struct level { /* with limits by minutes */
    uint32_t id;
    bool spent; /* nothing is left of one of them; of the present tick */
};
struct levels {
    struct level *v;
    size_t n, cap;
};
struct minutes {
    struct levels assocs, qos;
    uint64_t generation; /* of the records they were listed from */
};

static void add_level(struct levels *l, uint32_t id)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 16;
        l->v = must(realloc(l->v, l->cap * sizeof(*l->v)));
    }
    l->v[l->n++] = (struct level){ .id = id };
}

static void list_levels(struct minutes *all, struct assoc_mgr *am)
{
    const struct assoc *a;
    const ProtobufCMessage *q;

    if (all->generation == am_generation(am))
        return;
    all->generation = am_generation(am);
    all->assocs.n = all->qos.n = 0;
    for (size_t pos = 0; (a = am_next_assoc(am, &pos));)
        if (limits_by_minutes(a->rec->limits))
            add_level(&all->assocs, a->id);
    for (size_t pos = 0; (q = am_next(am, AM_QOS, &pos));)
        if (limits_by_minutes(((const Pst__QosRecord *)q)->limits))
            add_level(&all->qos, ((const Pst__QosRecord *)q)->qos_id);
}

/* ---- what is used up ------------------------------------------------------------------------- */

struct holding { /* does a job hold this TRES? */
    const struct assoc_mgr *am;
    uint32_t tres_id;
    bool holds;
};

static void look_at_tres(void *ctx, const char *name, uint64_t count)
{
    struct holding *h = ctx;

    h->holds = h->holds || (count && am_tres_id(h->am, name) == h->tres_id);
}

static bool holds_tres(const struct assoc_mgr *am, const Pst__JobRecord *r, uint32_t tres_id)
{
    struct holding h = { .am = am, .tres_id = tres_id };

    usage_parse_tres(r->alloc_tres, look_at_tres, &h);
    return h.holds || (r->billing > 0 && policy_tres_type(am, tres_id) == POLICY_BILLING);
}

/* The reason under which job r ends when minutes of a level are used up: only who holds what is
 * used up ends, as only who asks for it waits.  r NULL: is anything used up?  0: no. */
static int check_spent(struct ctld *ctld, enum usage_of of, uint32_t id, const Pst__Limits *l,
                       const Pst__JobRecord *r, int64_t now)
{
    struct cluster *c = ctld->cluster;
    int scope = of == USAGE_QOS ? PST__JOB_REASON__REASON_QOS_GRP_MINS_CPU
                                : PST__JOB_REASON__REASON_ASSOC_GRP_MINS_CPU;

    if (!limits_by_minutes(l))
        return 0;
    if (l->has_grp_wall_min && l->grp_wall_min >= 0 &&
        usage_wall_s(c, of, id, now) >= 60.0 * l->grp_wall_min)
        return of == USAGE_QOS ? PST__JOB_REASON__REASON_QOS_GRP_WALL
                               : PST__JOB_REASON__REASON_ASSOC_GRP_WALL;
    for (size_t i = 0; i < l->n_grp_tres_mins; i++) {
        const Pst__TresCount *t = l->grp_tres_mins[i];

        if (t->has_count && t->count >= 0 &&
            usage_tres_s(c, of, id, t->tres_id, now) >= 60.0 * (double)t->count &&
            (!r || holds_tres(c->am, r, t->tres_id)))
            return scope + (int)policy_tres_type(c->am, t->tres_id);
    }
    return 0;
}

static bool is_spent(const struct levels *l, uint32_t id)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].id == id)
            return l->v[i].spent;
    return false;
}

static int reason_of_qos(struct ctld *ctld, uint32_t id, const Pst__JobRecord *r, int64_t now)
{
    const Pst__QosRecord *q =
        is_spent(&ctld->minutes->qos, id) ? am_qos(ctld->cluster->am, id) : NULL;

    return q ? check_spent(ctld, USAGE_QOS, id, q->limits, r, now) : 0;
}

static int reason_for(struct ctld *ctld, const Pst__JobRecord *r, int64_t now)
{
    int reason = r->has_part_qos_id ? reason_of_qos(ctld, r->part_qos_id, r, now) : 0;

    if (!reason && r->has_qos_id)
        reason = reason_of_qos(ctld, r->qos_id, r, now);
    for (const struct assoc *a = r->has_assoc_id ? am_assoc(ctld->cluster->am, r->assoc_id) : NULL;
         a && !reason; a = a->parent)
        if (is_spent(&ctld->minutes->assocs, a->id))
            reason = check_spent(ctld, USAGE_ASSOC, a->id, a->rec->limits, r, now);
    return reason;
}

static void end_jobs(struct ctld *ctld, int64_t now)
{
    struct job *next;

    for (struct job *j = ctld->cluster->active; j; j = next) {
        int reason = job_is_running(j->rec) ? reason_for(ctld, j->rec, now) : 0;

        next = j->next_active;
        if (!reason)
            continue;
        log_verbose("job %u: ended, since nothing is left of its limit: %s", j->rec->job_id,
                    names_reason((unsigned)reason));
        (void)lifecycle_end(ctld, j,
                            &(struct job_end){ .state = JOB_STATE(TIMEOUT),
                                               .reason = PST__JOB_REASON__REASON_TIME_LIMIT,
                                               .kill_text = JOB_TEXT_TIME_LIMIT });
    }
}

static void note_told(struct ctld *ctld, int64_t now)
{
    struct feed *f = feed_new(FEED_TOLD);

    f->start_us = now;
    f->told_lsn = ctld->applied_lsn;
    feed_add(ctld, f);
}

void minutes_tick(struct ctld *ctld, int64_t now)
{
    unsigned enforce = limits_enforced(ctld->conf);
    struct minutes *all = ctld->minutes;
    struct assoc_mgr *am = ctld->cluster->am;
    bool any = false;

    if (!(enforce & ENFORCE_LIMITS))
        return;
    list_levels(all, am);
    for (size_t i = 0; i < all->assocs.n; i++) {
        const struct assoc *a = am_assoc(am, all->assocs.v[i].id);

        feedlimits_usage_assoc(ctld, a);
        all->assocs.v[i].spent =
            check_spent(ctld, USAGE_ASSOC, a->id, a->rec->limits, NULL, now) != 0;
        any = any || all->assocs.v[i].spent;
    }
    for (size_t i = 0; i < all->qos.n; i++) {
        const Pst__QosRecord *q = am_qos(am, all->qos.v[i].id);

        feedlimits_usage_qos(ctld, q);
        all->qos.v[i].spent = check_spent(ctld, USAGE_QOS, q->qos_id, q->limits, NULL, now) != 0;
        any = any || all->qos.v[i].spent;
    }
    if (all->assocs.n || all->qos.n)
        note_told(ctld, now);
    if (any && !(enforce & ENFORCE_SAFE))
        end_jobs(ctld, now);
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_minutes(struct ctld *ctld, struct err *err)
{
    (void)err;
    ctld->minutes = calloc(1, sizeof(*ctld->minutes));
    return ctld->minutes ? 0 : -ENOMEM;
}

static void free_minutes(struct ctld *ctld)
{
    struct minutes *all = ctld->minutes;

    if (!all)
        return;
    free(all->assocs.v);
    free(all->qos.v);
    free(all);
    ctld->minutes = NULL;
}

const struct ctld_service minutes_service = {
    .name = "minutes",
    .start = start_minutes,
    .free = free_minutes,
    .tick_slow = minutes_tick,
};
