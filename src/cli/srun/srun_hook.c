/* srun_hook.c - SrunProlog and SrunEpilog, or --prolog and --epilog, beside the step; see srun.h
 *
 * They run here, as the user, with srun's own environment, what it passes on to the tasks and what
 * is known of job and step.  What belongs to one task or one node (SLURM_PROCID, SLURMD_NODENAME
 * ...) they have only where srun has it. */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/job/allocenv.h"
#include "cli/job/submit.h"
#include "cli/srun/srun.h"

extern char **environ;

static void add_text(struct envlist *env, const char *name, const char *value)
{
    if (value && *value)
        envlist_set(env, name, value);
}

static void add_job(struct srun *s, const Pst__JobRecord *j, struct envlist *env)
{
    const struct conf *conf = cli_conf(&s->cli);
    int64_t end = j->has_end_us ? j->end_us : 0;

    allocenv_add(env, j);
    add_text(env, "SLURM_JOB_SLUID", j->sluid);
    envlist_setf(env, "SLURM_JOB_UID", "%u", j->uid);
    envlist_setf(env, "SLURM_JOB_GID", "%u", j->gid);
    add_text(env, "SLURM_JOB_USER", j->user_name);
    add_text(env, "SLURM_JOB_GROUP", j->group_name);
    add_text(env, "SLURM_JOB_LICENSES", j->licenses);
    add_text(env, "SLURM_CLUSTER_NAME", conf_str(conf, CONF_CLUSTER_NAME));
    add_text(env, "SLURM_CONF", conf_path(conf));
    if (!end && j->has_time_limit_min)
        end = j->start_us + (int64_t)j->time_limit_min * 60 * USEC_PER_SEC;
    envlist_setf(env, "SLURM_JOB_START_TIME", "%lld", (long long)(j->start_us / USEC_PER_SEC));
    if (end > 0)
        envlist_setf(env, "SLURM_JOB_END_TIME", "%lld", (long long)(end / USEC_PER_SEC));
    if (!envlist_get(env, "SLURM_SUBMIT_DIR"))
        add_text(env, "SLURM_SUBMIT_DIR", j->work_dir);
    if (!envlist_get(env, "SLURM_SUBMIT_HOST"))
        add_text(env, "SLURM_SUBMIT_HOST", j->alloc_host);
    if (j->has_array_task_id) {
        envlist_setf(env, "SLURM_ARRAY_JOB_ID", "%u",
                     j->has_array_job_id ? j->array_job_id : j->job_id);
        envlist_setf(env, "SLURM_ARRAY_TASK_ID", "%u", j->array_task_id);
    }
}

static void add_step(struct srun *s, const Pst__StepRecord *step, struct envlist *env)
{
    _cleanup_free_ uint32_t *tasks = xmalloc_or_die((s->n_nodes + 1) * sizeof(*tasks));
    _cleanup_free_ char *counts = NULL;
    const char *dist = step->distribution, *eq = dist ? strchr(dist, '=') : NULL;

    for (size_t i = 0; i < s->n_nodes; i++)
        tasks[i] = s->nodes[i].n_tasks;
    counts = allocenv_counts(tasks, s->n_nodes);
    envlist_setf(env, "SLURM_JOB_ID", "%u", s->job_id); /* of all components together */
    envlist_setf(env, "SLURM_JOBID", "%u", s->job_id);
    envlist_setf(env, "SLURM_STEP_ID", "%u", s->step_id);
    envlist_setf(env, "SLURM_STEPID", "%u", s->step_id);
    envlist_setf(env, "SLURM_NTASKS", "%u", s->n_tasks);
    envlist_setf(env, "SLURM_NPROCS", "%u", s->n_tasks);
    envlist_setf(env, "SLURM_NNODES", "%zu", s->n_nodes);
    envlist_set(env, "SLURM_TASKS_PER_NODE", counts);
    envlist_setf(env, "SLURM_STEP_NUM_TASKS", "%u", s->n_tasks);
    envlist_setf(env, "SLURM_STEP_NUM_NODES", "%zu", s->n_nodes);
    envlist_set(env, "SLURM_STEP_TASKS_PER_NODE", counts);
    if (step->alloc)
        add_text(env, "SLURM_STEP_NODELIST", step->alloc->nodes);
    if (eq) {
        envlist_setf(env, "SLURM_DISTRIBUTION", "%.*s", (int)(eq - dist), dist);
        envlist_set(env, "SLURM_DIST_PLANESIZE", eq + 1);
    } else if (dist || !s->own_job) { /* in a job of batch or salloc it is said which one it is */
        envlist_set(env, "SLURM_DISTRIBUTION",
                    dist                       ? dist
                    : s->n_tasks <= s->n_nodes ? "cyclic"
                                               : "block");
    }
}

