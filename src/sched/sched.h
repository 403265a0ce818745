/* sched.h - the scheduler: a pure library
 *
 * No threads, no I/O, no clock, no globals, no logging.  It keeps a compact model of nodes,
 * partitions and jobs, fed by changes, and proposes decisions.  It never assumes that a proposal
 * was taken: what it proposed counts as taken from then on until sched_job_refused() or a put
 * says otherwise, so that one pass does not hand the same CPUs out twice.
 *
 * Same calls with the same arguments give the same decisions, byte for byte. One thread at a
 * time per object.  All inputs are copied.  Times are microseconds; "now" is an argument. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/gres/billweights.h"
#include "sched/rules/fairshare.h"
#include "sched/rules/limit.h"
#include "sched/topo/topowhy.h"

struct sched;
struct topo_spec; /* sched/topo/topo.h */

#define SCHED_UNLIMITED UINT32_MAX

enum sched_select {
    SCHED_SELECT_CPU,    /* CR_CPU: cores, filled one socket after the other; CPUs are counted */
    SCHED_SELECT_CORE,   /* CR_Core: whole cores */
    SCHED_SELECT_SOCKET, /* CR_Socket: whole sockets, all that the job's tasks touch */
    SCHED_SELECT_LINEAR, /* whole nodes */
};

#define SCHED_TRES_WEIGHTS_MAX 16u
#define SCHED_TRES_NAME_MAX 64u

enum sched_prio_flag { /* PriorityFlags */
                       SCHED_PRIO_ACCRUE_ALWAYS = 1u << 0,
                       SCHED_PRIO_DEPTH_OBLIVIOUS = 1u << 1,
                       SCHED_PRIO_NO_FAIR_TREE = 1u << 2,
                       SCHED_PRIO_INCR_ONLY = 1u << 3,
                       SCHED_PRIO_NO_NORMAL_ASSOC = 1u << 4,
                       SCHED_PRIO_NO_NORMAL_PART = 1u << 5,
                       SCHED_PRIO_NO_NORMAL_QOS = 1u << 6,
                       SCHED_PRIO_NO_NORMAL_TRES = 1u << 7,
                       SCHED_PRIO_SMALL_RELATIVE_TO_TIME = 1u << 8,
};

/* Components of a heterogeneous job stand in the queue by their own priorities, or all by the
 * least, the mean or the greatest of these. */
enum sched_het_prio { SCHED_HET_OWN, SCHED_HET_MIN, SCHED_HET_AVG, SCHED_HET_MAX };

enum sched_preempt_type { SCHED_PREEMPT_NONE, SCHED_PREEMPT_PART, SCHED_PREEMPT_QOS };
enum sched_preempt_mode {                     /* what becomes of a preempted job */
                          SCHED_MODE_DEFAULT, /* as sched_preempt.mode says */
                          SCHED_MODE_OFF,
                          SCHED_MODE_CANCEL,
                          SCHED_MODE_REQUEUE,
                          SCHED_MODE_SUSPEND, /* gives up its CPUs, not its memory and devices */
};

struct sched_preempt { /* which jobs may preempt which, and which victims come first */
    enum sched_preempt_type type;
    enum sched_preempt_mode mode;
    uint32_t exempt_s;            /* a job runs so long before */
    bool has_min_exempt_priority; /* jobs of this priority and above are safe */
    uint32_t min_exempt_priority;
    bool youngest_first;    /* else small jobs first */
    bool strict_order;      /* do not look for a smaller set in another order */
    uint32_t reorder_count; /* other orders to try; 0 = none */
    bool within;            /* QOS: of the same one too, by priority of the jobs */
    bool by_priority;       /* only jobs of lower priority than the preemptor */
    bool reclaim_licenses;  /* for licences too */
};

