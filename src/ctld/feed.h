/* feed.h - what the core tells the scheduler's thread
 *
 * Changes of the cluster become changes of the scheduler's compact model; they are gathered during a batch and
 * handed over at its end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctld/ctld.h"
#include "feed/params.h"
#include "sched/sched.h"

enum feed_kind {
    FEED_JOB,        /* pending job */
    FEED_RUNNING,
    FEED_REMOVE,
    FEED_REFUSED,
    FEED_END_TIME,
    FEED_SUSPEND,
    FEED_RESUME,
    FEED_NODE,
    FEED_NODE_REMOVE,
    FEED_PART,
    FEED_PART_REMOVE,
    FEED_PARAMS,     /* configuration changed */
    FEED_EXPLAIN,    /* as FEED_WHEN; others beside */
    FEED_WHEN,       /* --test-only: job and ticket; answered with a decision */
    FEED_LICENSES,   /* of a running job, or with job_id 0 those of the configuration in `name` */
    FEED_PRIORITIES, /* sprio: arg is a struct prioquery */
    FEED_RANK,       /* what preemption asks of a running job: priority, QOS in `name` */
    FEED_LEAVING,
    FEED_YIELD,      /* suspended by preemption, or, with `exclusive` unset, not any more */
    FEED_STOP,
};

/* One allocation, freed as one: everything the members point at lies behind the struct or is owned by it. */
struct feed {
    struct feed *next;
    enum feed_kind kind;
    uint32_t job_id, node_id, priority;
    int64_t start_us, end_us;
    bool exclusive, exclusive_user;
    uint32_t uid;
    uint64_t ticket;
    struct sched_job job;
    struct sched_alloc alloc;
    struct sched_node node;
    struct sched_partition part;
    struct sched_params params;
    const char *const *others; /* EXPLAIN: partitions that the job might use too */
    size_t nothers;
    char *name;             /* owned */
    struct prioquery *prio; /* owned until it is gathered */
    void *owned[32];        /* memory of the members above */
    size_t nowned;
};
void feed_free(struct feed *f);

/* Core thread. */
void feed_job(struct ctld *ctld, struct job *j);       /* whatever it is now: pending, running, gone */
void feed_job_started(struct ctld *ctld, struct job *j, bool proposed); /* proposed: the scheduler knows */
void feed_job_gone(struct ctld *ctld, struct job *j);
void feed_refused(struct ctld *ctld, uint32_t job_id);
void feed_end_time(struct ctld *ctld, const struct job *j);
void feed_suspend(struct ctld *ctld, const struct job *j, bool suspended);
void feed_leaving(struct ctld *ctld, const struct job *j); /* it ends: others may wait for what it holds */
void feed_yield(struct ctld *ctld, const struct job *j, bool yielded); /* suspended by preemption */
void feed_node(struct ctld *ctld, const struct node *n);
void feed_node_gone(struct ctld *ctld, uint32_t node_id);
void feed_part(struct ctld *ctld, const struct partition *p);
void feed_part_gone(struct ctld *ctld, const char *name);
void feed_params(struct ctld *ctld);
void feed_when(struct ctld *ctld, const Pst__JobRecord *rec, uint64_t ticket);
void feed_licenses(struct ctld *ctld); /* Licenses= changed */
void feed_priorities(struct ctld *ctld, struct prioquery *q); /* any thread */
/* others: comma list of partitions. */
void feed_explain(struct ctld *ctld, const Pst__JobRecord *rec, const char *others, uint64_t ticket);
void schedfeed_flush(struct ctld *ctld);
