/* resvs.h - reservations: what a blocked head will hold from its planned start on */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/sched.h"
#include "sched/state/lics.h"

struct bitmap;
struct class;
struct job;
struct sched;

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

struct kept_resv {     /* see keptplan.c */
    struct class *cls; /* counted; NULL = nothing is kept */
    uint32_t job_id;
    uint64_t config_gen, up_gen;
    int64_t end_us;  /* of those it waits for */
    uint64_t beyond; /* stands for the jobs that run on then */
    struct resv resv;
};

/* What the nodes of a would have left beside it; the caller frees.  NULL: out of memory. */
struct resv_node *spare_of(struct sched *s, const struct sched_alloc *a, uint32_t part);
int resvs_room(struct sched *s); /* for one more; -ENOMEM */
void resv_free(struct resv *r);
void resvs_clear(struct sched *s);
