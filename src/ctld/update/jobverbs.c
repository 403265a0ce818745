/* jobverbs.c - what a verb does to one job: cancel, signal, hold, release, requeue, suspend,
 * resume, complete ...; see jobverbs.h */
#include "ctld/update/jobverbs.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/sametext.h"
#include "ctld/schedlink/gangturns.h"
#include "ctld/job/hetgroup.h"
#include "ctld/front/jobfilter.h"
#include "ctld/job/arraysplit.h"
#include "ctld/job/depends.h"
#include "ctld/policy/fedset.h"
#include "ctld/step/async.h"
#include "ctld/submit/cronjobs.h"
#include "ctld/job/lifecycle.h"
#include "ctld/policy/policy.h"
#include "ctld/step/steps.h"
#include "ctld/core/service.h"
#include "model/array.h"
#include "fields.h"

#define NICE_MOST 2147483645 /* either way */

/* 0 (with the lsn noted) or the code for a journal that refuses. */
static int note_commit(struct action *a, uint64_t lsn)
{
    if (lsn > a->lsn)
        a->lsn = lsn;
    return lsn ? 0 : EPST_DISK_FULL;
}

static struct job_end cancel_end(const struct action *a)
{
    return (struct job_end){ .state = JOB_STATE(CANCELLED),
                             .by_user = true,
                             .uid = a->cmd->conn ? conn_peer(a->cmd->conn)->uid : 0,
                             .kill_text = "DUE to SIGNAL Terminated" };
}

/* The step's record says who cancelled it. */
static int note_canceller(struct action *a, const struct job *j, uint32_t step_id)
{
    Pst__Transaction *tx = tx_new(core_now());

    SET(tx_step_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, j->rec->job_id, step_id), cancel_uid,
        cancel_end(a).uid);
    return note_commit(a, core_commit(a->ctld, tx));
}

/* Signal STOP of a whole job shows as its state until CONT. */
static int note_stopped(struct action *a, const struct job *j, uint32_t signal)
{
    uint32_t flags = j->rec->state_flags & ~JOB_FLAG(STOPPED);
    Pst__Transaction *tx;

    if (signal != SIGSTOP && signal != SIGCONT)
        return 0;
    if (signal == SIGSTOP)
        flags |= JOB_FLAG(STOPPED);
    if (flags == j->rec->state_flags)
        return 0;
    tx = tx_new(core_now());
    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_SIGNAL, j->rec->job_id), state_flags, flags);
    return note_commit(a, core_commit(a->ctld, tx));
}

static int signal_steps(struct action *a, struct job *j, const struct job_ref *ref, uint32_t signal)
{
    Pst__SignalSteps sig = PST__SIGNAL_STEPS__INIT;
    uint32_t step = ref->step;
    bool batch_script = a->req->has_batch_only && a->req->batch_only;
    bool full = a->req->has_full && a->req->full;

    if (!job_holds_resources(j->rec) || job_is_ended(j->rec))
        return job_is_pending(j->rec) ? ESLURM_JOB_PENDING
               : full                 ? ESLURM_INVALID_JOB_ID
                                      : ESLURM_ALREADY_DONE;
    if (ref->has_step) {
        if (!cluster_step(j, ref->step) ||
            cluster_step(j, ref->step)->rec->state >= PST__STEP_STATE__STEP_COMPLETED)
            return ESLURM_INVALID_JOB_ID;
        if (cluster_step(j, ref->step)->rec->state == PST__STEP_STATE__STEP_PENDING)
            return signal == SIGKILL || signal == SIGTERM
                       ? note_commit(a, async_end_pending(a->ctld, j, ref->step, &a->cmd->uid))
                       : ESLURM_JOB_PENDING;
        sig.step_ids = &step;
        sig.n_step_ids = 1;
    } else if (batch_script || full) {
        SET(&sig, include_batch, true);
        SET(&sig, batch_script_only, batch_script);
    }
    SET(&sig, signal, signal);
    if (ref->has_step && signal == SIGKILL && a->req->verb == PST__JOB_VERB__VERB_CANCEL)
        sig.reason = (char *)STEP_CANCEL_TEXT; /* not changed by packing */
    launch_signal(a->ctld, j, a->ctld->applied_lsn, &sig);
    if (ref->has_step && signal == SIGKILL)
        /* its launch may still be on the way to the nodes */
        cluster_step(j, ref->step)->killed = true;
    if (!ref->has_step)
        return batch_script ? 0 : note_stopped(a, j, signal);
    return a->req->verb == PST__JOB_VERB__VERB_CANCEL ? note_canceller(a, j, ref->step) : 0;
}

