/* records.h - changes of the cluster as changes of the scheduler's compact model
 *
 * Pure: records in, requests for src/sched out.  The controller feeds its scheduler with them, and
 * the simulator feeds its own with the same for a copy of the cluster.  A change owns all memory it
 * points at.  Out of memory ends the program: the scheduler must not miss a change. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "model/cluster.h"
#include "sched/sched.h"

struct noderes;
struct topologies;
struct prioquery;
struct assocquery;

#define PASS_PIECE 64u /* jobs of a backfill between two looks at the clock */

enum feed_kind {
    FEED_JOB,   /* pending job */
    FEED_PRICE, /* pending job that may not start yet: only its priority is asked */
    FEED_RUNNING,
    FEED_REMOVE,
    FEED_REFUSED,
    FEED_OVERTAKEN, /* a proposal was not taken, and the scheduler has forgotten it already */
    FEED_END_TIME,
    FEED_SUSPEND,
    FEED_RESUME,
    FEED_NODE,
    FEED_NODE_REMOVE,
    FEED_PART,
    FEED_PART_REMOVE,
    FEED_PARAMS,    /* configuration changed */
    FEED_EXPLAIN,   /* as FEED_WHEN; others beside */
    FEED_WHEN,      /* --test-only: job and ticket; answered with a decision */
    FEED_LICENSES,  /* of a running job, or with job_id 0 those of the configuration in `name` */
    FEED_RESOURCES, /* those of resources.yaml: all of them */
    FEED_ASK,       /* a question of a service: see struct feed_ask */
    FEED_RANK,      /* what preemption asks of a running job: priority, QOS in `name` */
    FEED_LEAVING,
    FEED_LIMIT,      /* see limitrecords.h */
    FEED_ACCOUNT,    /* what a running job counts against */
    FEED_UNCHARGE,   /* it has ended: it counts against nothing */
    FEED_RESV,       /* reservation; or, with job_id, the one (node_id) that a running job is in */
    FEED_RESV_GONE,  /* node_id is its id */
    FEED_YIELD,      /* suspended by preemption, or, with `exclusive` unset, not any more */
    FEED_QOS,        /* whom jobs of the one in `name` may preempt */
    FEED_SHARES,     /* associations, their usage, QOS: all of them */
    FEED_TOLD,       /* the usage of limits by minutes, as of start_us, is behind this one */
    FEED_NEXT_TASK,  /* a task of an array has started: its next one waits for no interval */
    FEED_TOPOLOGIES, /* all of them */
    FEED_HOLD,       /* no pass before start_us, which is monotonic; 0 = the hold is over */
    FEED_PARTIAL,    /* jobs are still to come: no pass and no answer before FEED_WHOLE */
    FEED_WHOLE,
    FEED_APPLIED, /* as ASK, but not put off by PARTIAL: what was told before is applied */
    FEED_STOP,
};

struct feed_shares { /* see sharefeed.h */
    struct sched_assoc *assocs;
    size_t nassocs;
    struct feed_qos {
        char *name;
        uint32_t priority;
    } * qos;
    size_t nqos;
};
void feed_shares_free(struct feed_shares *all);       /* NULL is a no-op */
struct feed_resources;                                /* see resourcefeed.h */
void feed_resources_free(struct feed_resources *all); /* NULL is a no-op */

/* One allocation, freed as one: everything the members point at lies behind the struct or is owned
 * by it. */
/* A question that is answered on the scheduler's thread.  One of the two is called, once, and takes
 * arg: run with the scheduler's state, or drop when the scheduler ends before. */
struct feed_ask {
    void *arg;
    void (*run)(void *arg, struct sched *s, const struct sched_params *params);
    void (*drop)(void *arg);
};

struct feed {
    struct feed *next;
    enum feed_kind kind;
    uint32_t job_id, node_id, priority;
    int64_t start_us, end_us;
    bool exclusive, exclusive_user, exclusive_topo, one_run;
    bool has_script; /* JOB: a batch job */
    uint32_t uid, assoc_id, qos_id;
    const char *label; /* RUNNING: sched_job.label */
    uint64_t ticket;
    struct sched_job job;
    struct sched_alloc alloc;
    union { /* by kind; a restart feeds a million jobs at once, so a change must be small */
        struct sched_node node;
        struct sched_partition part;
        struct sched_qos_preempt qos;
        struct sched_resv resv;
        struct sched_params *params; /* owned, as `owned` */
    };
    bool plan;                 /* WHEN: explain it too */
    const char *const *others; /* EXPLAIN: partitions that the job might use too */
    size_t nothers;
    uint64_t lsn;               /* of the last of a batch: what is known with it; 0 = nothing new */
    uint64_t batch;             /* of the last of a batch: which one it is */
    uint64_t told_lsn;          /* SHARES, TOLD: the last record that it counts */
    struct feed_limit *limit;   /* owned */
    char *name;                 /* owned */
    struct noderes *res;        /* owned: NODE */
    struct feed_shares *shares; /* owned */
    struct topologies *topologies;    /* TOPOLOGIES: one reference is owned */
    struct feed_resources *resources; /* owned */
    struct feed_ask ask;              /* ASK */
    void *owned[32];                  /* memory of the members above */
    size_t nowned;
};
struct feed *feed_of_name(enum feed_kind kind, const char *name);
void feed_release(struct feed *f); /* NULL is a no-op */

