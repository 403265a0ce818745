/* nicservice.c - services on Slingshot's NICs; see nicservice.h
 *
 * slurmstepd-cxi runs twice: before the tasks, and when none of their processes is left. */
#include "stepd/nicservice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/spawnprog.h"
#include "base/timefmt.h"
#include "stepd/shared/helper.h"
#include "stepd/step.h"

#define ANSWER_MAX 4096
#define ANSWER_US (30 * USEC_PER_SEC) /* a driver that is not through by then is in trouble */
#define SPARE_US (5 * USEC_PER_SEC)   /* beside the retries, a second each */

static int spawn_helper(struct step *s, int answer_fd, const Pst__CxiPlan *plan)
{
    _cleanup_close_ int plan_fd = helper_message(&plan->base);
    char path[HELPER_PATH_MAX];
    const int fds[] = { answer_fd, -1, -1, plan_fd };
    const struct spawn sp = { .path = path, .fds = fds, .n_fds = ARRAY_SIZE(fds) };
    int r = helper_path("cxi", path, sizeof(path));

    if (r < 0 || plan_fd < 0)
        return r < 0 ? r : plan_fd;
    return spawn_program(&sp, &s->nics_pid);
}

static int ask_services(struct step *s, int *ret_answer)
{
    _cleanup_close_ int theirs = -1;
    int sv[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
        return -errno;
    *ret_answer = sv[0];
    theirs = helper_fd(sv[1]);
    return theirs < 0 ? theirs : spawn_helper(s, theirs, s->sf->cxi);
}

static void tell_tasks(struct step *s, const Pst__CxiServices *a)
{
    const Pst__CxiPlan *plan = s->sf->cxi;
    char vnis[64] = "";

    for (size_t i = 0, at = 0; i < plan->n_vnis && at < sizeof(vnis); i++)
        at += (size_t)snprintf(vnis + at, sizeof(vnis) - at, "%s%u", i ? "," : "", plan->vnis[i]);
    envlist_set(&s->env, "SLINGSHOT_VNIS", vnis);
    envlist_set(&s->env, "SLINGSHOT_DEVICES", a->devices);
    envlist_set(&s->env, "SLINGSHOT_SVC_IDS", a->svc_ids);
    envlist_setf(&s->env, "SLINGSHOT_TCS", "0x%x", plan->tcs);
}

static void read_answer(struct step *s, int fd)
{
    uint8_t data[ANSWER_MAX];
    ssize_t n = recv(fd, data, sizeof(data), MSG_DONTWAIT);
    Pst__CxiServices *a = n > 0 ? pst__cxi_services__unpack(NULL, (size_t)n, data) : NULL;

    if (!a)
        step_fail(s, "Slingshot: slurmstepd-cxi ended without an answer");
    else if (a->error || !a->devices || !a->svc_ids)
        step_fail(s, "Slingshot: %s", a->error ? a->error : "no service was made");
    else
        tell_tasks(s, a);
    if (a)
        pst__cxi_services__free_unpacked(a, NULL);
}

static bool has_services(const struct step *s)
{
    return s->sf->cxi && s->sf->cxi->n_vnis;
}

void nics_start(struct step *s)
{
    _cleanup_close_ int answer_fd = -1;
    int r;

    if (!has_services(s) || s->error)
        return;
    r = ask_services(s, &answer_fd);
    if (r == 0) {
        await_begin(s, s->nics_pid);
        r = await_fd(s, answer_fd, now_mono_us() + ANSWER_US);
        if (r == 0)
            read_answer(s, answer_fd);
        (void)await_end(s); /* what it did is known from its answer */
        s->nics_pid = 0;
    }
    if (r == 0)
        return;
    if (r != -ECANCELED) /* else the step ends as it was told to */
        step_fail(s, "Slingshot: slurmstepd-cxi: %s",
                  r == -ETIMEDOUT ? "the NIC's driver does not answer" : strerror(-r));
}

bool nics_cleaned(struct step *s, int64_t now_mono)
{
    Pst__CxiPlan plan;

    if (!has_services(s))
        return true;
    if (!s->nics_mono_us) {
        plan = *s->sf->cxi; /* its members are borrowed */
        plan.has_drop = plan.drop = true;
        s->nics_mono_us = now_mono + plan.retries * USEC_PER_SEC + SPARE_US;
        if (spawn_helper(s, -1, &plan) < 0)
            s->nics_pid = 0; /* they go when the VNI comes to this node again */
    }
    return !s->nics_pid || now_mono >= s->nics_mono_us;
}

int64_t nics_deadline(const struct step *s)
{
    return s->nics_pid && !s->ended ? s->nics_mono_us : 0;
}

bool nics_reaped(struct step *s, int pid)
{
    if (pid != s->nics_pid)
        return false;
    s->nics_pid = 0;
    return true;
}
