/* lifecycle.c - ends, requeues and cleaning of jobs; see lifecycle.h.  Starts are in start.c. */
#include "ctld/job/lifecycle.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/process/oomstatus.h"
#include "base/pb/pbutil.h"
#include "base/sluid.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "ctld/job/crontimes.h"
#include "ctld/job/cleaning.h"
#include "ctld/job/expedite.h"
#include "ctld/job/hetgroup.h"
#include "ctld/notify/hooks.h"
#include "ctld/policy/bootwait.h"
#include "ctld/job/jobfacts.h"
#include "ctld/core/service.h"
#include "daemon/credlife.h"
#include "feed/records.h"
#include "fieldlists.h"
#include "fields.h"

static void count_end(struct ctld *ctld, Pst__Transaction *tx, Pst__JobState state)
{
    Pst__ClusterRecord *c = tx_cluster(tx), *now = ctld->cluster->rec;

    if (state == JOB_STATE(CANCELLED))
        SET(c, jobs_cancelled, now->jobs_cancelled + 1);
    else if (state == JOB_STATE(COMPLETED))
        SET(c, jobs_completed, now->jobs_completed + 1);
    else
        SET(c, jobs_failed, now->jobs_failed + 1);
}

/* How long a requeued job waits: requeue_delay of SchedulerParameters; without it, as long as a
 * credential lives (two minutes) when a user or the exit code asked for the requeue, so that the
 * user can still change the job and one that fails at once does not run in a tight loop; and none
 * when the system makes up for a failure. */
static void delay_start(const struct ctld *ctld, const Pst__JobRecord *r, Pst__JobRecord *set,
                        bool by_command)
{
    uint64_t delay_s = by_command ? (uint64_t)(credlife_us(ctld->conf) / USEC_PER_SEC) : 0;

    if (cron_is(r)) { /* this run is skipped */
        SET(set, begin_us, cron_next_us(r));
        return;
    }
    /* else as it is */
    (void)conf_option_u64(ctld->conf, CONF_SCHEDULER_PARAMETERS, "requeue_delay", &delay_s);
    if (delay_s && !expedite_is_asked(ctld, r))
        SET(set, begin_us, core_now() + (int64_t)delay_s * USEC_PER_SEC);
}

/* What a job waited for when it was cancelled stays told. */
static void keep_reason(Pst__JobRecord *set, const Pst__JobRecord *r)
{
    if (r->reason_text || (r->has_reason && r->reason != PST__JOB_REASON__REASON_NONE))
        return; /* it has one that does not go with the state */
    if (r->has_pend_reason)
        SET(set, reason, r->pend_reason);
    if (r->pend_text || r->pend_reason == PST__JOB_REASON__REASON_REQ_NODE_NOT_AVAIL)
        (void)pb_set_str(&set->reason_text, /* -ENOMEM: left out */
                         r->pend_text ? r->pend_text
                                      : "ReqNodeNotAvail, May be reserved for other job");
}

/* The user's hold of a task of an array, given while it ran, is over with the run.  Other jobs stay
 * held, and so does what an administrator held and what was cancelled before it ran. */
static bool hold_ends(const Pst__JobRecord *r)
{
    return r->has_array_job_id && r->has_held_by_user && r->held_by_user && r->alloc &&
           !job_comes_back(r); /* that hold was given after the run */
}