struct sched_params {
    enum sched_select select;
    bool select_memory; /* memory is consumable */
    bool backfill;      /* false: strict priority order */
    /* backfill plans every job looked at; else the first of each partition (EASY) */
    bool conservative;
    /* conservative: jobs given a place in the plan; others only start.  0 = all */
    uint32_t bf_max_job_plan;
    /* conservative: a plan that was repaired is made anew when it is so old, 0 = 30 */
    uint32_t bf_interval_s;
    /* plans of fewer places are not repaired but made anew, 0 = as it seems best */
    uint32_t plan_keep;
    uint32_t bf_max_job_array_resv; /* tasks of one array given a place, 0 = all */
    uint32_t bf_window_min;         /* how far to plan, minutes */
    uint32_t bf_max_job_test;       /* jobs looked at per backfill, 0 = all */
    uint32_t default_queue_depth;   /* jobs tried per partition in order, 0 = all */
    /* a job that a limit of its account, user or QOS holds for now holds all those of its partition
     * that come after it */
    bool assoc_limit_stop;
    bool lln;
    /* CR_CORE_DEFAULT_DIST_BLOCK: fill a socket before the next unless a job says otherwise */
    bool dist_block;
    bool pack_nodes;  /* CR_Pack_Nodes: likewise nodes */
    bool serial_last; /* pack_serial_at_end: jobs of one CPU on the last nodes */
    /* MULTIPLE_SHARING_GRES_PJ: a job's shares on a node may be of several devices */
    bool several_shared;
    bool least_shared; /* LL_SHARED_GRES: shares of the device with most of them free first */
    /* priority: basic (by id) or the multifactor parts known so far */
    bool multifactor;
    uint32_t weight_age, weight_job_size, weight_partition;
    uint32_t max_age_s;
    bool favor_small;
    uint32_t weight_assoc, weight_fairshare, weight_qos;
    struct sched_tres_weight {
        char name[SCHED_TRES_NAME_MAX]; /* "cpu", "mem", "node", "gres/gpu:a100", "license/x" */
        double weight;
    } tres_weights[SCHED_TRES_WEIGHTS_MAX];
    uint32_t ntres_weights;
    unsigned prio_flags; /* enum sched_prio_flag */
    enum sched_het_prio het_prio;
    uint32_t prio_period_s;       /* how often priorities are computed anew, 0 = 300 */
    uint32_t fairshare_dampening; /* classic formula, 0 = 1 */
    uint32_t partition_job_depth; /* jobs tried per partition and pass, 0 = all */
    uint32_t sched_max_job_start; /* starts of a pass, 0 = all */
    /* backfill: jobs looked at per user, partition, both; starts; 0 = no limit */
    uint32_t bf_max_job_user, bf_max_job_part, bf_max_job_user_part, bf_max_job_assoc,
        bf_max_job_start;
    uint32_t bf_min_age_reserve_s, bf_min_prio_reserve, bf_job_part_count_reserve;
    uint32_t bf_resolution_s; /* starts are planned to this grain, 0 = exactly */
    bool bf_one_resv_per_job;
    uint32_t bf_yield_interval_us; /* for the caller of sched_backfill_some() */
    uint32_t min_interval_us;      /* for the caller of sched_pass(): from a pass to the next */
    bool defer;                    /* for the caller too: a new job alone starts no pass */
    bool defer_batch;              /* likewise, a new batch job */
    uint32_t batch_delay_s;        /* likewise: so long may a new batch job wait for others */
    uint32_t channels; /* of the network that jobs may hold at a time; 0 = none are counted */
    uint32_t
        spare_nodes; /* kept idle for expedited jobs in each unit of a topology, see spares.h */
    /* block topologies: among places that are as good for a job, the one that leaves most segments
     * of so many nodes free in base blocks; 0 = Slurm's choice */
    uint32_t keep_segments;
    bool bf_licenses; /* reserve licences for the jobs that wait for them */
    /* block topology as the default one: jobs of a range of nodes narrower than this are tried with
     * every size, the largest first, and those of a wider range never start; 0 = off */
    uint32_t topo_unroll;
    uint32_t max_powered; /* nodes that may have power at a time; 0 = no limit */
    struct sched_preempt preempt;
};

/* An association: where a user's or account's share of the machine is written down.  Parents may
 * come later. */
struct sched_assoc {
    uint32_t id, parent; /* ids >= 1; parent 0 = the root */
    uint32_t shares;
    bool use_parent; /* fairshare=parent */
    bool user;       /* a user's; an account's otherwise */
    uint32_t priority;
    double usage; /* decayed, of its own */
};

