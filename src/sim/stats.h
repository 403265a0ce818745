/* stats.h - what a simulated run comes to, in figures
 *
 * Wait is start less submission; bounded slowdown is (wait + run) / max(run, 10 s), at least 1.
 * Jobs that never started count in `never` alone.  Pure. */
#pragma once

#include <stdint.h>

#include "sim/engine.h"

#define STATS_BOUND_US INT64_C(10000000)
#define STATS_MAX_CLASSES 4096u

struct stats_dist {
    uint64_t n;
    double mean, median, p95, max;
};

struct stats_class {
    char name[WORKLOAD_MAX_NAME + 1];
    struct stats_dist wait_s, slowdown;
    double cpu_hours;
};
struct stats_classes {
    struct stats_class *items; /* owned */
    uint32_t n;
};

#define STATS_WAIT_BINS 12u
extern const int64_t
    stats_wait_edges_s[STATS_WAIT_BINS]; /* a bin holds waits below its edge; the last all others */
extern const char *const stats_wait_names[STATS_WAIT_BINS];

struct stats {
    struct stats_dist wait_s, slowdown;
    uint64_t waits[STATS_WAIT_BINS];
    double makespan_s;
    double utilisation; /* CPU time used over that there was, first submission to last end */
    double
        work_utilisation; /* the same until the last submission: without the run-out at the end */
    double stranded; /* of the free CPU time while jobs waited: share beside other jobs on the same
                        node */
    double queue_mean, queue_max;
    double fairness;   /* Jain's index over the users' mean bounded slowdowns: 1 = all alike, 1/n =
                          one bears all */
    double backfilled; /* share of the starts */
    uint64_t at_limit; /* jobs ended by their limit */
    double broken_mean, broken_max; /* fragmentation score of the blocks, see topofrag.h */
    struct stats_classes by_size, by_limit, by_user, by_part, by_segments;
};

int stats_make(const struct sim_machine *m, const struct workload *w, const struct sim_result *r,
               struct stats *ret);
void stats_done(struct stats *s);
