/* kubeprogram.c - see kubeprogram.h */
#include "kube/api/kubeprogram.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/timefmt.h"

#define FINISH_US (INT64_C(3) * USEC_PER_SEC)
#define GIVE_BACK_US (INT64_C(2) * USEC_PER_SEC)

int kubeprogram_load(struct kubeprogram *p, struct err *err)
{
    const char *list = getenv("KUBECONFIG");

    if (p->kubeconfig && *p->kubeconfig)
        return kubeconfig_load(p->kubeconfig, p->context, &p->config, err);
    if (!p->kubeconfig && list && *list)
        return kubeconfig_load_list(list, p->context, &p->config, err);
    return kubeconfig_in_cluster(NULL, getenv("KUBERNETES_SERVICE_HOST"),
                                 getenv("KUBERNETES_SERVICE_PORT"), &p->config, err);
}

void kubeprogram_again(struct kubeprogram *p, int64_t after_us)
{
    kubeloop_arm(p->loop, &p->timer, now_mono_us() + after_us);
}

void kubeprogram_fail(struct kubeprogram *p)
{
    p->ended = p->lost = true;
    kubeloop_set_phase(p->loop, KUBELOOP_ENDED);
}

static void take_role(void *ctx, bool held)
{
    struct kubeprogram *p = ctx;

    if (held && !p->begun)
        kubeprogram_again(p, 0);
    else if (!held)
        kubeprogram_fail(p); /* what was begun as the leader must not go on */
}

static void take_signal(void *ctx)
{
    struct kubeprogram *p = ctx;
    struct signalfd_siginfo info;

    if (read(p->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return;
    p->hurried = p->ended;
    p->ended = true;
}

static int open_signals(struct kubeprogram *p)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    p->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return p->signals < 0 ? -errno : 0;
}

int kubeprogram_begin(struct kubeprogram *p, struct err *err)
{
    const unsigned qps = p->qps ? p->qps : 200;
    const struct kubeserver_options kube = { p->agent, NULL, qps, 2 * qps, 0 };
    const struct kubelease_options lease = { p->lease_namespace, p->name, p->identity, 0,
                                             take_role,          p };
    char host[64] = "";
    int r = open_signals(p);

    if (r < 0)
        return err_set(err, r, "signalfd: %s", strerror(-r));
    (void)gethostname(host, sizeof(host) - 1);
    (void)snprintf(p->identity, sizeof(p->identity), "%s_%d_%lld", host, (int)getpid(),
                   (long long)now_us());
    p->timer = (struct kubetimer){ .fn = p->ask, .ctx = p->ctx };
    if (kubeloop_new(&p->loop) < 0 || kubeloop_watch_fd(p->loop, p->signals, take_signal, p) < 0 ||
        kubeserver_new(p->loop, &p->config, &kube, &p->kube) < 0)
        return err_nomem(err);
    if (!p->lease_namespace)
        kubeprogram_again(p, 0);
    else if (kubelease_new(p->kube, &lease, &p->lease) < 0)
        return err_nomem(err);
    return 0;
}

int kubeprogram_run(struct kubeprogram *p)
{
    int r = 0;

    while (r == 0 && !p->ended)
        r = kubeloop_turn(p->loop, 1000);
    return r;
}

/* Wait for it, so long at most.  False: it did not come. */
static bool wait_for(struct kubeprogram *p, bool (*is_done)(const struct kubeprogram *p),
                     int64_t wait_us)
{
    const int64_t until = now_mono_us() + wait_us;
    int64_t left;

    while (!is_done(p)) {
        left = until - now_mono_us();
        if (left <= 0 || p->hurried || p->lost ||
            kubeloop_turn(p->loop, (int)((left + 999) / 1000)) < 0)
            return false;
    }
    return true;
}

static bool is_answered(const struct kubeprogram *p)
{
    return kubeserver_owed(p->kube) + (p->beside ? kubeserver_owed(p->beside) : 0) == 0;
}

static bool is_given_back(const struct kubeprogram *p)
{
    return !kubelease_is_held(p->lease);
}

static bool finish_calls(struct kubeprogram *p)
{
    kubeloop_set_phase(p->loop, KUBELOOP_FINISHING);
    return wait_for(p, is_answered, FINISH_US);
}

static void leave_role(struct kubeprogram *p)
{
    kubelease_end(p->lease);
    if (finish_calls(p)) {
        kubeloop_set_phase(p->loop, KUBELOOP_CLOSED);
        kubelease_give_back(p->lease);
        if (wait_for(p, is_given_back, GIVE_BACK_US))
            return;
    }
    if (!p->lost)
        log_info("lease %s is not given back: not all was answered", p->name);
}

/* A clean end: its work is done by nobody else meanwhile, but what a pod or a job has been promised
 * is not left half done. */
static void end_cleanly(struct kubeprogram *p)
{
    if (p->lease && kubelease_is_held(p->lease))
        leave_role(p);
    else if (!p->lease && p->begun && !finish_calls(p) && !p->lost)
        log_info("not all that was sent has been answered");
}

void kubeprogram_hang_up(struct kubeprogram *p)
{
    p->kube = kubeserver_free(p->kube);
}

void kubeprogram_end(struct kubeprogram *p)
{
    p->lease = kubelease_free(p->lease);
    if (p->loop)
        kubeloop_disarm(p->loop, &p->timer);
    p->loop = kubeloop_free(p->loop);
    kubeconfig_done(&p->config);
    if (p->signals >= 0)
        (void)close(p->signals);
}

int kubeprogram_live(struct kubeprogram *p, int (*begin)(void *ctx, struct err *err),
                     void (*end)(void *ctx))
{
    struct err err = { .text = "" };
    int r;

    (void)curl_global_init(CURL_GLOBAL_DEFAULT); /* what fails says so at the first request */
    r = begin(p->ctx, &err);
    if (r < 0)
        log_fatal("%s", err.text);
    else
        r = kubeprogram_run(p);
    if (r == 0 && !p->lost)
        end_cleanly(p);
    end(p->ctx);
    curl_global_cleanup();
    return r < 0 || p->lost;
}
