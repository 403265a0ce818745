/* spoolrecover.c - what a restarted slurmd finds in its spool; see spoolrecover.h
 *
 * A step whose daemon answers goes on; one with an exit file has ended; one with neither lost its
 * daemon: killleft.c kills what is left of it. */
#include "noded/steps/spoolrecover.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "noded/link/nodereport.h"
#include "noded/steps/steplaunch.h"
#include "noded/steps/stepwatch.h"
#include "stepd/shared/ctl.h"
#include "stepd/shared/spool.h"

#define SOCKET_PAUSE_NS 10000000
#define SOCKET_PATIENCE_US 500000 /* a step daemon that was just being started */

static void pause_briefly(void)
{
    struct timespec ts = { .tv_nsec = SOCKET_PAUSE_NS };

    (void)nanosleep(&ts, NULL); /* shorter is fine */
}

/* Connect to the step daemon, giving one that is just starting a moment. */
static int connect_stepd(const char *dir, int *ret_fd)
{
    int64_t until = now_mono_us() + SOCKET_PATIENCE_US;

    for (;;) {
        int r = ctl_connect(dir, "sock", ret_fd);

        if (r == 0 || spool_has(dir, "exit") || spool_has(dir, "trace") || now_mono_us() > until)
            return r;
        pause_briefly();
    }
}

static void recover_step(struct noded *d, struct njob *job, struct nstep *step)
{
    Pst__StepOrder ask = PST__STEP_ORDER__INIT;
    ProtobufCMessage *end = NULL;
    char dir[SPOOL_PATH_MAX];

    spool_step_dir(d->spool, job->job_id, job->run_id, step->step_id, dir, sizeof(dir));
    step->launched = spool_has(dir, "trace");
    if (!spool_has(dir, "exit") && connect_stepd(dir, &step->ctl_fd) == 0 &&
        steps_follow(d, step) == 0 && ctl_send(step->ctl_fd, &ask.base) == 0) {
        log_info("found a running step job=%u step=%s", job->job_id, strrchr(dir, '/') + 1);
        return;
    }
    if (spool_get_msg(dir, "exit", &pst__step_end__descriptor, &end) == 0)
        steps_ended(d, step, (Pst__StepEnd *)end);
    else
        steps_lost(d, step);
}

static int on_entry(void *ctx, uint32_t job_id, uint64_t run_id, const uint32_t *step_id)
{
    struct noded *d = ctx;
    ProtobufCMessage *msg = NULL;
    struct njob *job = jobs_find(&d->jobs, job_id, run_id);
    struct nstep *step;
    char dir[SPOOL_PATH_MAX];

    if (step_id) {
        if (job && job_add_step(job, *step_id, &step) == 0)
            /* until all are known: the end of one may be the end of the job */
            step->phase = STEP_RUNS;
        return 0;
    }
    spool_job_dir(d->spool, job_id, run_id, dir, sizeof(dir));
    if (spool_get_msg(dir, "job", &pst__job_on_node__descriptor, &msg) < 0 ||
        !PB_AS(job_on_node, msg)->job ||
        jobs_add_take(&d->jobs, PB_AS(job_on_node, msg), &job) < 0) {
        log_info("dropped an unfinished spool entry job=%u", job_id);
        if (msg)
            protobuf_c_message_free_unpacked(msg, NULL);
        (void)spool_remove_job(d->spool, job_id, run_id); /* tried again at the next start */
        return 0;
    }
    job->prolog = SCRIPT_DONE;
    job->run_in_job = launch_in_job(d, job);
    if (spool_has(dir, "epilogued"))
        job->epilog = spool_has(dir, "epilog-failed") ? SCRIPT_FAILED : SCRIPT_DONE;
    if (job->epilog == SCRIPT_FAILED) /* the controller may not have heard of it */
        report_drain(d, "Epilog error");
    /* All done, but not acknowledged: the steps' ends are told again, and then this. */
    job->clean = job->clean_wanted = job->terminating = spool_has(dir, "clean");
    return 0;
}

static void recover_job(void *ctx, struct njob *job)
{
    for (struct nstep *s = job->steps; s; s = s->next)
        recover_step(ctx, job, s);
    steps_advance_job(ctx, job); /* one's end may have been the job's, with others not yet found */
}

void recover_spool(struct noded *d)
{
    int r = spool_scan(d->spool, on_entry, d);

    spool_remove_dead(d->spool);
    if (r < 0)
        log_error("cannot read the spool directory %s: %s", d->spool, strerror(-r));
    else if (d->jobs.count)
        log_info("found %zu jobs in the spool", d->jobs.count);
    jobs_each(&d->jobs, recover_job, d);
}
