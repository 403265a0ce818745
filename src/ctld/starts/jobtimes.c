/* jobtimes.c - what time does to jobs: limits, warnings, deadlines, owners that went, old records
 *
 * Each walk that every tick takes is over what is running or ended, never over the whole queue. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/core/service.h"
#include "ctld/policy/bootwait.h"
#include "ctld/job/depends.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/lifecycle.h"
#include "ctld/notify/mail.h"
#include "ctld/schedlink/makeroom.h"

#define PURGE_BATCH 2000u /* records forgotten per run, so that the core is never held long */
#define PURGE_LOOK 20000u /* records looked at for that */
#define SWEEP_US ((int64_t)60 * USEC_PER_SEC) /* between two sweeps of old records, at most */

struct jobtimes {
    struct idmap due; /* pending jobs with a deadline: id -> struct job */
    int64_t swept_us; /* when the last sweep of old records began */
    bool sweeping;    /* the last run left records for the next one */
    uint32_t kept;    /* the last job that a run of this sweep left there, 0 = none */
};

/* OverTimeLimit of the job's partition, else of the cluster. */
static int64_t grace_us(struct ctld *ctld, const struct job *j)
{
    const struct partition *p = cluster_partition(ctld->cluster, j->rec->partition);
    uint64_t min = p && p->rec->has_over_time_limit_min
                       ? p->rec->over_time_limit_min
                       : conf_num(ctld->conf, CONF_OVER_TIME_LIMIT);

    if (p && p->rec->has_over_time_unlimited && p->rec->over_time_unlimited)
        return INT64_MAX / 4; /* far beyond any end */
    return (int64_t)min * 60 * USEC_PER_SEC;
}

static void warn_steps(struct ctld *ctld, struct job *j)
{
    Pst__SignalSteps sig = PST__SIGNAL_STEPS__INIT;
    Pst__Transaction *tx = tx_new(core_now());
    bool batch_only = j->rec->has_warn_batch_only && j->rec->warn_batch_only;
    uint64_t lsn;

    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_SIGNAL, j->rec->job_id), warned, 1);
    lsn = core_commit(ctld, tx);
    if (!lsn)
        return;
    SET(&sig, signal, j->rec->warn_signal);
    SET(&sig, batch_script_only, batch_only);
    SET(&sig, include_batch, batch_only);
    launch_signal(ctld, j, lsn, &sig);
}

static void check_limits(struct ctld *ctld, int64_t now)
{
    struct job *next;

    for (struct job *j = ctld->cluster->active; j; j = next) {
        const Pst__JobRecord *r = j->rec;

        next = j->next_active;
        if (preempt_tick(ctld, j, now) || !job_is_running(r) || !r->has_end_us ||
            job_waits_for_boot(r))
            continue;
        if (r->has_mail_type && r->mail_type)
            mail_time(ctld, j, now);
        if (r->has_warn_signal && !r->has_warned &&
            now >= r->end_us - (int64_t)(r->has_warn_secs ? r->warn_secs : 60) * USEC_PER_SEC)
            warn_steps(ctld, j);
        if (now < r->end_us + grace_us(ctld, j))
            continue;
        log_verbose("job %u: time limit reached", r->job_id);
        (void)lifecycle_end(ctld, j,
                            &(struct job_end){ .state = JOB_STATE(TIMEOUT),
                                               .reason = PST__JOB_REASON__REASON_TIME_LIMIT,
                                               .kill_text = JOB_TEXT_TIME_LIMIT });
    }
}

/* Behind the jobs that the runs before left there: there may be very many. */
static struct job *first_to_look_at(struct ctld *ctld)
{
    const struct job *kept = cluster_job(ctld->cluster, ctld->jobtimes->kept);
    struct job *oldest = cluster_done_oldest(ctld->cluster); /* puts them in order */

    return kept && kept->in_done ? kept->next_done : oldest;
}

static bool must_stay(struct ctld *ctld, const Pst__JobRecord *r, bool awaited)
{
    if (het_is(r) && !het_all_ended(ctld, r))
        return true; /* they are one job, for dependencies and for a requeue */
    return r->has_array_job_id && awaited; /* how it ended matters: the rest of its array goes on */
}

/* One run of a sweep: forgets the jobs that ended more than MinJobAge ago.  Returns whether the run
 * stopped at a bound, so that the next one has more to do. */
