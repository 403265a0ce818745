/* plug.c - a step with plugins of the site: loaded, told facts, called; see plug.h */
#include "stepd/plug/plug.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/env/env.h"
#include "stepd/plug/pamsession.h"
#include "stepd/shared/spool.h"

#define KNOWN(item) (1ull << (item))

/* ---- what plugins ask for -------------------------------------------------------------------- */

static const char *env_get(void *ctx, const char *name)
{
    const struct plug *p = ctx;

    return envlist_get(p->env, name);
}

static int env_set(void *ctx, const char *name, const char *value)
{
    struct plug *p = ctx;

    envlist_set(p->env, name, value);
    return p->env->failed ? -ENOMEM : 0;
}

static char **env_all(void *ctx)
{
    struct plug *p = ctx;

    return (char **)envlist_array(p->env);
}

static void say_line(void *ctx, enum log_level level, const char *text)
{
    struct plug *p = ctx;
    char line[2200];

    if (level > LOG_INFO)
        return;
    (void)snprintf(line, sizeof(line), "%s%s%.2100s\n",
                   level == LOG_QUIET ? "" : "slurmstepd: ", level == LOG_ERROR ? "error: " : "",
                   text);
    if (!p->in_task)
        step_tell(p->step, line);
    else if (write(STDERR_FILENO, line, strlen(line)) < 0)
        return; /* the stream has no reader */
}

static void fill_numbers(struct step *s, struct spank_facts *f)
{
    const Pst__JobRecord *j = s->job;

    f->uid = s->uid;
    f->gid = s->gid;
    f->job_id = s->job_id;
    f->step_id = s->step_id;
    f->restarts = j->restart_count;
    f->array_job_id = j->has_array_job_id ? j->array_job_id : 0;
    f->array_task_id = j->has_array_task_id ? j->array_task_id : NO_VAL;
    f->gids = s->gids;
    f->n_gids = (int)s->n_gids;
    f->local_tasks = (uint32_t)s->n_tasks;
    f->known = KNOWN(S_JOB_UID) | KNOWN(S_JOB_GID) | KNOWN(S_JOB_ID) | KNOWN(S_JOB_STEPID) |
               KNOWN(S_SLURM_RESTART_COUNT) | KNOWN(S_JOB_ARRAY_ID) | KNOWN(S_JOB_ARRAY_TASK_ID) |
               KNOWN(S_JOB_SUPPLEMENTARY_GIDS) | KNOWN(S_JOB_LOCAL_TASK_COUNT) | KNOWN(S_JOB_ENV) |
               KNOWN(S_JOB_ARGV) | KNOWN(S_JOB_LOCAL_TO_GLOBAL_ID) | KNOWN(S_JOB_NNODES) |
               KNOWN(S_JOB_NODEID) | KNOWN(S_JOB_TOTAL_TASK_COUNT) | KNOWN(S_JOB_NCPUS) |
               KNOWN(S_STEP_CPUS_PER_TASK);
}

static uint32_t all_tasks(const Pst__Alloc *alloc)
{
    uint32_t n = 0;

    for (size_t i = 0; alloc && i < alloc->n_groups; i++)
        n += alloc->groups[i]->nodes * alloc->groups[i]->tasks;
    return n;
}

static void fill_layout(struct step *s, struct spank_facts *f)
{
    const Pst__JobOnNode *on = s->sf->job;
    const Pst__AllocGroup *g = env_step_group(s->sf);

    f->cpus = (uint16_t)MIN(g ? g->cpus : on->cpus, (uint32_t)UINT16_MAX);
    f->cpus_per_task =
        s->job->has_cpus_per_task && s->job->cpus_per_task ? s->job->cpus_per_task : 1;
    f->nodes = 1;
    f->total_tasks = 1;
    if (s->launch) {
        f->nodes = env_alloc_nodes(s->sf->step->alloc);
        f->total_tasks = all_tasks(s->sf->step->alloc);
        f->node_index = s->launch->node_index;
        if (f->total_tasks && g)
            f->cpus_per_task = MAX(1u, f->cpus / MAX(1u, f->local_tasks));
    }
    f->job_cores = on->cpu_ids;
    f->job_mem_mib = on->mem_mib;
    f->step_cores = g ? g->cpu_ids : on->cpu_ids;
    f->step_mem_mib = g ? g->mem_mib : on->mem_mib;
    f->known |= (f->job_cores ? KNOWN(S_JOB_ALLOC_CORES) : 0) |
                (f->step_cores ? KNOWN(S_STEP_ALLOC_CORES) : 0) |
                (f->job_mem_mib ? KNOWN(S_JOB_ALLOC_MEM) : 0) |
                (f->step_mem_mib ? KNOWN(S_STEP_ALLOC_MEM) : 0);
}

static int fill_facts(struct plug *p)
{
    struct step *s = p->step;
    struct spank_facts *f = &p->host.facts;
    char **from = s->launch ? s->launch->argv : s->job->argv;
    size_t n = s->launch ? s->launch->n_argv : s->job->n_argv;

    p->ranks = calloc(s->n_tasks + 1, sizeof(*p->ranks));
    p->pids = calloc(s->n_tasks + 1, sizeof(*p->pids));
    p->argv = calloc(n + 2, sizeof(*p->argv));
    if (!p->ranks || !p->pids || !p->argv)
        return -ENOMEM;
    for (size_t i = 0; i < s->n_tasks; i++)
        p->ranks[i] = s->tasks[i].rank;
    if (n)
        memcpy(p->argv, from, n * sizeof(*from));
    if (!s->launch) {
        char script[SPOOL_PATH_MAX];

        spool_script(s->sf->step_dir, s->job_id, script, sizeof(script));
        p->script = strdup(script);
        if (!p->script)
            return -ENOMEM;
        p->argv[0] = p->script;
        n = MAX(n, (size_t)1);
    }
    f->argc = (int)n;
    f->argv = p->argv;
    f->ranks = p->ranks;
    f->pids = p->pids;
    fill_numbers(s, f);
    fill_layout(s, f);
    return 0;
}