/* What the end changes in the record. */
static void fill_end(struct ctld *ctld, Pst__Transaction *tx, const struct job *j,
                     const struct job_end *end, bool clean)
{
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_END, j->rec->job_id);
    uint32_t flags = clean ? 0 : JOB_FLAG(COMPLETING);

    if (end->revoked)
        flags |= JOB_FLAG(REVOKED);
    if (end->requeue)
        flags |= JOB_FLAG(REQUEUED) | (end->requeue_hold ? JOB_FLAG(REQUEUE_HOLD) : 0) |
                 (end->special_exit ? JOB_FLAG(SPECIAL_EXIT) : 0) |
                 (expedite_begins(ctld, j->rec, end) ? JOB_FLAG(EXPEDITING) : 0);
    if (flags & JOB_FLAG(EXPEDITING) && end->state == JOB_STATE(NODE_FAIL))
        SET(set, hardware_failed, true);
    SET(set, state, end->state);
    SET(set, state_flags, flags);
    SET(set, end_us, core_now());
    if (end->has_exit)
        SET(set, exit_status, end->exit_status);
    if (end->state == JOB_STATE(PREEMPTED) && !j->rec->has_preempt_us)
        SET(set, preempt_us, core_now());
    if (end->reason)
        SET(set, reason, end->reason);
    if (end->reason_text)
        (void)pb_set_str(&set->reason_text, end->reason_text); /* -ENOMEM: left out */
    if (job_is_pending(j->rec) && end->state == JOB_STATE(CANCELLED) && !end->reason &&
        !end->reason_text)
        keep_reason(set, j->rec);
    if (end->by_user)
        SET(set, cancel_uid, end->uid);
    if (job_is_suspended(j->rec) && j->rec->has_suspend_us)
        SET(set, suspended_us,
            (j->rec->has_suspended_us ? j->rec->suspended_us : 0) + core_now() -
                j->rec->suspend_us);
    if (end->failed_node)
        (void)pb_set_str(&set->failed_node, end->failed_node); /* -ENOMEM: left out */
    if (end->batch_failures)
        SET(set, batch_failures, end->batch_failures);
    if (clean)
        SET(set, released, true);
    if (end->requeue && hold_ends(j->rec)) {
        tx_clear(tx, JOB_F_PRIORITY);
        tx_clear(tx, JOB_F_HELD_BY_USER);
        if (!end->reason)
            tx_clear(tx, JOB_F_REASON);
    }
    if (!end->requeue)
        count_end(ctld, tx, end->state);
    else
        delay_start(ctld, j->rec, set, end->by_command);
}

/* A component that ended before the others comes back with them. */
static void requeue_component(struct ctld *ctld, struct job *j, const struct job_end *end)
{
    const uint32_t held = (end->requeue_hold ? JOB_FLAG(REQUEUE_HOLD) : 0) |
                          (end->special_exit ? JOB_FLAG(SPECIAL_EXIT) : 0);
    Pst__Transaction *tx;

    if (job_has_flag(j->rec, JOB_FLAG(REQUEUED)))
        return;
    if (!job_has_flag(j->rec, JOB_FLAG(COMPLETING))) {
        (void)lifecycle_requeue(ctld, j, end->requeue_hold, end->special_exit, NULL);
        return;
    }
    tx = tx_new(core_now());
    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, j->rec->job_id), state_flags,
        j->rec->state_flags | JOB_FLAG(REQUEUED) | held);
    /* disk full: it stays ended, and the others wait for it to be requeued */
    (void)core_commit(ctld, tx);
}

/* What ends with the job of this id, which was a leader. */
static void end_components(struct ctld *ctld, uint32_t leader, const struct job_end *end)
{
    const struct job *first = cluster_job(ctld->cluster, leader);
    uint32_t n = first && het_is_leader(first->rec) ? first->rec->het_count : 0;
    struct job_end with = *end;

    with.nodes_clean = false; /* that was said of the leader's node */
    for (uint32_t k = 1; k < n; k++) {
        struct job *j;

        first = cluster_job(ctld->cluster, leader);
        j = first ? het_component(ctld->cluster, first->rec, k) : NULL;
        if (j && !job_is_ended(j->rec))
            (void)lifecycle_end(ctld, j, &with); /* disk full: when the controller starts again */
        else if (j && end->requeue)
            requeue_component(ctld, j, end);
    }
}

uint64_t lifecycle_end(struct ctld *ctld, struct job *j, const struct job_end *end)
{
    bool holds = job_holds_resources(j->rec);
    bool epilog = holds && hooks_epilog_wanted(ctld);
    /* no node has anything of it */
    bool at_once = (job_is_external(j->rec) && !job_keeps_nodes(j->rec)) ||
                   (end->nodes_clean && holds && j->rec->alloc->n_node_ids == 1);
    bool clean = !holds || (at_once && !epilog);
    Pst__Transaction *tx = tx_new(core_now());
    uint32_t id = j->rec->job_id;
    bool leader = het_is_leader(j->rec);
    uint64_t lsn;

    fill_end(ctld, tx, j, end, clean);
    services_job_ending(ctld, tx, j, end);
    if (clean)
        services_job_closing(ctld, tx, j, end->has_exit ? end->exit_status : 0);
    lsn = core_commit(ctld, tx);
    if (!lsn)
        return 0;
    if (epilog)
        hooks_epilog(ctld, j, lsn);
    if (!clean)
        cleaning_begin(ctld, j, lsn, end->kill_text);
    services_job_ended(ctld, j, lsn);
    if (!clean && !cleaning_awaits_any(ctld, j))
        lifecycle_node_clean(ctld, j, UINT32_MAX);
    else if (clean && end->requeue && (j = cluster_job(ctld->cluster, id)))
        lifecycle_node_clean(ctld, j, UINT32_MAX);
    else if (clean && (j = cluster_job(ctld->cluster, id)))
        services_job_over(ctld, j);
    if (leader)
        end_components(ctld, id, end);
    return lsn;
}

