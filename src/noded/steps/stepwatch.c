/* stepwatch.c - following step daemons to their end, and jobs to theirs; see stepwatch.h
 *
 * Each step daemon has a control connection: started, signals, end.  Its closing without an end
 * means it was killed; the exit file decides.  When nothing of a job is left and it is over, the
 * epilog runs and the job is clean.  Main thread. */
#include "noded/steps/stepwatch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/sluid.h"
#include "base/timefmt.h"
#include "model/job.h"
#include "noded/link/listen.h"
#include "noded/link/nodereport.h"
#include "noded/plan/nodens.h"
#include "noded/site/scripts.h"
#include "noded/site/siteprog.h"
#include "noded/steps/hung.h"
#include "noded/steps/killleft.h"
#include "noded/steps/profkeep.h"
#include "noded/steps/userproc.h"
#include "stepd/env/env.h"
#include "stepd/shared/ctl.h"
#include "stepd/shared/spool.h"

#define BATCH_FIRST_MS 5000 /* what a hung daemon of the batch step may cost the others */

static void free_handle(uv_handle_t *h)
{
    free(h);
}

static void unfollow_step(struct nstep *s)
{
    if (s->poll) {
        uv_close((uv_handle_t *)s->poll, free_handle);
        s->poll = NULL;
    }
    if (s->ctl_fd >= 0)
        (void)close(s->ctl_fd);
    s->ctl_fd = -1;
}

static Pst__StepEnd *make_end(const struct nstep *s, uint32_t status, bool launch_failed,
                              const char *why)
{
    Pst__StepEnd *end = malloc(sizeof(*end));

    if (!end)
        return NULL;
    pst__step_end__init(end);
    end->has_job_id = end->has_step_id = end->has_run_id = end->has_exit_status = end->has_end_us =
        true;
    end->job_id = s->job->job_id;
    end->step_id = s->step_id;
    end->run_id = s->job->run_id;
    end->exit_status = status;
    end->end_us = now_us();
    if (launch_failed)
        end->has_launch_failed = end->launch_failed = true;
    if (pb_set_str(&end->error, why) < 0)
        end->error = NULL; /* the status still tells */
    return end;
}

/* As a prolog that failed: the node is no good for such jobs. */
static void no_folders(struct noded *d, struct njob *job, const char *why)
{
    log_error("%s job=%u", why ? why : "the extern step could not be set up", job->job_id);
    job->prolog = SCRIPT_FAILED;
    job->prolog_waits = false;
    report_prolog_failed(d, job);
    report_drain(d, "Prolog error");
    d->on->prolog_over(d, job);
}

void steps_ended(struct noded *d, struct nstep *step, Pst__StepEnd *end)
{
    struct njob *job = step->job;
    char num[16];

    unfollow_step(step);
    profkeep_step_over(d, step);
    step->phase = STEP_ENDED;
    step->end = end;
    log_debug("step ended job=%u step=%s status=%u", job->job_id,
              step_id_name(step->step_id, num, sizeof(num)), end ? end->exit_status : 0);
    if (step->step_id == STEP_ID_BATCH) {
        steps_release(d, job);
        job->batch_status = end ? end->exit_status : 0;
        if (!job->terminating && !job_has_live_work(job) &&
            env_alloc_nodes(job->on->job->alloc) == 1 && !scripts_any(d, true)) {
            /* No other node has a part of the job: end it here, which saves the controller a round
             * trip.  An Epilog may last: the job is told to have ended before it runs. */
            job->terminating = job->single = true;
            listen_revoke(d->listener, job->job_id, job->run_id);
            steps_advance_job(d, job);
            return;
        }
    }
    report_ended(d, step);
    if (job->job_id >= JOB_ID_NO_JOB_MIN) { /* --no-allocate: no controller ends it */
        job->terminating = job->clean_wanted = true;
        listen_revoke(d->listener, job->job_id, job->run_id);
    }
    if (step->step_id == STEP_ID_EXTERN)
        ns_lose(job);
    if (step->step_id == STEP_ID_EXTERN && end && end->launch_failed && !job->terminating &&
        ns_gone(d, job))
        no_folders(d, job, end->error);
    if (step->step_id == STEP_ID_EXTERN)
        d->on->place_ready(d, job); /* beside the job then */
    steps_advance_job(d, job);
}

void steps_end_unstarted(struct noded *d, struct nstep *step, const char *why)
{
    bool ours = step->step_id == STEP_ID_EXTERN; /* no user asked for it: its loss is no failure */
    Pst__StepEnd *end = make_end(step, ours ? 0 : SIGKILL, !ours, why);
    char dir[SPOOL_PATH_MAX];

    if (end) { /* so that a restart reports the same */
        spool_step_dir(d->spool, step->job->job_id, step->job->run_id, step->step_id, dir,
                       sizeof(dir));
        (void)spool_put_msg(dir, "exit", &end->base);
    }
    steps_ended(d, step, end);
}

