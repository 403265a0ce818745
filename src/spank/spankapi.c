/* spankapi.c - the functions that plugins call; see slurm/spank.h */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "spank/stack_impl.h"

/* The stack of a handle that is good now; NULL: none. */
static struct spank_stack *stack_of(spank_t sp)
{
    return sp && sp->stack && sp->stack == spank_the_stack ? sp->stack : NULL;
}

static bool is_remote(const struct spank_stack *st)
{
    return st->host->context == S_CTX_REMOTE;
}

static bool is_command(const struct spank_stack *st)
{
    return st->host->context == S_CTX_LOCAL || st->host->context == S_CTX_ALLOCATOR;
}

spank_context_t spank_context(void)
{
    return spank_the_stack ? spank_the_stack->host->context : S_CTX_ERROR;
}

int spank_remote(spank_t sp)
{
    const struct spank_stack *st = stack_of(sp);

    return st ? is_remote(st) : -1;
}

int spank_symbol_supported(const char *symbol)
{
    if (!symbol)
        return -1;
    for (unsigned i = 0; i < SPANK_CALLS_; i++)
        if (strcmp(spank_call_name((enum spank_call)i), symbol) == 0)
            return 1;
    return 0;
}

const char *spank_strerror(spank_err_t err)
{
    static const char *const texts[] = {
        [ESPANK_ERROR - ESPANK_ERROR] = "failed",
        [ESPANK_BAD_ARG - ESPANK_ERROR] = "bad argument",
        [ESPANK_NOT_TASK - ESPANK_ERROR] = "known in callbacks about a task only",
        [ESPANK_ENV_EXISTS - ESPANK_ERROR] = "the variable is set already",
        [ESPANK_ENV_NOEXIST - ESPANK_ERROR] = "the variable is not set",
        [ESPANK_NOSPACE - ESPANK_ERROR] = "the buffer is too small",
        [ESPANK_NOT_REMOTE - ESPANK_ERROR] = "possible in the step daemon only",
        [ESPANK_NOEXIST - ESPANK_ERROR] = "no such process or rank on this node",
        [ESPANK_NOT_EXECD - ESPANK_ERROR] = "the task has not been started",
        [ESPANK_NOT_AVAIL - ESPANK_ERROR] = "not known here",
        [ESPANK_NOT_LOCAL - ESPANK_ERROR] = "possible in srun, salloc, sbatch and scrontab only",
        [ESPANK_NODE_FAILURE - ESPANK_ERROR] = "the node is at fault",
        [ESPANK_JOB_FAILURE - ESPANK_ERROR] = "the job is at fault",
    };

    if (err == ESPANK_SUCCESS)
        return "success";
    if (err < ESPANK_ERROR || err > ESPANK_JOB_FAILURE)
        return "unknown error";
    return texts[err - ESPANK_ERROR];
}

/* ---- environment ----------------------------------------------------------------------------- */

static bool good_name(const char *name)
{
    return name && *name && !strchr(name, '=');
}

static spank_err_t copy_out(const char *value, char *buf, int size)
{
    size_t len = strlen(value);

    if (size <= 0 || len >= (size_t)size)
        return ESPANK_NOSPACE;
    memcpy(buf, value, len + 1);
    return ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t sp, const char *name, char *buf, int size)
{
    const struct spank_stack *st = stack_of(sp);
    const char *value;

    if (!st || !good_name(name) || !buf)
        return ESPANK_BAD_ARG;
    if (!is_remote(st))
        return ESPANK_NOT_REMOTE;
    value = st->host->env_get(st->host->ctx, name);
    return value ? copy_out(value, buf, size) : ESPANK_ENV_NOEXIST;
}

spank_err_t spank_setenv(spank_t sp, const char *name, const char *value, int overwrite)
{
    const struct spank_stack *st = stack_of(sp);

    if (!st || !good_name(name) || !value)
        return ESPANK_BAD_ARG;
    if (!is_remote(st))
        return ESPANK_NOT_REMOTE;
    if (!overwrite && st->host->env_get(st->host->ctx, name))
        return ESPANK_ENV_EXISTS;
    return st->host->env_set(st->host->ctx, name, value) < 0 ? ESPANK_NOSPACE : ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t sp, const char *name)
{
    const struct spank_stack *st = stack_of(sp);

    if (!st || !good_name(name))
        return ESPANK_BAD_ARG;
    if (!is_remote(st))
        return ESPANK_NOT_REMOTE;
    return st->host->env_set(st->host->ctx, name, NULL) < 0 ? ESPANK_NOSPACE : ESPANK_SUCCESS;
}

spank_err_t spank_job_control_getenv(spank_t sp, const char *name, char *buf, int size)
{
    const struct spank_stack *st = stack_of(sp);
    size_t i;

    if (!st || !good_name(name) || !buf)
        return ESPANK_BAD_ARG;
    if (!is_command(st))
        return ESPANK_NOT_LOCAL;
    if (!words_find(&st->control, name, &i))
        return ESPANK_ENV_NOEXIST;
    return copy_out(st->control.list[i] + strlen(name) + 1, buf, size);
}

