/* sched_int.h - what the sources of the scheduler share; not for other folders
 *
 * Nodes live in an array indexed by id; every set of nodes is a bitmap of the same size.  A shape
 * is all that selection looks at in a job; a class is a shape in a partition, and what is known
 * about it is known for all its jobs.  An entry is a job in the queue of one partition. */
#pragma once

#include "base/bitmap.h"
#include "sched/select/constraint.h"
#include "sched/sched.h"
#include "sched/state/planlog.h"
#include "sched/state/strtab.h"
#include "sched/state/tally.h"

#define SCHED_MAX_CPUS 65536u   /* of a node */
#define SCHED_MAX_SOCKETS 1024u /* more count as one */
#define SCHED_MAX_NODE_GRES 64u /* rows of a node */
#define SCHED_MAX_DEVICES 4096u /* of an indexed row */
#define SCHED_MAX_JOB_GRES 8u   /* requests of a job */
#define SCHED_MAX_JOB_PARTS 1024u
#define SCHED_MAX_JOB_RESVS 64u
#define SCHED_MAX_LICENSES 4096u
#define SCHED_MAX_QOS 65536u
#define SCHED_SPANS 17u /* free_ge[k]: at least 2^k free CPUs */
#define QUEUE_LEVELS 12

/* A bit set that remembers how often each bit is held. */
struct cbits {
    uint64_t *bits;
    uint16_t *extra; /* holders beyond the first */
    uint32_t n, nwords;
    uint32_t nextra; /* sum of extra */
};
int cbits_init(struct cbits *cb, uint32_t n);
void cbits_done(struct cbits *cb);
void cbits_take(struct cbits *cb, const uint64_t *bits, uint32_t nwords);
void cbits_release(struct cbits *cb, const uint64_t *bits, uint32_t nwords);

struct gres_row {
    uint32_t name, type; /* type STRTAB_NONE = untyped */
    uint64_t total, used;
    bool indexed, explicit_only;
    bool gpu;                        /* GPUs themselves, which others are shares of */
    uint32_t first;                  /* index of the first device */
    struct cbits dev;                /* held devices, bit 0 = index first */
    struct sched_gres_share *shares; /* of GPUs, or NULL */
    uint32_t nshares;
    uint64_t *near; /* CPUs near each device, node.nwords each; or NULL */
    int32_t *links; /* total x total, or NULL */
};

struct node {
    bool exists, schedulable;
    uint32_t cpus, nwords, sockets, cores_per_socket, threads, raw_threads, weight;
    uint64_t *spec;     /* CPUs kept from jobs, whole cores, also in busy and firm; or NULL */
    uint64_t *gpu_cpus; /* for jobs with GPUs alone, whole cores; or NULL */
    bool shares, near;  /* some row has */
    uint32_t nspec;     /* how many */
    uint32_t units, per_socket, spec_units; /* cores: all, of a socket, of nspec */
    uint32_t njobs, nowned;    /* jobs holding anything; those that share with their user alone */
    uint32_t nlabelled, label; /* of njobs with a label; which it is */
    uint64_t uid_sum;          /* over njobs */
    unsigned __int128 uid_squares;
    uint64_t mem_mib, mem_used;
    uint32_t free_cpus, free_cores;
    uint32_t nrun;           /* jobs holding CPUs */
    struct cbits busy, firm; /* held CPUs; held by jobs that do not share */
    uint32_t *features, nfeatures;
    struct gres_row *gres;
    uint32_t ngres;
    uint32_t *parts, nparts, cap_parts;
};

struct wclass { /* nodes of one weight */
    uint32_t weight;
    struct bitmap *nodes;
};

struct kind { /* nodes alike but for weight and features */
    uint32_t like;
    struct bitmap *nodes;
};

struct shape_gres {
    uint64_t per_node, per_job, per_task;
    uint32_t name_off, type_off; /* in shape.text; type UINT32_MAX = any */
};

struct shape {
    /* Compared as bytes: everything up to the end of key. */
    struct shape_key {
        uint32_t min_nodes, max_nodes, num_tasks, cpus_per_task;
        uint32_t ntasks_per_node, ntasks_per_core, ntasks_per_socket, threads_per_core;
        uint32_t pn_min_cpus, min_sockets, min_cores_per_socket;
        uint32_t flags, socket_dist, core_spec, cpus_per_gpu, tasks_per_gpu;
        uint32_t uid; /* with SHAPE_UID */
        uint32_t label;
        uint64_t mem_per_node_mib, mem_per_cpu_mib, mem_per_gpu_mib;
        uint32_t nreq, nexc, ngres, features_off; /* features_off UINT32_MAX = none */
        uint32_t prefer_off, ncounts; /* ncounts: node counts, after the ids in shape.nodes */
        uint32_t resv, zero;          /* resv: the reservation it is to be in, 0 = none */
        struct shape_gres gres[SCHED_MAX_JOB_GRES];
    } key;
    uint32_t *nodes; /* required, then excluded ids, then node counts, each sorted */
    char *text;      /* NUL-separated strings */
    uint32_t ntext;
    uint32_t hash, refs;
    struct shape *hash_next;
    struct constraint *features, *prefer;
    uint32_t npj; /* requests with per_job; they come first in key.gres */
};
enum {
    SHAPE_EXCLUSIVE = 1,
    SHAPE_SHARE = 2,
    SHAPE_OVERCOMMIT = 4,
    SHAPE_CONTIGUOUS = 8,
    SHAPE_SPREAD = 16,
    SHAPE_MEM_PER_NODE = 32,
    SHAPE_USE_MIN_NODES = 64,
    SHAPE_PACK = 128,
    SHAPE_UID = 256,
    SHAPE_OWNED = 512, /* exclusive_user */
    SHAPE_BIND = 1024, /* to CPUs near its devices */
    SHAPE_NO_BIND = 2048,
    SHAPE_TASK_SHARE = 4096,       /* one_task_per_share */
    SHAPE_ANY_PART_SIZE = 1 << 20, /* the numbers of nodes of its partition do not hold for it */
};