/* Tasks inside an array record leave it at once, without becoming jobs; with the last, the
 * record ends. */
static int cancel_tasks(struct action *a, const struct job_ref *ref)
{
    struct job_end end = cancel_end(a);

    if (array_count(ref->tasks) == array_count(ref->job->rec->array_tasks))
        return note_commit(a, lifecycle_end(a->ctld, ref->job, &end));
    return note_commit(a, arraysplit_drop(a->ctld, ref->job, ref->tasks));
}

/* What was to go back to the queue once its nodes are clean ends instead. */
static int cancel_requeue(struct action *a, const struct job *j)
{
    const uint32_t back = JOB_FLAG(REQUEUED) | JOB_FLAG(REQUEUE_HOLD) | JOB_FLAG(SPECIAL_EXIT);
    Pst__Transaction *tx = tx_new(core_now());
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_END, j->rec->job_id);

    SET(set, state, JOB_STATE(CANCELLED));
    SET(set, state_flags, j->rec->state_flags & ~back);
    SET(set, cancel_uid, cancel_end(a).uid);
    SET(tx_cluster(tx), jobs_cancelled, a->ctld->cluster->rec->jobs_cancelled + 1);
    return note_commit(a, core_commit(a->ctld, tx));
}

/* --admin-comment: written before the job's end, so that readers of the log have the comment when
 * they see the end. */
static int note_comment(struct action *a, const struct job *j)
{
    Pst__Transaction *tx;

    if (!a->req->admin_comment || job_is_ended(j->rec))
        return 0;
    tx = tx_new(core_now());
    if (pb_set_str(&tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, j->rec->job_id)->admin_comment,
                   a->req->admin_comment) < 0) {
        tx_free(tx);
        return SLURM_ERROR;
    }
    return note_commit(a, core_commit(a->ctld, tx));
}

static int do_cancel(struct action *a, const struct job_ref *ref)
{
    struct job *j = ref->job;
    struct job_end end = cancel_end(a);
    int code = ref->has_step || ref->tasks ? 0 : note_comment(a, j);

    if (code != 0)
        return code;

    if (ref->has_step)
        return signal_steps(a, j, ref, SIGKILL); /* a step is not asked first */
    if (cron_is_protected(a->ctld, j->rec, a->req))
        return a->id ? ESLURM_CANNOT_CANCEL_CRON_JOB : 0; /* a filter passes it by */
    if (ref->tasks)
        return cancel_tasks(a, ref);
    if (job_is_ended(j->rec))
        return job_has_flag(j->rec, JOB_FLAG(REQUEUED)) ? cancel_requeue(a, j)
                                                        : ESLURM_ALREADY_DONE;
    return note_commit(a, lifecycle_end(a->ctld, j, &end));
}

static int do_signal(struct action *a, const struct job_ref *ref)
{
    uint32_t sig = a->req->has_signal ? a->req->signal : SIGTERM;
    bool steps = a->req->has_steps_only && a->req->steps_only;
    bool whole = !ref->has_step && !steps && !(a->req->has_batch_only && a->req->batch_only);

    if (job_is_pending(ref->job->rec)) /* SIGTERM asks processes, and there are none */
        return sig == SIGKILL && !steps ? do_cancel(a, ref) : ESLURM_JOB_PENDING;
    if (sig == SIGKILL && whole) /* of steps and script alike: the end of the job */
        return do_cancel(a, ref);
    return signal_steps(a, ref->job, ref, sig);
}

static int do_hold(struct action *a, const struct job_ref *ref, bool by_user)
{
    Pst__Transaction *tx;
    Pst__JobRecord *set;
    struct job *j = ref->job;
    Pst__JobReason reason;

    by_user = by_user || !policy_may_manage(a->ctld, a->cmd, j->rec);
    reason =
        by_user ? PST__JOB_REASON__REASON_JOB_HELD_USER : PST__JOB_REASON__REASON_JOB_HELD_ADMIN;
    if (ref->tasks && job_is_held(j->rec) && !job_is_ended(j->rec) &&
        j->rec->held_by_user == by_user && j->rec->reason == reason)
        return 0; /* tasks of an array that is held alike: they stay in its record */
    if (!(j = job_ref_own(a->ctld, ref)))
        return SLURM_ERROR;
    if (job_is_ended(j->rec) && !job_comes_back(j->rec))
        return ESLURM_JOB_FINISHED;
    if (job_is_held(j->rec) && !policy_may_manage(a->ctld, a->cmd, j->rec))
        return 0; /* it would make an administrator's hold the user's to release */
    tx = tx_new(core_now());
    set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_HOLD, j->rec->job_id);
    SET(set, priority, 0);
    SET(set, held_by_user, by_user);
    SET(set, reason, reason);
    return note_commit(a, core_commit(a->ctld, tx));
}

