/* world.h - a cluster as it is, as the beginning of a simulation
 *
 * What runs holds what it holds and ends at its limit, or at a part of it; what waits waits with
 * its dependencies, throttles, begin times and licences.  Nobody knows how long jobs will really
 * run, and all are taken to succeed.
 *
 * Pure.  The cluster and the configuration must outlive the world. */
#pragma once

#include "base/err.h"
#include "conf/conf.h"
#include "model/cluster.h"
#include "sim/engine.h"

enum world_state {
    WORLD_PENDING,
    WORLD_RUNNING,
    WORLD_HELD,
    WORLD_BLOCKED, /* its dependency can never be met */
};

struct world_job { /* of the same index as the workload's */
    const Pst__JobRecord *rec;
    bool task; /* of an array, not begun: its index is ... */
    uint32_t task_id;
    enum world_state state;
};

struct world {
    struct sim_machine machine;
    struct workload *w;
    struct world_job *jobs;
    struct sim_running *running;
    size_t nrunning;
    uint32_t *throttle;
    uint32_t nthrottle;
    const struct cluster *cluster;
    const struct conf *conf;
    struct feed *feeds; /* whose memory the others point at */
    struct feed *prime;
    uint32_t **lists;
    size_t nlists, cap_lists;
};

/* run_percent: how much of its time limit a job runs, 1 .. 100.  Errors: -ENOMEM, -E2BIG more than
 * WORKLOAD_MAX_JOBS tasks, -EINVAL no node. */
int world_make(const struct cluster *c, const struct conf *conf, int64_t now_us,
               uint32_t run_percent, struct world *ret, struct err *err);
void world_done(struct world *w);
/* Let it run: licences and ranks included.  As sim_run(). */
int world_run(const struct world *w, const struct sim_config *config, struct sim_result *ret,
              struct err *err);
/* What a scheduler is told besides nodes, partitions and jobs, as a sim_config.prime: but what is
 * about jobs whose numbers (index + 1) are `gone`; NULL = none is. */
int world_prime(const struct world *w, struct sched *s, const bool *gone);
/* "12", "12_3"; buf of 32 bytes. */
const char *world_name(const struct world *w, size_t i, char *buf, size_t size);
