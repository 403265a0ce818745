/* proposals.c - apply the scheduler's decisions to jobs, and answer the clients that asked; see
 * proposals.h */
#include "ctld/starts/proposals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/logflags.h"
#include "base/hostlist.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "ctld/core/commit.h"
#include "ctld/core/noderecord.h"
#include "ctld/core/service.h"
#include "ctld/starts/wait.h"
#include "ctld/front/view.h"
#include "ctld/job/allocrecord.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/lifecycle.h"
#include "ctld/starts/start.h"
#include "ctld/policy/bootwait.h"
#include "ctld/starts/explain_text.h"
#include "ctld/schedlink/feasible.h"
#include "ctld/schedlink/gangturns.h"
#include "ctld/schedlink/makeroom.h"
#include "ctld/schedlink/passnotes.h"
#include "ctld/schedlink/plannednodes.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/schedlink/schedthread.h"
#include "model/use/resv_use.h"

/* Its (first) partition has no nodes, or the job asks for more than it has in all, of CPUs or else
 * of nodes: that is said rather than that its constraints are bad. */
static Pst__JobReason exceeded_reason(struct ctld *ctld, const Pst__JobRecord *r)
{
    _cleanup_free_ char *name =
        r->partition ? strndup(r->partition, strcspn(r->partition, ",")) : NULL;
    const struct partition *p = name ? cluster_partition(ctld->cluster, name) : NULL;
    uint64_t cpus = r->has_cpus_per_task ? r->cpus_per_task : 1;
    const char *hint;

    if (p && bitmap_empty(p->nodes))
        return PST__JOB_REASON__REASON_PARTITION_CONFIG;
    if (!p || feasible_check(ctld->feasible, ctld->cluster, p, r, true, &hint) !=
                  ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE)
        return PST__JOB_REASON__REASON_BAD_CONSTRAINTS;
    cpus *= r->has_num_tasks ? r->num_tasks : r->has_min_nodes ? r->min_nodes : 1;
    return cpus > feasible_cpus_within(ctld->cluster, p)
               ? PST__JOB_REASON__REASON_PARTITION_CONFIG
               : PST__JOB_REASON__REASON_PARTITION_NODE_LIMIT;
}

/* The schema and the scheduler number limits alike. */
_Static_assert(PST__JOB_REASON__REASON_QOS_MIN_OTHER - PST__JOB_REASON__REASON_ASSOC_GRP_CPU ==
                   SCHED_LIMIT(SCHED_LIMIT_QOS_MIN, SCHED_TRES_OTHER),
               "limits in TRES");
_Static_assert(PST__JOB_REASON__REASON_QOS_RUN_MINS_ACCOUNT_OTHER -
                       PST__JOB_REASON__REASON_ASSOC_GRP_CPU ==
                   SCHED_LIMIT(SCHED_LIMIT_QOS_RUN_MINS_ACCOUNT, SCHED_TRES_OTHER),
               "limits behind the others");
_Static_assert(PST__JOB_REASON__REASON_QOS_USAGE_THRESHOLD -
                       PST__JOB_REASON__REASON_ASSOC_GRP_CPU ==
                   SCHED_LIMIT_QOS_USAGE_THRESHOLD,
               "other limits");

/* Is one of its reservations in force? */
static bool has_active_resv(const struct ctld *ctld, const Pst__JobRecord *job)
{
    const char *p = job->reservation ? job->reservation : "";
    const Pst__ReservationRecord *r;
    bool unknown = false;

    while ((r = resv_next_named(ctld->cluster, &p, &unknown)))
        if (r->start_us <= core_now() && core_now() < r->end_us &&
            !(r->flags & UINT64_C(1) << PST__RESV_FLAG__RESV_FLAG_TIME_FLOAT))
            return true;
    return false;
}

/* Is it down, away, or unusable as it registered?  Drained nodes are not: they work. */
static bool is_unavailable(const struct ctld *ctld, const struct node *node)
{
    const Pst__NodeRecord *n = node->rec;
    const uint32_t bad = 1u << PST__NODE_FLAG__NODE_FLAG_NOT_RESPONDING |
                         1u << PST__NODE_FLAG__NODE_FLAG_INVALID_REG;

    if (n->state == PST__NODE_STATE__NODE_DOWN || n->state_flags & bad)
        return true;
    return !node_is_linked(ctld, node) && !noderecord_is_external(n) &&
           !(n->state_flags & NODE_POWER_BITS);
}

