/* shape.h - shapes: a shape is all that selection looks at in a job; jobs with equal wishes share
 * one shape */
#pragma once

#include <stdint.h>

#include "sched/state/bounds.h"

struct sched;
struct sched_job;

#define SHAPE_PER_JOB_MAX 4

struct shape_gres {
    uint64_t per_node, per_job, per_task, per_socket;
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
        uint32_t resv;                /* the reservation that the job is to run in; 0: none */
        uint32_t segment_size, switches;
        uint32_t nlisted; /* nreq when it says how many tasks each node listed gets, else 0 */
        uint16_t nlics, lics_any; /* licences that are resources with layers: shape_lic() */
        struct shape_gres gres[SCHED_MAX_JOB_GRES];
    } key;
    /* required, then excluded ids, then node counts, each sorted; then licences, see shape_lic();
     * then the tasks of each required node, see shape_listed() */
    uint32_t *nodes;
    char *text; /* NUL-separated strings */
    uint32_t ntext;
    uint32_t hash, refs;
    struct shape *hash_next;
    struct constraint *features, *prefer;
    struct extra_request *extra; /* with SHAPE_EXTRA: the last string of `text`, parsed */
    uint32_t npj;                /* requests with per_job; they come first in key.gres */
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
    SHAPE_BIND = 1024, /* the job's CPUs must be near its devices */
    SHAPE_NO_BIND = 2048,
    SHAPE_TASK_SHARE = 4096,      /* one_task_per_share */
    SHAPE_SPEC_THREADS = 1 << 19, /* spec_threads */
    SHAPE_DRAWN = 1 << 21,        /* the job is in a magnetic reservation, and must end before it */
    SHAPE_SPREAD_SEGMENTS = 1 << 17,
    SHAPE_CONSOLIDATE = 1 << 23,
    SHAPE_EXCLUSIVE_TOPO = 1 << 18,
    SHAPE_EXTERNAL = 1 << 24,      /* an external job: nodes need no slurmd */
    SHAPE_ANY_PART_SIZE = 1 << 20, /* MinNodes and MaxNodes of the partition do not count */
    SHAPE_EXPEDITE = 1 << 22,      /* the job may have spare nodes */
    SHAPE_BOOT = 1 << 25,          /* may_boot */
    SHAPE_KEPT_TOO = 1 << 27,      /* kept_too */
    SHAPE_EXTRA = 1 << 26,         /* --extra has a condition on the Extra of nodes */
};

void shape_free(struct shape *sh);
struct sched_job_resv;
/* resv: the reservation in which the job is tried; NULL: none. */
struct job_lics;
/* want: the licences of the job. */
int shape_get(struct sched *s, const struct sched_job *job, const struct job_lics *want,
              const struct sched_job_resv *resv, struct shape **ret);
/* The shape that is equal to `like` but lets the job have any number of switches. */
int shape_any_switches(struct sched *s, const struct shape *like, struct shape **ret);
void shape_unref(struct sched *s, struct shape *sh);
/* How many of the listed nodes (--nodelist) the job must have: all; or 0 for a job that takes fewer
 * nodes than the list has, and chooses among them. */
uint32_t shape_must(const struct shape *shape);
/* The i-th licence of a request that has resources with layers.  A request with alternatives lists
 * its other licences too. */
struct job_lic;
struct job_lic shape_lic(const struct shape *shape, uint32_t i);
/* How many tasks this node gets of a job that lists them by node; 0: it is not listed. */
uint32_t shape_listed(const struct shape *shape, uint32_t node_id);
double shape_nodes(const struct shape *shape); /* the least number of nodes asked for */
double shape_cpus(const struct shape *shape);
