/* workload.h - what is to be run: jobs with their true run times, and the names of their users and
 * partitions
 *
 * Made by the readers of traces (swf.h, sacctlog.h), by the generators (generate.h) or by hand.
 * Pure data, one thread per object.  Functions returning int give 0 or a negative errno. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sched/sched.h"
#include "sched/base/strtab.h"

#define WORKLOAD_MAX_JOBS 4000000u
#define WORKLOAD_MAX_NAMES 65536u /* users; partitions likewise */
#define WORKLOAD_MAX_NAME 128u    /* bytes of one */
#define WORKLOAD_MAX_TASKS 16777216u

struct sim_job {
    uint32_t id;           /* as the trace says; the scheduler's is the index + 1 */
    uint32_t user, part;   /* of the tables below; part WORKLOAD_NO_PART = the machine's first */
    uint32_t account, qos; /* place in the tables below, from 1; 0 = none is named */
    uint32_t assoc_id, qos_id; /* limits count against these, see books.h; 0 = nothing does */
    int64_t submit_us;
    int64_t run_us;                             /* how long it runs when nothing stops it */
    uint32_t limit_min;                         /* SCHED_UNLIMITED = none; it is ended then */
    uint32_t nodes;                             /* 0 = as few as possible */
    uint32_t segment;                           /* its nodes come in groups of so many; 0 = one */
    uint32_t tasks;                             /* >= 1 */
    uint32_t cpus_per_task;                     /* >= 1 */
    uint64_t mem_per_node_mib, mem_per_cpu_mib; /* at most one; 0 = not said */
    uint32_t gpus_per_node, gpus;               /* at most one */
    uint32_t array;                             /* jobs of one array share a number; 0 = none */
    uint32_t priority;                          /* set by an operator; 0 = computed */
    int32_t nice;
    bool exclusive;
    bool held;             /* never submitted */
    const uint32_t *after; /* borrowed: these jobs (indexes) come first ... */
    uint32_t nafter;
    bool after_any;   /* ... one of them is enough */
    bool after_start; /* ... to have started; else to have ended */
    /* 1 ..: of its group at most sim_config.throttle[group - 1] are let in at a time; 0 = none */
    uint32_t group;
    int64_t recorded_start_us; /* in the trace; 0 = not known */
    const struct sched_job
        *given; /* borrowed: the request as a controller has it, in place of the fields above */
};
#define WORKLOAD_NO_PART UINT32_MAX
#define WORKLOAD_EPOCH_US                                                                          \
    INT64_C(946684800000000) /* time 0 of traces that do not say: 2000-01-01 */

struct workload {
    struct sim_job *jobs; /* by submit time once workload_sort() ran */
    size_t n, cap;
    struct strtab users, parts, accounts, qos;
    size_t
        skipped; /* records that describe no run: cancelled before the start, broken off, steps */
    uint32_t max_nodes, max_cpus; /* of the machine, by the trace's header; 0 = not said */
    int64_t began_us;             /* time 0 of the trace */
};

int workload_new(struct workload **ret_w);
struct workload *workload_free(struct workload *w); /* always NULL */
#include "base/cleanup.h"
DEFINE_CLEANUP(struct workload *, workload_free)
/* Append a copy.  Errors: -E2BIG over WORKLOAD_MAX_JOBS, -EINVAL tasks or CPUs that make no sense,
 * -ENOMEM. */
int workload_add(struct workload *w, const struct sim_job *job);
/* Index of a name, entered when new; len bytes.  Errors: -E2BIG too many or too long, -ENOMEM. */
int name_index(struct strtab *t, const char *name, size_t len, uint32_t *ret_index);
const char *name_nth(const struct strtab *t, uint32_t i); /* "?" when out of range */
void workload_sort(struct workload *w); /* by submit time; equal ones keep their order */
/* Divide the times between submissions by factor (> 0): 2 = twice as many jobs in an hour. */
void workload_scale(struct workload *w, double factor);
/* CPU time asked for (tasks x CPUs x run time, cut at the limit) in CPU seconds. */
double workload_cpu_seconds(const struct workload *w);
uint64_t sim_job_cpus(const struct sim_job *job);
/* How long it will run: to its end or to its limit. */
int64_t sim_job_length_us(const struct sim_job *job);