/* What jobs of a partition that wait for its nodes are told, while one message of the scheduler is
 * taken: at 15,000 nodes the list costs a millisecond, and every waiting job may want it. */
struct unavailable {
    struct unavailable_part {
        const struct partition *part;
        char *text; /* NULL: all nodes are there */
    } * parts;
    size_t n;
};

static void unavailable_done(struct unavailable *u)
{
    for (size_t i = 0; i < u->n; i++)
        free(u->parts[i].text);
    free(u->parts);
}

/* Which of the nodes are unavailable, as users read it; the caller frees.  NULL: none, or no
 * memory. */
static char *list_unavailable(const struct ctld *ctld, const struct bitmap *of)
{
    _cleanup_free_ const char **names = must(calloc(ctld->cluster->nnodes + 1, sizeof(*names)));
    _cleanup_free_ char *list = NULL;
    char *text;
    size_t n = 0;

    BITMAP_FOREACH (of, id) {
        const struct node *node = cluster_node(ctld->cluster, id);

        if (node && is_unavailable(ctld, node) && n < ctld->cluster->nnodes)
            names[n++] = node->rec->name;
    }
    if (!n || hostlist_fold_names(names, n, &list) < 0 ||
        asprintf(&text, "ReqNodeNotAvail, UnavailableNodes:%s", list) < 0)
        return NULL;
    return text;
}

/* The text for a partition; borrowed. */
static const char *unavailable_in(const struct ctld *ctld, struct unavailable *u,
                                  const struct partition *p)
{
    for (size_t i = 0; i < u->n; i++)
        if (u->parts[i].part == p)
            return u->parts[i].text;
    u->parts = must(realloc(u->parts, (u->n + 1) * sizeof(*u->parts)));
    u->parts[u->n] = (struct unavailable_part){ p, list_unavailable(ctld, p->nodes) };
    return u->parts[u->n++].text;
}

/* Where it waits for nodes that are down: which of those that it may have (of those it names, if
 * it names some). */
static void note_unavailable(const struct ctld *ctld, struct unavailable *u, Pst__JobRecord *r)
{
    const struct partition *p = cluster_partition(ctld->cluster, r->partition ? r->partition : "");
    _cleanup_(bitmap_free) struct bitmap *named = NULL;
    _cleanup_free_ char *own = NULL;
    const char *text = NULL;

    if (r->req_nodes && jobs_nodes_named(ctld->cluster, r->req_nodes, false, &named) != 0)
        return;
    if (named)
        text = own = list_unavailable(ctld, named);
    else if (p && p->nodes)
        text = unavailable_in(ctld, u, p);
    if (!text)
        return;
    SET(r, pend_reason, PST__JOB_REASON__REASON_REQ_NODE_NOT_AVAIL);
    (void)pb_set_str(&r->pend_text, text); /* -ENOMEM: the word stands alone */
}

static bool salloc_says(Pst__JobReason reason)
{
    return reason == PST__JOB_REASON__REASON_REQ_NODE_NOT_AVAIL ||
           reason == PST__JOB_REASON__REASON_NODES_UNAVAILABLE;
}

/* j, NULL when it is gone, waits for other jobs: what its priority will be, for the views. */
static void note_price(struct ctld *ctld, struct job *j, uint32_t priority)
{
    if (!j || !job_is_pending(j->rec) || job_is_held(j->rec))
        return;
    log_flag(PRIORITY, "JobId=%u has priority %u", j->rec->job_id, priority);
    SET(j->rec, cur_priority, priority);
    views_mark_job(ctld->views, j);
}

