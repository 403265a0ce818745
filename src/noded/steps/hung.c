/* hung.c - step daemons that do not answer; see hung.h
 *
 * A step daemon tells itself of processes that it cannot kill.  One that hangs tells nothing, and
 * its job would never end: so what it does is asked for.  A daemon that was told to end its step
 * says so at once; when nothing comes from it for UnkillableStepTimeout it is asked once more, and
 * then taken for dead: the node is treated as one with processes that do not end, and the daemon is
 * killed, which lets the rest be found and killed.  Main thread. */
#include "noded/steps/hung.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/timefmt.h"
#include "noded/link/nodereport.h"
#include "noded/site/siteprog.h"
#include "stepd/shared/ctl.h"
#include "stepd/shared/spool.h"
#include "stepd/use/procscan.h"

#define LOOK_MS 1000u
#define ANSWER_US (5 * USEC_PER_SEC) /* of a daemon that is asked whether it is there */

/* Open the step daemon's process, so that its number cannot come to mean another process.  Only we
 * wait for our own child, so its number is safe.  The daemon of an earlier slurmd is the process
 * that listens at the step's socket and is no younger than the record that it wrote. */
static int open_daemon(const struct noded *d, const struct nstep *step)
{
    char dir[SPOOL_PATH_MAX];
    ProtobufCMessage *trace = NULL;
    struct ucred peer = { .pid = step->pid };
    struct proc_info info;
    socklen_t len = sizeof(peer);
    int fd;

    if (step->pid == 0 && getsockopt(step->ctl_fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return -errno;
    fd = peer.pid > 0 && peer.pid != getpid() ? pidfd_open(peer.pid, 0) : -1;
    if (fd < 0 || step->pid > 0)
        return fd;
    spool_step_dir(d->spool, step->job->job_id, step->job->run_id, step->step_id, dir, sizeof(dir));
    if (spool_get_msg(dir, "trace", &pst__step_trace__descriptor, &trace) < 0 ||
        ((Pst__StepTrace *)trace)->pid != (uint32_t)peer.pid || proc_read(peer.pid, &info) < 0 ||
        info.start_ticks < ((Pst__StepTrace *)trace)->start_ticks) {
        (void)close(fd);
        fd = -1;
    }
    if (trace)
        protobuf_c_message_free_unpacked(trace, NULL);
    return fd;
}

static void give_up(struct noded *d, struct nstep *step)
{
    int fd = open_daemon(d, step);
    char num[16];

    log_error("a step daemon does not answer and is killed job=%u step=%s", step->job->job_id,
              step_id_name(step->step_id, num, sizeof(num)));
    step->asked_mono_us = 0;
    if (!step->unkillable) {
        step->unkillable = true;
        siteprog_run(d, SITEPROG_UNKILLABLE, step, NULL);
        report_drain(d, "Kill task failed");
    }
    if (fd < 0 || pidfd_send_signal(fd, SIGKILL, NULL, 0) < 0)
        log_error("the step daemon cannot be killed: %s job=%u", strerror(errno),
                  step->job->job_id);
    if (fd >= 0)
        (void)close(fd); /* its connection tells of its end */
}

struct look {
    struct noded *d;
    int64_t now_mono;
    bool any;
};

static void look_at_step(struct look *l, struct nstep *step)
{
    int64_t limit = (int64_t)conf_num(l->d->conf, CONF_UNKILLABLE_STEP_TIMEOUT) * USEC_PER_SEC;
    Pst__StepOrder ask = PST__STEP_ORDER__INIT;

    if (!step->asked_mono_us || step->phase != STEP_RUNS || step->ctl_fd < 0)
        return;
    l->any = true;
    if (l->now_mono - step->asked_mono_us < (step->pinged ? ANSWER_US : limit))
        return;
    if (step->pinged) {
        give_up(l->d, step);
        return;
    }
    step->pinged = true;
    step->asked_mono_us = l->now_mono;
    (void)ctl_send(step->ctl_fd, &ask.base); /* a full connection is an answer too: none */
}

static void look_at_job(void *ctx, struct njob *job)
{
    for (struct nstep *s = job->steps; s; s = s->next)
        look_at_step(ctx, s);
}

static void on_look(uv_timer_t *t)
{
    struct noded *d = t->data;
    struct look l = { .d = d, .now_mono = now_mono_us() };

    jobs_each(&d->jobs, look_at_job, &l);
    if (!l.any)
        (void)uv_timer_stop(t); /* cannot fail */
}

void hung_begin(struct noded *d)
{
    (void)uv_timer_init(&d->loop, &d->hung); /* cannot fail */
    d->hung.data = d;
}

void hung_told_to_end(struct noded *d, struct nstep *step)
{
    if (step->phase != STEP_RUNS || step->asked_mono_us)
        return;
    step->asked_mono_us = now_mono_us();
    step->pinged = false;
    if (!uv_is_active((uv_handle_t *)&d->hung))
        (void)uv_timer_start(&d->hung, on_look, LOOK_MS, LOOK_MS); /* cannot fail: not closing */
}

void hung_answered(struct nstep *step)
{
    if (!step->asked_mono_us)
        return;
    step->asked_mono_us = now_mono_us(); /* asked again when it has been silent for as long */
    step->pinged = false;
}
