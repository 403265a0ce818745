/* joblink.h - an allocation as its owner sees it: asked for, watched, released
 *
 * Used by salloc and srun.  Survives a controller that goes away: waiting requests are repeated on
 * a new connection by job id.  One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "cli/base/cli.h"
#include "cli/base/clusters.h"

struct joblink {
    struct cli *cli;
    struct client *client;     /* NULL while the controller is away */
    struct clusters elsewhere; /* of a federation: the cluster that started the job, asked since */
    int sig_fd;                /* signalfd that interrupts waits, -1 = none */
    int signo;                 /* the signal that ended a wait, 0 = none did */
    uint32_t job_id;           /* 0 until known */
    uint32_t wait_id;          /* the request that answers are expected for, 0 = none */
    bool streaming;            /* its answers have not ended */
    bool moved;                /* the connection was lost, and the request was not carried out */
    bool attached;             /* we own the allocation */
    bool ended;                /* the job is over */
    bool cancelled;            /* ... because it was cancelled */
    int64_t retry_mono_us;     /* next try to connect while client is NULL */
    struct cli_patience patience; /* while the connection is lost */
    int err_code;                 /* of the last refusal */
    char err_text[ERR_TEXT_MAX];
    uint32_t refused_id; /* the number that it has used up, 0 = none */
};

void joblink_init(struct joblink *l, struct cli *cli, int sig_fd);
void joblink_done(struct joblink *l);

/* Submit and wait until granted and until the nodes are ready (prologs ran), with the messages
 * users know.  req->wait_alloc is set here; a step asked for in it comes with the grant.  what:
 * "Job submit/allocate failed" and the like.
 * Returns 0 with the grant (the caller frees it), or the exit status with the message printed. */
int joblink_allocate(struct joblink *l, Pst__SubmitRequest *req, const char *what,
                     Pst__JobStatus **ret_grant);

/* Says that a step in job_id is not possible, and that it may have been told the wrong job. */
void joblink_unconfirmed(int code, uint32_t job_id);
/* Ask for a step in job_id; waits until resources are free.  Returns as joblink_allocate(). */
int joblink_step(struct joblink *l, uint32_t job_id, const Pst__StepSpec *spec,
                 Pst__StepReply **ret_reply);

/* The same for a step over components; as many parts as were asked for, in that order. */
int joblink_het_step(struct joblink *l, Pst__HetStepRequest *req, Pst__HetStepReply **ret_reply);

/* From now on learn when the job ends.  attach: the controller ends the job when this process is
 * lost. */
void joblink_watch(struct joblink *l, bool attach);
/* For a poll loop: the descriptor to poll for reading (-1: none) and how long at most (-1: any). */
int joblink_fd(const struct joblink *l);
int joblink_timeout_ms(const struct joblink *l);
/* Take what arrived, reconnect when it is time.  True when l->ended became true. */
bool joblink_process(struct joblink *l);

/* Release the allocation with a wait(2) status and wait for the answer.  Repeats the request
 * while the controller restarts.  Returns 0 or a negative errno, the message printed. */
int joblink_complete(struct joblink *l, uint32_t exit_status);
/* End a step of ours that was not launched on any node, so that its resources are free for the next
 * step.  Tries once. */
void joblink_end_step(struct joblink *l, uint32_t job_id, uint32_t step_id, uint32_t exit_status);
/* Cancel the job.  Do not wait for an answer: the caller exits now. */
void joblink_cancel(struct joblink *l);