void steps_lost(struct noded *d, struct nstep *step)
{
    struct njob *job = step->job;
    ProtobufCMessage *end = NULL;
    char dir[SPOOL_PATH_MAX], num[16];

    spool_step_dir(d->spool, job->job_id, job->run_id, step->step_id, dir, sizeof(dir));
    if (spool_get_msg(dir, "exit", &pst__step_end__descriptor, &end) < 0) {
        log_error("step daemon was killed job=%u step=%s", job->job_id,
                  step_id_name(step->step_id, num, sizeof(num)));
        if (!recover_kill_left(d, dir, job->job_id))
            log_error("processes of a step could not be killed job=%u step=%s", job->job_id,
                      step_id_name(step->step_id, num, sizeof(num)));
        end =
            (ProtobufCMessage *)make_end(step, SIGKILL, !step->launched && !spool_has(dir, "trace"),
                                         "the step daemon was killed");
        if (end)
            (void)spool_put_msg(dir, "exit", end); /* a restart reports the same */
    }
    steps_ended(d, step, (Pst__StepEnd *)end);
}

static void on_news(struct noded *d, struct nstep *step, Pst__StepNews *news)
{
    hung_answered(step);
    if (news->started && !step->launched) {
        step->launched = true;
        if (step->step_id != STEP_ID_EXTERN) /* which the controller does not wait for */
            report_launched(d, step);
    }
    if (news->run_in_job)
        step->job->run_in_job = true;
    if (news->started && step->step_id == STEP_ID_EXTERN)
        d->on->place_ready(d, step->job);
    if (news->started && step->step_id == STEP_ID_EXTERN && d->ns) {
        step->job->no_ns = step->job->ns_fd < 0;
        if (step->job->prolog == SCRIPT_DONE)
            d->on->prolog_over(d, step->job); /* start the steps that wait for private folders */
    }
    if (news->has_terminating && news->terminating && step->step_id == STEP_ID_BATCH) {
        steps_release(d, step->job);
        if (step->job->terminating && env_alloc_nodes(step->job->on->job->alloc) > 1)
            report_script_told(d, step->job);
    }
    if (news->has_unkillable && news->unkillable && !step->unkillable) {
        step->unkillable = true;
        log_error("processes of a step do not end job=%u step=%u", step->job->job_id,
                  step->step_id);
        siteprog_run(d, SITEPROG_UNKILLABLE, step, NULL);
        report_drain(d, "Kill task failed");
    }
    if (news->end && news->drain)
        report_drain(d, news->drain);
    if (news->end)
        steps_ended(d, step, TAKE_PTR(news->end));
    else if (news->emptied && !step->job->emptied) {
        step->job->emptied = true;
        steps_advance_job(d, step->job);
    }
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct nstep *step = poll->data;
    struct noded *d = poll->loop->data;
    ProtobufCMessage *msg = NULL;

    (void)status;
    (void)events;
    while (step->ctl_fd >= 0) {
        _cleanup_close_ int ns_fd = -1;
        int r = ctl_recv_fd(step->ctl_fd, &pst__step_news__descriptor, &msg, &ns_fd);
        bool over;

        if (r == -EAGAIN)
            return;
        if (r <= 0) {
            steps_lost(d, step);
            return;
        }
        if (ns_fd >= 0)
            ns_take(step->job, PB_AS(step_news, msg), TAKE_FD(ns_fd));
        over = PB_AS(step_news, msg)->end != NULL;
        on_news(d, step, PB_AS(step_news, msg));
        protobuf_c_message_free_unpacked(msg, NULL);
        if (over)
            return; /* step may be gone with its job */
    }
}

int steps_follow(struct noded *d, struct nstep *step)
{
    uv_poll_t *poll = malloc(sizeof(*poll));
    int r;

    if (!poll)
        return -ENOMEM;
    r = uv_poll_init(&d->loop, poll, step->ctl_fd);
    if (r < 0) {
        free(poll);
        return r;
    }
    poll->data = step;
    step->poll = poll;
    return uv_poll_start(poll, UV_READABLE, on_readable);
}

void steps_child_exited(struct noded *d, pid_t pid, int status)
{
    struct nstep *step = jobs_find_pid(&d->jobs, pid);

    if (!step)
        return;
    step->pid = 0;
    if (WIFSIGNALED(status))
        log_debug("step daemon ended by signal %d job=%u", WTERMSIG(status), step->job->job_id);
}

/* ---- signals --------------------------------------------------------------------------------- */

