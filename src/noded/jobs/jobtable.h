/* jobtable.h - jobs and steps on this node */
#pragma once

#include "base/cleanup.h" /* first: libuv brings MIN and MAX of its own */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "api.pb-c.h"
#include "stepfile.pb-c.h"

enum step_phase {
    STEP_WAITS, /* for the prolog */
    STEP_RUNS,  /* a step daemon has it */
    STEP_ENDED, /* `end` is known and not yet acknowledged */
};

struct nstep {
    struct nstep *next;
    struct njob *job;
    uint32_t step_id;
    enum step_phase phase;
    bool launched;   /* its tasks were exec'ed */
    bool unkillable; /* its daemon reported that SIGKILL has no effect, or does not answer */
    pid_t pid;       /* our child; 0 when found again after a restart */
    int ctl_fd;
    uv_poll_t *poll;
    /* when its daemon was ordered to end the step and has not answered since; 0 = no answer is due
     * (hung.c) */
    int64_t asked_mono_us;
    bool pinged;            /* its daemon was asked once more whether it is there */
    Pst__StepFile *waiting; /* what to start after the prolog; owned */
    int srun_fd;            /* with waiting */
    Pst__StepEnd *end;      /* owned; set in phase STEP_ENDED */
};

enum script_state {
    SCRIPT_NOT_RUN,
    SCRIPT_RUNS,
    SCRIPT_DONE,
    SCRIPT_FAILED,
};

struct njob {
    struct njob *next; /* in its bucket */
    uint32_t job_id;
    uint64_t run_id;
    Pst__JobOnNode *on; /* owned */
    struct nstep *steps;
    enum script_state prolog, epilog;
    bool prolog_wanted; /* PrepareJob: say prolog_done */
    bool terminating;   /* no new steps: TerminateJob came, or the one-node batch job is over */
    bool single;        /* one-node batch job that ended by itself: its end says node_clean */
    bool clean_wanted;  /* TerminateJob came: say clean */
    bool clean;         /* all done here; gone once acknowledged */
    int ns_fd;          /* mount namespace of its private folders; -1 none, or not yet */
    bool no_ns;         /* it started without private folders */
    bool ns_lost;       /* they ended before the job: no step starts any more */
    int ns_pid_fd;      /* first process of its process and user namespaces; -1 none, or not yet */
    uint32_t ns_flags;  /* with it: CLONE_NEWPID, CLONE_NEWUSER */
    bool released;      /* its extern step was told to end: the rest of the job is over */
    bool run_in_job;    /* prolog and epilog run in its extern step (PrologFlags=RunInJob) */
    bool prolog_waits;  /* the prolog waits until the extern step has started */
    bool emptied;       /* with released: the extern step waits for the epilog */
    bool finished;      /* the extern step was told that the epilog is over */
    bool suspended;     /* its steps are stopped, also those that start later */
    uint32_t batch_status;
    Pst__StepOrder *x11_order; /* with x11_fd: a connection that waits for the extern step; owned */
    int x11_fd;                /* -1 without one */
    Pst__StepOrder *held; /* to end its other steps, until the batch step has its signal; owned */
    uv_timer_t *hold;     /* with held: the batch step had its time */
};

#define JOB_BUCKETS 1024u
struct jobs {
    struct njob *buckets[JOB_BUCKETS];
    size_t count;
    uint64_t *suspended; /* run ids of jobs that were suspended before they came here */
    size_t nsuspended;
};

struct njob *jobs_find(struct jobs *jobs, uint32_t job_id, uint64_t run_id); /* run_id 0: any */
/* on is taken on success. */
int jobs_add_take(struct jobs *jobs, Pst__JobOnNode *on, struct njob **ret_job);
void jobs_remove(struct jobs *jobs, struct njob *job); /* frees job and its steps */
struct nstep *job_find_step(struct njob *job, uint32_t step_id);
int job_add_step(struct njob *job, uint32_t step_id, struct nstep **ret_step);
void job_remove_step(struct njob *job, struct nstep *step);
/* Remember that a job is suspended, or no longer is.  The job may arrive on this node later. */
void jobs_note_suspended(struct jobs *jobs, uint64_t run_id, bool suspended);
bool job_has_live_steps(const struct njob *job);
bool job_has_live_work(const struct njob *job); /* live steps other than the extern step */
/* Forget the order to end that waits for the batch step (steps_release()). */
void job_unhold(struct njob *job);
void jobs_each(struct jobs *jobs, void (*fn)(void *ctx, struct njob *job), void *ctx);
struct nstep *jobs_find_pid(struct jobs *jobs, pid_t pid);