/* Why it waits, for the views; not journaled. */
static void note_expected(struct ctld *ctld, struct unavailable *u, struct job *j,
                          const struct sched_decision *d)
{
    static const Pst__JobReason reasons[] = {
        [SCHED_WHY_NONE] = PST__JOB_REASON__REASON_NONE,
        [SCHED_WHY_PRIORITY] = PST__JOB_REASON__REASON_PRIORITY,
        [SCHED_WHY_RESOURCES] = PST__JOB_REASON__REASON_RESOURCES,
        [SCHED_WHY_PART_DOWN] = PST__JOB_REASON__REASON_PARTITION_DOWN,
        [SCHED_WHY_PART_NODE_LIMIT] = PST__JOB_REASON__REASON_PARTITION_NODE_LIMIT,
        [SCHED_WHY_PART_TIME_LIMIT] = PST__JOB_REASON__REASON_PARTITION_TIME_LIMIT,
        [SCHED_WHY_PART_INACTIVE] = PST__JOB_REASON__REASON_PARTITION_INACTIVE,
        [SCHED_WHY_PART_MEM] = PST__JOB_REASON__REASON_MAX_MEM,
        [SCHED_WHY_NODE_NOT_AVAIL] = PST__JOB_REASON__REASON_REQ_NODE_NOT_AVAIL,
        [SCHED_WHY_BAD_CONSTRAINTS] = PST__JOB_REASON__REASON_BAD_CONSTRAINTS,
        [SCHED_WHY_NODES_UNAVAILABLE] = PST__JOB_REASON__REASON_NODES_UNAVAILABLE,
        [SCHED_WHY_LICENSES] = PST__JOB_REASON__REASON_LICENSES,
        [SCHED_WHY_CHANNELS] = PST__JOB_REASON__REASON_NVIDIA_IMEX_CHANNELS,
        [SCHED_WHY_RESV] = PST__JOB_REASON__REASON_RESERVATION,
        [SCHED_WHY_RESERVED] = PST__JOB_REASON__REASON_REQ_NODE_NOT_AVAIL,
        [SCHED_WHY_RESV_MAINT] = PST__JOB_REASON__REASON_RESERVED_MAINT,
        [SCHED_WHY_BEGIN_TIME] = PST__JOB_REASON__REASON_BEGIN_TIME,
    };
    Pst__JobRecord *r = j->rec;
    Pst__JobReason told = r->pend_reason;

    SET(r, pend_reason,
        d->why == SCHED_WHY_LIMIT
            ? (Pst__JobReason)(PST__JOB_REASON__REASON_ASSOC_GRP_CPU + (int)d->limit)
            : reasons[d->why]);
    if (d->why == SCHED_WHY_BAD_CONSTRAINTS) {
        r->pend_reason = exceeded_reason(ctld, r);
        if (r->het_job_id && r->pend_reason == PST__JOB_REASON__REASON_BAD_CONSTRAINTS)
            r->pend_reason = PST__JOB_REASON__REASON_NONE; /* another component says why */
    }
    if (d->why == SCHED_WHY_RESV && has_active_resv(ctld, r))
        r->pend_reason = PST__JOB_REASON__REASON_RESOURCES; /* it is there, and too small or full */
    (void)pb_set_str(&r->pend_text, NULL);
    if (d->why == SCHED_WHY_NODE_NOT_AVAIL || d->why == SCHED_WHY_NODES_UNAVAILABLE)
        note_unavailable(ctld, u, r);
    if (d->topo)
        (void)pb_set_str(&r->pend_text,
                         topo_why_text(d->topo)); /* -ENOMEM: the word stands alone */
    if (d->priority) {                            /* 0: it has not come so far */
        if (r->cur_priority != d->priority)
            log_flag(PRIORITY, "JobId=%u has priority %u", r->job_id, d->priority);
        SET(r, cur_priority, d->priority);
    }
    SET(r, last_sched_eval_us, core_now());
    r->has_expected_start_us = d->expected_us > 0;
    r->expected_start_us = d->expected_us;
    r->has_expected_cpus = d->expected_cpus > 0;
    r->expected_cpus = d->expected_cpus;
    plannednodes_note(ctld, j, d->expected_nodes, d->nexpected);
    (void)pb_set_str(&r->sched_nodes, NULL);
    if (d->nexpected) {
        const char **names = must(calloc(d->nexpected, sizeof(*names)));
        size_t n = 0;

        for (size_t i = 0; i < d->nexpected; i++) {
            const struct node *node = cluster_node(ctld->cluster, d->expected_nodes[i]);

            if (node)
                names[n++] = node->rec->name;
        }
        if (hostlist_fold_names(names, n, &r->sched_nodes) < 0)
            r->sched_nodes = NULL;
        free(names);
    }
    if (d->expected_us > 0)
        log_flag(BACKFILL, "JobId=%u is planned in %lld s on %s", r->job_id,
                 (long long)((d->expected_us - core_now()) / USEC_PER_SEC),
                 r->sched_nodes ? r->sched_nodes : "nodes to be found");
    if (d->expected_us > 0)
        log_flag(BACKFILL_MAP, "%s from %lld to %lld s from now: JobId=%u",
                 r->sched_nodes ? r->sched_nodes : "nodes to be found",
                 (long long)((d->expected_us - core_now()) / USEC_PER_SEC),
                 (long long)((d->expected_us - core_now()) / USEC_PER_SEC) +
                     60ll * r->time_limit_min,
                 r->job_id);
    jobfacts_note_waiting(j);
    if (d->topo || (r->pend_reason != told && salloc_says(r->pend_reason)))
        wait_notify(ctld, j, 0);
    views_mark_job(ctld->views, j);
}

