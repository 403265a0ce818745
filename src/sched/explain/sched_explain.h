/* sched_explain.h - why a job does not start, and one change to its request with which it would
 *
 * Pure, as sched.h.  Nothing that a caller can see changes.  Works on the state after a pass and a
 * backfill that started nothing more: then every change named would really start the job at once (a
 * property test holds this). Cost: one walk over the nodes of the job's partitions and the holders
 * of these, a plan for each blocked head, and some dozen tries of selection. */
#pragma once

#include "sched/sched.h"

enum explain_cause { /* of a node; the first that holds */
                     EXPLAIN_EXCLUDED,
                     EXPLAIN_FEATURES,
                     EXPLAIN_EXTRA,
                     EXPLAIN_CPUS, /* CPUs, sockets or threads, even when idle */
                     EXPLAIN_MEMORY,
                     EXPLAIN_GRES,
                     EXPLAIN_NOT_UP,
                     EXPLAIN_HELD,  /* by running jobs */
                     EXPLAIN_SPARE, /* for expedited jobs */
                     EXPLAIN_KEPT,  /* for a job that goes before */
                     EXPLAIN_FREE,
                     EXPLAIN_CAUSES
};

#define EXPLAIN_HOLDERS 8u

struct explain_holder {
    uint32_t job_id, nodes;
    int64_t end_us; /* INT64_MAX = no limit */
};

#define EXPLAIN_VICTIMS 8u

struct explain_preempt { /* which running jobs it may send away */
    bool asked;          /* preemption is configured */
    uint32_t jobs;       /* that run on nodes it could use */
    uint32_t going;      /* of these: end anyway */
    uint32_t equal;      /* it does not outrank */
    uint32_t safe;       /* by priority, or for a time */
    uint32_t off;        /* are not to be preempted */
    uint32_t busy;       /* suspended, or wait for victims of their own */
    uint32_t candidates; /* it may preempt */
    /* when the first of those safe for a time is so no longer, INT64_MAX = never */
    int64_t safe_until_us;
    bool waiting; /* it has sent them away and starts when they have gone */
    struct sched_victim victims[EXPLAIN_VICTIMS]; /* the choice, if it were its turn */
    uint32_t nvictims;                            /* in all */
};

#define EXPLAIN_UNITS 3u
#define EXPLAIN_MISSING 4u
#define EXPLAIN_UNIT_NAME 65u

struct explain_unit { /* a block or ring that is too small for the job, or a segment of it, now */
    char first[EXPLAIN_UNIT_NAME], last[EXPLAIN_UNIT_NAME]; /* base blocks of an aggregate */
    uint32_t free, wanted;
    uint32_t missing[EXPLAIN_MISSING], holders[EXPLAIN_MISSING]; /* nodes; the job on each, or 0 */
    bool down[EXPLAIN_MISSING];                                  /* not up */
    bool kept[EXPLAIN_MISSING];                                  /* for expedited jobs */
    uint32_t nmissing;                                           /* in all */
};

struct explain_part {
    const char *name; /* interned */
    enum sched_why why;
    struct sched_limit_hit limit; /* SCHED_WHY_LIMIT: which, and what it grants */
    uint32_t place, queued;       /* place from 1 */
    uint32_t total, suitable, wanted;
    uint32_t causes[EXPLAIN_CAUSES];
    uint32_t
        *not_up; /* ids of the nodes that are not up but suit; causes[EXPLAIN_NOT_UP] of them */
    struct explain_holder holders[EXPLAIN_HOLDERS]; /* those that end first */
    uint32_t nholders, nholding;                    /* listed; in all */
    uint32_t kept_for; /* the job for which a node is kept, 0 = none; it starts at */
    int64_t kept_us;
    enum topo_why topo;                       /* what the topology lacks */
    struct explain_unit units[EXPLAIN_UNITS]; /* then: those with most free nodes */
    uint32_t nunits;
    struct explain_preempt preempt;
    int64_t expected_us; /* 0 = cannot be told */
    uint32_t *expected_nodes;
    size_t nexpected;
};

enum explain_change_kind {
    CHANGE_TIME,  /* value: minutes */
    CHANGE_NODES, /* value: nodes */
    CHANGE_TASKS,
    CHANGE_CPUS,     /* per task */
    CHANGE_MEM_NODE, /* MiB */
    CHANGE_MEM_CPU,
    CHANGE_GRES,     /* index: of the request; value: its count, 0 = none */
    CHANGE_FEATURES, /* index: the word to drop, UINT32_MAX = all */
    CHANGE_NODELIST, /* drop it */
    CHANGE_EXCLUDE,
    CHANGE_EXCLUSIVE,
    CHANGE_CONTIGUOUS,
    CHANGE_PARTITION, /* text: which */
};

struct explain_change {
    enum explain_change_kind kind;
    uint32_t index;
    uint64_t value;
    const char *text;    /* interned */
    uint32_t before_job; /* CHANGE_TIME: the job whose start it would not delay; 0 = none */
};

#define EXPLAIN_LICENSES 8u

struct explain_license { /* it asks for, in its order */
    const char *name;    /* interned */
    uint64_t wanted, total, used;
    struct explain_holder holders[EXPLAIN_HOLDERS]; /* nodes: licences held; those that end first */
    uint32_t nholders, nholding;
};

#define EXPLAIN_CHANGES 24u

struct sched_explanation {
    struct explain_part *parts; /* in the job's order of preference */
    size_t nparts;
    struct explain_change changes[EXPLAIN_CHANGES];
    size_t nchanges;
    struct explain_license licenses[EXPLAIN_LICENSES];
    size_t nlicenses;
    bool licenses_any; /* one of them is enough */
    bool settled;      /* no job that goes before could start now */
    bool starts_now;   /* nothing keeps it: the next pass takes it */
};
void sched_explanation_done(struct sched_explanation *x);

/* Explain job (known or not).  others: partitions that it might use too.  Errors: -ENOMEM,
 * -EINVAL. */
int sched_explain(struct sched *s, const struct sched_job *job, const char *const *others,
                  size_t nothers, int64_t now_us, struct sched_explanation *ret);

/* A job with one change applied: what the tries are made with.  Borrows from job and change. */
struct explain_trial {
    struct sched_job job;
    struct sched_gres_req gres[8];
    const char *partition;
    char features[4097];
};
/* False: the change does not apply to such a job. */
bool sched_explain_apply(const struct sched_job *job, const struct explain_change *c,
                         struct explain_trial *ret);