#define SHAPE_PER_JOB_MAX 4
#define CLASS_TRIED 4

/* One alternative of a class: the nodes that could ever hold a part of it. */
struct calt {
    struct bitmap *elig;
    struct bitmap **counted; /* counted sets, within elig */
    uint32_t *counts;
    uint32_t ncounts;
};

struct class
{
    struct shape *shape;
    uint32_t part, refs;
    struct class *hash_next;
    struct calt *alts; /* NULL until needed */
    uint32_t nalts;
    uint32_t most_tasks;  /* any node holds at most so many of its tasks; with alts */
    uint64_t mask_gen;    /* sched.config_gen the alts are made from */
    uint64_t verdict_gen; /* sched.up_gen + 1 the verdict is for, 0 = none */
    enum sched_why verdict;
    uint64_t fail_grow;  /* part.grow + 1 at which it did not fit, 0 = none */
    uint64_t bf_run;     /* memo_run of the next */
    int64_t bf_fail_end; /* did not fit for jobs ending then or later */
    struct {
        uint64_t run; /* memo_run; jobs of limit_min and more have no place before slot */
        uint32_t limit_min, slot;
    } tried[CLASS_TRIED];
    uint32_t fail_level; /* ... for spans that meet so many windows, see advres.c */
    uint64_t adv_gen;    /* what the next two are for */
    /* idle: fits for lower levels; fails for this one and higher */
    uint32_t adv_fits, adv_fails;
    /* preempt_gen() + 1 at which preempting did not help, 0 = none */
    uint64_t pre_gen;
    int64_t pre_retry_us; /* and until when, if nothing changes */
    uint64_t pre_bf_run;  /* backfill run that looked for victims beside the plan */
    uint64_t cursor_grow; /* part.grow + 1 the cursor is for */
    uint32_t cursor_level;
    uint32_t cursor_wclass, cursor_id; /* nothing before fits a single-node job */
};

struct license {
    uint64_t total, used;
};
struct job_lic {
    uint32_t id;
    uint64_t count;
};
struct job_lics { /* all of v, or any one of it */
    struct job_lic *v;
    uint32_t n;
    bool any;
};

enum job_state { JOB_WAITING, JOB_QUEUED, JOB_PROPOSED, JOB_RUNNING, JOB_SUSPENDED };
enum entry_state { ENTRY_OUT, ENTRY_QUEUED, ENTRY_PARKED };

struct entry {
    struct job *job;
    struct class *cls;
    uint32_t part, priority;
    uint16_t rank; /* place in the job's order of preference */
    uint8_t height : 4;
    bool ahead : 1;    /* in a reservation it asked for: before all without one */
    bool magnetic : 1; /* in one that it did not ask for */
    enum entry_state state : 2;
    enum sched_why why : 6;
    uint16_t limit;       /* SCHED_WHY_LIMIT: which */
    struct entry *next[]; /* in the queue or the parking place */
};

struct job {
    uint32_t id;
    enum job_state state : 4;
    enum sched_why told : 6;
    uint32_t nentries : 16;
    bool fresh : 1;
    bool firm : 1;    /* does not share its CPUs */
    bool owned : 1;   /* shares nodes with its user alone */
    bool leaving : 1; /* preemption, see preempt.c */
    bool yielded : 1;
    bool going : 1;     /* in s->going */
    bool uncharged : 1; /* ended: counts against no limit */
    bool any_time : 1, any_size : 1;
    bool no_age : 1; /* see accrue.c */
    uint16_t told_limit;
    uint32_t priority, time_limit_min, time_min_min;
    int32_t nice;
    uint32_t taken; /* run_gen when what it holds became this */
    int64_t submit_us, eligible_us, accrue_us;
    uint32_t array_id; /* 0 = none */
    uint32_t qos_id;
    uint32_t uid, assoc_id, qos; /* qos: id of qos_tab, STRTAB_NONE = none */
    uint32_t label;              /* id of label_tab + 1, 0 = none */
    int32_t site_factor;
    union {
        uint32_t heap_at; /* index + 1 in the eligible heap, 0 = not there */
        uint32_t hold_at; /* holding: place in its group, see holders.c */
    };
    uint32_t part;      /* holding: in which partition */
    uint32_t resv;      /* ... and reservation, 0 = none */
    uint32_t held_cpus; /* ... of all nodes together */
    struct job *fresh_prev, *fresh_next;
    struct expect *expect; /* expect.c; NULL = not planned, nothing told */
    struct job_lics want, held;
    struct sched_alloc alloc;
    int64_t start_us, end_us;
    /* preemption, see preempt.c */
    uint32_t run_priority; /* it was started with */
    uint32_t claimed_by;   /* the job it goes for, 0 = none */
    /* a preemptor's: who has to go first; NULL = it does not wait so */
    struct claim *waits;
    struct charge *charge; /* limit.c: what it counts against; NULL = nothing */
    struct het *het;       /* NULL = not a component */
    struct entry *entries[];
};

