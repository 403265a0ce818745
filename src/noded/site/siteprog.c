/* siteprog.c - programs of the site about the node as a whole; see siteprog.h
 *
 * HealthCheckProgram, RebootProgram and UnkillableStepProgram, with slurmd's own environment.
 * One of a kind at a time; a health check that takes too long is ended.  Main thread. */
#include "noded/site/siteprog.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/process/spawnprog.h"
#include "stepd/env/envlist.h"

extern char **environ;

struct siteprogs {
    struct noded *d;
    pid_t pid[SITEPROG_MAX_];
    uv_timer_t timer; /* of the health check */
};

static const struct {
    enum conf_key key;
    const char *name;
} kinds[SITEPROG_MAX_] = {
    [SITEPROG_HEALTH] = { CONF_HEALTH_CHECK_PROGRAM, "HealthCheckProgram" },
    [SITEPROG_REBOOT] = { CONF_REBOOT_PROGRAM, "RebootProgram" },
    [SITEPROG_UNKILLABLE] = { CONF_UNKILLABLE_STEP_PROGRAM, "UnkillableStepProgram" },
};

int siteprogs_new(struct noded *d, struct siteprogs **ret)
{
    struct siteprogs *p = calloc(1, sizeof(*p));

    if (!p)
        return -ENOMEM;
    p->d = d;
    (void)uv_timer_init(&d->loop, &p->timer); /* cannot fail */
    p->timer.data = p;
    *ret = p;
    return 0;
}

void siteprogs_close(struct siteprogs *p)
{
    uv_close((uv_handle_t *)&p->timer, NULL);
}

struct siteprogs *siteprogs_free(struct siteprogs *p)
{
    free(p);
    return NULL;
}

static void on_timeout(uv_timer_t *timer)
{
    struct siteprogs *p = timer->data;

    log_error("HealthCheckProgram ran too long");
    if (p->pid[SITEPROG_HEALTH] > 0)
        (void)kill(-p->pid[SITEPROG_HEALTH], SIGKILL); /* its session */
}

void siteprog_env(const struct noded *d, struct envlist *env)
{
    for (char **e = environ; *e; e++)
        envlist_load(env, *e, strlen(*e) + 1);
    envlist_set(env, "SLURMD_NODENAME", d->name);
}

void siteprog_run(struct noded *d, enum siteprog kind, const struct nstep *step, const char *arg)
{
    const char *path = conf_str(d->conf, kinds[kind].key);
    _cleanup_val_(envlist_done) struct envlist env = ENVLIST_INIT;
    struct siteprogs *p = d->siteprogs;
    char *const argv[] = { (char *)path, (char *)arg, NULL }; /* nobody writes to them */
    char *const *envp;
    int r;

    if (!path || !*path || p->pid[kind] > 0)
        return; /* there is none, or it runs */
    siteprog_env(d, &env);
    if (step) {
        envlist_setu(&env, "SLURM_JOB_ID", step->job->job_id);
        envlist_setu(&env, "SLURM_STEP_ID", step->step_id);
        envlist_set(&env, "SLURM_JOB_SLUID", step->job->on->job->sluid);
    }
    envp = envlist_array(&env);
    r = envp ? spawn_program(&(struct spawn){ .path = path, .argv = argv, .envp = envp },
                             &p->pid[kind])
             : -ENOMEM;
    if (r < 0) {
        p->pid[kind] = 0;
        log_error("%s %s: %s", kinds[kind].name, path, strerror(-r));
    } else if (kind == SITEPROG_HEALTH) {
        (void)uv_timer_start(&p->timer, on_timeout,
                             conf_num(d->conf, CONF_HEALTH_CHECK_TIMEOUT) * 1000,
                             0); /* cannot fail: not closing */
    }
}

bool siteprog_child_exited(struct noded *d, pid_t pid, int status)
{
    struct siteprogs *p = d->siteprogs;

    for (size_t i = 0; i < SITEPROG_MAX_; i++) {
        if (p->pid[i] != pid)
            continue;
        p->pid[i] = 0;
        if (i == SITEPROG_HEALTH)
            (void)uv_timer_stop(&p->timer); /* cannot fail */
        if (status != 0)
            log_error("%s failed: %s %d", kinds[i].name,
                      WIFSIGNALED(status) ? "signal" : "exit code",
                      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        return true;
    }
    return false;
}
