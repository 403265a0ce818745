/* makeroom.c - running jobs make room for more important ones; see makeroom.h.
 *
 * A victim's record says when it was preempted, how, and until when it may go on (GraceTime), or
 * for which jobs it is suspended.  A suspended victim goes on when none of those jobs holds
 * resources any more. */
#include "ctld/schedlink/makeroom.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/schedlink/gangturns.h"
#include "ctld/schedlink/passnotes.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/cleaning.h"
#include "ctld/job/lifecycle.h"
#include "fields.h"

/* A job for which another was suspended must start within this time; else the victim goes on. */
#define START_PATIENCE_US (300 * USEC_PER_SEC)

static bool has_option(const struct conf *conf, const char *name)
{
    return conf_option(conf, CONF_PREEMPT_PARAMETERS, name, NULL, NULL);
}

/* ---- what happens to a victim ---------------------------------------------------------------- */

static const Pst__PreemptMode modes[] = {
    [SCHED_MODE_CANCEL] = PST__PREEMPT_MODE__PREEMPT_CANCEL,
    [SCHED_MODE_REQUEUE] = PST__PREEMPT_MODE__PREEMPT_REQUEUE,
    [SCHED_MODE_SUSPEND] = PST__PREEMPT_MODE__PREEMPT_SUSPEND,
};

static uint64_t end_victim(struct ctld *ctld, struct job *j, bool requeue)
{
    return lifecycle_end(ctld, j,
                         &(struct job_end){ .state = JOB_STATE(PREEMPTED),
                                            .kill_text = CLEANING_PREEMPTION,
                                            .requeue = requeue && job_can_requeue(j->rec),
                                            .by_command = true });
}

static uint64_t begin_grace(struct ctld *ctld, struct job *j, enum sched_preempt_mode mode,
                            int64_t grace_us)
{
    Pst__SignalSteps sig = PST__SIGNAL_STEPS__INIT;
    int64_t now = core_now(), until = now + grace_us;
    Pst__Transaction *tx = tx_new(now);
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_PREEMPT, j->rec->job_id);
    bool users = has_option(ctld->conf, "send_user_signal") && j->rec->has_warn_signal;
    uint64_t lsn;

    SET(set, preempt_us, now);
    SET(set, preempt_kill_us, until);
    SET(set, preempt_mode, modes[mode]);
    if (!j->rec->has_end_us || j->rec->end_us > until)
        SET(set, end_us, until);
    lsn = core_commit(ctld, tx);
    if (!lsn)
        return 0;
    SET(&sig, include_batch, true);
    SET(&sig, signal, SIGCONT);
    launch_signal(ctld, j, lsn, &sig);
    sig.signal = users ? j->rec->warn_signal : SIGTERM;
    launch_signal(ctld, j, lsn, &sig);
    feed_end_time(ctld, j);
    feed_leaving(ctld, j);
    return lsn;
}

/* Does the job j was suspended for use its CPUs, or will it at once? */
static bool awaits_cpus(struct ctld *ctld, const struct job *j, uint32_t id, int64_t now_us)
{
    const struct job *by = cluster_job(ctld->cluster, id);

    if (!by)
        return jobs_array_running(ctld, id) > 0;
    if (job_is_array(by->rec) && jobs_array_running(ctld, id) > 0)
        return true;
    return job_holds_resources(by->rec) ||
           (job_is_pending(by->rec) && !job_is_held(by->rec) && now_us < j->rec->preempt_kill_us);
}

/* For one more of them when it is suspended already; those that ended meanwhile are left out. */
static uint64_t suspend_for(struct ctld *ctld, struct job *j, uint32_t preemptor)
{
    const Pst__JobRecord *r = j->rec;
    bool already = job_is_suspended(r);
    int64_t now = core_now();
    Pst__Transaction *tx = tx_new(now);
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_PREEMPT, r->job_id);
    uint64_t lsn;

    set->preempted_by = must(malloc((r->n_preempted_by + 1) * sizeof(*set->preempted_by)));
    for (size_t i = 0; i < r->n_preempted_by; i++)
        if (awaits_cpus(ctld, j, r->preempted_by[i], now))
            set->preempted_by[set->n_preempted_by++] = r->preempted_by[i];
    set->preempted_by[set->n_preempted_by++] = preemptor;
    SET(set, preempt_kill_us, now + START_PATIENCE_US);
    if (!already || job_waits_for_turn(r)) {
        SET(set, preempt_us, now);
        SET(set, preempt_mode, PST__PREEMPT_MODE__PREEMPT_SUSPEND);
    }
    if (!already)
        lifecycle_fill_suspend(set, r, true, now);
    else if (job_waits_for_turn(r))
        tx_clear(tx, JOB_F_GANG);
    lsn = core_commit(ctld, tx);
    if (!lsn)
        return 0;
    if (!already)
        launch_suspend(ctld, j, lsn, true);
    feed_yield(ctld, j, true);
    return lsn;
}

