/* slurm_errno.h - results of plugins and of what they call */
#ifndef PENSTOCK_SLURM_ERRNO_H
#define PENSTOCK_SLURM_ERRNO_H

#define SLURM_SUCCESS 0
#define SLURM_ERROR -1

/* A callback returns ESPANK_SUCCESS; anything else is a failure. */
enum {
    ESPANK_SUCCESS = SLURM_SUCCESS,
    ESPANK_ERROR = 3000,
    ESPANK_BAD_ARG,
    ESPANK_NOT_TASK,     /* asks for what only a task's callback knows */
    ESPANK_ENV_EXISTS,   /* the variable is set, and was not to be replaced */
    ESPANK_ENV_NOEXIST,  /* ... is not set */
    ESPANK_NOSPACE,      /* the buffer is too small */
    ESPANK_NOT_REMOTE,   /* only in the step daemon */
    ESPANK_NOEXIST,      /* no such process or rank on this node */
    ESPANK_NOT_EXECD,    /* before the task has been started */
    ESPANK_NOT_AVAIL,    /* not known in this callback */
    ESPANK_NOT_LOCAL,    /* only in srun, salloc, sbatch and scrontab */
    ESPANK_NODE_FAILURE, /* slurm_spank_init, _init_post_opt of a step: the node is drained, as by
                            any other failure */
    ESPANK_JOB_FAILURE,  /* ... only the job fails */
};

#endif
