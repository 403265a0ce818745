/* spank.h - the interface between Penstock and plugins of a site
 *
 * The names are those of Slurm's SPANK interface, so that a plugin written for it compiles
 * unchanged:
 *
 *     cc -shared -fPIC -o NAME.so NAME.c
 *
 * A plugin is loaded by the programs that launch jobs when plugstack.conf names it, and finds the
 * functions below in the program that loaded it.  It declares itself with SPANK_PLUGIN and defines
 * any of the slurm_spank_* callbacks.  docs/plugins.md says in which program, when and as which
 * user each callback is called.
 *
 * The order of enumerators and members does not change: a plugin that was compiled once stays good.
 * What is new is added at the end, and SPANK_INTERFACE_VERSION grows with it. */
#ifndef PENSTOCK_SPANK_H
#define PENSTOCK_SPANK_H

#include "slurm.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SPANK_INTERFACE_VERSION 1

/* What a callback is given.  Good until it returns. */
typedef struct spank_handle *spank_t;
typedef int spank_err_t;

/* ---- callbacks: what a plugin may define ----------------------------------------------------- */

typedef int(spank_f)(spank_t sp, int ac,
                     char **av); /* av: the words behind the plugin in plugstack.conf */

extern spank_f slurm_spank_init;
extern spank_f slurm_spank_init_post_opt;
extern spank_f slurm_spank_local_user_init;
extern spank_f slurm_spank_user_init;
extern spank_f slurm_spank_task_init_privileged;
extern spank_f slurm_spank_task_init;
extern spank_f slurm_spank_task_post_fork;
extern spank_f slurm_spank_task_exit;
extern spank_f slurm_spank_exit;
extern spank_f slurm_spank_job_prolog;
extern spank_f slurm_spank_job_epilog;
extern spank_f slurm_spank_slurmd_exit;

/* ---- where a plugin runs --------------------------------------------------------------------- */

enum spank_context_type {
    S_CTX_ERROR,
    S_CTX_LOCAL,      /* srun */
    S_CTX_REMOTE,     /* the step daemon, and its tasks before their program */
    S_CTX_ALLOCATOR,  /* salloc, sbatch, scrontab */
    S_CTX_SLURMD,     /* slurmd */
    S_CTX_JOB_SCRIPT, /* a process of slurmd beside Prolog or Epilog */
};
typedef enum spank_context_type spank_context_t;

spank_context_t spank_context(void);
int spank_remote(spank_t sp); /* 1 in the step daemon, 0 elsewhere, -1 bad handle */
int spank_symbol_supported(
    const char *symbol); /* 1: a callback of this name is called; 0 not; -1 bad argument */
const char *spank_strerror(spank_err_t err);

/* ---- facts ----------------------------------------------------------------------------------- */

enum spank_item {
    S_JOB_UID,                /* uid_t * */
    S_JOB_GID,                /* gid_t * */
    S_JOB_ID,                 /* uint32_t * */
    S_JOB_STEPID,             /* uint32_t * */
    S_JOB_NNODES,             /* uint32_t *: of the step */
    S_JOB_NODEID,             /* uint32_t *: this node's place in the step */
    S_JOB_LOCAL_TASK_COUNT,   /* uint32_t * */
    S_JOB_TOTAL_TASK_COUNT,   /* uint32_t * */
    S_JOB_NCPUS,              /* uint16_t *: of the step on this node */
    S_JOB_ARGV,               /* int *, char *** */
    S_JOB_ENV,                /* char *** */
    S_TASK_ID,                /* int *: place on this node */
    S_TASK_GLOBAL_ID,         /* uint32_t *: rank */
    S_TASK_EXIT_STATUS,       /* int *: as wait(2) gives it */
    S_TASK_PID,               /* pid_t * */
    S_JOB_PID_TO_GLOBAL_ID,   /* pid_t, uint32_t * */
    S_JOB_PID_TO_LOCAL_ID,    /* pid_t, uint32_t * */
    S_JOB_LOCAL_TO_GLOBAL_ID, /* uint32_t, uint32_t * */
    S_JOB_GLOBAL_TO_LOCAL_ID, /* uint32_t, uint32_t * */
    S_JOB_SUPPLEMENTARY_GIDS, /* gid_t **, int * */
    S_SLURM_VERSION,          /* char **: "26.05.3" */
    S_SLURM_VERSION_MAJOR,    /* char **: "26" */
    S_SLURM_VERSION_MINOR,    /* char **: "05" */
    S_SLURM_VERSION_MICRO,    /* char **: "3" */
    S_STEP_CPUS_PER_TASK,     /* uint32_t * */
    S_JOB_ALLOC_CORES,        /* char **: as taskset(1) writes lists */
    S_JOB_ALLOC_MEM,          /* uint64_t *: MiB on this node */
    S_STEP_ALLOC_CORES,       /* char ** */
    S_STEP_ALLOC_MEM,         /* uint64_t * */
    S_SLURM_RESTART_COUNT,    /* uint32_t * */
    S_JOB_ARRAY_ID,           /* uint32_t *: 0, not an array */
    S_JOB_ARRAY_TASK_ID,      /* uint32_t *: NO_VAL, not an array */
};
typedef enum spank_item spank_item_t;