/* "0,3-5" of RequeueExit and RequeueExitHold. */
static bool in_exit_list(const struct ctld *ctld, enum conf_key key, uint32_t code)
{
    const char *list = conf_str(ctld->conf, key);
    struct bitmap *bm = NULL;
    bool hit = false;

    if (!list || code > 255 || bitmap_new(256, &bm) < 0)
        return false;
    if (bitmap_parse(bm, list, NULL) == 0)
        hit = bitmap_test(bm, code);
    bitmap_free(bm);
    return hit;
}

uint64_t lifecycle_finished(struct ctld *ctld, struct job *j, uint32_t exit_status,
                            bool nodes_clean)
{
    struct job_end end = { .has_exit = true,
                           .exit_status = exit_status,
                           .nodes_clean = nodes_clean };
    uint32_t code = WIFEXITED((int)exit_status) ? (uint32_t)WEXITSTATUS((int)exit_status) : 0;
    char text[64];

    if (exit_status == STATUS_OOM) {
        end.state = JOB_STATE(OUT_OF_MEMORY);
        end.reason = PST__JOB_REASON__REASON_OUT_OF_MEMORY;
    } else if (exit_status == 0) {
        end.state = JOB_STATE(COMPLETED);
    } else if (WIFSIGNALED((int)exit_status)) {
        int sig = WTERMSIG((int)exit_status);

        (void)snprintf(text, sizeof(text), "RaisedSignal:%d(%s)", sig, strsignal(sig));
        end.state = JOB_STATE(FAILED);
        end.reason = PST__JOB_REASON__REASON_RAISED_SIGNAL;
        end.reason_text = text;
    } else {
        end.state = JOB_STATE(FAILED);
        end.reason = PST__JOB_REASON__REASON_NON_ZERO_EXIT_CODE;
    }
    if (j->rec->has_preempt_kill_us && !job_is_suspended(j->rec) && exit_status &&
        j->rec->preempt_mode !=
            PST__PREEMPT_MODE__PREEMPT_SUSPEND) { /* in the grace it was given */
        end.state = JOB_STATE(PREEMPTED);
        end.reason = PST__JOB_REASON__REASON_NONE;
        end.reason_text = NULL;
        end.by_command = true;
        end.requeue = j->rec->preempt_mode == PST__PREEMPT_MODE__PREEMPT_REQUEUE &&
                      j->rec->has_batch && j->rec->batch && j->rec->has_requeue && j->rec->requeue;
    } else if (end.state == JOB_STATE(FAILED) && job_can_requeue(j->rec) &&
               expedite_is_asked(ctld, j->rec)) {
        end.requeue = end.expedite = true;
    } else if (job_can_requeue(j->rec) && code) {
        end.requeue_hold = in_exit_list(ctld, CONF_REQUEUE_EXIT_HOLD, code);
        end.special_exit = end.requeue_hold;
        end.requeue = end.requeue_hold || in_exit_list(ctld, CONF_REQUEUE_EXIT, code);
        end.by_command = end.requeue;
    }
    return lifecycle_end(ctld, j, &end);
}

/* ---- requeue --------------------------------------------------------------------------------- */

/* Why a requeued job does not start again by itself: held while it ran, or by this requeue. */
static Pst__JobReason held_reason(const Pst__JobRecord *r, bool by_requeue)
{
    if (!by_requeue)
        return r->has_held_by_user && r->held_by_user ? PST__JOB_REASON__REASON_JOB_HELD_USER
                                                      : PST__JOB_REASON__REASON_JOB_HELD_ADMIN;
    if (r->has_reason && (r->reason == PST__JOB_REASON__REASON_LAUNCH_FAILED_REQUEUED_HELD ||
                          r->reason == PST__JOB_REASON__REASON_USER_ENV_REQUEUED_HELD ||
                          r->reason == PST__JOB_REASON__REASON_JOB_HOLD_MAX_REQUEUE))
        return r->reason;
    return PST__JOB_REASON__REASON_JOB_HELD_USER;
}

