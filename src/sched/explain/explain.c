/* explain.c - why a job does not start; see sched_explain.h.
 *
 * The heads that go before the job get reservations, as backfill gives them (all jobs that go
 * before it get their places when it is conservative); every question is then put to selection
 * beside these.  Nothing is guessed: a change is named when selection and layout took the
 * changed job. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "sched/explain/explain_change.h"
#include "sched/explain/explain_lic.h"
#include "sched/explain/explain_nodes.h"
#include "sched/explain/explain_preempt.h"
#include "sched/explain/explain_try.h"
#include "sched/explain/sched_explain.h"
#include "sched/plan/bfshare.h"
#include "sched/plan/prof_search.h"
#include "sched/plan/timeline.h"
#include "sched/profile/prof_slots.h"
#include "sched/rules/advtime.h"
#include "sched/rules/licfit.h"
#include "sched/rules/limit_check.h"
#include "sched/rules/partlimits.h"
#include "sched/rules/prio.h"
#include "sched/sched.h"
#include "sched/select/advwhy.h"
#include "sched/select/pick.h"
#include "sched/state/alloc.h"
#include "sched/state/classes.h"
#include "sched/state/endtime.h"
#include "sched/state/jobbuild.h"
#include "sched/state/jobs.h"
#include "sched/state/line.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/queue.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"

void sched_explanation_done(struct sched_explanation *x)
{
    for (size_t i = 0; i < x->nparts; i++) {
        free(x->parts[i].not_up);
        free(x->parts[i].expected_nodes);
    }
    free(x->parts);
    *x = (struct sched_explanation){ 0 };
}

/* ---- queue and time -------------------------------------------------------------------------- */

static void find_place(const struct ex *x, const struct entry *e, struct explain_part *out)
{
    const struct part *p = x->s->parts[e->part];
    bool there = false;

    out->place = 1;
    for (const struct entry *o = p->head[0]; o; o = o->next[0]) {
        there |= o->job->id == x->job_id;
        if (o->job->id != x->job_id && entry_before(o, e))
            out->place++;
    }
    out->queued = p->nqueued + !there;
}

static int tell_expected(struct ex *x, struct entry *e, struct explain_part *out)
{
    struct sched *s = x->s;
    struct pick p = { .s = s, .cls = e->cls, .part = s->parts[e->part] };
    _cleanup_val_(alloc_done) struct sched_alloc alloc = { 0 };
    _cleanup_free_ struct resv_node *spare = NULL;
    int64_t start_us = x->now_us;
    int r = ex_fits(x, e, end_after(x->now_us, e->job->time_limit_min), &alloc);

    if (r == 1) {
        x->starts_now = true;
    } else if (r == 0 && s->prof) {
        r = prof_search(&p, &e->job->want, e->job->time_limit_min, prof_release(s, 1), false,
                        &alloc);
        start_us = r == 1 ? prof_promise(s, p.from) : 0;
    } else if (r == 0) {
        r = plan(&p, x->now_us, &start_us, &alloc, &spare);
    }
    if (r <= 0)
        return r;
    out->expected_us = start_us;
    out->expected_nodes = malloc((alloc.nnodes + 1) * sizeof(*out->expected_nodes));
    if (!out->expected_nodes)
        return -ENOMEM;
    for (size_t i = 0; i < alloc.nnodes; i++)
        if (!alloc.nodes[i].closed)
            out->expected_nodes[out->nexpected++] = alloc.nodes[i].node_id;
    return 0;
}

static int explain_entry(struct ex *x, struct entry *e, struct explain_part *out)
{
    struct sched *s = x->s;
    struct pick p = { .s = s, .cls = e->cls, .part = s->parts[e->part] };
    uint32_t which;
    int r;

    e->priority = e->place = entry_priority(s, e, x->now_us);
    out->name = s->parts_tab.names[e->part];
    out->wanted =
        MAX(MAX(e->cls->shape->key.min_nodes, shape_must(e->cls->shape)), p.part->min_nodes);
    out->why = entry_limits(s, e);
    if (!out->why && limit_hit(s, e, NULL, x->now_us, &out->limit))
        out->why = SCHED_WHY_LIMIT;
    r = ex_reserve(x, e);
    if (!out->why)
        out->why = pick_verdict(&p);
    if (out->why == SCHED_WHY_RESOURCES && (advs_any(s) || e->cls->shape->key.resv)) {
        enum sched_why adv = adv_why(s, e, x->now_us);

        out->why = adv ? adv : out->why;
    }
    if (out->why == SCHED_WHY_RESOURCES && !lics_fit(s, &e->job->want, 0, &which))
        out->why = SCHED_WHY_LICENSES;
    if (r == 0)
        r = ex_look_at_nodes(x, e, out);
    find_place(x, e, out);
    if (r == 0 && (out->why == SCHED_WHY_RESOURCES || out->why == SCHED_WHY_LICENSES))
        r = preempt_explain(s, e, x->now_us, &out->preempt);
    if (r == 0 && out->why == SCHED_WHY_RESOURCES)
        r = tell_expected(x, e, out);
    return r;
}

int sched_explain(struct sched *s, const struct sched_job *job, const char *const *others,
                  size_t nothers, int64_t now_us, struct sched_explanation *ret)
{
    struct ex x = { .s = s, .job_id = job->id, .now_us = now_us, .settled = true };
    struct sched_explanation out = { 0 };
    struct job *j;
    int r = job_build(s, job, &j);

    if (r < 0)
        return r;
    backfill_drop(s);                                /* a plan under way begins anew */
    for (size_t i = 0; i < nothers && r >= 0; i++) { /* known before anything counts partitions */
        struct part *p;

        r = part_get(s, others[i], &p);
    }
    out.parts = calloc(j->nentries + 1, sizeof(*out.parts));
    x.heads = calloc(s->nparts + 1, sizeof(struct entry *));
    x.holds = calloc(s->nparts + 1, sizeof(*x.holds));
    if (r >= 0)
        r = out.parts && x.heads && x.holds ? 0 : -ENOMEM;
    if (r >= 0 && !s->params.conservative)
        r = line_make(s);
    for (uint32_t i = 0; r >= 0 && i < j->nentries; i++) {
        out.nparts = i + 1;
        r = explain_entry(&x, j->entries[i], &out.parts[i]);
    }
    if (r >= 0 && x.settled && !x.starts_now)
        r = ex_changes(&x, job, others, nothers, &out);
    backfill_drop(s);
    ex_licenses(&x, j, &out);
    job_free(s, j);
    free(x.heads);
    free(x.holds);
    if (r < 0) {
        sched_explanation_done(&out);
        return r;
    }
    out.settled = x.settled;
    out.starts_now = x.starts_now;
    *ret = out;
    return 0;
}