/* component of a heterogeneous job; the last three are the first component's, see hetplace.c */
struct het {
    uint32_t id, count;
    enum sched_why why;
    uint64_t walk;     /* walk in which the group did not fit, for that reason */
    uint64_t resv_run; /* backfill run that reserved for the group */
};

struct part {
    uint32_t id;
    bool exists, up, inactive;
    struct bitmap *nodes;
    uint64_t max_mem_per_cpu_mib, max_mem_per_node_mib; /* 0 = no limit */
    uint32_t tier, job_factor, max_time_min, min_nodes, max_nodes, oversubscribe, max_cpus_per_node;
    uint32_t max_cpus_per_socket; /* 0 = no limit */
    bool exclusive_node, exclusive_user, force, lln;
    enum sched_preempt_mode preempt_mode;
    uint32_t qos_id;
    char *billing; /* NULL = a CPU counts one */
    enum billing_sum billing_sum;
    uint32_t *node_cpus; /* CPUs held by its jobs, by node; only with max_cpus_per_node */
    uint64_t grow;       /* counts growths of free capacity */
    struct entry *head[QUEUE_LEVELS], *parked[QUEUE_LEVELS];
    uint32_t nqueued;
    double tres_total[SCHED_TRES_WEIGHTS_MAX]; /* of its nodes, for the TRES factors */
    struct holders {                           /* jobs of one QOS that hold resources */
        struct job **v;
        uint32_t n, cap;
    } * holders; /* by id of qos_tab + 1, row 0: without */
    uint32_t nholders;
    struct firsts *firsts; /* firsts.c; may be NULL */
    bool unpark;
    struct entry *block; /* the entry told that it waits for resources */
    /* of the pass under way */
    struct entry *cur;
    bool active, blocked;
    uint32_t tried;
    uint32_t planned, looked_at; /* of the plan under way: places, jobs */
};

struct fit { /* a node that can hold a part of the job */
    uint32_t id, tasks, wclass, free;
    uint32_t hold; /* tasks it has CPUs for, at least those it gets */
    uint32_t gres[SHAPE_PER_JOB_MAX];
};

struct fitvec {
    struct fit *v;
    uint32_t n, cap;
};

struct resv_node {
    uint64_t spare_mem;
    uint32_t spare_part_cpus;
    uint64_t *spare_gres; /* by row; behind the last of them */
};

struct resv { /* what a blocked head will hold from start_us on */
    struct job *job;
    uint32_t part;
    int64_t start_us;
    struct bitmap *nodes;
    uint32_t *before; /* by word of nodes: bits in those before it */
    struct sched_alloc alloc;
    struct resv_node *spare; /* beside alloc.nodes */
    bool lent;               /* nodes, before, alloc and spare are kept, see keptplan.c */
    /* free CPUs that it will hold, and busy_gen + 1 they were counted at */
    uint64_t taken, taken_gen;
    struct job_lics lics;
    uint64_t *spare_lic; /* licences left beside it, by id */
    uint32_t nspare_lic;
};

struct alike { /* the node that fit.c looked at last, for the pick under way */
    bool known, fits;
    uint32_t threads, free_cpus, free_cores;
    uint64_t mem_mib, mem_used;
    struct fit fit;
};

struct kept_resv {     /* see keptplan.c */
    struct class *cls; /* counted; NULL = nothing is kept */
    uint32_t job_id;
    uint64_t config_gen, up_gen;
    int64_t end_us;  /* of those it waits for */
    uint64_t beyond; /* who runs on then */
    struct resv resv;
};

struct sched {
    struct sched_params params;
    struct strtab parts_tab, feature_tab, gres_tab; /* gres_tab: names and types */
    struct node *nodes;
    uint32_t nnodes; /* 1 + highest id */
    uint32_t nbits;  /* capacity of nodes and size of every bitmap */
    uint32_t count_nodes;
    uint64_t count_cpus;
    uint64_t free_cpus; /* sum over all nodes */
    uint64_t busy_gen;  /* counts changes of what is held on nodes */
    struct bitmap *up, *idle, *free_ge[SCHED_SPANS];
    struct kind *kinds;
    uint32_t nkinds;
    struct bitmap *odd; /* nodes of no kind */
    uint64_t kinds_gen; /* config_gen + 1 they were made for */
    struct wclass *wclasses;
    uint32_t nwclasses;
    struct bitmap **features; /* by feature id */
    uint32_t nfeatures;
    struct part **parts; /* by id of parts_tab */
    uint32_t nparts;
    uint32_t max_job_factor;
    uint64_t config_gen, up_gen;