/* The next number of a record in accounting, and its SLUID: a transaction may take several. */
static uint64_t take_numbers(struct ctld *ctld, Pst__Transaction *tx, char text[SLUID_TEXT_SIZE])
{
    const Pst__ClusterRecord *now = ctld->cluster->rec;
    Pst__ClusterRecord *set = tx_cluster(tx);
    uint64_t db_id = set->has_next_db_id ? set->next_db_id : now->next_db_id;
    uint64_t last = set->has_last_sluid ? set->last_sluid : now->last_sluid;
    uint64_t id = sluid_next(last, now->sluid_cluster, core_now());

    (void)sluid_text(id, text);
    SET(set, next_db_id, db_id + 1);
    SET(set, last_sluid, id);
    return db_id;
}

void lifecycle_new_run(struct ctld *ctld, Pst__Transaction *tx, Pst__JobRecord *rec)
{
    char text[SLUID_TEXT_SIZE];

    SET(rec, db_id, take_numbers(ctld, tx, text));
    (void)pb_set_str(&rec->sluid, text); /* -ENOMEM: a run without one */
}

void lifecycle_new_part(struct ctld *ctld, Pst__Transaction *tx, const struct job *j,
                        Pst__JobRecord *set)
{
    char text[SLUID_TEXT_SIZE];

    SET(set, part_id, take_numbers(ctld, tx, text));
    (void)pb_set_str(&set->part_sluid, text); /* -ENOMEM: it has that of the run */
    SET(set, resize_us, core_now());
    if (j->rec->has_suspended_us)
        SET(set, part_suspended_us, j->rec->suspended_us);
}

/* The exit code of the script holds the job, not a command. */
static bool held_by_exit(const Pst__JobRecord *r)
{
    return job_state(r) == JOB_STATE(FAILED) && r->has_exit_status && r->exit_status &&
           (job_has_flag(r, JOB_FLAG(SPECIAL_EXIT)) || job_has_flag(r, JOB_FLAG(REQUEUE_HOLD)) ||
            expedite_is_over(r));
}

/* How a job that waits again is shown. */
static uint32_t requeued_flags(const Pst__JobRecord *r, bool special)
{
    if (special)
        return JOB_FLAG(SPECIAL_EXIT);
    return expedite_goes_on(r)   ? JOB_FLAG(EXPEDITING)
           : expedite_is_over(r) ? JOB_FLAG(REQUEUE_HOLD)
                                 : 0;
}

/* Which nodes an expedited job is to have again. */
static void fill_expedite_nodes(struct ctld *ctld, Pst__Transaction *tx, const Pst__JobRecord *r,
                                Pst__JobRecord *set)
{
    if (expedite_goes_on(r)) {
        free(set->expedite_nodes);
        set->expedite_nodes = expedite_healthy_nodes(ctld, r);
    }
    if (!set->expedite_nodes && r->expedite_nodes)
        tx_clear(tx, JOB_F_EXPEDITE_NODES);
}

/* Is the beginning the one that the end of the run set? */
static bool delay_from_end(const Pst__JobRecord *r)
{
    return job_has_flag(r, JOB_FLAG(REQUEUED)) && !cron_is(r) && r->has_begin_us && r->has_end_us &&
           r->begin_us > r->end_us;
}