struct sched_gres_share { /* shares of one device of "gpu" */
    uint32_t device;      /* its index on the node */
    uint32_t count;
};
struct sched_gres_spec {     /* a node's devices of one name and type */
    const char *name, *type; /* type NULL = untyped */
    uint64_t count;
    bool indexed;         /* devices have indexes 0..count-1 (else a plain count) */
    uint32_t first_index; /* of this row's first device among the name's devices on the node */
    bool no_consume;      /* jobs ask for it, and none holds any of it */
    bool explicit_only;   /* a job that takes whole nodes gets them only when it asks */
    /* Shares of GPUs (shard, mps) are devices with indexes, those of one GPU after the other; a
     * GPU is either shared or given away as a whole.  The counts sum up to `count`.  NULL =
     * devices of their own. */
    const struct sched_gres_share *shares;
    size_t nshares;
    /* by device, NULL = near all; NULL when that holds for every device */
    const uint64_t *const *near_cpus;
    const int32_t *links; /* count x count, how well the devices are connected; NULL = alike */
};

struct sched_node {
    uint32_t id;      /* < 2^24, dense */
    const char *name; /* for ordering ties only */
    uint32_t cpus, sockets, cores_per_socket, threads_per_core;
    uint64_t mem_mib; /* usable by jobs */
    uint32_t weight;
    bool schedulable;          /* up, responding, not draining */
    bool awaited;              /* not schedulable only until its slurmd has called again */
    bool external;             /* without a slurmd: only external jobs run here */
    bool off;                  /* without power: a start powers it up */
    const uint64_t *spec_bits; /* CPUs kept from jobs, (cpus + 63) / 64 words, or NULL for none */
    const char *features;      /* comma list, may be NULL */
    const char *boot_features; /* those it would have after a boot, likewise */
    const char *extra;         /* what jobs' extra asks about: a JSON object, else none */
    const struct sched_gres_spec *gres;
    size_t ngres;
    const uint64_t *gpu_bits; /* CPUs for jobs with GPUs alone, as spec_bits; NULL for none */
};

struct sched_partition {
    const char *name;
    const uint32_t *node_ids;
    size_t nnodes;
    uint32_t tier, job_factor;
    bool up;               /* starts jobs */
    bool inactive;         /* not up because it takes none either */
    bool paused;           /* starts no job for a moment; what its jobs are told stays */
    uint32_t max_time_min; /* SCHED_UNLIMITED */
    uint32_t min_nodes, max_nodes;
    uint64_t max_mem_per_cpu_mib, max_mem_per_node_mib; /* that a job may ask for; 0 = no limit */
    bool exclusive_node;                                /* whole nodes only */
    bool exclusive_user;                                /* a node's jobs are all of one user */
    bool lln;                                           /* nodes with most free CPUs first */
    uint32_t oversubscribe;   /* jobs sharing one resource: 0 and 1 = none */
    bool oversubscribe_force; /* every job shares; else only those that ask */
    /* over all jobs of the partition; 0 and SCHED_UNLIMITED = no limit */
    uint32_t max_cpus_per_node;
    /* its jobs get the first so many of each socket; 0 and SCHED_UNLIMITED = all */
    uint32_t max_cpus_per_socket;
    enum sched_preempt_mode preempt_mode; /* of its jobs */
    const char *billing;                  /* TRESBillingWeights, NULL = a CPU counts one */
    enum billing_sum billing_sum;
    uint32_t qos_id; /* its limits hold for every job here; 0 = none */
    /* by which its jobs are placed; NULL or a name that is not there = the first one */
    const char *topology;
    bool exclusive_topo; /* as sched_job.exclusive_topo, for all its jobs */
    /* SelectTypeParameters of its own: CORE or SOCKET, and whether memory counts.  Without effect
     * where the cluster hands out something else. */
    bool own_select, select_memory;
    enum sched_select select;
};

struct sched_gres_req {
    uint64_t per_socket;     /* of per_node so many on each socket; 0 = anywhere */
    const char *name, *type; /* type NULL = any */
    uint64_t per_node;       /* 0 = not per node */
    uint64_t per_job;
    uint64_t per_task;
};

enum sched_bind {                     /* of a job's CPUs to those near its devices */
                  SCHED_BIND_DEFAULT, /* near ones where there are enough */
                  SCHED_BIND_ENFORCE,
                  SCHED_BIND_NONE,
};

enum sched_dist { /* of tasks over the sockets of a node */
                  SCHED_DIST_DEFAULT,
                  SCHED_DIST_BLOCK,
                  SCHED_DIST_CYCLIC,
};

struct sched_lic_req {
    const char *name;
    uint64_t count;
    const char *variable; /* of a resource with layers, in place of count; NULL = none */
    /* out, in a decision: the resource whose layer this is, or whose layers follow; 0 = neither */
    unsigned mode;
    bool layer;
};

