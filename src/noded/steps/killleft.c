/* killleft.c - kill what a step daemon left that died before its step; see killleft.h
 *
 * Processes of the step are found by its cgroup, by the sessions that it recorded, and by the job,
 * step and node in the environment of processes younger than the step.  What the machine's or the
 * container's last run left has no process any more, whoever has the numbers now. */
#include "noded/steps/killleft.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "stepd/shared/spool.h"
#include "stepd/use/procscan.h"

#define KILL_PATIENCE_US (2 * USEC_PER_SEC)
#define KILL_PAUSE_NS 2000000

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

/* A number is given to nobody else while a session has it, but may be afterwards. */
static bool is_session(const Pst__StepTrace *t, size_t i)
{
    struct proc_info leader;

    return i >= t->n_session_ticks || !t->session_ticks[i] ||
           proc_read((pid_t)t->sessions[i], &leader) < 0 ||
           leader.start_ticks == t->session_ticks[i];
}

static bool belongs_to_step(const struct hunt *h, const struct proc_info *p)
{
    if (p->start_ticks < h->trace->start_ticks || p->state == 'Z' || p->pid == getpid())
        return false;
    for (size_t i = 0; i < h->trace->n_sessions; i++)
        if ((pid_t)h->trace->sessions[i] == p->session && is_session(h->trace, i))
            return true;
    return proc_env_has(p->pid, h->job_env) && proc_env_has(p->pid, h->step_env) &&
           proc_env_has(p->pid, h->node_env) && proc_env_has(p->pid, h->conf_env);
}

static bool hunt_one(void *ctx, const struct proc_info *p)
{
    struct hunt *h = ctx;

    if (belongs_to_step(h, p)) {
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
    bool done = false, same;

    if (spool_get_msg(step_dir, "trace", &pst__step_trace__descriptor, &msg) < 0)
        return true; /* it never started anything */
    h.trace = PB_AS(step_trace, msg);
    same = proc_is_our_world(h.trace->world); /* else its processes ended with it */
    fill_hunt(&h, step_dir, job_id);
    (void)snprintf(h.node_env, sizeof(h.node_env), "SLURMD_NODENAME=%s", d->name);
    if (asprintf(&h.conf_env, "SLURM_CONF=%s", conf_path(d->conf)) < 0) {
        protobuf_c_message_free_unpacked(msg, NULL);
        return false; /* tried again */
    }
    while (!done && now_mono_us() < until) {
        done = !h.trace->cgroup || cgroup_kill_left(&d->cgroups, h.trace->cgroup);
        h.found = 0;
        if (same)
            proc_each(hunt_one, &h);
        done = done && h.found == 0;
        if (!done)
            pause_ns(KILL_PAUSE_NS);
    }
    protobuf_c_message_free_unpacked(msg, NULL);
    free(h.conf_env);
    return done;
}
