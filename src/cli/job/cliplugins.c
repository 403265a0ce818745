/* cliplugins.c - see cliplugins.h
 *
 * Options of plugins are rows beside the command's own (struct opt_more).  What was given is noted
 * while the command line is parsed and handed over in order of precedence afterwards, so that the
 * last call of a plugin's function has the value that counts. */
#include "cli/job/cliplugins.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/job/jobopts.h"
#include "spank/plugstack.h"
#include "spank/stack.h"
#include "wire/tls/tlsctx.h"

struct given {
    size_t option;
    char *arg; /* owned; NULL: none */
    enum opt_source source;
};

struct plugins {
    struct spank_host host;
    struct spank_stack *stack;
    struct opt *rows;
    struct opt_more more; /* the rows, for the parser */
    struct given *given;
    size_t n_given;
};

extern char **environ;

static void say_line(void *ctx, enum log_level level, const char *text)
{
    (void)ctx;
    switch (level) {
    case LOG_QUIET:
        (void)fprintf(stderr, "%s\n", text);
        break;
    case LOG_ERROR:
        cli_error("%s", text);
        break;
    case LOG_INFO:
        cli_info("%s", text);
        break;
    default:
        cli_verbose((int)level - LOG_INFO, "%s", text);
    }
}

static char **env_all(void *ctx)
{
    (void)ctx;
    return environ;
}

static bool option_free(void *ctx, const char *name)
{
    static const char *const common[] = { "help", "usage", "version", "help-table",
                                          "help-interface" };
    const struct opt_command *cmd = jobopts_command(JOBOPTS_SRUN); /* all have one table */

    (void)ctx;
    for (size_t i = 0; i < cmd->n; i++)
        if (strcmp(cmd->rows[i].name, name) == 0)
            return false;
    for (size_t i = 0; i < ARRAY_SIZE(common); i++)
        if (strcmp(common[i], name) == 0)
            return false;
    return true;
}

/* ---- options --------------------------------------------------------------------------------- */

static void note_option(struct plugins *p, size_t option, const char *arg, enum opt_source source)
{
    struct given *g;

    p->given = xrealloc_or_die(p->given, p->n_given + 1, sizeof(*p->given));
    g = &p->given[p->n_given++];
    *g = (struct given){ .option = option, .arg = xstrdup_or_die(arg), .source = source };
}

static int set_option(void *ctx, const struct opt *opt, const char *arg, enum opt_source source,
                      struct err *err)
{
    (void)err;
    note_option(ctx, (size_t)opt->id, arg, source);
    return 0;
}

static void add_rows(struct plugins *p)
{
    static const enum opt_arg kinds[] = { OPT_NONE, OPT_REQ, OPT_OPT };
    size_t n = spank_option_count(p->stack);

    p->rows = xmalloc_or_die((n + 1) * sizeof(*p->rows));
    for (size_t i = 0; i < n; i++) {
        const struct spank_option *o = spank_option_at(p->stack, i);

        p->rows[i] = (struct opt){ .name = o->name,
                                   .arg = kinds[o->has_arg],
                                   .id = (int)i,
                                   .group = "Options provided by plugins",
                                   .metavar = o->arginfo,
                                   .help = o->usage };
    }
    p->more = (struct opt_more){ .rows = p->rows, .n = n, .set = set_option, .ctx = p };
}

/* Of a salloc, or another command that set the variables. */
static void note_env(struct plugins *p)
{
    for (size_t i = 0; i < spank_option_count(p->stack); i++) {
        _cleanup_free_ char *name = spank_option_variable(p->stack, i);
        const char *value = name ? getenv(name) : NULL;

        if (value)
            note_option(p, i, spank_option_at(p->stack, i)->has_arg == 0 || !*value ? NULL : value,
                        OPT_FROM_ENV);
    }
}

static int hand_over(struct plugins *p, enum opt_source source, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < p->n_given && r == 0; i++)
        if (p->given[i].source == source)
            r = spank_option_given(p->stack, p->given[i].option, p->given[i].arg, err);
    return r;
}

static void forget_given(struct plugins *p)
{
    for (size_t i = 0; i < p->n_given; i++)
        free(p->given[i].arg);
    p->n_given = 0;
}

/* ---- the life of the command ----------------------------------------------------------------- */

static void call_or_die(struct plugins *p, enum spank_call what)
{
    struct err err = { .text = "" };

    if (spank_stack_call(p->stack, what, &err) != 0)
        cli_die(CLI_EXIT_FAILED, "%s", err.text);
}

static struct plugins *free_plugins(struct plugins *p)
{
    if (!p)
        return NULL;
    forget_given(p);
    free(p->given);
    free(p->rows);
    (void)spank_stack_free(p->stack); /* always NULL */
    free(p);
    return NULL;
}