/* A licence with layers: a layer is a set of nodes with a count (docs/design/0015-layers.md). */
struct sched_layer {
    const char *name; /* "port(n[01-12])" */
    const uint32_t *node_ids;
    size_t nnodes;
    uint64_t total; /* UINT64_MAX = never runs out */
    /* mode 3: the layer around it, which stands behind it in the list; SCHED_UNLIMITED = none */
    uint32_t parent;
};
struct sched_variable {
    const char *name;
    uint64_t value;
};
struct sched_resource {
    const char *name;
    unsigned mode;        /* 1, 2, 3 */
    const char *topology; /* mode 3: blocks of this one are its leaves; NULL = none */
    const struct sched_layer *layers;
    size_t nlayers;
    const struct sched_variable *variables;
    size_t nvariables;
};

struct sched_job_resv { /* a reservation the job is to be tried in */
    uint32_t id;
    /* it did not ask: tried before the plain job, in its place in the queue */
    bool magnetic;
};

struct sched_job {
    uint32_t id;
    uint32_t uid;
    const char *const *partitions; /* in order of preference; at least one */
    size_t npartitions;
    uint32_t priority; /* explicit; 0 = computed */
    int32_t nice;
    /* not before; INT64_MAX = not until told otherwise (held, dependency) */
    int64_t submit_us, eligible_us;
    uint32_t time_limit_min;       /* SCHED_UNLIMITED */
    uint32_t time_min_min;         /* 0 = none */
    uint32_t min_nodes, max_nodes; /* max 0 = as few as possible */
    const uint32_t *node_counts;   /* of these only so many, ascending; NULL = any */
    size_t nnode_counts;
    uint32_t num_tasks;                          /* 0 = one per node */
    uint32_t cpus_per_task;                      /* >= 1 */
    uint32_t ntasks_per_node;                    /* 0 = free */
    uint32_t ntasks_per_core, ntasks_per_socket; /* 0 = free */
    uint32_t threads_per_core;                   /* 0 = node's */
    uint32_t pn_min_cpus;
    uint32_t min_sockets, min_cores_per_socket;
    uint64_t mem_per_node_mib;
    bool has_mem_per_node; /* 0 with has = all */
    uint64_t mem_per_cpu_mib;
    const char *features; /* constraint expression, NULL = none */
    bool may_boot;        /* nodes may boot for it to have them; it has such nodes as a whole */
    const uint32_t *req_nodes;
    const uint32_t *req_tasks; /* so many tasks on each of them; NULL = as they fit */
    size_t nreq;
    const uint32_t *exc_nodes;
    size_t nexc;
    bool exclusive, oversubscribe, overcommit, contiguous, spread;
    bool external;       /* it claims resources, and something else runs there */
    bool one_run;        /* it cannot be queued again: preempted, it is lost */
    bool exclusive_user; /* its nodes run jobs of its user alone */
    /* its nodes run jobs of this label alone; NULL = it goes where no label is */
    const char *label;
    /* constraint expression: nodes that also satisfy it come first; NULL = none */
    const char *prefer;
    const char *extra;  /* a request about the nodes' extra, see base/extra.h; NULL = none */
    bool use_min_nodes; /* of a range of nodes rather few */
    bool pack;          /* fill a node with tasks before the next */
    enum sched_dist socket_dist;
    uint32_t core_spec; /* cores of each of its nodes left to the system; makes it exclusive */
    bool spec_threads;  /* core_spec counts threads: nodes that keep so many anyway */
    bool kept_too;      /* it gets the cores as well that its nodes keep from other jobs */
    uint32_t cpus_per_gpu, tasks_per_gpu; /* 0 = free */
    uint64_t mem_per_gpu_mib;             /* 0 = free; in place of memory per node or CPU */
    const struct sched_gres_req *gres;
    size_t ngres;
    enum sched_bind gres_bind;
    bool one_task_per_share; /* no two tasks use shares of the same device */
    uint64_t array_id;       /* jobs of one array; 0 = none */
    /* since when its age counts; 0 = eligible_us, INT64_MAX = it does not */
    int64_t accrue_us;
    uint32_t assoc_id;  /* 0 = none */
    const char *qos;    /* may be NULL */
    uint32_t qos_id;    /* 0 = none: see limit.h */
    bool any_part_size; /* the partition's MinNodes and MaxNodes do not hold for it */
    /* an operator gave its time limit, its size: limits do not count for it */
    bool any_time, any_size;
    int32_t site_factor;
    /* Component of a heterogeneous job: ids het_id .. het_id + het_count - 1 start together, in
     * decisions that follow each other.  het_count 0 = none. */
    uint32_t het_id, het_count;
    const struct sched_lic_req *licenses;
    size_t nlicenses;
    bool licenses_any; /* one of them is enough; else all */
    const struct sched_job_resv *resvs;
    size_t nresvs;  /* in the order in which they are tried */
    bool resv_only; /* and nowhere else */
    /* Its nodes come in groups of so many, each in one unit of the topology; 0 or more than it has
     * nodes = one group. */
    uint32_t segment_size;
    bool spread_segments;      /* no two groups in one base block */
    bool consolidate_segments; /* all groups in one aggregated block, as small as may be */
    bool exclusive_topo;       /* no other job in the base blocks, or rings, where it is */
    /* Under a tree it is to touch so many leaf switches at most, 0 = any number, until it has
     * waited so long since it was first tried. */
    uint32_t switches, switches_wait_s;
    uint32_t channels; /* of the network that it holds while it runs */
    bool expedite;     /* its hardware failed: before all other jobs, and on spare nodes too */
    const uint32_t *near_nodes; /* expedite: those of its last run that are well; tried first */
    size_t nnear;
};

