/* sched_obj.h - struct sched: all that one scheduler knows */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/sched.h"
#include "sched/state/bounds.h"
#include "sched/state/fits.h"
#include "sched/state/planlog.h"
#include "sched/state/resvs.h"
#include "sched/base/strtab.h"
#include "sched/base/tally.h"
#include "sched/topo/topochoose.h"

struct advs;
struct bitmap;
struct class;
struct hres;
struct hres_room;
struct job;
struct kind;
struct license;
struct limits;
struct node;
struct part;
struct plan;
struct prof;
struct qos_preempt;
struct shape;
struct spares;
struct topo;
struct wclass;

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
    struct bitmap *external; /* nodes for external jobs alone */
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
    struct topo **topos; /* topos.c; none = flat */
    uint32_t ntopos;
    uint32_t max_job_factor;
    uint64_t config_gen, up_gen;
    uint64_t extra_gen; /* of the nodes' extra alone; config_gen of the rest of them */

    struct job **jobs; /* open addressing by id */
    uint32_t njobs, job_slots, njob_used;
    struct job **heap; /* waiting for their eligible time */
    uint32_t nheap, heap_cap;
    struct job *fresh; /* to be entered in the queues by the next pass, or just entered */
    uint32_t npending;
    struct job *priced; /* by fresh_next: the next pass tells their priority; in no other table */
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
    struct hres *hres; /* resources with layers */
    uint32_t nhres;
    struct hres_room *room; /* scratch of select/hrespick.c; NULL until needed */
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
    int64_t switches_wake_us; /* when a job no longer waits for few switches; 0 = never */
    struct assocs *assocs;    /* assoctree.c */
    struct limits *limits;    /* limit.c; NULL = none */
    bool no_ages;             /* some jobs may have no age */
    bool ages_judged;         /* accrue.c has chosen which, at least once */
    /* in the pass under way a job met a limit that gives way with time */
    bool limit_passes;
    struct advs *advs; /* advres.c; NULL = there never was one */
    uint32_t channels_held;
    struct spares *spares; /* spares.c; NULL = none was ever kept */
    bool expediting;       /* there was an expedited job */
    uint64_t tres_gen;     /* config_gen + 1 of the partitions' totals */
    int64_t prio_us;       /* when multifactor priorities were computed */
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
    uint64_t line_beyond; /* kept_number() of the jobs without an end, together */
    struct kept_resv kept;
    struct alike alike;

    /* scratch */
    struct fitvec fits, sorted, chosen;
    struct bitmap *cand, *withheld, *dup;
    bool any_withheld;
    uint64_t *cpu_words; /* one node's CPUs, SCHED_MAX_CPUS bits */
    uint64_t *dev_words; /* one row's devices */
    struct topo_space topo_space;
    uint32_t *topo_caps, *topo_weight; /* by node id, see picktopo.c */
    size_t ncap_topo_caps, ncap_topo_weight;
};