/* Will it be held when it is back in the queue, by the command that requeued it? */
static bool held_at_return(const Pst__JobRecord *r)
{
    return job_comes_back(r) && !job_is_held(r) &&
           (job_has_flag(r, JOB_FLAG(REQUEUE_HOLD)) || job_has_flag(r, JOB_FLAG(SPECIAL_EXIT)));
}

/* May the owner lift it?  His own, and those that came with a requeue. */
static bool users_hold(const Pst__JobRecord *r)
{
    return (r->has_held_by_user && r->held_by_user) || held_at_return(r) ||
           (r->has_reason && (r->reason == PST__JOB_REASON__REASON_JOB_HELD_USER ||
                              r->reason == PST__JOB_REASON__REASON_LAUNCH_FAILED_REQUEUED_HELD ||
                              r->reason == PST__JOB_REASON__REASON_USER_ENV_REQUEUED_HELD ||
                              r->reason == PST__JOB_REASON__REASON_JOB_HOLD_MAX_REQUEUE));
}

/* A job that was held did not look at what it waits for. */
static int refresh_released(struct action *a, uint32_t id, uint64_t lsn)
{
    const struct job *j = cluster_job(a->ctld->cluster, id);

    if (lsn && j && job_is_pending(j->rec) && j->rec->dependency)
        depends_refresh(a->ctld, id);
    return note_commit(a, lsn);
}

static int do_release(struct action *a, const struct job_ref *ref)
{
    const uint32_t held = JOB_FLAG(REQUEUE_HOLD) | JOB_FLAG(SPECIAL_EXIT) | JOB_FLAG(RESV_DEL_HOLD);
    Pst__Transaction *tx;
    Pst__JobRecord *set;
    struct job *j = ref->job;
    bool admin = policy_may_manage(a->ctld, a->cmd, j->rec);

    if (!(j = job_ref_own(a->ctld, ref)))
        return SLURM_ERROR;
    if (job_is_ended(j->rec) && !job_comes_back(j->rec))
        return ESLURM_JOB_FINISHED;
    if (!job_is_held(j->rec) && !held_at_return(j->rec))
        return 0;
    if (!admin && !users_hold(j->rec))
        return ESLURM_ACCESS_DENIED;
    tx = tx_new(core_now());
    set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_RELEASE, j->rec->job_id);
    SET(set, state_flags, j->rec->state_flags & ~held);
    SET(set, batch_failures, 0);
    if (job_is_pending(j->rec) && !j->rec->has_eligible_us && !j->rec->dependency)
        SET(set, eligible_us, core_now());
    tx_clear(tx, JOB_F_PRIORITY);
    tx_clear(tx, JOB_F_HELD_BY_USER);
    tx_clear(tx, JOB_F_REASON);
    tx_clear(tx, JOB_F_REASON_TEXT);
    if (job_is_pending(j->rec) && j->rec->restart_count > 0 &&
        (j->rec->reason_text || job_has_flag(j->rec, held)))
        tx_clear(tx, JOB_F_BEGIN_US); /* of the requeue, which the release ends */
    return refresh_released(a, j->rec->job_id, core_commit(a->ctld, tx));
}

/* The run in the cluster that has the job ends there, then the job is queued again here. */
static int requeue_elsewhere(struct action *a, const struct job *j)
{
    Pst__Transaction *tx = tx_new(core_now());

    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, j->rec->job_id), fed_requeue, true);
    return note_commit(a, core_commit(a->ctld, tx));
}