struct sched_alloc_gres {
    const char *name, *type; /* interned by the scheduler, valid for its life */
    uint64_t count;
    uint64_t *devices; /* bit set of indexes, NULL when plain count */
    uint32_t ndevice_words;
};
struct sched_alloc_node {
    uint32_t node_id;
    uint32_t cpus;      /* CPUs (threads) it has there; CR_CPU: not all of the cores it holds */
    uint64_t *cpu_bits; /* bit set over the node's CPUs, words = (node cpus + 63) / 64 */
    uint32_t ncpu_words;
    uint64_t mem_mib;
    uint32_t tasks;
    struct sched_alloc_gres *gres;
    size_t ngres;
    /* The job has nothing here and keeps all others away (sched_job.exclusive_topo); only inside
     * the scheduler. */
    bool closed;
};
struct sched_alloc {
    struct sched_alloc_node *nodes; /* by node id order */
    size_t nnodes;
    bool preferred; /* they have what the job prefers (sched_job.prefer) */
};

enum sched_why { /* why a job does not start; the first that holds */
                 SCHED_WHY_NONE,
                 SCHED_WHY_PRIORITY,
                 SCHED_WHY_RESOURCES,
                 SCHED_WHY_PART_DOWN,
                 SCHED_WHY_PART_NODE_LIMIT,
                 SCHED_WHY_PART_TIME_LIMIT,
                 SCHED_WHY_NODE_NOT_AVAIL, /* requested nodes are down or drained */
                 SCHED_WHY_BAD_CONSTRAINTS,
                 /* enough nodes exist, too many are down, drained or kept for others */
                 SCHED_WHY_NODES_UNAVAILABLE,
                 SCHED_WHY_BEGIN_TIME,
                 SCHED_WHY_LIMIT,      /* over a limit: sched_decision.limit */
                 SCHED_WHY_RESV,       /* its reservation has not begun, or does not hold it */
                 SCHED_WHY_RESERVED,   /* nodes are kept for reservations of others */
                 SCHED_WHY_RESV_MAINT, /* ... for maintenance */
                 /* nothing but licences is missing, or they are what is missing first */
                 SCHED_WHY_LICENSES,
                 SCHED_WHY_CHANNELS, /* too few channels of the network are free */
                 SCHED_WHY_PART_INACTIVE,
                 SCHED_WHY_PART_MEM, /* more memory than the partition grants a CPU or a node */
                 /* sched_feasible(): the topology could never give what is asked of it */
                 SCHED_WHY_TOPOLOGY,
};

