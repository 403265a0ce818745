/* stack.h - the plugins of this process: loaded, in order, and called
 *
 * A process has one stack; the spank_* functions of slurm/spank.h, which plugins call, work on it.
 * The program that uses it says what it knows in a struct spank_host and exports those functions
 * (src/spank/exports.list).  Calls nest no deeper than one; one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/log.h"
#include "spank/slurm/spank.h"

enum spank_call {
    SPANK_INIT,
    SPANK_INIT_POST_OPT,
    SPANK_LOCAL_USER_INIT,
    SPANK_USER_INIT,
    SPANK_TASK_INIT_PRIVILEGED,
    SPANK_TASK_INIT,
    SPANK_TASK_POST_FORK,
    SPANK_TASK_EXIT,
    SPANK_EXIT,
    SPANK_JOB_PROLOG,
    SPANK_JOB_EPILOG,
    SPANK_SLURMD_EXIT,
    SPANK_CALLS_
};
const char *spank_call_name(enum spank_call call); /* "slurm_spank_init" */

/* What is known; a bit of `known` for each (1 << enum spank_item) stands for its field. */
struct spank_facts {
    uint64_t known;
    uid_t uid;
    gid_t gid;
    uint32_t job_id, step_id, nodes, node_index, local_tasks, total_tasks;
    uint32_t cpus_per_task, restarts, array_job_id, array_task_id;
    uint16_t cpus;
    int argc;
    char **argv; /* NULL-terminated */
    gid_t *gids;
    int n_gids;
    const char *job_cores, *step_cores;
    uint64_t job_mem_mib, step_mem_mib;
    const uint32_t *ranks; /* of the local tasks; S_JOB_LOCAL_TO_GLOBAL_ID */
    const pid_t *pids;     /* likewise, 0 = not started; S_JOB_PID_TO_GLOBAL_ID */
    int task;              /* the callback is about this local task; -1 none */
    int status;            /* of that task, with S_TASK_EXIT_STATUS */
};

/* The program behind a stack.  Absent functions: the context has no such thing. */
struct spank_host {
    spank_context_t context;
    void *ctx;
    struct spank_facts facts;
    /* The tasks' environment, or that of the task in question; of S_CTX_JOB_SCRIPT: what the job's
     * options say. */
    const char *(*env_get)(void *ctx, const char *name);
    int (*env_set)(void *ctx, const char *name, const char *value); /* NULL: unset.  -ENOMEM */
    char **(*env_all)(void *ctx);
    /* level LOG_QUIET: slurm_spank_log(), for the user as it is. */
    void (*log)(void *ctx, enum log_level level, const char *text);
    /* May the command have an option of this name?  False: it has one already. */
    bool (*option_free)(void *ctx, const char *name);
};

struct spank_stack;

/* Load what the file names; plugin_dir: folders divided by colons.  *ret is NULL when it names
 * nothing that could be loaded.  -ENOENT and the like with a sentence: a required plugin or the
 * file is wrong.  host is kept, not copied. */
int spank_stack_load(const char *plugstack, const char *plugin_dir, struct spank_host *host,
                     struct spank_stack **ret, struct err *err);
/* Does a plugin define the callback? */
bool spank_stack_has(const struct spank_stack *st, enum spank_call call);
/* Call it in all plugins, in order.  0; else what a required plugin returned, and those behind it
 * were not called.  It is told to the log, or in err when there is one; failures of optional
 * plugins to the log. */
int spank_stack_call(struct spank_stack *st, enum spank_call call, struct err *err);
/* Unload; NULL is fine. */
struct spank_stack *spank_stack_free(struct spank_stack *st);

/* ---- options: those of the plugins, numbered from 0 in order of registration ----------------- */

size_t spank_option_count(const struct spank_stack *st);
const struct spank_option *spank_option_at(const struct spank_stack *st, size_t i);
/* It was given: call the plugin's function and remember it.  -ENOMEM; -EINVAL: the plugin refused,
 * err says so. */
int spank_option_given(struct spank_stack *st, size_t i, const char *arg, struct err *err);

/* As if none had been given: for the next entry of a crontab. */
void spank_options_forget(struct spank_stack *st);

/* What was given travels as variables _SLURM_SPANK_OPTION_PLUGIN_OPTION. */
#define SPANK_OPTION_PREFIX "_SLURM_SPANK_OPTION_"
typedef void spank_env_fn(void *ctx, const char *name, const char *value);
/* Call fn with the variable of each option that was given. */
void spank_option_variables(const struct spank_stack *st, spank_env_fn *fn, void *ctx);
/* Its name.  The caller frees; NULL: no memory. */
char *spank_option_variable(const struct spank_stack *st, size_t i);
/* All options found by get, as given with remote = 1 in that context.  As spank_option_given(). */
typedef const char *spank_get_fn(void *ctx, const char *name);
int spank_options_from(struct spank_stack *st, spank_get_fn *get, void *ctx, struct err *err);

/* ---- for Prolog and Epilog ------------------------------------------------------------------- */

/* NAME=value that plugins set with spank_job_control_setenv(), and the options.  n of them, the
 * stack's own. */
char *const *spank_job_control(const struct spank_stack *st, size_t *ret_n);
/* Words that were put before the command; the stack's own. */
char *const *spank_prepended(const struct spank_stack *st, size_t *ret_n);