static void fill_requeue(struct ctld *ctld, Pst__Transaction *tx, const struct job *j, bool hold,
                         bool special)
{
    /* A field is either cleared or set, never both: clearing comes last. */
    static const uint32_t gone[] = { JOB_REQUEUE_FIELDS };
    const Pst__JobRecord *r = j->rec;
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_REQUEUE, r->job_id);

    for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
        if (!(held_by_exit(r) && gone[i] == JOB_F_EXIT_STATUS)) /* why it is held stays shown */
            tx_clear(tx, gone[i]);
    if (r->req_reservation) { /* it asks as it did before */
        tx_clear(tx, JOB_F_REQ_RESERVATION);
        if (*r->req_reservation)
            /* -ENOMEM: the one it ran in */
            (void)pb_set_str(&set->reservation, r->req_reservation);
        else
            tx_clear(tx, JOB_F_RESERVATION);
    }
    SET(set, state, JOB_STATE(PENDING));
    SET(set, state_flags, requeued_flags(r, special));
    fill_expedite_nodes(ctld, tx, r, set);
    SET(set, restart_count, job_restarts(r) + 1);
    SET(set, requeue_us, core_now());
    if (delay_from_end(r)) /* requeue_delay counts from now, when the nodes are clean */
        SET(set, begin_us, core_now() + r->begin_us - r->end_us);
    if (hold || special || (job_is_held(r) && !hold_ends(r))) {
        SET(set, reason, held_reason(r, hold || special));
    } else {
        tx_clear(tx, JOB_F_REASON);
        if (job_is_held(r)) {
            tx_clear(tx, JOB_F_PRIORITY);
            tx_clear(tx, JOB_F_HELD_BY_USER);
        }
    }
    if ((hold || special) && !(special && held_by_exit(r)) &&
        set->reason == PST__JOB_REASON__REASON_JOB_HELD_USER)
        (void)pb_set_str(&set->reason_text, "job requeued in held state"); /* -ENOMEM: the word */
    else
        tx_clear(tx, JOB_F_REASON_TEXT);
    if (hold || special)
        SET(set, priority, 0);
    lifecycle_new_run(ctld, tx, set);
}

uint64_t lifecycle_requeue(struct ctld *ctld, struct job *j, bool hold, bool special_exit,
                           const char *kill_text)
{
    struct job_end end = { .state = JOB_STATE(CANCELLED),
                           .requeue = true,
                           .requeue_hold = hold,
                           .special_exit = special_exit,
                           .by_command = true,
                           .kill_text = kill_text };
    Pst__Transaction *tx;

    if (job_holds_resources(j->rec) && !job_is_ended(j->rec))
        return lifecycle_end(ctld, j, &end);
    tx = tx_new(core_now());
    delay_start(ctld, j->rec, tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, j->rec->job_id),
                true);
    fill_requeue(ctld, tx, j, hold, special_exit);
    return core_commit(ctld, tx);
}

uint64_t lifecycle_again(struct ctld *ctld, struct job *j, int64_t begin_us)
{
    uint32_t restarts = job_restarts(j->rec);
    Pst__Transaction *tx = tx_new(core_now());
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, j->rec->job_id);

    SET(set, begin_us, begin_us);
    SET(set, eligible_us, begin_us);
    fill_requeue(ctld, tx, j, false, false);
    /* a run, no restart */
    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, j->rec->job_id), restart_count, restarts);
    return core_commit(ctld, tx);
}

/* ---- cleaning -------------------------------------------------------------------------------- */

void lifecycle_cleaned(struct ctld *ctld, struct job *j)
{
    Pst__Transaction *tx = tx_new(core_now());
    uint32_t id = j->rec->job_id;
    bool requeue = job_has_flag(j->rec, JOB_FLAG(REQUEUED));
    uint64_t lsn;

    services_job_closing(ctld, tx, j, SIGKILL);
    if (requeue) {
        fill_requeue(ctld, tx, j,
                     job_has_flag(j->rec, JOB_FLAG(REQUEUE_HOLD)) || expedite_is_over(j->rec),
                     job_has_flag(j->rec, JOB_FLAG(SPECIAL_EXIT)));
    } else {
        Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_CLEANED, id);

        SET(set, state_flags, j->rec->state_flags & ~JOB_FLAG(COMPLETING));
        SET(set, released, true);
    }
    lsn = core_commit(ctld, tx);
    if (!lsn)
        return; /* the nodes say so again when they register */
    cleaning_forget(ctld, j);
    services_job_cleaned(ctld, j);
    if (!requeue && (j = cluster_job(ctld->cluster, id))) {
        services_job_progress(ctld, j, lsn); /* who waits for its end hears of it now */
        services_job_over(ctld, j);
    }
}

void lifecycle_node_clean(struct ctld *ctld, struct job *j, uint32_t node_id)
{
    bool cleaning = cleaning_is_on(ctld, j);

    if (!cleaning && !job_has_flag(j->rec, JOB_FLAG(REQUEUED)))
        return;
    if (cleaning && node_id != UINT32_MAX && !cleaning_passed(ctld, j, node_id))
        return;
    if (!hooks_epilog_runs(ctld, j) && !cleaning_awaits_any(ctld, j))
        lifecycle_cleaned(ctld, j);
}

