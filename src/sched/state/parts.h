/* parts.h - partitions: sets of nodes with limits, each with a queue of its own */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/sched.h"
#include "sched/state/bounds.h"

struct bitmap;
struct entry;
struct job;
struct sched;
struct topo;

struct part {
    uint32_t id;
    bool exists, up, inactive, paused;
    struct bitmap *nodes;
    uint64_t max_mem_per_cpu_mib, max_mem_per_node_mib; /* 0 = no limit */
    uint32_t tier, job_factor, max_time_min, min_nodes, max_nodes, oversubscribe, max_cpus_per_node;
    uint32_t max_cpus_per_socket; /* 0 = no limit */
    bool exclusive_node, exclusive_user, force, lln;
    enum sched_preempt_mode preempt_mode;
    uint32_t qos_id;
    char *topology;          /* as named, may be NULL */
    const struct topo *topo; /* in force; NULL = flat.  topos.c sets it */
    bool exclusive_topo;
    bool own_select, select_memory; /* see sched_partition */
    enum sched_select select;
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
    bool stopped; /* at a job that a limit holds: assoc_limit_stop */
    uint32_t tried;
    uint32_t planned, looked_at; /* of the plan under way: places, jobs */
};

int part_get(struct sched *s, const char *name, struct part **ret); /* enters unknown names */
void part_free(struct part *p);
/* What its jobs wait for may be another thing now. */
void part_look_again(struct sched *s, struct part *p);