/* Limits on jobs that age let this one begin, or keep it from doing so: its record says so, so that
 * the next controller goes on with it. */
static void note_age(struct ctld *ctld, const struct job *j, int64_t accrue_us)
{
    Pst__Transaction *tx = tx_new(core_now());

    log_flag(ACCRUE, "JobId=%u %s", j->rec->job_id,
             accrue_us == INT64_MAX ? "gathers no age: a limit on such jobs is reached"
                                    : "begins to gather age");
    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, j->rec->job_id), accrue_us,
        accrue_us == INT64_MAX ? 0 : accrue_us);
    (void)core_commit(ctld, tx); /* a full disk: the limit holds all the same */
}

/* The job of a question, explained; NULL also when the scheduler could not, or out of memory. */
static struct explain_made *explain_planned(struct ctld *ctld, const struct decisions_msg *m,
                                            const struct waiter *w)
{
    struct job asked = { .rec = w->record };
    struct explain_text t = { .ctld = ctld,
                              .job = &asked,
                              .x = m->planned ? &m->explained : NULL,
                              .now_us = core_now(),
                              .asker = &w->reply,
                              .planned = true };

    return w->plan ? explain_make(&t) : NULL;
}

static void send_test(struct ctld *ctld, const struct decisions_msg *m, struct waiter *w,
                      bool starts)
{
    const struct sched_decision *d = &m->d.items[0];
    Pst__Alloc *a = d->alloc.nnodes ? allocrecord_make(ctld->cluster, &d->alloc, 0, 0) : NULL;
    struct explain_made *made = explain_planned(ctld, m, w);
    Pst__SubmitReply reply = PST__SUBMIT_REPLY__INIT;

    reply.record = w->shows ? w->record : NULL;
    reply.message = w->message;
    reply.plan = made ? (Pst__ExplainReply *)explain_reply(made) : NULL; /* only packed */
    SET(&reply, job_id, w->test_id);
    if (starts || !w->plan)
        SET(&reply, start_us, d->expected_us ? d->expected_us : core_now());
    if (a) {
        SET(&reply, cpus, a->total_cpus);
        SET(&reply, node_count, (uint32_t)d->alloc.nnodes);
        reply.nodes = a->nodes;
    }
    reply.partition = (char *)d->partition; /* not changed by packing */
    core_reply(ctld, &w->reply, 0, 0, &reply.base);
    explain_done(made);
    if (a)
        pst__alloc__free_unpacked(a, NULL);
}

static void answer_test(struct ctld *ctld, const struct decisions_msg *m)
{
    struct waiter *w = wait_find(ctld, m->ticket);
    const struct sched_decision *d = &m->d.items[0];
    bool starts = m->when_result >= 0 && (d->kind != SCHED_EXPECT || d->expected_us);

    if (!w)
        return;
    if (starts || w->record)
        send_test(ctld, m, w, starts);
    else
        core_error(ctld, &w->reply, ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, NULL);
    wait_remove(ctld, w);
}

