/* cluster.h - the cluster as data, and the only way it changes
 *
 * State is a set of records (proto/job.proto, node.proto); an event puts, patches or removes
 * one. cluster_apply() is a pure function of state and transaction: it reads no clock, random
 * number or file. Beside each record stands what is derived from it and never journaled; it is
 * rebuilt by apply.
 *
 * One thread at a time.  Pointers to jobs, nodes and records are borrowed until the next apply. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bitmap.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/pb/pbutil.h"
#include "model/account/assoc.h"
#include "model/tables/idmap.h"
#include "model/texts.h"

#include "event.pb-c.h"

#define STEP_BATCH 4294967291u
#define STEP_EXTERN 4294967292u
#define STEP_INTERACTIVE 4294967290u
/* Fields of records from the first to the last are derived and never journaled; those behind the
 * last are kept like those before the first. */
#define FIELD_VOLATILE 900u
#define FIELD_VOLATILE_LAST 1023u

static inline bool field_is_volatile(uint32_t number)
{
    return number >= FIELD_VOLATILE && number <= FIELD_VOLATILE_LAST;
}

static inline void record_drop_volatile(ProtobufCMessage *record)
{
    pb_clear_range(record, FIELD_VOLATILE, FIELD_VOLATILE_LAST);
}

struct step {
    Pst__StepRecord *rec;
    struct step *next; /* of the same job, newest first */
    /* derived: allocation positions whose end is awaited; NULL when ended */
    struct bitmap *waiting;
    bool killed; /* live: it was cancelled; said again until it has ended */
    bool asked;  /* live: its nodes were asked whether it ever came to them */
};

/* What the jobs of an array come to; a job is in as many as hold of it. */
struct array_tally {
    uint32_t running; /* started, not ended */
    uint32_t living;  /* not ended */
    uint32_t open;    /* not ended, or not clean yet, or about to be queued again */
    uint32_t failed;  /* ended for good, and not well */
    uint32_t started; /* not pending */
    int64_t last_start_us;
    uint32_t worst; /* the highest exit code of those that ended for good; 1 for a signal */
};

enum named_as { NAMED_NOT, NAMED_PENDING, NAMED_ACTIVE };
struct job_chain; /* private to model/index.c */

/* There may be millions: neighbours in lists share their place, since a job is in one of them. */
struct job {
    Pst__JobRecord *rec;
    struct step *steps;
    /* derived */
    union {
        struct job *prev_active; /* list of jobs that hold resources: in_active */
        struct job *prev_done;   /* list of ended jobs, oldest end first: in_done */
        struct job *prev_named;  /* pending ones of a user and name: NAMED_PENDING */
    };
    union {
        struct job *next_active;
        struct job *next_done;
        struct job *next_named;
    };
    struct job_chain *chain;      /* jobs of this user and name; NULL with NAMED_NOT */
    uint64_t sluid_key, task_key; /* under which it is found; 0 = it is not */
    uint32_t payer;               /* the user who pays for its record; see payers.h */
    uint32_t cost;                /* no record of the journal has so many bytes */
    uint32_t part_of;             /* the array of which it holds tasks, 0 = none */
    uint32_t charged;             /* jobs it counts as under its association and QOS */
    Pst__JobReason waited_for;    /* pending: why it last waited for more than nodes and its turn */
    bool counted;                 /* its allocation is in the nodes' usage */
    bool in_active, in_done;
    uint8_t named; /* enum named_as: how it is in its chain */
};

struct gresuse;
struct node {
    Pst__NodeRecord *rec;
    /* derived */
    uint32_t jobs;            /* that hold resources here */
    uint32_t jobs_completing; /* of those: ended */
    uint32_t alloc_cpus;
    uint64_t alloc_mem_mib;
    struct gresuse *gres_used;      /* NULL: no job has held any */
    uint32_t mcs_jobs;              /* that keep to their label */
    char *mcs_label;                /* which; NULL with mcs_jobs 0 */
    uint32_t owner_jobs, owner_uid; /* jobs beside which only jobs of their user run; whose */
};

struct partition {
    Pst__PartitionRecord *rec;
    struct bitmap *nodes; /* by node id */
};

/* Immutable bytes.  The model and everyone who keeps a pointer beyond the next apply hold it. */
struct blob {
    struct digest digest;     /* its name */
    uint64_t old_hash;        /* its name in place of that, when it is older than digests; else 0 */
    struct blob *next;        /* of the same place in cluster.blobs */
    uint32_t refs;            /* jobs that name it; the model's own business, as is ... */
    uint32_t payer;           /* ... the user whose job named it first; see payers.h */
    _Atomic uint32_t holders; /* any thread, by blob_hold() and blob_drop() */
    size_t len;
    uint8_t data[];
};
struct blob *blob_hold(struct blob *b);                 /* NULL gives NULL */
struct blob *blob_drop(struct blob *b);                 /* always NULL */
void blob_record(const struct blob *b, Pst__Blob *ret); /* as an event says it; borrows of b */