static int do_requeue(struct action *a, const struct job_ref *ref, bool hold)
{
    struct job *j = ref->job;
    const char *cluster;
    bool special = a->req->has_special_exit && a->req->special_exit;

    if (a->req->has_incomplete_only && a->req->incomplete_only &&
        (job_is_pending(j->rec) || job_is_ended(j->rec)))
        return 0;
    if (!(j->rec->has_batch && j->rec->batch))
        return ESLURM_BATCH_ONLY;
    if (!(j->rec->has_requeue && j->rec->requeue))
        return ESLURM_DISABLED;
    if (!fedset_decides(a->ctld, j->rec, &cluster))
        return requeue_elsewhere(a, j);
    if (job_is_pending(j->rec) || job_has_flag(j->rec, JOB_FLAG(REQUEUED)))
        return ESLURM_JOB_PENDING;
    if (job_has_flag(j->rec, JOB_FLAG(COMPLETING)))
        return ESLURM_TRANSITION_STATE_NO_UPDATE;
    return note_commit(a, lifecycle_requeue(a->ctld, j, hold, special, "DUE TO JOB REQUEUE"));
}

/* Others may use its CPUs by now. */
static int resume_in_turn(struct action *a, struct job *j)
{
    int r = note_commit(a, gang_enter(a->ctld, j));

    if (r == 0)
        gang_settle(a->ctld);
    return r;
}

static int do_suspend(struct action *a, const struct job_ref *ref, bool suspend)
{
    struct job *j = ref->job;

    if (job_is_pending(j->rec))
        return ESLURM_JOB_PENDING;
    if (job_is_ended(j->rec))
        return ESLURM_ALREADY_DONE;
    if (job_waits_for_turn(j->rec))
        return suspend ? note_commit(a, gang_leave(a->ctld, j))
                       : ESLURM_DISABLED; /* it goes on by itself */
    if (job_is_suspended(j->rec) == suspend)
        return suspend ? 0 : ESLURM_JOB_NOT_SUSPENDED;
    if (!suspend && gang_on(a->ctld->conf))
        return resume_in_turn(a, j);
    return note_commit(a, lifecycle_suspend(a->ctld, j, suspend));
}

/* The owner gives its allocation back. */
/* The command that made a step says that no node was asked to start it. */
static int complete_step(struct action *a, const struct job_ref *ref)
{
    uint32_t status = a->req->has_exit_status ? a->req->exit_status : 0;

    if (ref->step >= STEP_INTERACTIVE || !cluster_step(ref->job, ref->step))
        return ESLURM_INVALID_JOB_ID;
    return note_commit(a, steps_unlaunched(a->ctld, ref->job, ref->step, status));
}

static int do_complete(struct action *a, const struct job_ref *ref)
{
    struct job *j = ref->job;
    struct job_end cancel = cancel_end(a);

    if (job_is_ended(j->rec))
        return 0;
    if (ref->has_step)
        return complete_step(a, ref);
    if (ref->tasks)
        return cancel_tasks(a, ref);
    if (job_is_pending(j->rec))
        return note_commit(a, lifecycle_end(a->ctld, j, &cancel));
    return note_commit(
        a,
        lifecycle_finished(a->ctld, j, a->req->has_exit_status ? a->req->exit_status : 0, false));
}

/* An administrator's: above all others. */
static int top_of_all(struct action *a, const struct job *job)
{
    Pst__Transaction *tx;
    uint32_t best = 0;
    void *v;

    for (size_t pos = 0; (v = cluster_next_job(a->ctld->cluster, &pos));) {
        const struct job *j = v;

        if (j->rec->has_cur_priority && job_is_pending(j->rec))
            best =
                MAX(best, MAX(j->rec->cur_priority, j->rec->has_priority ? j->rec->priority : 0));
    }
    tx = tx_new(core_now());
    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, job->rec->job_id), priority,
        best < UINT32_MAX - 1 ? best + 1 : best);
    return note_commit(a, core_commit(a->ctld, tx));
}

/* One of the owner's jobs that wait where this one does: in its partition, account and QOS. */
static bool is_rival(const struct job *job, const struct job *j)
{
    return j != job && j->rec->uid == job->rec->uid && job_is_pending(j->rec) &&
           !job_is_held(j->rec) && same_text(j->rec->partition, job->rec->partition) &&
           same_text(j->rec->account, job->rec->account) && same_text(j->rec->qos, job->rec->qos);
}

static void set_nice(Pst__Transaction *tx, const struct job *j, int64_t nice)
{
    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, j->rec->job_id), nice, (int32_t)nice);
}

/* The first of the owner's own: what it gains the others lose.  Further jobs of the list come
 * behind it, in the order of the list. */