/* How many of these decisions, which begin with a component, belong to its group. */
static size_t group_decisions(const struct ctld *ctld, const struct sched_decision *d, size_t n)
{
    const struct job *first = cluster_job(ctld->cluster, d->job_id);
    size_t i = 1;

    if (!first || !het_is(first->rec))
        return 1;
    for (; i < n && i < first->rec->het_count && d[i].kind == SCHED_START; i++) {
        const struct job *j = cluster_job(ctld->cluster, d[i].job_id);

        if (!j || !het_is(j->rec) || j->rec->het_job_id != first->rec->het_job_id)
            break;
    }
    return i;
}

/* Another cluster must be asked first: the scheduler hears of the job again after its answer. */
static void wait_for_lock(struct ctld *ctld, struct job *j)
{
    feed_refused(ctld, j->rec->job_id);
    feed_job_gone(ctld, j);
    SET(j->rec, pend_reason, PST__JOB_REASON__REASON_FED_JOB_LOCK);
    views_mark_job(ctld->views, j);
}

/* One job, or the components of one: all start or none does. */
static void start_proposed(struct ctld *ctld, const struct start_pass *pass, uint64_t batch,
                           const struct sched_decision *d, size_t n)
{
    const struct job *first = cluster_job(ctld->cluster, d->job_id);
    bool holds = first && (!het_is(first->rec) || n == first->rec->het_count);

    if (n == 1 && first && !services_may_start(ctld, first)) {
        wait_for_lock(ctld, cluster_job(ctld->cluster, d->job_id));
        return;
    }
    for (size_t i = 0; holds && i < n; i++)
        holds = !feed_told_since(ctld, d[i].job_id, batch) &&
                start_holds(ctld, cluster_job(ctld->cluster, d[i].job_id), &d[i]);
    if (!atomic_load(&ctld->disk_full) && holds && start_jobs(ctld, pass, d, n))
        return;
    for (size_t i = 0; i < n; i++) {
        if (feed_told_since(ctld, d[i].job_id, batch))
            feed_overtaken(ctld, d[i].job_id);
        else if (atomic_load(&ctld->disk_full))
            passnotes_put_off(ctld, d[i].job_id);
        else
            feed_refused(ctld, d[i].job_id);
    }
}

void lifecycle_decisions(struct ctld *ctld, struct decisions_msg *m)
{
    const struct pass_note *note = m->nnotes ? &m->notes[m->nnotes - 1] : NULL;
    const struct start_pass pass = { .number = note ? note->number : 0,
                                     .backfill = note && note->pieces };
    _cleanup_val_(unavailable_done) struct unavailable unavailable = { 0 };

    passnotes_keep(ctld, m);
    if (m->explain || m->when)
        wait_answered(ctld, m->ticket);
    if (m->explain) {
        explain_answer(ctld, m);
        decisions_msg_free(m);
        return;
    }
    if (m->when) {
        answer_test(ctld, m);
        decisions_msg_free(m);
        return;
    }
    for (size_t i = 0, n; i < m->d.n; i += n) {
        const struct sched_decision *d = &m->d.items[i];
        struct job *j = cluster_job(ctld->cluster, d->job_id);

        n = d->kind == SCHED_START ? group_decisions(ctld, d, m->d.n - i) : 1;
        if (d->kind == SCHED_START)
            start_proposed(ctld, &pass, m->seen_batch, d, n);
        else if (d->kind == SCHED_PREEMPT)
            preempt_decision(ctld, d);
        else if (d->kind == SCHED_PRICE)
            note_price(ctld, j, d->priority);
        else if (j && job_is_pending(j->rec) && feed_knows(ctld, d->job_id))
            note_expected(ctld, &unavailable, j, d);
        if (d->accrue_us && j && job_is_pending(j->rec))
            note_age(ctld, j, d->accrue_us);
    }
    gang_settle_fresh(ctld);
    decisions_msg_free(m);
}

/* ---- the service ----------------------------------------------------------------------------- */

const struct ctld_service decisions_service = {
    .name = "decisions",
    .on_decisions = lifecycle_decisions,
};
