/* slurmlink.h - the jobs of pods, as slurmctld has them, over slurmrestd
 *
 * The jobs are listed once, when the stream of changes has begun, and again only when the stream
 * says that its log was cut (reset).  From then on each change of a job is told by the stream.
 *
 * What is not answered is not known: a job keeps the state that was last told.  A job is gone only
 * when slurmctld itself said twice, SLURMLINK_SURE_US apart, that it has no such job.
 *
 * What is kept of jobs has a limit: a slurmrestd that tells of ever more is not believed.
 * One thread: the loop's. */
#pragma once

#include "kube/api/kubecall.h"

#define SLURMLINK_SURE_US INT64_C(2000000)
#define SLURMLINK_BYTES_MOST (UINT64_C(1) << 30) /* of jobs, about: some 300,000 gangs of 8 */

enum slurmjob_state {
    SLURMJOB_UNKNOWN, /* not told yet */
    SLURMJOB_PENDING,
    SLURMJOB_RUNNING,
    SLURMJOB_ENDED,
    SLURMJOB_GONE,
};

struct slurmjob {
    uint32_t id;
    enum slurmjob_state state;
    json_t *comment;   /* jobmake_read_comment(); NULL: not known, or none of ours */
    char *nodes;       /* of a job that has started; "" */
    char *word;        /* its state, "TIMEOUT" */
    char *reason;      /* why it waits */
    char *excluded;    /* nodes that it must not have; "" */
    char *partition;   /* or several, with commas */
    int64_t start_s;   /* expected; 0: not known */
    int64_t missed_us; /* when it was first said not to be there; 0: it was not */
    bool holds;        /* it has ended, and has its nodes yet */
    bool letting_go;   /* that is being asked for */
    bool let_go;       /* slurmctld was told that its nodes are free */
    size_t bytes;      /* about what it takes */
};

struct slurmlink;

typedef void slurmlink_changed_fn(void *ctx, const struct slurmjob *job);

struct slurmlink_heard {
    slurmlink_changed_fn *changed;
    void (*node)(void *ctx, const char *name); /* something of it has changed */
    void (*synced)(void *ctx);                 /* the first list is whole, or all answer again */
    void (*back)(void *ctx);                   /* they answer again, however soon */
    void *ctx;
    size_t bytes_most; /* 0: SLURMLINK_BYTES_MOST */
};

/* s stays the caller's and is freed first.  bridge: whose jobs are ours; borrowed.  -ENOMEM. */
int slurmlink_new(struct kubeserver *s, const char *bridge, const struct slurmlink_heard *heard,
                  struct slurmlink **ret);
struct slurmlink *slurmlink_free(struct slurmlink *l); /* always NULL */
/* About the memory of all jobs that are kept. */
size_t slurmlink_bytes(const struct slurmlink *l);
bool slurmlink_is_synced(const struct slurmlink *l);
/* For how long no stream has told anything; 0: one does. */
int64_t slurmlink_silence_us(const struct slurmlink *l);
/* Who does not answer meanwhile. */
const char *slurmlink_silent(const struct slurmlink *l);
const struct slurmjob *slurmlink_job(const struct slurmlink *l, uint32_t id); /* NULL: unknown */
/* Forget a job that is of no use any more; also inside slurmlink_changed_fn, which then no longer
 * uses the job. */
void slurmlink_forget(struct slurmlink *l, uint32_t id);
/* Ask for one job; `changed` tells what is answered. */
int slurmlink_ask(struct slurmlink *l, uint32_t id);
/* key: the submission is made once however often it is sent.  The answer is done's. */
int slurmlink_submit(struct slurmlink *l, const json_t *body, const char *key, kubecall_fn *done,
                     void *ctx);
/* Change a job; body: fields of job/JOB. */
int slurmlink_update(struct slurmlink *l, uint32_t id, const json_t *body, kubecall_fn *done,
                     void *ctx);
/* What the job holds on each node. */
int slurmlink_resources(struct slurmlink *l, uint32_t id, kubecall_fn *done, void *ctx);
/* Has the job ended, and does it wait for slurmlink_let_go()? */
bool slurmlink_is_kept(const struct slurmjob *job);
/* Tell slurmctld that the nodes of a job that has ended are free.  What was not done in a second is
 * told by `changed`, for all jobs that are kept. */
void slurmlink_let_go(struct slurmlink *l, uint32_t id);
/* Tell the jobs that are kept again in a second: one cannot go yet. */
void slurmlink_look_again(struct slurmlink *l);
int slurmlink_cancel(struct slurmlink *l, uint32_t id, kubecall_fn *done, void *ctx);
