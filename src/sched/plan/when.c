/* when.c - when would a job start? One job is planned against all that runs and is reserved. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "sched/plan/bfshare.h"
#include "sched/plan/conservative.h"
#include "sched/plan/easy.h"
#include "sched/plan/prof_search.h"
#include "sched/plan/queuewalk.h"
#include "sched/plan/resvadd.h"
#include "sched/plan/timeline.h"
#include "sched/profile/prof_slots.h"
#include "sched/rules/partlimits.h"
#include "sched/rules/prio.h"
#include "sched/rules/spares.h"
#include "sched/sched.h"
#include "sched/select/pick.h"
#include "sched/state/alloc.h"
#include "sched/state/endtime.h"
#include "sched/state/jobbuild.h"
#include "sched/state/jobs.h"
#include "sched/state/line.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/planlog.h"
#include "sched/state/question.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"

/* Reserve for the first job of every partition, whether it could start now or not. */
static int reserve_heads(struct bf *b)
{
    struct sched *s = b->s;
    int r = 0;

    walk_begin(s);
    for (struct entry *e; r >= 0 && (e = walk_next(s));) {
        struct pick p = {
            .s = s, .cls = e->cls, .part = s->parts[e->part], .pad = true, .lics = &e->job->want
        };
        _cleanup_val_(alloc_done) struct sched_alloc alloc = { 0 };
        _cleanup_free_ struct resv_node *spare = NULL;
        int64_t start_us = b->now_us;

        s->parts[e->part]->active = false;
        p.from_us = b->now_us;
        p.minutes = e->job->time_limit_min;
        if (entry_limits(s, e))
            continue;
        r = easy_fits_now(&p, end_after(b->now_us, e->job->time_limit_min), &alloc);
        if (r == 1)
            spare = spare_of(s, &alloc, e->part);
        else if (r == 0)
            r = plan(&p, b->now_us, &start_us, &alloc, &spare);
        if (r == 1)
            r = spare ? resv_add(s, e->part, start_us, &alloc, &spare, &e->job->want) : -ENOMEM;
    }
    return r < 0 ? r : 0;
}

static int when_in(struct bf *b, struct entry *e, struct sched_decision *d)
{
    struct sched *s = b->s;
    struct pick p = { .s = s, .cls = e->cls, .part = s->parts[e->part], .lics = &e->job->want };
    _cleanup_val_(alloc_done) struct sched_alloc alloc = { 0 };
    _cleanup_free_ struct resv_node *spare = NULL;
    int64_t start_us = MAX(b->now_us, e->job->eligible_us);
    int r;

    p.from_us = start_us;
    p.minutes = e->job->time_limit_min;

    /* A partition that is down for a while has a start to tell, as if it were up. */
    d->why = p.part->inactive ? entry_limits(s, e) : entry_limits_once_up(s, e);
    if (!d->why)
        d->why = pick_verdict(&p);
    if (d->why != SCHED_WHY_RESOURCES)
        return 0;
    if (s->prof) {
        r = prof_search(&p, &e->job->want, e->job->time_limit_min, prof_slot_at(s, start_us), false,
                        &alloc);
        start_us = r == 1 ? MAX(prof_promise(s, p.from), start_us) : 0;
    } else {
        r = easy_fits_now(&p, end_after(start_us, e->job->time_limit_min), &alloc);
        if (r == 0)
            r = plan(&p, start_us, &start_us, &alloc, &spare);
    }
    if (r <= 0 || (d->expected_us && d->expected_us <= start_us))
        return r;
    alloc_done(&d->alloc);
    d->alloc = alloc;
    alloc = (struct sched_alloc){ 0 };
    d->partition = s->parts_tab.names[e->part];
    d->expected_us = start_us;
    return 0;
}

/* The start of a controller lasts until the nodes have called: meanwhile a question is answered as
 * if they had.  False: there is none of these. */
static bool count_awaited(struct sched *s, bool up)
{
    bool any = false;

    for (uint32_t i = 0; i < s->nnodes; i++) {
        if (!s->nodes[i].exists || !s->nodes[i].awaited)
            continue;
        s->nodes[i].schedulable = up;
        set_member(s->up, i, up);
        any = true;
    }
    if (any) {
        s->up_gen++;
        planlog_other(s);
    }
    return any;
}

static int list_nodes(struct sched_decision *d)
{
    alloc_drop_closed(&d->alloc);
    d->nexpected = d->alloc.nnodes;
    d->expected_nodes = malloc((d->nexpected + 1) * sizeof(*d->expected_nodes));
    if (!d->expected_nodes)
        return -ENOMEM;
    for (size_t i = 0; i < d->nexpected; i++)
        d->expected_nodes[i] = d->alloc.nodes[i].node_id;
    return 0;
}

static int ask_when(struct sched *s, const struct sched_job *job, int64_t now_us,
                    struct sched_decision *ret_decision)
{
    struct sched_decision d = { .kind = SCHED_EXPECT, .job_id = job->id };
    struct bf b = { .s = s, .now_us = now_us };
    uint32_t now;
    struct job *j;
    int r = job_build(s, job, &j);

    if (r < 0)
        return r;
    backfill_drop(s); /* a plan under way begins anew */
    queue_enter(s, now_us);
    r = spares_refresh(s);
    if (r < 0) {
        job_free(s, j);
        return r;
    }
    if (s->params.conservative) {
        r = conservative_ahead(&b, NULL, &now);
    } else {
        r = line_make(s);
        if (r == 0)
            r = reserve_heads(&b);
    }
    for (uint32_t i = 0; r >= 0 && i < j->nentries; i++)
        r = when_in(&b, j->entries[i], &d);
    backfill_drop(s);
    job_free(s, j);
    if (r >= 0 && d.expected_us) {
        d.why = SCHED_WHY_NONE;
        r = list_nodes(&d);
    }
    if (r < 0) {
        sched_decision_done(&d);
        return r;
    }
    *ret_decision = d;
    return 0;
}

int sched_when(struct sched *s, const struct sched_job *job, int64_t now_us,
               struct sched_decision *ret_decision)
{
    const bool awaited = count_awaited(s, true);
    int r = ask_when(s, job, now_us, ret_decision);

    if (awaited)
        (void)count_awaited(s, false);
    return r;
}