static int top_of_own(struct action *a, const struct job *job)
{
    Pst__Transaction *tx = tx_new(core_now());
    int64_t own = job->rec->has_nice ? job->rec->nice : 0, taken = 0;
    void *v;

    if (a->topped) {
        set_nice(tx, job, MIN(own, a->top_nice + a->topped));
        a->topped++;
        return note_commit(a, core_commit(a->ctld, tx));
    }
    for (size_t pos = 0; (v = cluster_next_job(a->ctld->cluster, &pos));) {
        const struct job *j = v;
        int64_t nice = j->rec->has_nice ? j->rec->nice : 0;

        if (!is_rival(job, j) || nice >= NICE_MOST)
            continue;
        set_nice(tx, j, nice + 1);
        taken++;
    }
    a->top_nice = MAX(own - taken, -NICE_MOST);
    a->topped = 1;
    set_nice(tx, job, a->top_nice);
    return note_commit(a, core_commit(a->ctld, tx));
}

static int do_top(struct action *a, const struct job_ref *ref)
{
    const struct job *j = ref->job;

    if (!job_is_pending(j->rec))
        return ESLURM_JOB_NOT_PENDING;
    if (job_is_held(j->rec))
        return ESLURM_JOB_HELD;
    if (policy_is_operator(a->ctld, a->cmd))
        return top_of_all(a, j);
    if (!conf_option(a->ctld->conf, CONF_SCHEDULER_PARAMETERS, "enable_user_top", NULL, NULL))
        return ESLURM_DISABLED;
    return top_of_own(a, j);
}

/* A line into the output of the batch script, or of every step where there is none. */
static int do_notify(struct action *a, const struct job_ref *ref)
{
    struct job *j = ref->job;
    bool batch = j->rec->has_batch && j->rec->batch;
    Pst__SignalSteps sig = PST__SIGNAL_STEPS__INIT;

    if (job_is_pending(j->rec))
        return ESLURM_DISABLED;
    if (job_is_ended(j->rec))
        return ESLURM_ALREADY_DONE;
    if (!a->req->message || !*a->req->message)
        return EPST_BAD_REQUEST;
    sig.reason = a->req->message;
    SET(&sig, batch_script_only, batch);
    launch_signal(a->ctld, j, a->ctld->applied_lsn, &sig);
    return 0;
}

static int act_on_job(struct action *a, const struct job_ref *ref)
{
    switch (a->req->verb) {
    case PST__JOB_VERB__VERB_CANCEL:
        return do_cancel(a, ref);
    case PST__JOB_VERB__VERB_SIGNAL:
        return do_signal(a, ref);
    case PST__JOB_VERB__VERB_HOLD:
        return do_hold(a, ref, false);
    case PST__JOB_VERB__VERB_UHOLD:
        return do_hold(a, ref, true);
    case PST__JOB_VERB__VERB_RELEASE:
        return do_release(a, ref);
    case PST__JOB_VERB__VERB_REQUEUE:
        return do_requeue(a, ref, false);
    case PST__JOB_VERB__VERB_REQUEUE_HOLD:
        return do_requeue(a, ref, true);
    case PST__JOB_VERB__VERB_SUSPEND:
        return do_suspend(a, ref, true);
    case PST__JOB_VERB__VERB_RESUME:
        return do_suspend(a, ref, false);
    case PST__JOB_VERB__VERB_COMPLETE:
        return do_complete(a, ref);
    case PST__JOB_VERB__VERB_NOTIFY:
        return do_notify(a, ref);
    case PST__JOB_VERB__VERB_TOP:
        return do_top(a, ref);
    default:
        return ESLURM_NOT_SUPPORTED;
    }
}

/* ---- heterogeneous jobs ---------------------------------------------------------------------- */

bool jobverb_kills(const struct action *a, const struct job_ref *ref)
{
    bool all = !(a->req->has_batch_only && a->req->batch_only) &&
               !(a->req->has_steps_only && a->req->steps_only);

    return !ref->has_step && (a->req->verb == PST__JOB_VERB__VERB_CANCEL ||
                              (a->req->verb == PST__JOB_VERB__VERB_SIGNAL && all &&
                               a->req->has_signal && a->req->signal == SIGKILL));
}

/* Every component in turn; what the first was answered counts, or the first refusal. */
static int each_component(struct action *a, const struct job_ref *ref)
{
    uint32_t leader = ref->job->rec->het_job_id, n = ref->job->rec->het_count;
    int code = 0;

    for (uint32_t k = 0; k < n; k++) {
        struct job *first = cluster_job(a->ctld->cluster, leader);
        struct job_ref one = { .job =
                                   first ? het_component(a->ctld->cluster, first->rec, k) : NULL };
        int c;

        if (!one.job || (k && job_is_ended(one.job->rec)))
            continue;
        c = act_on_job(a, &one);
        code = code ? code : c;
    }
    return code;
}