/* What the tasks have as settings is here as variables. */
static void add_limits(struct srun *s, const struct srun_part *p, struct envlist *env)
{
    size_t n;
    Pst__Rlimit **limits = submit_rlimits(&s->cli, &p->opts, &n);

    for (size_t i = 0; i < n; i++) {
        _cleanup_free_ char *name = xasprintf_or_die("SLURM_RLIMIT_%s", limits[i]->name);

        envlist_setf(env, name, "%llu", (unsigned long long)limits[i]->soft);
    }
    submit_free_rlimits(limits, n);
}

static void add_own(struct srun *s, const struct srun_part *p, struct envlist *env)
{
    uint32_t level = 2;
    const char *mpi = srun_mpi_type(s);

    srun_add_settings(s, p, env);
    (void)srun_debug_level(&p->opts, &level); /* not given: as step daemons do */
    envlist_setf(env, "SLURMD_DEBUG", "%u", level);
    envlist_set(env, "SLURM_MPI_TYPE", mpi ? mpi : "none");
    add_limits(s, p, env);
}

/* NULL: none is wanted, or it cannot be run, which does not stop the step. */
static const char *hook_path(struct srun *s, enum jobopt id)
{
    enum conf_key key = id == JO_PROLOG ? CONF_SRUN_PROLOG : CONF_SRUN_EPILOG;
    const char *path =
        jobopts_has(&s->opts, id) ? jobopts_get(&s->opts, id) : conf_str(cli_conf(&s->cli), key);

    if (!path || !*path || strcasecmp(path, "none") == 0)
        return NULL;
    if (access(path, X_OK) == 0)
        return path;
    cli_info("Access denied for %s: %s", path, strerror(errno));
    return NULL;
}

/* The program's arguments are the step's program and its arguments.  The caller frees. */
static char **hook_argv(const struct srun *s, const char *path)
{
    const struct srun_part *p = &s->parts[0];
    size_t n = p->end > p->first ? (size_t)(p->end - p->first) : 0;
    char **argv = xmalloc_or_die((n + 2) * sizeof(*argv));

    argv[0] = (char *)path; /* posix_spawn() does not write there */
    for (size_t i = 0; i < n; i++)
        argv[1 + i] = p->argv[p->first + (int)i];
    argv[1 + n] = NULL;
    return argv;
}

int srun_hook(struct srun *s, enum jobopt id)
{
    bool prolog = id == JO_PROLOG;
    const char *path = hook_path(s, id);
    _cleanup_val_(envlist_done) struct envlist env = ENVLIST_INIT;
    _cleanup_free_ char **argv = NULL;
    posix_spawnattr_t attr;
    int status = 0, r;
    pid_t pid;

    if (!path)
        return 0;
    argv = hook_argv(s, path);
    envlist_export(&env, environ, NULL);
    add_own(s, &s->parts[0], &env);
    if (s->job)
        add_job(s, s->job, &env);
    add_step(s, s->parts[0].reply->step, &env);
    envlist_set(&env, "SLURM_SCRIPT_CONTEXT", prolog ? "prolog_srun" : "epilog_srun");
    (void)posix_spawnattr_init(
        &attr); /* fails only for lack of memory, which posix_spawn() reports */
    (void)posix_spawnattr_setsigmask(&attr, &s->old_mask);
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    r = posix_spawn(&pid, path, NULL, &attr, argv, env.items);
    (void)posix_spawnattr_destroy(&attr);
    if (r != 0) {
        cli_error("Unable to run %s: %s", path, strerror(r));
        return CLI_EXIT_FAILED;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    if (status && prolog)
        cli_error("srun prolog failed rc = %d. Aborting step.", status);
    else if (status)
        cli_error("srun epilog failed status=%d", status);
    return status;
}