static int64_t grace_us(const struct ctld *ctld, const struct job *j)
{
    const struct partition *p = cluster_partition(ctld->cluster, j->rec->partition);

    if (preempt_by_qos(ctld->conf)) {
        const Pst__QosRecord *q = j->rec->qos ? am_qos_named(ctld->cluster->am, j->rec->qos) : NULL;

        return q && q->has_grace_s ? (int64_t)q->grace_s * USEC_PER_SEC : 0;
    }
    return p && p->rec->has_grace_time_s ? (int64_t)p->rec->grace_time_s * USEC_PER_SEC : 0;
}

/* False: the disk is full. */
static bool preempt_one(struct ctld *ctld, const struct sched_victim *v, uint32_t preemptor)
{
    struct job *j = cluster_job(ctld->cluster, v->job_id);
    struct job *leader =
        j && het_is_follower(j->rec) ? het_component(ctld->cluster, j->rec, 0) : NULL;

    if (leader && !job_is_ended(leader->rec))
        j = leader; /* with it go all components */
    if (!j || job_is_pending(j->rec) || job_is_ended(j->rec))
        return true; /* it has gone by itself */
    if (v->mode == SCHED_MODE_SUSPEND && !het_is(j->rec))
        return (job_is_suspended(j->rec) && !j->rec->n_preempted_by &&
                !job_waits_for_turn(j->rec)) ||
               suspend_for(ctld, j, preemptor) != 0;
    if (j->rec->has_preempt_us && !job_is_suspended(j->rec) &&
        j->rec->preempt_mode != PST__PREEMPT_MODE__PREEMPT_SUSPEND)
        return true; /* in its grace */
    if (grace_us(ctld, j) && job_is_running(j->rec))
        return begin_grace(ctld, j, v->mode, grace_us(ctld, j)) != 0;
    return end_victim(ctld, j, v->mode == SCHED_MODE_REQUEUE) != 0;
}

/* ---- the decision ---------------------------------------------------------------------------- */

static void log_choice(const struct ctld *ctld, const struct sched_decision *d)
{
    static const char *const verbs[] = { [SCHED_MODE_CANCEL] = "cancelled",
                                         [SCHED_MODE_REQUEUE] = "requeued",
                                         [SCHED_MODE_SUSPEND] = "suspended" };
    _cleanup_free_ const char **names = calloc(d->alloc.nnodes + 1, sizeof(*names));
    _cleanup_free_ char *nodes = NULL;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    size_t n = 0;

    for (size_t i = 0; names && i < d->alloc.nnodes; i++) {
        const struct node *node = cluster_node(ctld->cluster, d->alloc.nodes[i].node_id);

        if (node)
            names[n++] = node->rec->name;
    }
    if (!names || hostlist_fold_names(names, n, &nodes) < 0)
        return;
    for (size_t i = 0; i < d->nvictims; i++) {
        const struct job *j = cluster_job(ctld->cluster, d->victims[i].job_id);
        enum sched_preempt_mode mode = d->victims[i].mode;

        if (mode == SCHED_MODE_REQUEUE && j && !job_can_requeue(j->rec))
            mode = SCHED_MODE_CANCEL;
        strbuf_addf(&sb, "%s%u (%s)", i ? ", " : "", d->victims[i].job_id, verbs[mode]);
    }
    log_info(
        "job %u: preempts %zu of %u candidates for %s: job %s; without any of them it does not fit",
        d->job_id, d->nvictims, d->candidates, nodes, strbuf_str(&sb));
}

void preempt_decision(struct ctld *ctld, const struct sched_decision *d)
{
    const struct job *j = cluster_job(ctld->cluster, d->job_id);

    if (atomic_load(&ctld->disk_full)) {
        passnotes_put_off(ctld, d->job_id);
        return;
    }
    if (!j || !job_is_pending(j->rec) || job_is_held(j->rec) ||
        !jobs_in_partition(j->rec, d->partition)) {
        feed_refused(ctld, d->job_id);
        return;
    }
    log_choice(ctld, d);
    for (size_t i = 0; i < d->nvictims; i++) {
        if (!preempt_one(ctld, &d->victims[i], d->job_id)) {
            passnotes_put_off(ctld, d->job_id);
            return;
        }
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

bool preempt_tick(struct ctld *ctld, struct job *j, int64_t now_us)
{
    const Pst__JobRecord *r = j->rec;

    if (!r->has_preempt_us || !r->has_preempt_kill_us || job_is_ended(r))
        return false;
    if (job_is_suspended(r)) {
        for (size_t i = 0; i < r->n_preempted_by; i++)
            if (awaits_cpus(ctld, j, r->preempted_by[i], now_us))
                return false;
        if (!r->n_preempted_by ||
            !(gang_on(ctld->conf) ? gang_enter(ctld, j) : lifecycle_suspend(ctld, j, false)))
            return false;
        log_info("job %u: goes on, nobody it was suspended for uses its CPUs any more", r->job_id);
        return true;
    }
    if (r->preempt_mode == PST__PREEMPT_MODE__PREEMPT_SUSPEND || now_us < r->preempt_kill_us)
        return false;
    (void)end_victim(ctld, j, r->preempt_mode == PST__PREEMPT_MODE__PREEMPT_REQUEUE);
    return true;
}