/* ---- jobs that keep their nodes -------------------------------------------------------------- */

void lifecycle_let_go(struct ctld *ctld, struct job *j)
{
    if (!job_is_external(j->rec) || job_keeps_nodes(j->rec) || !cleaning_is_on(ctld, j))
        return;
    cleaning_pass_all(ctld, j);
    lifecycle_node_clean(ctld, j, UINT32_MAX);
}

/* Nobody has said that the nodes are free: the job is over, and they are for an administrator. */
static void drain_kept(struct ctld *ctld, struct job *j)
{
    Pst__Transaction *tx = tx_new(core_now());
    const Pst__Alloc *a = j->rec->alloc;
    uint32_t id = j->rec->job_id;
    char reason[64];

    (void)snprintf(reason, sizeof(reason), "JobId=%u may still run here", id);
    for (size_t i = 0; i < a->n_node_ids; i++) {
        const struct node *n = cluster_node(ctld->cluster, a->node_ids[i]);
        Pst__NodeRecord *set;

        if (!n || !cleaning_awaits(ctld, j, i) || n->rec->state_flags & NODE_BIT(DRAIN))
            continue;
        set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_STATE, n->rec->node_id);
        SET(set, state_flags, n->rec->state_flags | NODE_BIT(DRAIN));
        (void)pb_set_str(&set->reason, reason); /* -ENOMEM: without one */
        SET(set, reason_us, core_now());
        SET(set, reason_uid, conf_slurm_uid(ctld->conf));
    }
    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, id), keeps_nodes, false);
    if (!core_commit(ctld, tx))
        return; /* disk full: at the next tick */
    log_error("job %u: nobody has said that its nodes are free: they are drained", id);
    lifecycle_let_go(ctld, j);
}

/* keep_nodes_time of SlurmctldParameters: one job a tick. */
static void end_keeping(struct ctld *ctld, int64_t now_us)
{
    struct job *j = NULL;
    uint64_t limit_s;

    if (conf_option_u64(ctld->conf, CONF_SLURMCTLD_PARAMETERS, "keep_nodes_time", &limit_s))
        j = cleaning_kept_since(ctld, now_us - (int64_t)limit_s * USEC_PER_SEC);
    if (j)
        drain_kept(ctld, j);
}

/* ---- suspend --------------------------------------------------------------------------------- */

void lifecycle_fill_suspend(Pst__JobRecord *set, const Pst__JobRecord *r, bool suspend,
                            int64_t now_us)
{
    SET(set, state, suspend ? JOB_STATE(SUSPENDED) : JOB_STATE(RUNNING));
    SET(set, suspend_us, now_us);
    if (!suspend && r->has_suspend_us) {
        int64_t slept = now_us - r->suspend_us;

        SET(set, suspended_us, (r->has_suspended_us ? r->suspended_us : 0) + slept);
        if (r->has_end_us)
            SET(set, end_us, r->end_us + slept);
    }
}

uint64_t lifecycle_suspend(struct ctld *ctld, struct job *j, bool suspend)
{
    Pst__Transaction *tx = tx_new(core_now());
    Pst__JobRecord *set =
        tx_job_patch(tx, suspend ? PST__EVENT_KIND__EV_JOB_SUSPEND : PST__EVENT_KIND__EV_JOB_RESUME,
                     j->rec->job_id);
    bool preempted = j->rec->n_preempted_by > 0;
    uint64_t lsn;

    lifecycle_fill_suspend(set, j->rec, suspend, core_now());
    if (!suspend && preempted) {
        tx_clear(tx, JOB_F_PREEMPT_KILL_US);
        tx_clear(tx, JOB_F_PREEMPTED_BY);
    }
    lsn = core_commit(ctld, tx);
    if (!lsn)
        return 0;
    launch_suspend(ctld, j, lsn, suspend);
    services_job_suspended(ctld, j, suspend, preempted);
    if (!suspend)
        services_job_resumed(ctld, j);
    return lsn;
}

/* ---- the service ----------------------------------------------------------------------------- */

const struct ctld_service lifecycle_service = {
    .name = "lifecycle",
    .tick_writing = end_keeping,
};
