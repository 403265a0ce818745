/* engine.h - run a workload on a machine through the scheduler of the controller, on a clock of its
 * own
 *
 * The scheduler is fed as the controller feeds it: ends and submissions of one instant, then one
 * quick pass, then backfill when jobs are left waiting and the last one is bf_interval ago.  What
 * it proposes starts at that instant.  A job ends when its run time is over or its limit is
 * reached.
 *
 * Pure: no clock but the one handed in, no file, no global.  Same arguments, same result, byte for
 * byte (save the measured costs). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sched/sched.h"
#include "sim/machine.h"
#include "sim/series.h"
#include "sim/workload.h"

struct sim_running { /* a job that holds its nodes when the simulation begins */
    uint32_t job;    /* index in the workload */
    const char *partition;
    const struct sched_alloc *alloc;
    int64_t start_us;
    bool exclusive;
};

struct sim_config {
    struct sched_params sched;
    uint32_t
        bf_interval_s; /* between two backfills; 0 = after each pass that leaves jobs waiting */
    /* jobs that share CPUs take turns of so long; 0 = they run beside each other */
    int64_t slice_us;
    int64_t begin_us; /* what was submitted before comes now; 0 = the first submission */
    const struct sim_running *running;
    size_t nrunning;
    const uint32_t *throttle; /* by group of jobs */
    uint32_t nthrottle;
    /* Once everything is known to the scheduler that is there at the beginning: licences, ranks. */
    int (*prime)(void *ctx, struct sched *s);
    void *prime_ctx;
    int64_t (*clock_us)(void *ctx); /* to measure passes by; NULL = they are not */
    /* Once in a while; done of total jobs have ended. */
    void (*progress)(void *ctx, size_t done, size_t total);
    void *ctx;
};

struct sim_span { /* neighbouring nodes of an allocation, each with as many CPUs */
    uint32_t first, last, cpus;
};

struct sim_outcome {
    int64_t start_us, end_us; /* 0 = never started; end INT64_MAX = never ends */
    bool there;               /* it ran when the simulation began */
    uint32_t cpus, nnodes, gpus;
    uint32_t limit_min; /* in force: backfill may have shortened it */
    uint32_t nspans;
    size_t span; /* first of them */
    bool backfilled;
};

struct sim_passes {
    uint64_t n, tested; /* jobs looked at, in all */
    uint64_t started;
    uint64_t cost_us, worst_us; /* 0 when not measured */
};

struct sim_result {
    struct sim_outcome *jobs; /* as the workload's */
    size_t njobs;
    struct sim_span *spans;
    size_t nspans, cap_spans;
    struct series *series;
    double *block_score; /* by base block: what it added to the fragmentation score, in the mean */
    size_t nblocks;      /* 0: no block topology */
    struct sim_passes quick, backfill;
    size_t ended, never;      /* never: jobs that no node suits */
    int64_t begin_us, end_us; /* first submission, last end */
};
void sim_result_done(struct sim_result *r);

/* Errors: -ENOMEM, -EINVAL (err says what the scheduler refused). */
int sim_run(const struct sim_machine *m, const struct workload *w, const struct sim_config *config,
            struct sim_result *ret_result, struct err *err);
/* The request of job i for the scheduler, in *ret; parts names its one partition; gres is storage
 * for one. */
void sim_request(const struct sim_machine *m, const struct workload *w, size_t i,
                 struct sched_job *ret, const char **ret_part, struct sched_gres_req *ret_gres);