static bool purge_some(struct ctld *ctld, int64_t now, int64_t age)
{
    Pst__Transaction *tx = NULL;
    struct job *j = first_to_look_at(ctld);
    unsigned looked = 0, found = 0;
    uint32_t array = 0; /* the last one asked about */
    bool awaited = false;

    for (; j && looked < PURGE_LOOK && found < PURGE_BATCH && j->rec->end_us + age < now;
         looked++, j = j->next_done) {
        if (j->rec->has_array_job_id && j->rec->array_job_id != array) {
            array = j->rec->array_job_id;
            awaited = depends_array_awaited(ctld, array);
        }
        if (must_stay(ctld, j->rec, awaited)) {
            ctld->jobtimes->kept = j->rec->job_id;
            continue;
        }
        if (!tx)
            tx = tx_new(now);
        tx_job_purge(tx, j->rec->job_id);
        found++;
    }
    if (tx)
        (void)core_commit(ctld, tx); /* disk full: later */
    return found == PURGE_BATCH || looked == PURGE_LOOK;
}

/* Jobs that ended more than MinJobAge ago are only in accounting.  They go in sweeps, a minute
 * apart or MinJobAge where that is less: a job whose epilog outlives MinJobAge can be seen until
 * the next sweep, and does not vanish with its last message. */
static void purge_old(struct ctld *ctld, int64_t now)
{
    struct jobtimes *jt = ctld->jobtimes;
    int64_t age = (int64_t)conf_num(ctld->conf, CONF_MIN_JOB_AGE) * USEC_PER_SEC;

    if (!jt->sweeping && now >= jt->swept_us && now < jt->swept_us + MIN(age, SWEEP_US))
        return;
    if (!jt->sweeping) {
        jt->swept_us = now;
        jt->kept = 0;
    }
    jt->sweeping = purge_some(ctld, now, age);
}

/* The earliest end a pending job can have is after its deadline: --time-min, else --time,
 * counts. */
static bool too_late(const Pst__JobRecord *r, int64_t now)
{
    uint32_t least = r->has_time_min_min     ? r->time_min_min
                     : r->has_time_limit_min ? r->time_limit_min
                                             : 0;

    return r->has_deadline_us &&
           MAX(now, r->has_begin_us ? r->begin_us : 0) + (int64_t)least * 60 * USEC_PER_SEC >
               r->deadline_us;
}

/* A job that cannot end before its deadline leaves the queue. */
static void check_deadlines(struct ctld *ctld, int64_t now)
{
    struct job *found[64], *j;
    size_t n = 0;

    for (size_t pos = 0; n < ARRAY_SIZE(found) && (j = idmap_next(&ctld->jobtimes->due, &pos));)
        if (too_late(j->rec, now))
            found[n++] = j;
    for (size_t i = 0; i < n; i++)
        if (job_is_pending(found[i]->rec)) /* the end of one may have ended another */
            (void)lifecycle_end(ctld, found[i],
                                &(struct job_end){ .state = JOB_STATE(DEADLINE),
                                                   .reason = PST__JOB_REASON__REASON_DEADLINE,
                                                   .has_exit = true,
                                                   .exit_status = 1 << 8 }); /* as exit 1 */
}

/* Few jobs have a deadline: they are kept, so that nobody looks for them in the whole queue. */
static void note_deadline(struct ctld *ctld, struct job *j, Pst__EventKind kind)
{
    struct idmap *due = &ctld->jobtimes->due;

    (void)kind;
    if (!j->rec->has_deadline_us || !job_is_pending(j->rec))
        (void)idmap_remove(due, j->rec->job_id); /* most were never in it */
    else if (idmap_put(due, j->rec->job_id, j) < 0)
        must(NULL);
}

static void forget_deadline(struct ctld *ctld, struct job *j)
{
    (void)idmap_remove(&ctld->jobtimes->due, j->rec->job_id); /* most were never in it */
}

/* ---- the services ---------------------------------------------------------------------------- */

const struct ctld_service joblimits_service = { .name = "joblimits", .tick_writing = check_limits };

static int start_jobtimes(struct ctld *ctld, struct err *err)
{
    ctld->jobtimes = calloc(1, sizeof(*ctld->jobtimes));
    return ctld->jobtimes ? 0 : err_nomem(err);
}

static void free_jobtimes(struct ctld *ctld)
{
    if (ctld->jobtimes)
        idmap_done(&ctld->jobtimes->due);
    free(ctld->jobtimes);
    ctld->jobtimes = NULL;
}

const struct ctld_service jobtimes_service = {
    .name = "jobtimes",
    .start = start_jobtimes,
    .free = free_jobtimes,
    .on_job = note_deadline,
    .on_job_gone = forget_deadline,
    .tick_writing = purge_old,
    .tick_slow = check_deadlines,
};