    struct job **jobs; /* open addressing by id */
    uint32_t njobs, job_slots, njob_used;
    struct job **heap; /* waiting for their eligible time */
    uint32_t nheap, heap_cap;
    struct job *fresh; /* to be entered in the queues by the next pass, or just entered */
    uint32_t npending;
    struct {
        /* between two pieces: resvs, line and the walk are as the last one left them */
        bool active;
        int64_t now_us;
        uint32_t tested, started;
        uint32_t planned;      /* jobs given a place */
        uint32_t preempts;     /* searches for victims */
        uint64_t change, walk; /* as the last piece left them */
    } bf;
    struct tally tally; /* of the backfill under way */
    struct strtab lic_tab;
    struct license *lics; /* by id of lic_tab */
    uint32_t nlics;
    uint64_t lic_grow; /* counts licences coming free */
    struct strtab label_tab;
    struct strtab qos_tab;
    uint32_t *qos_priority, nqos, max_qos; /* by id of qos_tab */
    struct qos_preempt *qos_pre;           /* preempt.c; by id of qos_tab */
    uint32_t nqos_pre;
    uint32_t *claims, nclaims, cap_claims; /* jobs that wait for their victims */
    uint32_t *going, ngoing, cap_going;    /* jobs that leave; some have left since */
    uint32_t nholding;
    uint64_t run_gen; /* counts changes of what runs */
    /* when an exempt job stops being so; of the pass under way */
    int64_t preempt_wake_us;
    struct assocs *assocs; /* assoctree.c */
    struct limits *limits; /* limit.c; NULL = none */
    bool no_ages;          /* some jobs may have no age */
    /* in the pass under way a job met a limit that gives way with time */
    bool limit_passes;
    struct advs *advs; /* advres.c; NULL = there never was one */
    uint64_t tres_gen; /* config_gen + 1 of the partitions' totals */
    int64_t prio_us;   /* when multifactor priorities were computed */
    bool prio_done;

    struct shape **shape_slots;
    uint32_t nshape_slots, nshapes;
    struct class **class_slots;
    uint32_t nclass_slots, nclasses;
    uint32_t nmasked; /* classes with alts */

    bool uids;                  /* some job or partition shares nodes by user: shapes have users */
    bool labels;                /* some job has a label */
    bool travelling;            /* planning moves jobs about; capacity does not really grow */
    uint64_t change, bf_change; /* counts inputs; the count at the last backfill */
    uint64_t bf_run, walk_run;
    struct prof *prof; /* conservative: what is planned, NULL when there is no plan */
    struct plan *plan; /* and what else is kept of it, see plan.h; NULL when it is not */
    bool planning;     /* it is being made or repaired */
    struct planlog log;
    /* what classes remember of the profile holds as long as nothing comes free */
    uint64_t memo_run;
    struct resv *resvs;
    uint32_t nresvs, cap_resvs;
    struct job **line;                 /* running jobs that end, by end time */
    uint32_t nline, cap_line, line_at; /* the first line_at are released at the moment */
    bool line_made;
    uint64_t line_beyond; /* kept_number() of those who have no end, together */
    struct kept_resv kept;
    struct alike alike;

    /* scratch */
    struct fitvec fits, sorted, chosen;
    struct bitmap *cand, *withheld, *dup;
    bool any_withheld;
    uint64_t *cpu_words; /* one node's CPUs, SCHED_MAX_CPUS bits */
    uint64_t *dev_words; /* one row's devices */
};

/* nodes.c */
int nodes_reserve(struct sched *s, uint32_t id);
void nodes_done(struct sched *s);
void node_take(struct sched *s, const struct sched_alloc_node *an, uint32_t part, bool firm,
               bool cpus, bool rest);
void node_release(struct sched *s, const struct sched_alloc_node *an, uint32_t part, bool firm,
                  bool cpus, bool rest);
struct gres_row *node_gres_row(struct sched *s, struct node *n, const struct sched_alloc_gres *g);
void node_own(struct sched *s, uint32_t id, const struct job *j,
              bool add); /* it comes to the node or leaves it */
/* How many of these CPUs nobody has. */
uint32_t node_would_take(const struct sched *s, const struct sched_alloc_node *an);
uint32_t count_free_cores(const struct node *n, const uint64_t *avail);

/* in n->parts, nparts when not there */
uint32_t node_part_index(const struct node *n, uint32_t part);
bool node_alike(const struct node *a, const struct node *b);

/* kinds.c */
int kinds_make(struct sched *s); /* makes s->kinds current */
void kinds_done(struct sched *s);

/* parts.c */
int part_get(struct sched *s, const char *name, struct part **ret); /* enters unknown names */
void part_free(struct part *p);

/* preempt.c */
struct claim {
    uint32_t n;
    struct claim_wait {
        uint32_t id;
        int64_t start_us; /* of the run meant */
    } v[];
};
/* e does not fit: make room for it.  1 a PREEMPT is proposed, 0 no. */
int preempt_try(struct sched *s, struct entry *e, const struct bitmap *minus, int64_t now_us,
                struct sched_decisions *out);
/* The same while backfill plans: on nodes where that delays nobody who has a place. */
int preempt_beside_plan(struct sched *s, struct entry *e, int64_t now_us,
                        struct sched_decisions *out);
