/* scripts.c - Prolog and Epilog of slurmd; see scripts.h
 *
 * Each runs as slurmd's user in a session of its own with an environment built from nothing, its
 * output thrown away, one after the other for a job (patterns expand, in reverse order), within
 * the configured time.  PrologFlags=Serial: one job at a time, in the order they came.  A
 * failing prolog or epilog drains the node.  Main thread; nothing blocks. */
#include "noded/site/scripts.h"

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/logflags.h"
#include "base/process/daemonize.h"
#include "base/process/spawnprog.h"
#include "noded/hw/nodegres.h"
#include "noded/link/nodereport.h"
#include "noded/site/nodeplugins.h"
#include "stepd/env/env.h"
#include "stepd/shared/spool.h"

struct run {
    struct run *next;
    struct scripts *owner;
    uint32_t job_id;
    uint64_t run_id;
    bool epilog;
    glob_t paths;
    size_t left;  /* paths not yet run: from the end */
    bool plugins; /* those of the site come first: not yet called */
    bool queued;  /* PrologFlags=Serial: another job's runs */
    pid_t pid;
    uv_timer_t *timer;
    struct envlist env;
};

struct scripts {
    struct noded *d;
    struct run *runs;
};

static void free_handle(uv_handle_t *h)
{
    free(h);
}

static void run_free(struct run *r)
{
    struct run **p = &r->owner->runs;

    while (*p != r)
        p = &(*p)->next;
    *p = r->next;
    if (r->timer)
        uv_close((uv_handle_t *)r->timer, free_handle);
    globfree(&r->paths);
    envlist_done(&r->env);
    free(r);
}

int scripts_new(struct noded *d, struct scripts **ret_scripts)
{
    struct scripts *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    s->d = d;
    *ret_scripts = s;
    return 0;
}

struct scripts *scripts_free(struct scripts *scripts)
{
    while (scripts && scripts->runs)
        run_free(scripts->runs);
    free(scripts);
    return NULL;
}

static enum conf_key key_of(bool epilog)
{
    return epilog ? CONF_EPILOG : CONF_PROLOG;
}

bool scripts_any(const struct noded *d, bool epilog)
{
    const char *first = conf_str_nth(d->conf, key_of(epilog), 0);

    return (first && *first) || plugins_have(d, epilog);
}

static bool runs_serially(const struct noded *d)
{
    const char *v;
    size_t len;

    return conf_option(d->conf, CONF_PROLOG_FLAGS, "Serial", &v, &len);
}

static bool other_runs(const struct scripts *s, const struct run *but)
{
    for (const struct run *r = s->runs; r; r = r->next)
        if (r != but && !r->queued)
            return true;
    return false;
}

static void begin_run(struct noded *d, struct run *r);

/* The one that has waited longest: the last of the list.  Also after a reconfiguration without
 * Serial. */
static void begin_queued(struct noded *d)
{
    struct run *oldest = NULL;

    if (other_runs(d->scripts, NULL))
        return;
    for (struct run *r = d->scripts->runs; r; r = r->next)
        if (r->queued)
            oldest = r;
    if (oldest)
        begin_run(d, oldest);
}

static void conclude_run(struct noded *d, struct run *r, bool ok)
{
    struct njob *job = jobs_find(&d->jobs, r->job_id, r->run_id);
    bool epilog = r->epilog;
    char dir[SPOOL_PATH_MAX];

    log_flag(SCRIPT, "JobId=%u %s is over: %s", r->job_id, epilog ? "Epilog" : "Prolog",
             ok ? "well" : "failed");

    run_free(r);
    if (!job)
        return;
    if (epilog) {
        spool_job_dir(d->spool, job->job_id, job->run_id, dir, sizeof(dir));
        if (!ok) /* or the controller is not told of the failure after a restart */
            (void)spool_write(dir, "epilog-failed", "", 0, 0600, (uid_t)-1, (gid_t)-1);
        (void)spool_write(dir, "epilogued", "", 0, 0600, (uid_t)-1,
                          (gid_t)-1); /* or it runs twice */
        job->epilog = ok ? SCRIPT_DONE : SCRIPT_FAILED;
        if (!ok)
            report_drain(d, "Epilog error");
        d->on->advance_job(d, job);
        return;
    }
    job->prolog = ok ? SCRIPT_DONE : SCRIPT_FAILED;
    if (ok && job->prolog_wanted)
        report_prolog_done(d, job);
    d->on->prolog_over(d, job); /* who launches hears it from us before the job is over */
    if (!ok) {
        report_prolog_failed(d, job);
        report_drain(d, "Prolog error");
    }
    d->on->advance_job(d, job);
}

static void finish_run(struct noded *d, struct run *r, bool ok)
{
    conclude_run(d, r, ok);
    begin_queued(d);
}

/* The extern step that the job's scripts run in, while it takes any; NULL: they run beside the
 * job. */
static const struct nstep *place_of(struct njob *job)
{
    const struct nstep *s = job->run_in_job ? job_find_step(job, STEP_ID_EXTERN) : NULL;

    return s && s->phase == STEP_RUNS && s->launched ? s : NULL;
}

/* Where PrologFlags has RunInJob, a program of ours becomes a process of the extern step first. */
static int spawn_script(struct noded *d, struct run *r, const char *path, char *const *envp)
{
    struct njob *job = jobs_find(&d->jobs, r->job_id, r->run_id);
    const struct nstep *place = job ? place_of(job) : NULL;
    char *inside[] = { d->stepd_exe, (char *)"script", (char *)path, d->work_dir, NULL };
    char dir[SPOOL_PATH_MAX];
    struct spawn program = { .path = path, .envp = envp };

    if (place) {
        spool_step_dir(d->spool, r->job_id, r->run_id, STEP_ID_EXTERN, dir, sizeof(dir));
        program = (struct spawn){ .path = d->stepd_exe, .argv = inside, .dir = dir, .envp = envp };
    }
    return spawn_program(&program, &r->pid);
}

