/* adv_data.h - the layout of advance reservations, for the sources about them */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/sched.h"
#include "sched/state/lics.h"

struct bitmap;
struct entry;

struct advcpus {
    uint32_t node_id, nwords;
    uint64_t *bits;
};

struct advres {
    uint32_t id;
    uint32_t *ids, nids;
    struct bitmap *nodes; /* of ids; made when it is asked for */
    struct advcpus *cpus; /* by node id; NULL = whole nodes */
    uint32_t ncpus;
    struct sched_resv_window *windows;
    uint32_t nwindows;
    bool floats, flex, beside, maint;
    int64_t float_us, max_delay_us;
    struct job_lics lics, used; /* reserved, and held by its jobs (same order) */
    uint64_t blocked_walk;      /* walk in which a job of it waits for nodes */
};

struct advwin {
    int64_t start_us, end_us;
    struct advres *r;
};

struct advs {
    struct advres **list; /* by id */
    uint32_t n;
    struct advwin *wins; /* that have not ended, by start */
    uint32_t nwins;
    int64_t next_us; /* the next beginning or end */
    bool dirty;
    uint64_t gen;
    uint32_t nfloat;
    struct bitmap *cored;      /* nodes of which cores are reserved */
    uint64_t *words;           /* scratch: one node's CPUs */
    const struct entry *about; /* whose licences are asked for */
    int64_t about_us;
};

/* Does the span lie in one of its windows? */
static inline bool adv_within(const struct advres *r, int64_t from_us, int64_t to_us)
{
    for (uint32_t i = 0; i < r->nwindows; i++)
        if (r->windows[i].start_us <= from_us && to_us <= r->windows[i].end_us)
            return true;
    return false;
}

/* MaxStartDelay: a job outside that is as short as that delays no job inside for longer. */
static inline bool is_excused(const struct advres *r, int64_t from_us, int64_t to_us)
{
    return r->max_delay_us && to_us != INT64_MAX && to_us - from_us <= r->max_delay_us;
}

static inline bool floats_into(const struct advres *r, int64_t from_us, int64_t to_us)
{
    return r->floats && (to_us == INT64_MAX || to_us - from_us > r->float_us);
}