enum sched_decision_kind {
    SCHED_START,  /* start job on alloc */
    SCHED_EXPECT, /* job not now: why, and when/where if planned */
    /* victims are to go; the job will start on alloc, which is kept for it, when they have */
    SCHED_PREEMPT,
    SCHED_PRICE, /* the priority of a job that the feeder holds back */
};
struct sched_victim {
    uint32_t job_id;
    enum sched_preempt_mode mode; /* CANCEL, REQUEUE or SUSPEND */
};
struct sched_decision {
    enum sched_decision_kind kind;
    uint32_t job_id;
    const char *partition;    /* START: the one chosen (interned) */
    struct sched_alloc alloc; /* START */
    enum sched_why why;       /* EXPECT */
    unsigned limit;           /* EXPECT, SCHED_WHY_LIMIT: its number, see limit.h */
    enum topo_why topo;       /* EXPECT, SCHED_WHY_RESOURCES: what the topology lacks, or none */
    int64_t expected_us;      /* EXPECT: 0 = not planned */
    uint32_t *expected_nodes; /* node ids or NULL */
    size_t nexpected;
    uint32_t expected_cpus; /* on them, 0 = not said */
    uint32_t priority;      /* in force */
    /* EXPECT: since when its age counts from now on, INT64_MAX = it does not; 0 = as before */
    int64_t accrue_us;
    struct sched_lic_req *licenses; /* START: what it holds; names interned */
    size_t nlicenses;
    struct sched_victim *victims; /* PREEMPT */
    size_t nvictims;
    uint32_t candidates; /* PREEMPT: they were chosen of so many */
    uint32_t resv_id;    /* START: the reservation it starts in, 0 = none */
    /* START: backfill shortened the job to this (time_min allows it); 0 = as asked */
    uint32_t time_limit_min;
};
enum sched_exit {                    /* why a pass ended */
                  SCHED_EXIT_QUEUE,  /* it came to the end */
                  SCHED_EXIT_DEPTH,  /* default_queue_depth, partition_job_depth, bf_max_job_test */
                  SCHED_EXIT_STARTS, /* sched_max_job_start, bf_max_job_start */
                  SCHED_EXITS
};
struct sched_decisions { /* owned by the caller, memory inside by sched_decisions_done() */
    struct sched_decision *items;
    size_t n, cap;
    uint32_t spares; /* idle nodes that are kept for expedited jobs */
    /* statistics of the pass */
    uint32_t queue_len, depth, started, bf_started, bf_depth;
    uint32_t bf_het_started; /* of bf_started: components of heterogeneous jobs */
    enum sched_exit exit;
    bool backfilled;
    bool planned_anew; /* a plan was begun; else the last one was repaired or gone on with */
    /* after a backfill: when to call again though nothing changed, INT64_MAX = never */
    int64_t renew_us;
};
void sched_decisions_done(struct sched_decisions *d);
void sched_decision_done(struct sched_decision *d); /* one of them, e.g. from sched_when() */

int sched_new(const struct sched_params *params, struct sched **ret_sched);
struct sched *sched_free(struct sched *s);
/* Other parameters from the next pass on.  How resources are counted (select, select_memory)
 * stays as it was at sched_new(): what runs was laid out that way. */
void sched_params_set(struct sched *s, const struct sched_params *params);

/* Licences there are.  A name never put has none. */
int sched_license_put(struct sched *s, const char *name, uint64_t total);
void sched_licenses_clear(struct sched *s); /* none of any; what jobs hold stays held */
uint64_t sched_license_used(const struct sched *s, const char *name); /* or of a layer */
/* All resources with layers there are; what jobs hold of others stays held.  Jobs and reservations
 * put before ask for what was a resource when they were put.  On failure there is none.  Errors:
 * -ENOMEM, -EINVAL nonsense, -ERANGE too many layers. */
int sched_resources_put(struct sched *s, const struct sched_resource *list, size_t n);

/* Associations and QOS, for the priority of jobs.  Factors follow at the next computation of
 * priorities. */
int sched_assoc_put(struct sched *s, const struct sched_assoc *assoc);
void sched_assoc_remove(struct sched *s, uint32_t id);
void sched_assocs_clear(struct sched *s);                          /* none of any */
int sched_assoc_usage(struct sched *s, uint32_t id, double usage); /* -ENOENT */
/* the factor in force, 0 when unknown */
double sched_assoc_fairshare(struct sched *s, uint32_t id);
int sched_qos_put(struct sched *s, const char *name, uint32_t priority);
void sched_qos_remove(struct sched *s, const char *name);
void sched_qos_clear(struct sched *s); /* as if none had a priority */

/* Preemption by QOS: jobs of this one may preempt those of `may`, and what holds for its own
 * jobs. */