struct explain_preempt;
/* -ENOMEM */
int preempt_explain(struct sched *s, struct entry *e, int64_t now_us, struct explain_preempt *ret);
/* start whose victims are gone */
int claims_settle(struct sched *s, int64_t now_us, struct sched_decisions *out);
void claim_drop(struct sched *s, struct job *j);
void preempt_done(struct sched *s);

/* alloc.c */
int alloc_dup(struct sched *s, const struct sched_alloc *from, struct sched_alloc *ret);
void alloc_done(struct sched_alloc *a);
bool alloc_equal(const struct sched_alloc *a, const struct sched_alloc *b);
void job_take(struct sched *s, struct job *j);
void job_node_take(struct sched *s, const struct job *j, size_t i); /* on its i-th node alone */
void job_release(struct sched *s, const struct job *j);

/* shape.c */
double shape_nodes(const struct shape *shape); /* asked for, at least */
double shape_cpus(const struct shape *shape);
int class_get(struct sched *s, const struct sched_job *job, struct part *p, uint32_t resv,
              struct class **ret);
void class_unref(struct sched *s, struct class *c);
int class_masks(struct sched *s, struct class *c); /* makes c->alts current */
void classes_done(struct sched *s);

/* fit.c */
struct pick {
    struct sched *s;
    struct class *cls;
    struct part *part;
    bool idle;                  /* as if nothing ran */
    bool any_state;             /* down nodes too */
    bool no_part_limit;         /* forget the partition's node limit */
    const struct bitmap *minus; /* nodes not to be used, or NULL */
    bool pad; /* lay out all CPUs that must be free (pn_min_cpus), not only those taken: for
                     reservations */
    const struct job_lics *lics; /* planning: these must be there too */
    bool overlay;                /* keep what is reserved before end_us */
    int64_t end_us;
    /* the job would hold its nodes so long; to_us 0: reservations are not heeded */
    int64_t from_us, to_us;
    uint32_t minutes; /* plan(): how long it would hold them */
    bool no_maint;    /* as if there were no maintenance */
    bool plan;        /* throughout the slots [from, until) of s->prof, see profile.h */
    uint32_t from, until;
    /* nodes with fewer free CPUs add little to the sum wanted; 0 = not known */
    uint32_t low;
    uint32_t next; /* out: a later slot before which it does not fit either */
    /* derived by pick_init() */
    const struct shape_key *k;
    bool whole;
    uint32_t share_max; /* jobs on one CPU */
    uint32_t share;     /* tried at the moment: CPUs nobody has come first */
    uint32_t gname[SCHED_MAX_JOB_GRES],
        gtype[SCHED_MAX_JOB_GRES]; /* of the requests, see row_matches() */
    uint32_t only;                 /* so many nodes, of a list of counts; 0 = no such list */
    uint32_t gpu; /* the request CPUs, memory or tasks are counted by, or UINT32_MAX */
    bool gpus;    /* it asks for GPUs or shares of them */
    bool plain;   /* it asks for CPUs and memory, and of a node nothing else counts */
    /* derived by pick_nodes(): what is asked of the set of nodes */
    uint32_t tasks, each;      /* in total; or when that is 0 on each node */
    uint32_t min, max, prefer; /* nodes */
};
struct geometry { /* how a job sees a node: units of gran CPUs that are taken together */
    uint32_t units, per_socket, gran, usable, grain;
    uint32_t avail; /* units that are not kept from jobs */
};
void pick_init(struct pick *p);
/* Fewer free CPUs in all will not do; after pick_init(). */
uint64_t pick_least_cpus(const struct pick *p);
struct geometry pick_geometry(const struct pick *p, const struct node *n);
uint32_t geometry_tasks(const struct pick *p, const struct geometry *g, uint32_t units);
uint32_t geometry_units(const struct pick *p, const struct geometry *g, uint32_t tasks);
void pick_free_cpus(const struct pick *p, uint32_t id, uint64_t *words);
bool unit_free(const uint64_t *words, uint32_t unit, uint32_t gran);
uint64_t pick_free_mem(const struct pick *p, uint32_t id);
/* The reservation's part on node id if the job would run into it, else NULL. */
const struct sched_alloc_node *pick_conflict(const struct pick *p, const struct resv *r,
                                             uint32_t id, const struct resv_node **ret_spare);
bool node_fit(const struct pick *p, uint32_t id, struct fit *ret);
/* Nodes the job never uses, whatever is free on them. */
bool node_admits(const struct pick *p, uint32_t id, uint32_t *most_tasks); /* raises most_tasks */
/* kinds.c: take from mask the nodes that are not so.  Gives the most tasks a node can ever hold. */
uint32_t kinds_admitted(const struct pick *p, struct bitmap *mask);

/* gres.c */
int gres_row_build(struct sched *s, const struct node *n, const struct sched_gres_spec *in,
                   struct gres_row *row);
void gres_row_done(struct gres_row *row);
bool gres_row_alike(const struct node *n, const struct gres_row *a, const struct gres_row *b);
bool gres_row_matches(const struct pick *p, const struct gres_row *row, uint32_t req);
/* What is free of a row; dev (may be NULL) gets the free devices. */
uint64_t gres_free(const struct pick *p, uint32_t id, uint32_t row, uint64_t *dev);
/* Is the node good for a part of the job that gets so many units?  Sets what its devices limit
 * in *f. */
