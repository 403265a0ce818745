/* resvs.h - reservations of a pass: what the first blocked job of a queue will hold from its
 * planned start on */
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

struct resv { /* what the blocked job will hold from start_us on */
    struct job *job;
    uint32_t part;
    int64_t start_us;
    struct bitmap *nodes;
    uint32_t *before; /* by word of `nodes`: how many bits are set in the words before it */
    struct sched_alloc alloc;
    struct resv_node *spare; /* what each node of alloc.nodes has left beside the job */
    bool lent;               /* nodes, before, alloc and spare belong to keptplan.c */
    /* how many free CPUs the job will hold; the busy_gen, plus 1, of that count */
    uint64_t taken, taken_gen;
    struct job_lics lics;
    uint64_t *spare_lic; /* by id: licences that are left beside the job */
    uint32_t nspare_lic;
};

struct kept_resv {     /* see keptplan.c */
    struct class *cls; /* holds a reference; NULL: nothing is kept */
    uint32_t job_id;
    uint64_t config_gen, up_gen;
    int64_t end_us;  /* when the last of the jobs ends for which the blocked job waits */
    uint64_t beyond; /* a number that stands for the jobs that run longer than that */
    struct resv resv;
};

/* What each node of the allocation a would have left beside it; the caller frees.  NULL: out of
 * memory. */
struct resv_node *spare_of(struct sched *s, const struct sched_alloc *a, uint32_t part);
int resvs_room(struct sched *s); /* make room for one more; -ENOMEM */
void resv_free(struct resv *r);
void resvs_clear(struct sched *s);