/* Triggers, crontabs, accounting records, reservations, keys of submissions: see kept.h. */
enum kept_kind {
    KEPT_TRIGGER,
    KEPT_CRONTAB,
    KEPT_ACCT,
    KEPT_USAGE,
    KEPT_RESV,
    KEPT_KEY,
    KEPT_KINDS
};
struct kept {
    enum kept_kind kind;
    uint32_t id; /* trigger id, user id, serial number, as usage.c numbers them,
                 reservation id, number of a submission's key */
    ProtobufCMessage *rec;
};

/* What changed, told after it did.  Any may be NULL.  Must not change the cluster. */
struct cluster_observer {
    void (*job)(void *ctx, struct job *job, Pst__EventKind kind);
    void (*job_gone)(void *ctx, struct job *job); /* still whole, about to be freed */
    void (*step)(void *ctx, struct job *job, struct step *step, Pst__EventKind kind);
    void (*node)(void *ctx, struct node *node, Pst__EventKind kind);
    void (*node_gone)(void *ctx, struct node *node);
    void (*part)(void *ctx, struct partition *part, Pst__EventKind kind);
    void (*part_gone)(void *ctx, struct partition *part);
    void (*kept)(void *ctx, struct kept *k);
    void (*kept_gone)(void *ctx, struct kept *k);
    void *ctx;
};

struct cluster {
    Pst__ClusterRecord *rec;
    struct texts texts;     /* of the records of jobs; see sharing.h */
    struct idmap jobs;      /* id -> struct job */
    struct idmap arrays;    /* array_job_id -> struct idset of job ids */
    struct idmap named;     /* hash of user and name -> struct job_chain, those of one hash */
    struct idmap sluids;    /* SLUID as a number -> struct job */
    struct idmap tasks;     /* array_job_id and array_task_id -> struct job */
    struct idmap blobs;     /* first bytes of a digest -> struct blob, a chain */
    struct idmap old_blobs; /* Blob.hash -> struct blob */
    struct idmap paid;      /* user -> bytes; see payers.h */
    struct idmap kept[KEPT_KINDS]; /* id + 1 -> struct kept */
    struct node **nodes;           /* by node id; NULL = free id */
    uint32_t nnodes;               /* size of nodes[] */
    struct namemap node_names;
    struct partition **parts; /* in configuration order */
    size_t nparts;
    struct job *active, *done_head, *done_tail;
    bool done_unsorted;       /* order is made when cluster_done_oldest() asks for it */
    bool nodes_changed;       /* within an apply: node ids and names are paired anew */
    uint32_t njobs_state[12]; /* jobs by base state */
    uint64_t tasks_beyond;    /* tasks that wait in arrays' records, but for one of each record */
    const struct cluster_observer *observer;
    struct assoc_mgr *am; /* accounts, users, associations, QOS */
    struct am_observer am_observer;
    int64_t apply_us; /* time of the transaction being applied; 0 = it has none */
    bool usage_stale; /* rates of usage are to be counted anew */
    /* charge.c: jobs that wait or run, by association, with all below it, and by QOS */
    struct idmap charged_assoc, charged_below, charged_qos, charged_user;
    struct idmap charged_account; /* hash -> struct charged, those of one hash */
    uint64_t charged_gen;         /* generation of the tree that charged_below is of */
    bool small;  /* within cluster_replay(): no record of the transaction costs its user anything */
    bool taking; /* within cluster_replay_taking() */
    uint32_t taken; /* records of jobs that are the cluster's since it began */
};

int cluster_new(struct cluster **ret_cluster);
struct cluster *cluster_free(struct cluster *c);

/* Apply every event of tx.  Events are facts: one that does not fit the state (patch of an
 * unknown id, ...) is a damaged log or our own bug: -EUCLEAN, err says which, state undefined
 * afterwards.  -ENOMEM likewise. */
int cluster_apply(struct cluster *c, const Pst__Transaction *tx, struct err *err);
/* As cluster_apply(), of a transaction that has len bytes when it is encoded: records of small ones
 * need not be measured. */
int cluster_replay(struct cluster *c, const Pst__Transaction *tx, size_t len, struct err *err);

/* As cluster_replay(), but the records of new jobs are not copied: they become the cluster's, and
 * are no longer in tx afterwards.  They are malloc's, but for what they have in the fields that
 * cluster_common_fields() names, which is copied.  After an error some may be there still. */
