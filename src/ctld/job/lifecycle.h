/* lifecycle.h - what happens to jobs: start, end, requeue, cleaning up on the nodes
 *
 * Core thread.  Each function commits one transaction and queues its effects; it gives the lsn,
 * or 0 when the journal refused (disk full), in which case nothing changed. */
#pragma once

#include "ctld/link/nodelink.h"
#include "ctld/ctld.h"
#include "sched/sched.h"

struct job_end {
    Pst__JobState state;
    Pst__JobReason reason;   /* 0 = none */
    const char *reason_text; /* shown in place of the reason's word */
    bool has_exit;
    uint32_t exit_status;  /* wait(2) status */
    const char *kill_text; /* "DUE TO TIME LIMIT", for the job's stderr; static */
    bool nodes_clean;      /* the only node has already cleaned up */
    bool by_user;
    uid_t uid;    /* the user that cancelled */
    bool requeue; /* pending again once it is clean */
    bool requeue_hold, special_exit;
    bool expedite;   /* requeued at once where an Epilog fails, else held (expedite.h) */
    bool by_command; /* a user or the exit code asked for the requeue */
    bool revoked;    /* another cluster of the federation has the job, or had its run */
    const char *failed_node;
    uint32_t batch_failures; /* launch failures in a row, 0 = no launch failure */
};

uint64_t lifecycle_end(struct ctld *ctld, struct job *j, const struct job_end *end);
/* The batch script or the owner of the allocation says how it ended. */
uint64_t lifecycle_finished(struct ctld *ctld, struct job *j, uint32_t exit_status,
                            bool nodes_clean);
/* Back to the queue: at once when it holds nothing, else after cleaning. */
uint64_t lifecycle_requeue(struct ctld *ctld, struct job *j, bool hold, bool special_exit,
                           const char *kill_text);
/* A job that ended and is clean is queued for its next run, from begin_us on: crontabs. */
uint64_t lifecycle_again(struct ctld *ctld, struct job *j, int64_t begin_us);
/* A node says that nothing of the job is left there (or the node is lost). */
void lifecycle_node_clean(struct ctld *ctld, struct job *j, uint32_t node_id);
/* j keeps its nodes no more: if it has ended it is released now, which may free it. */
void lifecycle_let_go(struct ctld *ctld, struct job *j);
uint64_t lifecycle_suspend(struct ctld *ctld, struct job *j, bool suspend);
/* What that changes in r: state and times. */
void lifecycle_fill_suspend(Pst__JobRecord *set, const Pst__JobRecord *r, bool suspend,
                            int64_t now_us);
/* All nodes of j are clean, and its epilog is over: it is released, or queued again. */
void lifecycle_cleaned(struct ctld *ctld, struct job *j);

/* joblaunch.c */
void launch_batch(struct ctld *ctld, struct job *j, uint64_t lsn);
/* PrologFlags=Alloc of a job without a script. */
void launch_prepare(struct ctld *ctld, struct job *j, uint64_t lsn);
/* The same for one node, whatever PrologFlags says. */
void launch_prepare_on(struct ctld *ctld, struct job *j, size_t position, uint64_t lsn);
void launch_terminate(struct ctld *ctld, struct job *j, const struct node *n, size_t position,
                      uint64_t lsn, const char *text);
#define STEP_CANCEL_TEXT "DUE to SIGNAL Killed" /* with SIGKILL to a step: it is cancelled */
void launch_signal(struct ctld *ctld, struct job *j, uint64_t lsn, const Pst__SignalSteps *sig);
/* Have n reboot once lsn is durable, with these features (NULL: as it is): slurmd is told, or with
 * SlurmctldParameters=reboot_from_controller RebootProgram runs here.  What is lost is given up
 * after ResumeTimeout. */
void launch_reboot(struct ctld *ctld, const struct node *n, uint64_t lsn, const char *features);
void launch_suspend(struct ctld *ctld, struct job *j, uint64_t lsn, bool suspend); /* or resume */
void launch_suspend_on(struct ctld *ctld, const struct job *j, const struct node *n, uint64_t lsn,
                       bool suspend);
/* set is the patch of a running job that changes its size: another record in accounting begins.
 * Call it when nothing of the job is cleared any more in tx. */
void lifecycle_new_part(struct ctld *ctld, Pst__Transaction *tx, const struct job *j,
                        Pst__JobRecord *set);
/* Give rec, which tx will put or patch, a run of its own: db_id and SLUID. */
void lifecycle_new_run(struct ctld *ctld, Pst__Transaction *tx, Pst__JobRecord *rec);