static void send_order(struct noded *d, struct nstep *step, const Pst__StepOrder *o)
{
    if (step->phase == STEP_WAITS && (o->terminate || o->signal == SIGKILL)) {
        if (step->srun_fd >= 0) {
            listen_refuse_fd(step->srun_fd, step->waiting->launch->stream_key,
                             step->waiting->launch_id, -1, "Job credential revoked");
            step->srun_fd = -1;
        }
        steps_end_unstarted(d, step, "ended before it was started");
        return;
    }
    if (step->phase == STEP_RUNS && step->ctl_fd >= 0 && ctl_send(step->ctl_fd, &o->base) < 0)
        log_debug("step daemon does not listen job=%u", step->job->job_id);
    if (o->terminate || (o->signal == SIGKILL && !o->leader_only))
        hung_told_to_end(d, step);
}

static bool is_chosen(const Pst__SignalSteps *m, uint32_t step_id)
{
    if (m->batch_script_only)
        return step_id == STEP_ID_BATCH;
    for (size_t i = 0; i < m->n_step_ids; i++)
        if (m->step_ids[i] == step_id)
            return true;
    if (m->n_step_ids)
        return false;
    if (m->suspend || m->resume)
        return true;
    return step_id != STEP_ID_EXTERN && (step_id != STEP_ID_BATCH || m->include_batch);
}

void steps_order(struct noded *d, struct njob *job, const Pst__SignalSteps *m)
{
    Pst__StepOrder o = PST__STEP_ORDER__INIT;
    struct nstep *next;

    o.has_signal = m->signal != 0;
    o.signal = m->signal;
    o.has_terminate = o.terminate = m->terminate;
    o.has_leader_only = o.leader_only = m->batch_script_only;
    o.has_suspend = o.suspend = m->suspend;
    o.has_resume = o.resume = m->resume;
    o.reason = m->reason;
    o.has_kill_wait_s = m->has_kill_wait_s;
    o.kill_wait_s = m->kill_wait_s;
    if ((m->suspend || m->resume) && !m->n_step_ids)
        job->suspended = m->suspend;
    for (struct nstep *s = job->steps; s; s = next) {
        next = s->next;
        if (is_chosen(m, s->step_id))
            send_order(d, s, &o);
    }
}

void steps_started(struct noded *d, struct nstep *step)
{
    Pst__StepOrder o = PST__STEP_ORDER__INIT;

    if (!step->job->suspended)
        return;
    o.has_suspend = o.suspend = true;
    send_order(d, step, &o);
}

/* ---- the batch step first -------------------------------------------------------------------- */

static void order_others(struct noded *d, struct njob *job, const Pst__StepOrder *o)
{
    struct nstep *next;

    for (struct nstep *s = job->steps; s; s = next) {
        next = s->next;
        if (s->step_id == STEP_ID_BATCH)
            continue;
        if (s->step_id == STEP_ID_EXTERN && job->run_in_job &&
            (job->prolog == SCRIPT_RUNS || job->epilog == SCRIPT_RUNS))
            continue; /* the script is in it: told when that is over */
        send_order(d, s, o);
    }
}

void steps_release(struct noded *d, struct njob *job)
{
    Pst__StepOrder *o = TAKE_PTR(job->held);

    job_unhold(job);
    if (!o)
        return;
    order_others(d, job, o);
    pst__step_order__free_unpacked(o, NULL);
}

static void on_hold_over(uv_timer_t *t)
{
    struct njob *job = t->data;

    log_error("the batch step does not answer, its job's other steps are ended job=%u",
              job->job_id);
    steps_release(t->loop->data, job);
}

/* Step daemons run side by side: a script whose step got its signal first sees it fail and goes on,
 * so the others wait until the batch step's daemon says that its tasks have theirs. */
static bool hold_others(struct noded *d, struct njob *job, const Pst__StepOrder *o)
{
    if (job->held) { /* the newer order counts, from the first on the time runs */
        pst__step_order__free_unpacked(job->held, NULL);
        job->held = NULL;
    }
    if (pb_dup(&o->base, (ProtobufCMessage **)&job->held) < 0)
        return false;
    if (job->hold)
        return true;
    job->hold = malloc(sizeof(*job->hold));
    if (!job->hold)
        return false;
    if (uv_timer_init(&d->loop, job->hold) < 0) {
        free(TAKE_PTR(job->hold));
        return false;
    }
    job->hold->data = job;
    if (uv_timer_start(job->hold, on_hold_over, BATCH_FIRST_MS, 0) < 0)
        return false;
    log_debug("the batch step is ended first job=%u", job->job_id);
    return true;
}