bool gres_fit(const struct pick *p, uint32_t id, const struct geometry *g, uint32_t units,
              struct fit *f);

/* grespick.c */
/* GPUs the job gets on the node of those that CPUs, memory or tasks are counted by. */
uint64_t gres_gpus(const struct pick *p, const struct fit *f);
/* Take from words the CPUs the job is not to have there, so that those near its devices are
 * left. */
void gres_bind(const struct pick *p, const struct fit *f, const struct geometry *g, uint32_t need,
               uint64_t *words);
/* Of each row of the node the job gets take[row]; -EAGAIN when that does not come out. */
int gres_choose(const struct pick *p, const struct fit *f, const uint64_t *cpus, uint64_t *take);
void gres_fill(const struct pick *p, const struct fit *f, const uint64_t *cpus, uint32_t row,
               uint64_t count, struct sched_alloc_gres *out, uint64_t **words);

/* Where binding is enforced: is every CPU near a device? */
bool gres_covers(const struct pick *p, const struct sched_alloc_node *an);

/* pick.c */
int pick_nodes(struct pick *p); /* 1 = s->chosen by id order, 0 = does not fit, -ENOMEM */
enum sched_why pick_verdict(struct pick *p);

/* joblayout.c */
int layout(const struct pick *p,
           struct sched_alloc *ret); /* of s->chosen; -EAGAIN when it does not come out */

/* As layout(): 1 with *ret, 0 when it does not come out, -ENOMEM. */
int layout_chosen(const struct pick *p, struct sched_alloc *ret);
/* Choose nodes and lay the job out on them: 1 with *ret, 0 it does not fit, -ENOMEM. */
int pick_layout(struct pick *p, struct sched_alloc *ret);

/* expect.c */
int64_t expect_us(const struct job *j); /* when it is planned to start, 0 = it is not */
int64_t expect_told_us(const struct job *j);
bool expect_in_run(const struct job *j, uint64_t run); /* by this backfill run */
/* on a's nodes; a NULL: where is not said */
int expect_set(struct job *j, int64_t us, uint64_t run, const struct sched_alloc *a);
void expect_clear(struct job *j);
void expect_told(struct job *j);
void expect_drop(struct job *j); /* what was told too; it has no places */
struct place *expect_places(const struct job *j);
int expect_enlist(struct job *j, struct place *p);
void expect_delist(struct job *j, const struct place *p);
int expect_nodes(const struct job *j, uint32_t **ret_nodes, size_t *ret_n); /* caller owns them */

/* firsts.c: jobs of this class and so many minutes have no place before the slot */
uint32_t firsts_find(const struct sched *s, const struct class *c, uint32_t minutes);
void firsts_note(struct sched *s, const struct class *c, uint32_t minutes, uint32_t slot);

/* holders.c */
struct holders_iter {
    uint32_t part, row, at;
};
/* holders_add() cannot fail after it */
int holders_room(struct sched *s, uint32_t part, uint32_t qos);
/* by its part and qos, which stay until it is removed */
void holders_add(struct sched *s, struct job *j);
void holders_remove(struct sched *s, struct job *j);
struct job *holders_next(const struct sched *s, struct holders_iter *it); /* NULL at the end */
void holders_done(struct part *p);
bool goes_anyway(const struct job *j);           /* it leaves, or makes room for somebody */
void going_note(struct sched *s, struct job *j); /* j holds, and goes_anyway() */
void going_settle(struct sched *s);              /* forget who does not any more */

/* sched.c */
int label_id(struct sched *s, const char *label, uint32_t *ret_id); /* 0 for NULL; -ENOMEM */
int job_build(struct sched *s, const struct sched_job *in,
              struct job **ret); /* in no table or queue yet */

/* queue.c */
void job_free(struct sched *s, struct job *j);
struct job *job_find(const struct sched *s, uint32_t id);
int job_insert(struct sched *s, struct job *j);
void job_forget(struct sched *s, struct job *j); /* out of the table; frees it */
void queue_add(struct sched *s, struct entry *e);
void queue_remove(struct sched *s, struct entry *e); /* from queue or parking place */
void queue_park(struct sched *s, struct entry *e);
bool entry_before(const struct entry *a, const struct entry *b);
void job_unqueue(struct sched *s, struct job *j); /* every entry, heap, fresh list */
int job_wait(struct sched *s, struct job *j);     /* into heap or fresh list, by eligible time */
void job_set_fresh(struct sched *s, struct job *j);
void job_clear_fresh(struct sched *s, struct job *j);
void job_free_entries(struct sched *s, struct job *j);
/* Put due jobs and unparked entries on the fresh list. */
void queue_wake(struct sched *s, int64_t now_us);
void jobs_done(struct sched *s);