void plugins_load(struct cli *c, bool local)
{
    const struct conf *conf = cli_conf_try(c);
    _cleanup_free_ char *path = NULL;
    struct err err = { .text = "" };
    struct plugins *p;

    if (!conf)
        return;
    path = plugstack_path(conf_str(conf, CONF_PLUG_STACK_CONFIG), conf_path(conf));
    p = xmalloc_or_die(sizeof(*p));
    *p = (struct plugins){ .host = { .context = local ? S_CTX_LOCAL : S_CTX_ALLOCATOR,
                                     .env_all = env_all,
                                     .log = say_line,
                                     .option_free = option_free } };
    p->host.facts.uid = getuid();
    p->host.facts.gid = getgid();
    p->host.facts.known = (1ull << S_JOB_UID) | (1ull << S_JOB_GID);
    if (!path ||
        spank_stack_load(path, conf_str(conf, CONF_PLUGIN_DIR), &p->host, &p->stack, &err) < 0)
        cli_die(CLI_EXIT_FAILED, "%s", err_or_nomem(&err));
    if (!p->stack) {
        (void)free_plugins(p); /* always NULL */
        return;
    }
    c->plugins = p;
    tls_be_brief(false);
    call_or_die(p, SPANK_INIT);
    add_rows(p);
}

const struct opt_more *plugins_options(const struct cli *c)
{
    return c->plugins ? &c->plugins->more : NULL;
}

void plugins_options_done(struct cli *c, char **words, int n_words)
{
    struct plugins *p = c->plugins;
    static const enum opt_source order[] = { OPT_FROM_SCRIPT, OPT_FROM_ENV, OPT_FROM_ARGV };
    struct err err = { .text = "" };

    if (!p)
        return;
    if (p->host.context == S_CTX_LOCAL) {
        p->host.facts.argv = words;
        p->host.facts.argc = n_words;
        p->host.facts.known |= (1ull << S_JOB_ARGV) | (1ull << S_JOB_ENV);
    }
    note_env(p);
    for (size_t i = 0; i < ARRAY_SIZE(order); i++)
        if (hand_over(p, order[i], &err) < 0)
            cli_die(CLI_EXIT_FAILED, "%s", err.text);
    call_or_die(p, SPANK_INIT_POST_OPT);
}

static void put_env(void *ctx, const char *name, const char *value)
{
    envlist_set(ctx, name, value);
}

void plugins_add_env(const struct cli *c, struct envlist *env)
{
    const struct plugins *p = c->plugins;

    if (p)
        spank_option_variables(p->stack, put_env, env);
}

static void add_text(Pst__JobRecord *job, char *text)
{
    job->spank_job_env =
        xrealloc_or_die(job->spank_job_env, job->n_spank_job_env + 1, sizeof(char *));
    job->spank_job_env[job->n_spank_job_env++] = text;
}

static void put_job(void *ctx, const char *name, const char *value)
{
    add_text(ctx, xasprintf_or_die("%s=%s", name, value));
}

void plugins_fill_job(const struct cli *c, Pst__JobRecord *job)
{
    const struct plugins *p = c->plugins;
    char *const *list;
    size_t n;

    if (!p)
        return;
    list = spank_job_control(p->stack, &n);
    for (size_t i = 0; i < n; i++)
        add_text(job, xstrdup_or_die(list[i]));
    spank_option_variables(p->stack, put_job, job);
}

int plugins_take_entry(struct cli *c, struct envlist *env, Pst__JobRecord *job, struct err *err)
{
    struct plugins *p = c->plugins;
    int r;

    if (!p)
        return 0;
    r = hand_over(p, OPT_FROM_SCRIPT, err);
    if (r == 0) {
        plugins_add_env(c, env);
        plugins_fill_job(c, job);
    }
    forget_given(p);
    spank_options_forget(p->stack);
    return r;
}

void plugins_entries_done(struct cli *c)
{
    if (c->plugins)
        call_or_die(c->plugins, SPANK_INIT_POST_OPT);
}

int plugins_step_made(struct cli *c, uint32_t job_id, uint32_t step_id, uint32_t nodes,
                      uint32_t tasks)
{
    struct plugins *p = c->plugins;
    struct err err = { .text = "" };
    struct spank_facts *f;

    if (!p)
        return 0;
    f = &p->host.facts;
    f->job_id = job_id;
    f->step_id = step_id;
    f->nodes = nodes;
    f->total_tasks = tasks;
    f->known |= (1ull << S_JOB_ID) | (1ull << S_JOB_STEPID) | (1ull << S_JOB_NNODES) |
                (1ull << S_JOB_TOTAL_TASK_COUNT);
    if (spank_stack_call(p->stack, SPANK_LOCAL_USER_INIT, &err) == 0)
        return 0;
    cli_error("%s", err.text);
    return CLI_EXIT_FAILED;
}

void plugins_end(struct cli *c)
{
    if (c->plugins)
        (void)spank_stack_call(c->plugins->stack, SPANK_EXIT,
                               NULL); /* told; there is nothing left to give up */
    c->plugins = free_plugins(c->plugins);
}