static bool has_others(const struct njob *job)
{
    for (const struct nstep *s = job->steps; s; s = s->next)
        if (s->step_id != STEP_ID_BATCH && s->phase != STEP_ENDED)
            return true;
    return false;
}

/* At the end of its time a job's steps are asked to end first: a script goes on after them, and
 * saves what they have left.  Where the job has no step here, the script is asked at once. */
static bool spares_script(const struct njob *job, const Pst__TerminateJob *m)
{
    if (m->now || !m->reason || strcmp(m->reason, JOB_TEXT_TIME_LIMIT) != 0)
        return false;
    for (const struct nstep *s = job->steps; s; s = s->next)
        if (s->step_id != STEP_ID_BATCH && s->step_id != STEP_ID_EXTERN && s->phase != STEP_ENDED)
            return true;
    return false;
}

void steps_terminate_job(struct noded *d, struct njob *job, const Pst__TerminateJob *m)
{
    Pst__StepOrder o = PST__STEP_ORDER__INIT;
    struct nstep *batch;

    listen_revoke(d->listener, job->job_id, job->run_id);
    job->clean_wanted = true;
    if (m->job && m->job->job) { /* knows how the job ended: the epilog wants that */
        Pst__JobOnNode *on = NULL;

        if (pb_dup(&m->job->base, (ProtobufCMessage **)&on) == 0) {
            pst__job_on_node__free_unpacked(job->on, NULL);
            job->on = on;
        }
    }
    if (job->clean) {
        report_clean(d, job->job_id, job->run_id);
        return;
    }
    job->terminating = true;
    o.has_terminate = o.terminate = true;
    o.has_now = o.now = m->now;
    o.reason = m->reason;
    o.has_kill_wait_s = m->has_kill_wait_s;
    o.kill_wait_s = m->kill_wait_s;
    batch = job_find_step(job, STEP_ID_BATCH);
    if (batch) {
        o.has_spare = o.spare = spares_script(job, m);
        send_order(d, batch, &o);
        o.has_spare = o.spare = false;
    }
    if (!batch || batch->phase != STEP_RUNS || batch->ctl_fd < 0 || !has_others(job) ||
        !hold_others(d, job, &o)) {
        job_unhold(job);
        order_others(d, job, &o);
    }
    steps_advance_job(d, job);
}

/* ---- the end of a job on this node ----------------------------------------------------------- */

/* Whatever else ran of the job is over: the extern step goes, with the processes that others
 * gave it. */
static void release_extern(struct noded *d, struct njob *job)
{
    struct nstep *step = job_find_step(job, STEP_ID_EXTERN);
    Pst__StepOrder o = PST__STEP_ORDER__INIT;
    bool finish = !job->run_in_job || job->epilog != SCRIPT_NOT_RUN || !scripts_any(d, true);

    if (!step || step->phase == STEP_ENDED || job_has_live_work(job) ||
        (job->released && (job->finished || !finish)))
        return;
    if (step->phase == STEP_RUNS && step->ctl_fd < 0)
        return; /* not found again yet: spoolrecover.c comes back */
    job->released = true;
    job->finished = finish;
    job->emptied = job->emptied && finish; /* it says so again */
    o.has_finish = o.finish = finish;
    o.has_terminate = o.terminate = true;
    o.has_release = o.release = true;
    send_order(d, step, &o);
}

void steps_advance_job(struct noded *d, struct njob *job)
{
    struct nstep *batch;
    char dir[SPOOL_PATH_MAX];

    if (job->terminating && !job->clean && job->prolog != SCRIPT_RUNS && job->epilog != SCRIPT_RUNS)
        release_extern(d, job); /* may come back here, and be done */
    if (!job->terminating || job->clean || job->prolog == SCRIPT_RUNS ||
        job->epilog == SCRIPT_RUNS || job_has_live_work(job) ||
        (job_has_live_steps(job) && !(job->emptied && !job->finished)))
        return;
    if (job->epilog == SCRIPT_NOT_RUN && scripts_any(d, true)) {
        scripts_start(d, job, true);
        return;
    }
    ns_clean_job(d, job);
    userproc_job_over(d, job->job_id, job->run_id);
    job->clean = true;
    batch = job->single ? job_find_step(job, STEP_ID_BATCH) : NULL;
    if (batch && batch->end) {
        batch->end->has_node_clean = batch->end->node_clean = true;
        report_ended(d, batch);
    }
    if (job->clean_wanted || !batch) {
        spool_job_dir(d->spool, job->job_id, job->run_id, dir, sizeof(dir));
        (void)spool_write(dir, "clean", "", 0, 0600, (uid_t)-1,
                          (gid_t)-1); /* or it is asked once more */
        report_clean(d, job->job_id, job->run_id);
    }
}