/* advres.c */
void advs_done(struct sched *s);
/* windows begin and end; before anything is tried */
int advs_refresh(struct sched *s, int64_t now_us);
int64_t advs_wake(const struct sched *s); /* the next time that happens and matters */
bool advs_any(const struct sched *s);
/* Call fn with each beginning and end of a window that has not ended. */
void advs_each_edge(struct sched *s, void (*fn)(struct sched *s, int64_t at_us));
/* p would hold its nodes for so long from then on: reservations are heeded. */
void adv_span(struct pick *p, int64_t from_us, uint32_t minutes);
/* Take from mask what p's job may not have in its span.  False: nothing is left. */
bool adv_keep(const struct pick *p, struct bitmap *mask);
bool adv_cored(const struct sched *s, uint32_t id); /* cores of this node are reserved */
/* CPUs of the node that p's job may not have, NULL = none of that kind; valid until the next
 * call. */
const uint64_t *adv_blocked(const struct pick *p, uint32_t id);
/* How long a job in resv that begins then may hold alloc, at most to_us. */
int64_t adv_limit(const struct sched *s, uint32_t resv, const struct sched_alloc *alloc,
                  int64_t from_us, int64_t to_us);
/* the next beginning or end of a window, INT64_MAX */
int64_t adv_edge(const struct sched *s, int64_t after_us);
uint32_t adv_level(const struct pick *p); /* windows that p's span meets */
/* e waits for nodes: because of reservations?  NONE: because of jobs. */
enum sched_why adv_why(struct sched *s, const struct entry *e, int64_t now_us);
bool adv_is_why(enum sched_why why);
/* Does a job before e wait for nodes of the same reservation in this walk? */
bool adv_blocked_walk(const struct sched *s, const struct entry *e);
void adv_block_walk(struct sched *s, const struct entry *e);
/* Licences are asked for on behalf of e, that would start now; NULL = nobody's. */
void adv_about(struct sched *s, const struct entry *e, int64_t now_us);
/* reserved for others while it would run */
uint64_t adv_lics_kept(const struct sched *s, uint32_t lic);
/* likewise then */
uint64_t adv_lics_kept_in(const struct sched *s, uint32_t lic, int64_t from_us, int64_t to_us);
void adv_take(const struct sched *s, const struct job *j, bool take);

/* lic.c */
int lic_id(struct sched *s, const char *name, uint32_t *ret_id);
void lics_free(struct job_lics *l);
int lics_build(struct sched *s, const struct sched_lic_req *req, size_t n, bool any,
               struct job_lics *ret);
/* Are they there, beside what is reserved before end_us?  *ret_which: of `any`, the one. */
bool lics_fit(const struct sched *s, const struct job_lics *l, int64_t end_us, uint32_t *ret_which);
int lics_choose(const struct job_lics *want, uint32_t which, struct job_lics *ret);
void lics_take(struct sched *s, const struct job_lics *l);
void lics_release(struct sched *s, const struct job_lics *l);
uint64_t *lics_spare(const struct sched *s); /* NULL: out of memory */
int lics_tell(const struct sched *s, const struct job_lics *l, struct sched_lic_req **ret,
              size_t *ret_n);

/* assoctree.c */
void assocs_done(struct sched *s);
int assocs_refresh(struct sched *s); /* compute shares anew when something changed */
double assoc_fairshare(const struct sched *s, uint32_t id);
double assoc_factor(const struct sched *s, uint32_t id);
double qos_factor(const struct sched *s, uint32_t qos);

/* limit.c */
void levels_done(struct sched *s);
int limit_charge(struct sched *s, struct job *j); /* it holds j->alloc until j->end_us */
void limit_release(struct sched *s, struct job *j);
void limit_end_time(struct job *j); /* after its end changed */
/* accrue.c: who gains priority by age; with each computation of priorities */
int accrue_refresh(struct sched *s, int64_t now_us);
/* limit_check.c */
/* Is e's job over a limit?  By its request, or (alloc) by what it would hold.  Gives
 * SCHED_WHY_LIMIT with e->limit, or NONE. */
enum sched_why limit_refuses(struct sched *s, struct entry *e, const struct sched_alloc *alloc,
                             uint32_t limit_min, int64_t now_us);
bool limit_hit(struct sched *s, const struct entry *e, const struct sched_alloc *alloc,
               int64_t now_us, struct sched_limit_hit *ret); /* likewise */
/* of the job alone: it waits until the limit or the job is changed */
bool limit_is_own(unsigned limit);
/* QOS and MinPrioThreshold */
bool limit_may_reserve(const struct sched *s, const struct entry *e, uint32_t *min_prio);
unsigned limit_qos_flags(const struct sched *s, const struct job *j);

/* tresfactor.c */
double tres_asked(const struct entry *e, const char *name);
double tres_of_node(const struct sched *s, const struct node *n, const char *name);
void tres_totals(struct sched *s); /* of the partitions, when the nodes changed */
double tres_factor(const struct sched *s, const struct entry *e, uint32_t i);

/* prio.c */
void queue_enter(struct sched *s, int64_t now_us); /* fresh jobs, due jobs, unparked entries */
uint32_t entry_priority(const struct sched *s, const struct entry *e, int64_t now_us);
int64_t prio_as_of(const struct sched *s, const struct job *j, int64_t now_us);
int prio_refresh(struct sched *s, int64_t now_us);