/* How many tasks of its array run at a time, 0 = any number: it holds for tasks with a record of
 * their own, too. */
uint32_t feed_throttle(const Pst__JobRecord *r);
/* Do so many run? */
bool feed_throttled(const struct cluster *c, const Pst__JobRecord *r);
/* Ids of the records of an array among which all are that wait; *ret_ids borrowed. */
size_t feed_array_waiting(const struct cluster *c, uint32_t array_job_id, const uint32_t **ret_ids);
/* From when on a pending job may start; INT64_MAX: not until something else changes. */
int64_t feed_eligible_at(const struct cluster *c, const Pst__JobRecord *r);
/* f->job, but for eligible_us. */
void feed_fill_job(struct feed *f, const struct conf *conf, const struct cluster *c,
                   const Pst__JobRecord *r);
void feed_fill_others(struct feed *f, const char *others); /* a comma list */

/* With SchedulerParameters=time_min_as_soft_limit a job is planned as if it needed no longer than
 * its --time-min, and may go on until its limit. */
bool feed_time_is_soft(const struct conf *conf, const Pst__JobRecord *r);
/* SchedulerParameters=extra_constraints: a job's --extra asks about the extra of nodes. */
bool feed_extra_is_request(const struct conf *conf);
/* When a job that holds resources is thought to end, INT64_MAX = never. */
int64_t feed_end_us(const struct conf *conf, const Pst__JobRecord *r);
/* Of a job that holds resources. */
struct feed *feed_of_running(const struct cluster *c, const Pst__JobRecord *r);
struct feed *feed_of_held_licenses(const Pst__JobRecord *r); /* r->licenses_alloc is set */
struct feed *feed_of_rank(const Pst__JobRecord *r);

/* resvfeed.c */
struct feed *feed_of_resv(const struct cluster *c, const Pst__ReservationRecord *r, int64_t now_us);
struct feed *feed_of_running_resv(const Pst__JobRecord *r); /* r->resv_id is set */
/* f->job: the reservations it is to be tried in. */
void feed_fill_resvs(struct feed *f, const struct conf *conf, const struct cluster *c,
                     const Pst__JobRecord *r);

/* No flag keeps new jobs away (state and link are not looked at).  A node that is powered down is
 * usable: it is powered up for them. */
bool feed_node_usable(const Pst__NodeRecord *r);
/* May jobs start on it?  linked: it is connected, which a node that is off, or comes up, need not
 * be. */
bool feed_node_serves(const Pst__NodeRecord *r, bool linked);
/* linked: its slurmd is connected; nobody waits for one of an external node. */
struct feed *feed_of_node(const Pst__NodeRecord *r, bool linked);
/* Its QOS is the one of that name, if the cluster knows it. */
/* MaxMemPerCPU and MaxMemPerNode as they hold in a partition: its own or, when it has neither,
 * the cluster's; 0 = no limit. */
void feed_max_memory(const struct conf *conf, const Pst__PartitionRecord *r,
                     uint64_t *ret_per_cpu_mib, uint64_t *ret_per_node_mib);
struct feed *feed_of_part(const struct cluster *c, const struct conf *conf,
                          const struct partition *p);
struct feed *feed_of_qos(const struct assoc_mgr *am, const Pst__QosRecord *q);

/* TOPOLOGIES. */
struct feed *feed_of_topologies(struct topologies *t);
/* What it does when it is applied.  Errors: those of sched_topologies_put(). */
int feed_apply_topologies(struct sched *s, const struct topologies *t);

/* Hand a change over.  -EINVAL it makes no sense, -ENOMEM, -ENOTSUP a kind that is no change of the
 * model (questions, FEED_STOP). */
int feed_apply(struct sched *s, const struct feed *f);