spank_err_t spank_job_control_setenv(spank_t sp, const char *name, const char *value, int overwrite)
{
    struct spank_stack *st = stack_of(sp);
    char *text;
    size_t i;

    if (!st || !good_name(name) || !value)
        return ESPANK_BAD_ARG;
    if (!is_command(st))
        return ESPANK_NOT_LOCAL;
    if (words_find(&st->control, name, &i) && !overwrite)
        return ESPANK_ENV_EXISTS;
    (void)spank_job_control_unsetenv(sp, name); /* it may not be there */
    if (asprintf(&text, "%s=%s", name, value) < 0 || words_add(&st->control, text) < 0)
        return ESPANK_NOSPACE;
    return ESPANK_SUCCESS;
}

spank_err_t spank_job_control_unsetenv(spank_t sp, const char *name)
{
    struct spank_stack *st = stack_of(sp);
    size_t i;

    if (!st || !good_name(name))
        return ESPANK_BAD_ARG;
    if (!is_command(st))
        return ESPANK_NOT_LOCAL;
    if (words_find(&st->control, name, &i)) {
        free(st->control.list[i]);
        st->control.list[i] = st->control.list[--st->control.n];
        st->control.list[st->control.n] = NULL;
    }
    return ESPANK_SUCCESS;
}

char *const *spank_job_control(const struct spank_stack *st, size_t *ret_n)
{
    *ret_n = st ? st->control.n : 0;
    return st ? st->control.list : NULL;
}

spank_err_t spank_prepend_task_argv(spank_t sp, int argc, const char *argv[])
{
    struct spank_stack *st = stack_of(sp);

    if (!st || argc < 1 || !argv)
        return ESPANK_BAD_ARG;
    if (!is_remote(st))
        return ESPANK_NOT_REMOTE;
    for (int i = 0; i < argc; i++) {
        char *text = argv[i] ? strdup(argv[i]) : NULL;

        if (!argv[i])
            return ESPANK_BAD_ARG;
        if (words_add(&st->prepended, text) < 0)
            return ESPANK_NOSPACE;
        /* Its place is behind the words before it, in front of those of earlier calls. */
        memmove(st->prepended.list + i + 1, st->prepended.list + i,
                (st->prepended.n - 1 - (size_t)i) * sizeof(char *));
        st->prepended.list[i] = text;
    }
    return ESPANK_SUCCESS;
}

char *const *spank_prepended(const struct spank_stack *st, size_t *ret_n)
{
    *ret_n = st->prepended.n;
    return st->prepended.list;
}

/* ---- options --------------------------------------------------------------------------------- */

spank_err_t spank_option_register(spank_t sp, struct spank_option *opt)
{
    struct spank_stack *st = stack_of(sp);

    if (!st || !opt)
        return ESPANK_BAD_ARG;
    if (sp->call != SPANK_INIT)
        return ESPANK_NOT_AVAIL;
    switch (options_add(st, sp->plugin, opt)) {
    case 0:
        return ESPANK_SUCCESS;
    case -ENOMEM:
        return ESPANK_NOSPACE;
    default:
        return ESPANK_BAD_ARG;
    }
}

/* Beside Prolog and Epilog nothing was registered: the variable tells. */
static spank_err_t option_of_job(spank_t sp, const struct spank_option *opt, char **ret_argument)
{
    const struct spank_host *host = sp->stack->host;
    _cleanup_free_ char *name = options_variable(sp->plugin, opt->name);
    const char *value = name ? host->env_get(host->ctx, name) : NULL;

    if (!value)
        return ESPANK_ERROR;
    if (ret_argument && opt->has_arg && *value)
        *ret_argument = (char *)value;
    return ESPANK_SUCCESS;
}

spank_err_t spank_option_getopt(spank_t sp, struct spank_option *opt, char **ret_argument)
{
    struct spank_stack *st = stack_of(sp);
    const struct option *o;

    if (!st || !opt || !opt->name || (opt->has_arg && !ret_argument))
        return ESPANK_BAD_ARG;
    if (ret_argument)
        *ret_argument = NULL;
    if (st->host->context == S_CTX_JOB_SCRIPT)
        return option_of_job(sp, opt, ret_argument);
    o = options_find(st, sp->plugin, opt->name);
    if (!o || !o->given)
        return ESPANK_ERROR;
    if (ret_argument)
        *ret_argument = o->arg;
    return ESPANK_SUCCESS;
}

/* ---- log ------------------------------------------------------------------------------------- */

static void say_line(enum log_level level, const char *fmt, va_list ap)
{
    char text[4096];

    (void)vsnprintf(text, sizeof(text), fmt, ap);
    if (spank_the_stack)
        spank_the_stack->host->log(spank_the_stack->host->ctx, level, text);
}

#define SAY(name, level)                                                                           \
    void name(const char *format, ...)                                                             \
    {                                                                                              \
        va_list ap;                                                                                \
                                                                                                   \
        va_start(ap, format);                                                                      \
        say_line(level, format, ap);                                                               \
        va_end(ap);                                                                                \
    }
SAY(slurm_info, LOG_INFO)
SAY(slurm_error, LOG_ERROR)
SAY(slurm_verbose, LOG_VERBOSE)
SAY(slurm_debug, LOG_DEBUG)
SAY(slurm_debug2, LOG_DEBUG2)
SAY(slurm_debug3, LOG_DEBUG3)
SAY(slurm_spank_log, LOG_QUIET)