int cluster_replay_taking(struct cluster *c, Pst__Transaction *tx, size_t len, struct err *err);
enum { COMMON_FIELDS_MAX = 64 };
size_t cluster_common_fields(uint32_t *numbers); /* of JobRecord; gives how many there are */

struct job *cluster_job(const struct cluster *c, uint32_t job_id);
/* Walk over all jobs, as idmap_next(): they may go meanwhile, none may come.  In no order.  What
 * lies ahead is fetched into the cache: a walk over a million records waits for memory mostly. */
struct job *cluster_next_job(const struct cluster *c, size_t *pos);
struct step *cluster_step(const struct job *job, uint32_t step_id);
struct node *cluster_node(const struct cluster *c, uint32_t node_id);
struct node *cluster_node_named(const struct cluster *c, const char *name);
struct partition *cluster_partition(const struct cluster *c, const char *name);
struct partition *cluster_default_partition(const struct cluster *c);
struct blob *cluster_blob(const struct cluster *c, const struct digest *name);
/* What a job names; NULL: nothing, or it is not there. */
struct blob *cluster_script(const struct cluster *c, const Pst__JobRecord *r);
struct blob *cluster_env(const struct cluster *c, const Pst__JobRecord *r);
/* Ids of the jobs of an array, the array record included; *ret_ids borrowed. */
size_t cluster_array_jobs(const struct cluster *c, uint32_t array_job_id, const uint32_t **ret_ids);
struct array_tally cluster_array_tally(const struct cluster *c, uint32_t array_job_id); /* O(1) */
/* The job of one task, or the record that still holds it; NULL = none.  O(1), but O(n) in the
 * records that hold tasks. */
struct job *cluster_array_task(const struct cluster *c, uint32_t array_job_id, uint32_t task);
/* Ids of the records that hold tasks of an array; *ret_ids borrowed. */
size_t cluster_array_parts(const struct cluster *c, uint32_t array_job_id,
                           const uint32_t **ret_ids);
struct job *cluster_job_by_sluid(const struct cluster *c, uint64_t sluid); /* O(1) */
/* How many jobs of this user and name have started and not ended.  O(1) */
uint32_t cluster_named_active(const struct cluster *c, uint32_t uid, const char *name);
/* The pending job with the smallest id among those of this user and name (NULL = none), and how
 * many of them have started and not ended.  O(1), but O(those pending) after one came that has
 * not the largest id: a job that was requeued, or one of a snapshot. */
const struct job *cluster_named_first(const struct cluster *c, uint32_t uid, const char *name,
                                      uint32_t *ret_active);
/* Jobs that wait or run, an array's tasks each: of an association itself, of it and all below,
 * of a QOS, of one user's or one account's in it.  O(1), but charged_below is O(associations
 * with jobs) after a change of associations. */
uint32_t cluster_charged_assoc(const struct cluster *c, uint32_t assoc_id);
uint32_t cluster_charged_below(struct cluster *c, uint32_t assoc_id);
uint32_t cluster_charged_qos(const struct cluster *c, uint32_t qos_id);
uint32_t cluster_charged_qos_user(const struct cluster *c, uint32_t qos_id, uint32_t uid);
uint32_t cluster_charged_qos_account(const struct cluster *c, uint32_t qos_id, const char *account);
/* Every user (account NULL) and account that has jobs in a QOS.  O(users and accounts with jobs,
 * of all QOS). */
typedef void charged_part_fn(void *ctx, uint32_t uid, const char *account, uint32_t n);
void cluster_charged_parts(const struct cluster *c, uint32_t qos_id, charged_part_fn *fn,
                           void *ctx);
uint32_t cluster_count(const struct cluster *c, Pst__JobState state);
/* All jobs, an array's tasks each.  O(1) */
uint64_t cluster_count_tasks(const struct cluster *c);
/* The ended job that ended first, or NULL; its next_done ended next, and so on.  O(1), but after
 * a recovery O(n log n) once. */
struct job *cluster_done_oldest(struct cluster *c);

/* A number over everything durable: equal states have equal hashes whatever way they were
 * reached. */
uint64_t cluster_hash(const struct cluster *c);

/* The records that rebuild this state, in an order that applies: cluster, blobs, nodes,
 * partitions, jobs, steps. fn gets one-event transactions; a negative return stops. */
typedef int cluster_dump_fn(void *ctx, const Pst__Transaction *tx);
int cluster_dump(const struct cluster *c, cluster_dump_fn *fn, void *ctx);

/* The node ids of an allocation by position; group of a position. */
const Pst__AllocGroup *alloc_group(const Pst__Alloc *alloc, size_t position);
/* Position of node_id, or -1. */
long alloc_position(const Pst__Alloc *alloc, uint32_t node_id);
