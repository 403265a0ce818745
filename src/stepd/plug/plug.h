/* plug.h - plugins of the site in the step daemon; internal to slurmstepd-plug
 *
 * The stack is made as root in the step daemon.  A task is a fork of it, so that what its callbacks
 * change is the task's alone. */
#pragma once

#include "spank/stack.h"
#include "stepd/step.h"

struct plug {
    struct step *step;
    struct spank_host host;
    struct spank_stack *stack;
    struct envlist *env; /* what spank_getenv() and the like work on: the step's, or the task's */
    bool in_task;        /* this process is a task: messages go to its standard error */
    uint32_t *ranks;     /* by local task */
    pid_t *pids;
    char **argv;  /* as launched, NULL-terminated; the words are borrowed */
    char *script; /* argv[0] of the batch step */
};

/* plugchild.c */
/* The callbacks are about this task from now on; -1 none. */
void plug_about(struct plug *p, int task, struct envlist *env);
/* struct plug_ops.fork */
pid_t plug_fork(struct child *c);

/* plugscript.c: slurm_spank_job_prolog() and _epilog(), as a program: slurmstepd-plug spank
 * prolog|epilog PLUGSTACK PLUGINDIR [LOG].  Exit status. */
int plug_script(int argc, char **argv);
