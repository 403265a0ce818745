/* spoolrecover.c - what a restarted slurmd finds in its spool; see noded.h
 *
 * A step whose daemon answers goes on; one with an exit file has ended; one with neither lost its
 * daemon: what is left of it is killed, found by its cgroup, by the sessions it recorded, and by
 * the job, step and node in the environment of processes younger than the step. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "stepd/shared/ctl.h"
#include "noded.h"
#include "stepd/use/procscan.h"
#include "stepd/shared/spool.h"

#define KILL_PATIENCE_US (2 * USEC_PER_SEC)
#define KILL_PAUSE_NS 2000000
#define SOCKET_PATIENCE_US 500000 /* a step daemon that was just being started */

static void pause_ns(long ns)
{
    struct timespec ts = { .tv_nsec = ns };

    (void)nanosleep(&ts, NULL); /* shorter is fine */
}

struct hunt {
    const Pst__StepTrace *trace;
    char job_env[48], step_env[48], node_env[300];
    /* owned: another cluster on this machine has jobs and nodes of the same names */
    char *conf_env;
    size_t found;
};

static bool belongs(const struct hunt *h, const struct proc_info *p)
{
    if (p->start_ticks < h->trace->start_ticks || p->state == 'Z' || p->pid == getpid())
        return false;
    for (size_t i = 0; i < h->trace->n_sessions; i++)
        if ((pid_t)h->trace->sessions[i] == p->session)
            return true;
    return proc_env_has(p->pid, h->job_env) && proc_env_has(p->pid, h->step_env) &&
           proc_env_has(p->pid, h->node_env) && proc_env_has(p->pid, h->conf_env);
}

static bool hunt_one(void *ctx, const struct proc_info *p)
{
    struct hunt *h = ctx;

    if (belongs(h, p)) {
        h->found++;
        (void)kill(p->pid, SIGKILL); /* it may have ended meanwhile */
    }
    return true;
}

static void fill_hunt(struct hunt *h, const char *step_dir, uint32_t job_id)
{
    const char *name = strrchr(step_dir, '/');
    char step[16];

    name = name ? name + 1 : step_dir;
    if (strcmp(name, "batch") == 0)
        name = "-5";
    else if (strcmp(name, "interactive") == 0)
        name = "-6";
    else if (strcmp(name, "extern") == 0)
        name = "-4";
    else if (strncmp(name, "step", 4) == 0)
        name += 4;
    (void)snprintf(step, sizeof(step), "%.15s", name);
    (void)snprintf(h->job_env, sizeof(h->job_env), "SLURM_JOB_ID=%u", job_id);
    (void)snprintf(h->step_env, sizeof(h->step_env), "SLURM_STEP_ID=%s", step);
}

bool recover_kill_left(const struct noded *d, const char *step_dir, uint32_t job_id)
{
    ProtobufCMessage *msg = NULL;
    struct hunt h = { .found = 0 };
    int64_t until = now_mono_us() + KILL_PATIENCE_US;
    bool done = false;

    if (spool_get_msg(step_dir, "trace", &pst__step_trace__descriptor, &msg) < 0)
        return true; /* it never started anything */
    h.trace = PB_AS(step_trace, msg);
    fill_hunt(&h, step_dir, job_id);
    (void)snprintf(h.node_env, sizeof(h.node_env), "SLURMD_NODENAME=%s", d->name);
    if (asprintf(&h.conf_env, "SLURM_CONF=%s", conf_path(d->conf)) < 0) {
        protobuf_c_message_free_unpacked(msg, NULL);
        return false; /* tried again */
    }
    while (!done && now_mono_us() < until) {
        done = !h.trace->cgroup || cgroup_kill_left(&d->cgroups, h.trace->cgroup);
        h.found = 0;
        proc_each(hunt_one, &h);
        done = done && h.found == 0;
        if (!done)
            pause_ns(KILL_PAUSE_NS);
    }
    protobuf_c_message_free_unpacked(msg, NULL);
    free(h.conf_env);
    return done;
}

/* Connect to the step daemon, giving one that is just starting a moment. */
static int connect_stepd(const char *dir, int *ret_fd)
{
    int64_t until = now_mono_us() + SOCKET_PATIENCE_US;

    for (;;) {
        int r = ctl_connect(dir, "sock", ret_fd);

        if (r == 0 || spool_has(dir, "exit") || spool_has(dir, "trace") || now_mono_us() > until)
            return r;
        pause_ns(5 * KILL_PAUSE_NS);
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
        job->epilog = SCRIPT_DONE;
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

    if (r < 0)
        log_error("cannot read the spool directory %s: %s", d->spool, strerror(-r));
    else if (d->jobs.count)
        log_info("found %zu jobs in the spool", d->jobs.count);
    jobs_each(&d->jobs, recover_job, d);
}