struct sched_qos_preempt {
    const char *const *may;
    size_t nmay;
    enum sched_preempt_mode mode;
    bool within;      /* those of the same one too, by priority of the jobs */
    bool by_priority; /* only jobs of lower priority */
    bool has_exempt;
    uint32_t exempt_s;
};
int sched_qos_preempt_put(struct sched *s, const char *name, const struct sched_qos_preempt *q);

/* Advance reservations.  A put of a known id replaces it. */
struct sched_resv_window {
    int64_t start_us, end_us;
};
struct sched_resv_cpus {
    uint32_t node_id;
    const uint64_t *bits; /* CPUs of the node it holds */
    uint32_t nwords;
};
struct sched_resv {
    uint32_t id; /* >= 1 */
    const uint32_t *node_ids;
    size_t nnodes; /* none: its jobs use any nodes */
    const struct sched_resv_cpus *cpus;
    size_t ncpus; /* none: whole nodes */
    const struct sched_resv_window *windows;
    size_t nwindows; /* when, in order */
    bool floats;     /* in place of windows: begins always float_us from now; no job can use it */
    int64_t float_us;
    const struct sched_lic_req *licenses;
    size_t nlicenses;
    bool flex;   /* its jobs may use other nodes too, and run before and after */
    bool beside; /* its jobs heed no other reservation */
    bool maint;
    int64_t max_delay_us; /* jobs outside that run no longer may use it all the same */
};
int sched_resv_put(struct sched *s, const struct sched_resv *resv); /* -ENOMEM, -EINVAL */
void sched_resv_remove(struct sched *s, uint32_t id);
/* The topologies of the cluster, all of them at once; none = flat.  A partition refers to one by
 * its name, the first is that of the others.  Nodes may come later.
 * Errors, and nothing is changed: -ENOMEM; -EINVAL two of one name, or what topo_new() refuses. */
int sched_topologies_put(struct sched *s, const struct topo_spec *const *specs, size_t n);
/* How broken up the blocks of the first topology are, see topo/topofrag.h: nodes that are down,
 * drained, or hold a job are not free.  O(nodes).  false: it has no blocks. */
struct sched_blocks {
    uint64_t score;
    uint32_t blocks, whole; /* base blocks; those that a job could have whole */
};
bool sched_blocks(const struct sched *s, struct sched_blocks *ret);

/* Channels that a running job holds which did not come by a START. */
void sched_job_channels(struct sched *s, uint32_t id, uint32_t channels);
/* In which one a running job is that did not come by a START, 0 = none. */
void sched_job_resv(struct sched *s, uint32_t id, uint32_t resv);

/* Feed.  A put of a known id replaces it.  -ENOMEM, -EINVAL nonsense (cpus 0 ...). */
int sched_node_put(struct sched *s, const struct sched_node *node);
void sched_node_remove(struct sched *s, uint32_t id);
int sched_partition_put(struct sched *s, const struct sched_partition *part);
void sched_partition_remove(struct sched *s, const char *name);
int sched_job_put(struct sched *s, const struct sched_job *job); /* pending job, new or changed */
/* A job that is not to be kept: the next pass tells the priority that it would have (SCHED_PRICE).
 * Nothing is planned for it. */
int sched_job_price(struct sched *s, const struct sched_job *job);
/* The job holds alloc since start_us and may until end_us (INT64_MAX = for ever).  Also how
 * recovery tells running jobs.  A job known as pending stops being so. */
int sched_job_running(struct sched *s, uint32_t id, const char *partition,
                      const struct sched_alloc *alloc, int64_t start_us, int64_t end_us,
                      bool exclusive);
/* Whose running job it is, whether it shares its nodes with its user alone, and its label
 * (sched_job.label).  Right after sched_job_running() for jobs that did not come by a START.
 * -ENOMEM. */
int sched_job_owner(struct sched *s, uint32_t id, uint32_t uid, bool exclusive_user,
                    const char *label);
/* What of a running job's licences it holds; after sched_job_running() where the scheduler did
 * not propose the start. */
int sched_job_licenses(struct sched *s, uint32_t id, const struct sched_lic_req *licenses,
                       size_t n);
/* What preemption asks of a running job that did not come by a START, or changed; qos may be
 * NULL; one_run as in struct sched_job. */
int sched_job_rank(struct sched *s, uint32_t id, uint32_t priority, const char *qos, bool one_run);
/* sched_job.exclusive_topo of a running job that did not come by a START; right after
 * sched_job_running().  -ENOMEM. */