/* Where to, as the list above says; strings and lists are good until the callback returns. */
spank_err_t spank_get_item(spank_t sp, spank_item_t item, ...);

/* ---- environment ----------------------------------------------------------------------------- */

/* Of the tasks: in the step daemon only.  In task callbacks, of that task alone. */
spank_err_t spank_getenv(spank_t sp, const char *name, char *buf, int size);
spank_err_t spank_setenv(spank_t sp, const char *name, const char *value, int overwrite);
spank_err_t spank_unsetenv(spank_t sp, const char *name);

/* Of Prolog and Epilog, which see SPANK_name: in srun, salloc, sbatch and scrontab only, before the
 * submission. */
spank_err_t spank_job_control_getenv(spank_t sp, const char *name, char *buf, int size);
spank_err_t spank_job_control_setenv(spank_t sp, const char *name, const char *value,
                                     int overwrite);
spank_err_t spank_job_control_unsetenv(spank_t sp, const char *name);

/* Put words before the command of the tasks: in the step daemon before the task runs. */
spank_err_t spank_prepend_task_argv(spank_t sp, int argc, const char *argv[]);

/* ---- options of the commands ----------------------------------------------------------------- */

/* Called for each time the option is given, with its val; remote: 1 in the step daemon. */
typedef int (*spank_opt_cb_f)(int val, const char *optarg, int remote);

struct spank_option {
    char *name;    /* without dashes */
    char *arginfo; /* what --help calls the argument; NULL: nothing */
    char *usage;   /* one line for --help */
    int has_arg;   /* 0 none, 1 required, 2 optional */
    int val;
    spank_opt_cb_f cb; /* NULL: asked for with spank_option_getopt() */
};

/* A plugin may define this table instead of registering: `struct spank_option spank_options[] = {
 * ..., END };` */
extern struct spank_option spank_options[];
#define SPANK_OPTIONS_TABLE_END                                                                    \
    {                                                                                              \
        NULL, NULL, NULL, 0, 0, NULL                                                               \
    }

spank_err_t spank_option_register(spank_t sp, struct spank_option *opt); /* in slurm_spank_init */
/* Was it given?  The argument stays ours; NULL when none was given. */
spank_err_t spank_option_getopt(spank_t sp, struct spank_option *opt, char **ret_argument);

/* ---- log ------------------------------------------------------------------------------------- */

void slurm_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void slurm_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void slurm_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));
void slurm_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
void slurm_debug2(const char *format, ...) __attribute__((format(printf, 1, 2)));
void slurm_debug3(const char *format, ...) __attribute__((format(printf, 1, 2)));
void slurm_spank_log(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* to the user, as it is */

/* ---- declaration ----------------------------------------------------------------------------- */

#define SPANK_PLUGIN(name, version)                                                                \
    const char plugin_name[] = #name;                                                              \
    const char plugin_type[] = "spank";                                                            \
    const unsigned int plugin_version = SLURM_VERSION_NUMBER;                                      \
    const unsigned int spank_plugin_version = (version);

#ifdef __cplusplus
}
#endif

#endif
