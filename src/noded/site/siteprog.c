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
#include "base/logflags.h"
#include "base/process/spawnprog.h"
#include "conf/cloud/conf_power.h"
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
    [SITEPROG_POWER] = { CONF_SUSPEND_PROGRAM, "PowerAction" },
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

/* Path, arguments, the node's name for an action, and arg; the caller frees the array alone. */
static char **words_of(const struct noded *d, const struct power_program *program, const char *arg)
{
    const char **words = calloc(program->nargs + 4, sizeof(*words));
    size_t n = 0;

    if (!words)
        return NULL;
    words[n++] = program->path;
    for (size_t i = 0; i < program->nargs; i++)
        words[n++] = program->args[i];
    if (program->action)
        words[n++] = d->name;
    if (arg)
        words[n++] = arg;
    return (char **)(uintptr_t)words; /* nobody writes to them */
}

static void start_program(struct noded *d, enum siteprog kind, const struct power_program *program,
                          const struct nstep *step, const char *arg)
{
    _cleanup_val_(envlist_done) struct envlist env = ENVLIST_INIT;
    _cleanup_free_ char **argv = words_of(d, program, arg);
    struct siteprogs *p = d->siteprogs;
    const char *path = program->path;
    char *const *envp;
    int r;

    siteprog_env(d, &env);
    if (program->action)
        envlist_set(&env, "SLURM_NODE_NAME", d->name);
    if (step) {
        envlist_setu(&env, "SLURM_JOB_ID", step->job->job_id);
        envlist_setu(&env, "SLURM_STEP_ID", step->step_id);
        envlist_set(&env, "SLURM_JOB_SLUID", step->job->on->job->sluid);
    }
    envp = envlist_array(&env);
    r = envp && argv ? spawn_program(&(struct spawn){ .path = path, .argv = argv, .envp = envp },
                                     &p->pid[kind])
                     : -ENOMEM;
    if (r < 0) {
        p->pid[kind] = 0;
        log_error("%s %s: %s", kinds[kind].name, path, strerror(-r));
        return;
    }
    log_flag(SCRIPT, "%s %s runs, pid %d", kinds[kind].name, path, (int)p->pid[kind]);
    if (kind == SITEPROG_REBOOT &&
        conf_option(d->conf, CONF_SLURMD_PARAMETERS, "shutdown_on_reboot", NULL, NULL)) {
        log_info("the node reboots, slurmd ends: SlurmdParameters=shutdown_on_reboot");
        d->on->stop(d);
    }
    if (kind == SITEPROG_HEALTH) {
        (void)uv_timer_start(&p->timer, on_timeout,
                             conf_num(d->conf, CONF_HEALTH_CHECK_TIMEOUT) * 1000,
                             0); /* cannot fail: not closing */
    }
}

void siteprog_run(struct noded *d, enum siteprog kind, const struct nstep *step, const char *arg)
{
    struct power_program program = { .path = conf_str(d->conf, kinds[kind].key) };

    if (d->siteprogs->pid[kind] > 0 || !program.path || !*program.path)
        return; /* it runs, or there is none */
    if (kind == SITEPROG_REBOOT)
        (void)conf_power_program(d->conf, CONF_REBOOT_PROGRAM, NULL, &program); /* it is set */
    start_program(d, kind, &program, step, arg);
}

int siteprog_power(struct noded *d, const char *action, struct err *err)
{
    struct power_program program;

    if (!action || !*action ||
        !conf_power_program(d->conf, CONF_SUSPEND_PROGRAM, action, &program) || !program.at_node)
        return err_set(err, -EINVAL, "slurm.conf here has no PowerAction of this name for slurmd");
    log_info("PowerAction %s is asked for by the controller", program.action);
    if (d->siteprogs->pid[SITEPROG_POWER] <= 0)
        start_program(d, SITEPROG_POWER, &program, NULL, NULL);
    return 0;
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