/* queuewalk.c */
void walk_begin(struct sched *s);
bool walk_goes_before(const struct sched *s, const struct entry *a, const struct entry *b);
struct entry *
walk_next(struct sched *s); /* highest of the partitions still active; NULL at the end */
void walk_skip(struct sched *s, struct entry *e);
/* Go on behind the entry that the plan looked at last. */
void walk_resume(struct sched *s);
/* e does not start for this reason: park it, or make it the head its partition waits for. */
void walk_refuse(struct sched *s, struct entry *e, enum sched_why why);
/* As walk_skip(), with a reason. */
void walk_note(struct sched *s, struct entry *e, enum sched_why why);
int walk_finish(struct sched *s, struct sched_decisions *out); /* tell what changed */
enum sched_why entry_limits(const struct sched *s, const struct entry *e);
int64_t end_after(int64_t now_us, uint32_t minutes);
/* Propose to start e on alloc, which is handed over on success. */
int decide_start(struct pick *p, struct entry *e, struct sched_alloc *alloc, int64_t now_us,
                 uint32_t limit_min, struct sched_decisions *out);
int decisions_add(struct sched_decisions *out, const struct sched_decision *d);

/* hetplace.c: e's job is a component */
/* Start the whole group.  1 started, 0 not: *ret_why is SCHED_WHY_RESOURCES when it waits for
 * nodes, SCHED_WHY_NONE while the group is not whole, else what has to change first. */
int het_try(struct sched *s, struct entry *e, int64_t now_us, bool backfill,
            struct sched_decisions *out, enum sched_why *ret_why);
/* conservative.c's het_try() and het_reserve() in one: start all, or hold a place for all in
 * s->prof. */
int het_plan(struct sched *s, struct entry *e, int64_t now_us, struct sched_decisions *out,
             int64_t *ret_start_us, enum sched_why *ret_why);
/* Reserve for every component; *ret_start_us 0 when that is not possible or was done in this
 * run. */
int het_reserve(struct sched *s, struct entry *e, int64_t now_us, int64_t *ret_start_us);

/* backfill.c */
struct bf {
    struct sched *s;
    int64_t now_us;
    struct sched_decisions *out;
};
bool bf_within(const struct sched *s, int64_t now_us, int64_t start_us);
int bf_set_expected(struct sched *s, struct job *j, int64_t start_us, const struct sched_alloc *a);
bool bf_may_reserve(const struct bf *b, const struct entry *e);
void backfill_drop(struct sched *s);  /* forget every plan; the next begins anew */
void backfill_pause(struct sched *s); /* something else comes between: keep what may be kept */
void bf_count_anew(struct sched *s);  /* of the limits on jobs looked at and places */
/* The entry is the next to be looked at: 1 the limits on jobs looked at let it in, 0 it is passed
 * over, -ENOMEM. */
int bf_admit(struct bf *b, struct entry *e);

/* conservative.c: what backfill does about one job; for sched_backfill() and for questions */
int conservative_consider(struct bf *b, struct entry *e);
int conservative_try(struct bf *b, struct entry *e); /* start it: 1, 0 it cannot, -ENOMEM */
/* The first slot from `from` on (a later one than now) with a place for it: 1 with what it would
 * get. */
int conservative_seek(struct sched *s, struct entry *e, uint32_t from, struct pick *ret_pick,
                      struct sched_alloc *ret_alloc);
/* Plan the jobs that go before `stop` (NULL: all that are ever planned), none starts.  s->prof
 * is set then. */
/* how many could start now */
int conservative_ahead(struct bf *b, const struct entry *stop, uint32_t *ret_now);

/* timeline.c */
int line_make(struct sched *s); /* of the jobs running now; until line_drop() */
int line_room(struct sched *s); /* for one more: line_add() cannot fail after it */
void line_add(struct sched *s, struct job *j);
void line_drop(struct sched *s);
/* The first time at which p's job fits, and what it would hold then.  Reservations count as held
 * for ever. Returns 1, 0 when there is no such time, -ENOMEM. */
int plan(struct pick *p, int64_t now_us, int64_t *ret_start_us, struct sched_alloc *ret_alloc,
         struct resv_node **ret_spare);
/* Reserve; takes alloc and spare on success. */
int resv_add(struct sched *s, uint32_t part, int64_t start_us, struct sched_alloc *alloc,
             struct resv_node **spare, const struct job_lics *want);
/* A job that ends then now holds a: what it left unused beside the reservations is less. */
void resv_charge(struct sched *s, const struct sched_alloc *a, const struct job_lics *lics,
                 uint32_t part, int64_t end_us);
struct resv_node *spare_of(struct sched *s, const struct sched_alloc *a, uint32_t part);
void resvs_clear(struct sched *s);
int resvs_room(struct sched *s); /* for one more */
void resv_free(struct resv *r);
/* The first position in line at which the CPUs of all nodes together are enough; 0 none. */
uint32_t line_first(struct pick *p);

/* keptplan.c: in a backfill, with the line made.  kept_again(): 1 the reservation kept for this job is
 * made again, 0 it has to be planned, -ENOMEM. */
int kept_again(struct pick *p, uint32_t job_id, int64_t now_us);
/* Keep the only reservation there is, just made for when the jobs that end at end_us have. */
void kept_note(const struct pick *p, uint32_t job_id, int64_t end_us);
void kept_drop(struct sched *s);
uint64_t kept_number(const struct job *j); /* stands for it and what it holds */