/* ---- the step -------------------------------------------------------------------------------- */

static struct plug *plug_free(struct plug *p)
{
    (void)spank_stack_free(p->stack);
    free(p->ranks);
    free(p->pids);
    free(p->argv);
    free(p->script);
    free(p);
    return NULL;
}

/* The step cannot be set up.  A plugin may say that this is due to the job; else the node is at
 * fault. */
static bool note_refusal(struct step *s, int r, const struct err *err)
{
    const char *why = err->text[0] ? err->text : strerror(r < 0 ? -r : EINVAL);

    step_notice(s, "%s", why);
    step_fail(s, "%s", why);
    if (r != ESPANK_JOB_FAILURE) {
        (void)snprintf(s->drain, sizeof(s->drain), "spank: %.150s", why);
        s->launch_failed = true;
    }
    return false;
}

/* As the user, in the work directory. */
static int call_user_init(struct plug *p, struct err *err)
{
    _cleanup_close_ int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = here < 0 ? -errno : output_as_user(p->step);

    if (r < 0)
        return err_set(err, ESPANK_JOB_FAILURE, "could not become user %u: %s", p->step->uid,
                       strerror(-r));
    if (chdir(p->step->work_dir) < 0 && chdir("/") < 0)
        r = err_set(err, ESPANK_JOB_FAILURE, "could not leave the spool: %s", strerror(errno));
    if (r == 0)
        r = spank_stack_call(p->stack, SPANK_USER_INIT, err);
    output_as_self(p->step);
    if (fchdir(here) < 0)
        r = err_set(err, ESPANK_ERROR, "could not go back to the spool: %s", strerror(errno));
    return r;
}

static int call_begin(struct plug *p, struct err *err)
{
    int r = spank_stack_call(p->stack, SPANK_INIT, err);

    if (r != 0)
        return r;
    r = spank_options_from(p->stack, env_get, p, err);
    envlist_unset_prefix(p->env, SPANK_OPTION_PREFIX);
    if (r < 0) /* what the user asked for, or memory */
        return ESPANK_JOB_FAILURE;
    r = spank_stack_call(p->stack, SPANK_INIT_POST_OPT, err);
    if (r == 0 && spank_stack_has(p->stack, SPANK_USER_INIT) && call_user_init(p, err) != 0)
        r = ESPANK_JOB_FAILURE; /* with the user's rights there is much that only the user has to do
                                   with */
    return r;
}

static bool begin_plugins(struct step *s)
{
    struct plug *p = calloc(1, sizeof(*p));
    struct err err = { .text = "" };
    int r = p ? 0 : -ENOMEM;

    if (r < 0)
        return note_refusal(s, r, &err);
    p->step = s;
    p->env = &s->env;
    p->host = (struct spank_host){ .context = S_CTX_REMOTE,
                                   .ctx = p,
                                   .env_get = env_get,
                                   .env_set = env_set,
                                   .env_all = env_all,
                                   .log = say_line };
    r = fill_facts(p);
    /* slurmd saw it: it is below a private folder of the job */
    if (r == 0 && access(s->sf->plugstack, R_OK) < 0)
        r = err_set(&err, -errno, "cannot read %s: %s", s->sf->plugstack, strerror(errno));
    if (r == 0)
        r = spank_stack_load(s->sf->plugstack, s->sf->plugin_dir, &p->host, &p->stack, &err);
    if (r < 0 || !p->stack) {
        p = plug_free(p);
        return r < 0 ? note_refusal(s, r, &err) : true;
    }
    s->plug = p;
    r = call_begin(p, &err);
    return r == 0 ? true : note_refusal(s, r, &err);
}

static void task_exit(struct step *s, const struct task *t)
{
    struct plug *p = s->plug;

    plug_about(p, (int)(t - s->tasks), &s->env);
    p->host.facts.status = t->status;
    p->host.facts.known |= KNOWN(S_TASK_EXIT_STATUS);
    (void)spank_stack_call(p->stack, SPANK_TASK_EXIT,
                           NULL); /* told; the task is over whatever they say */
    p->host.facts.known &= ~KNOWN(S_TASK_EXIT_STATUS);
    plug_about(p, -1, &s->env);
}

static void end_plugins(struct step *s)
{
    (void)spank_stack_call(s->plug->stack, SPANK_EXIT, NULL); /* told, and too late for more */
    s->plug = plug_free(s->plug);
}

static bool open_session(struct step *s)
{
    struct err err = { .text = "" };
    int r = pamsession_open(s->job->user_name, s->sf->job->node_name, &s->session, &err);

    return r < 0 ? note_refusal(s, ESPANK_JOB_FAILURE, &err) : true; /* of this user: no drain */
}

static void close_session(struct step *s)
{
    s->session = pamsession_close(s->session);
}

int plug_main(int argc, char **argv, const struct plug_ops **ret_ops)
{
    static const struct plug_ops ops = { .begin = begin_plugins,
                                         .fork = plug_fork,
                                         .task_exit = task_exit,
                                         .end = end_plugins,
                                         .open_session = open_session,
                                         .close_session = close_session };

    if (argc > 1 && strcmp(argv[1], "spank") == 0)
        return plug_script(argc - 2, argv + 2);
    *ret_ops = &ops;
    return -1;
}