/* The next script, or the end. */
static void run_next(struct noded *d, struct run *r)
{
    char *const *envp = envlist_array(&r->env);
    const char *path;
    int rc;

    if (r->left == 0 && !r->plugins) {
        finish_run(d, r, true);
        return;
    }
    path = r->plugins ? "of plugins" : r->paths.gl_pathv[--r->left];
    if (!envp)
        rc = -ENOMEM;
    else if (r->plugins)
        rc = plugins_spawn(d, r->epilog, envp, &r->pid);
    else
        rc = spawn_script(d, r, path, envp);
    r->plugins = false;
    if (rc == 0) {
        log_flag(SCRIPT, "JobId=%u %s %s runs, pid %d", r->job_id, r->epilog ? "Epilog" : "Prolog",
                 path, (int)r->pid);
        return;
    }
    log_error("%s %s: %s job=%u", r->epilog ? "Epilog" : "Prolog", path, strerror(-rc), r->job_id);
    finish_run(d, r, false);
}

static void on_timeout(uv_timer_t *timer)
{
    struct run *r = timer->data;

    log_error("%s ran too long job=%u", r->epilog ? "Epilog" : "Prolog", r->job_id);
    if (r->pid > 0)
        (void)kill(-r->pid, SIGKILL); /* its session; the exit status tells the rest */
}

static uint64_t timeout_s(const struct conf *conf, bool epilog)
{
    uint64_t own = conf_num(conf, epilog ? CONF_EPILOG_TIMEOUT : CONF_PROLOG_TIMEOUT);

    return MIN(own, conf_num(conf, CONF_PROLOG_EPILOG_TIMEOUT));
}

static void start_timer(struct noded *d, struct run *r)
{
    uint64_t limit_s = timeout_s(d->conf, r->epilog);

    if (limit_s >= 65534) /* INFINITE */
        return;
    r->timer = malloc(sizeof(*r->timer));
    if (!r->timer || uv_timer_init(&d->loop, r->timer) < 0) {
        free(r->timer);
        r->timer = NULL;
        return;
    }
    r->timer->data = r;
    (void)uv_timer_start(r->timer, on_timeout, limit_s * 1000, 0); /* cannot fail: not closing */
}

static int gather_paths(struct noded *d, struct run *r)
{
    enum conf_key key = key_of(r->epilog);

    for (size_t i = 0; conf_str_nth(d->conf, key, i); i++) {
        int flags = GLOB_NOCHECK | (r->paths.gl_pathc ? GLOB_APPEND : 0);
        _cleanup_free_ char *pattern = NULL;

        if (conf_program(d->conf, conf_str_nth(d->conf, key, i), &pattern) < 0 ||
            glob(pattern, flags, NULL, &r->paths) != 0)
            return -ENOMEM;
    }
    r->left = r->paths.gl_pathc;
    r->plugins = plugins_have(d, r->epilog);
    return 0;
}

static void begin_run(struct noded *d, struct run *r)
{
    r->queued = false;
    if (gather_paths(d, r) < 0) {
        finish_run(d, r, false);
        return;
    }
    start_timer(d, r);
    run_next(d, r);
}

static void add_gpus(struct noded *d, const struct njob *job, struct envlist *env)
{
    Pst__StepFile *gpus = malloc(sizeof(*gpus));

    if (gpus)
        pst__step_file__init(gpus);
    if (!gpus || gres_step_gpus(d->gres, gpus) < 0)
        env->failed = true;
    else
        env_script_gpus(gpus, job->on, env);
    if (gpus)
        pst__step_file__free_unpacked(gpus, NULL);
}

void scripts_start(struct noded *d, struct njob *job, bool epilog)
{
    struct run *r = calloc(1, sizeof(*r));

    if (!r) {
        if (epilog)
            job->epilog = SCRIPT_FAILED;
        else
            job->prolog = SCRIPT_FAILED;
        return;
    }
    *r = (struct run){ .next = d->scripts->runs,
                       .owner = d->scripts,
                       .job_id = job->job_id,
                       .run_id = job->run_id,
                       .epilog = epilog };
    d->scripts->runs = r;
    if (epilog)
        job->epilog = SCRIPT_RUNS;
    else
        job->prolog = SCRIPT_RUNS;
    env_script(job->on, epilog ? "epilog_slurmd" : "prolog_slurmd", conf_path(d->conf), &r->env);
    add_gpus(d, job, &r->env);
    if (epilog)
        env_script_end(job->on->job->has_exit_status ? job->on->job->exit_status
                                                     : job->batch_status,
                       job->on->job->derived_exit_status, &r->env);
    r->queued = runs_serially(d) && other_runs(d->scripts, r);
    if (!r->queued)
        begin_run(d, r);
}

bool scripts_child_exited(struct noded *d, pid_t pid, int status)
{
    struct run *r = d->scripts->runs;

    while (r && r->pid != pid)
        r = r->next;
    if (!r)
        return false;
    r->pid = 0;
    if (status == 0) {
        run_next(d, r);
        return true;
    }
    log_error("%s failed: %s %d job=%u", r->epilog ? "Epilog" : "Prolog",
              WIFSIGNALED(status) ? "signal" : "exit code",
              WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), r->job_id);
    finish_run(d, r, false);
    return true;
}