int sched_job_topo(struct sched *s, uint32_t id, bool exclusive_topo);
/* it ends soon: what it holds is waited for */
void sched_job_leaving(struct sched *s, uint32_t id);
/* Preemption suspends the job (yielded), or the job goes on.  The job keeps its CPUs, and the job
 * for which it was suspended uses them too. */
void sched_job_yield(struct sched *s, uint32_t id, bool yielded);
void sched_job_end_time(struct sched *s, uint32_t id, int64_t end_us);
/* frees or retakes its CPUs */
void sched_job_suspend(struct sched *s, uint32_t id, bool suspended);
void sched_job_remove(struct sched *s, uint32_t id); /* gone, or resources are free again */
/* The core did not take the START or PREEMPT proposed: pending again, unchanged. */
void sched_job_refused(struct sched *s, uint32_t id);

/* Could this job ever start on the configured nodes, all idle and up?  For the submission check.
 * *ret_why says why not.  Does not enter the job. */
bool sched_feasible(const struct sched *s, const struct sched_job *job, enum sched_why *ret_why);

/* One quick pass in priority order: starts what fits, stops each partition at the first that
 * does not. Appends to *out.  EXPECT decisions only for jobs whose reason changed since last
 * told. A blocked partition keeps its nodes from lower ones that share them
 * (SCHED_WHY_NODES_UNAVAILABLE); backfill then uses what is left, so run it soon after a pass
 * that left jobs waiting. *ret_wake_us: when to call again if nothing changes (an eligible time;
 * now_us = at once, the queue depth was reached), INT64_MAX = never.  Errors: -ENOMEM; what was
 * appended before still counts as proposed. */
int sched_pass(struct sched *s, int64_t now_us, struct sched_decisions *out, int64_t *ret_wake_us);
/* Backfill: reserve for the first blocked job of each partition (EASY) or plan every job
 * (conservative), start what does not delay them.  Costs nothing when nothing changed since the
 * last one (out->backfilled stays false then).  A conservative plan is kept and repaired after
 * changes: no planned start becomes later by that, and what a new plan would do better is done
 * once it is bf_interval_s old.  Call again at out->renew_us for that.  Errors: as above. */
int sched_backfill(struct sched *s, int64_t now_us, struct sched_decisions *out);
/* The same in pieces: looks at max_jobs jobs (0 = all) and, when *ret_more, goes on where it
 * stood at the next call. All pieces together decide what one call would have, with the time of
 * the first.  What is fed, or a pass, in between makes the next call begin anew, or, with
 * conservative, repair what is planned and go on. */
int sched_backfill_some(struct sched *s, int64_t now_us, uint32_t max_jobs,
                        struct sched_decisions *out, bool *ret_more);
/* Would the next piece go on where the last one stood, or the next backfill repair the plan
 * there is, whatever is fed before it?  Else it begins anew. */
bool sched_backfill_keeps(const struct sched *s);
/* When would it start?  Plans one job against everything running and reserved.  For --test-only.
 * The decision is SCHED_EXPECT: expected_us and expected_nodes say when and where, alloc and
 * partition what it would hold then; expected_us 0 = never, and why says so.  Release it with
 * sched_decision_done(). */
int sched_when(struct sched *s, const struct sched_job *job, int64_t now_us,
               struct sched_decision *ret_decision);

/* What a pending job's priority is made of in one partition.  Factors are in [0, 1] (raw with
 * NO_NORMAL_*); times their weights they sum up, with site and less nice, to the priority. */
struct sched_factors {
    uint32_t job_id, uid, assoc_id, priority;
    const char *partition; /* interned */
    bool direct;           /* set by an operator: the factors do not count */
    double age, assoc, fairshare, size, part, qos;
    double tres[SCHED_TRES_WEIGHTS_MAX]; /* as sched_params.tres_weights */
    int32_t site, nice;
};
typedef int sched_factors_fn(void *ctx, const struct sched_factors *f);
/* Every eligible pending job, once for each of its partitions, in no special order.  fn giving <
 * 0 ends it with that value. */
int sched_priorities(struct sched *s, int64_t now_us, sched_factors_fn *fn, void *ctx);

uint32_t sched_pending(const struct sched *s);
/* Priority in force of a pending job, 0 when unknown.  Multifactor priorities are refreshed by
 * sched_pass() and sched_backfill() every five minutes; a job put since the last pass has none
 * yet. */
uint32_t sched_job_priority(const struct sched *s, uint32_t id);