/* A requeue of what runs takes the others along; of what has ended, each is asked for. */
static int requeue_group(struct action *a, const struct job_ref *ref)
{
    const Pst__JobRecord *r = ref->job->rec;
    uint32_t leader = r->het_job_id, n = r->het_count;
    bool hold = a->req->verb == PST__JOB_VERB__VERB_REQUEUE_HOLD, ended = job_is_ended(r);
    int code;

    for (uint32_t k = 0; k < n; k++) {
        const struct job *j = het_component(a->ctld->cluster, r, k);

        if (!j)
            return ESLURM_INVALID_JOB_ID;
        if (job_has_flag(j->rec, JOB_FLAG(REQUEUED)))
            return ESLURM_JOB_PENDING;
        if (ended && job_has_flag(j->rec, JOB_FLAG(COMPLETING)))
            return ESLURM_TRANSITION_STATE_NO_UPDATE;
    }
    if (job_is_pending(r))
        return ESLURM_JOB_PENDING;
    code = do_requeue(a, ref, hold);
    for (uint32_t k = 1; ended && code == 0 && k < n; k++) {
        const struct job *first = cluster_job(a->ctld->cluster, leader);
        struct job_ref one = { .job =
                                   first ? het_component(a->ctld->cluster, first->rec, k) : NULL };

        if (one.job)
            code = do_requeue(a, &one, hold);
    }
    return code;
}

static int cancel_het(struct action *a, const struct job_ref *ref)
{
    const struct job *leader = het_component(a->ctld->cluster, ref->job->rec, 0);
    struct job_ref all = { .job = (struct job *)leader };
    const char *v;
    size_t len;

    if (het_is_leader(ref->job->rec) && !ref->component && !job_is_ended(ref->job->rec))
        return act_on_job(a, ref); /* its end ends them all */
    if (job_is_pending(ref->job->rec)) {
        if (!a->id && leader && a->filter && jobfilter_match(a->filter, leader->rec))
            return act_on_job(a, &all);
        return ESLURM_NOT_WHOLE_HET_JOB;
    }
    if (leader &&
        (conf_option(a->ctld->conf, CONF_SCHEDULER_PARAMETERS, "whole_hetjob", &v, &len) ||
         conf_option(a->ctld->conf, CONF_SCHEDULER_PARAMETERS, "whole_pack", &v, &len)))
        return act_on_job(a, &all);
    return act_on_job(a, ref);
}

/* What a verb means for a component or for the whole, which is named by its leader's id. */
static int act_het(struct action *a, const struct job_ref *ref)
{
    bool whole = het_is_leader(ref->job->rec) && !ref->component;
    bool follower = het_is_follower(ref->job->rec);

    if (jobverb_kills(a, ref))
        return cancel_het(a, ref);
    switch (a->req->verb) {
    case PST__JOB_VERB__VERB_REQUEUE:
    case PST__JOB_VERB__VERB_REQUEUE_HOLD:
        return ref->component ? ESLURM_INVALID_JOB_ID
               : follower     ? ESLURM_NOT_HET_JOB_LEADER
                              : requeue_group(a, ref);
    case PST__JOB_VERB__VERB_SUSPEND:
    case PST__JOB_VERB__VERB_RESUME:
        return ref->component || follower ? ESLURM_NOT_WHOLE_HET_JOB : each_component(a, ref);
    case PST__JOB_VERB__VERB_HOLD:
    case PST__JOB_VERB__VERB_UHOLD:
    case PST__JOB_VERB__VERB_RELEASE:
        return whole || !a->id ? each_component(a, ref) : act_on_job(a, ref);
    case PST__JOB_VERB__VERB_TOP:
        return whole || !a->id ? each_component(a, ref) : ESLURM_NOT_WHOLE_HET_JOB;
    case PST__JOB_VERB__VERB_SIGNAL:
        return whole && !ref->has_step && !(a->req->has_batch_only && a->req->batch_only)
                   ? each_component(a, ref)
                   : act_on_job(a, ref);
    default:
        return act_on_job(a,
                          ref); /* complete: the leader's end is everybody's; notify: its script */
    }
}

int jobverb_do(struct action *a, const struct job_ref *ref)
{
    return het_is(ref->job->rec) ? act_het(a, ref) : act_on_job(a, ref);
}
