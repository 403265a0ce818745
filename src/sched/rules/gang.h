/* gang.h - turns: jobs that hold the same CPUs run one after the other, a slice of time each
 *
 * A pure function of which jobs run, which jobs wait, and since when.  No state is kept between two
 * slices, so that another controller, or the simulator, can go on from the same jobs.  Nothing here
 * knows the scheduler's object. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gang_claim { /* CPUs of one node */
    uint32_t node_id;
    uint32_t nwords;
    const uint64_t *cpus; /* bit set, borrowed */
};

struct gang_job {
    uint32_t id;
    uint32_t rank;    /* jobs take turns within a rank; a higher rank runs before a lower one */
    bool running;     /* the job runs now; else it waits for its turn */
    bool fixed;       /* the job takes no turns: it runs until it ends */
    int64_t since_us; /* since when the job runs, or waits */
    int64_t ran_us;   /* how long the job has run in all */
    const struct gang_claim *claims; /* at most one for each node */
    size_t nclaims;
    bool runs; /* result: the job is to run from now on */
};

/* Decide which jobs run.  No two running jobs share a CPU, except fixed jobs among themselves; no
 * job waits while its CPUs are free.  Within a slice (next false) running jobs go on; where two of
 * them share a CPU, the job that began last gives way, and so does a job that has just started.
 * With the next slice (next true) the jobs that waited longest go first: a job waits at most as
 * many slices as there are jobs of its rank and above that share CPUs with it.  The order of jobs[]
 * does not matter.  Cost: n log n and the claims.  -ENOMEM: nothing was decided. */
int gang_plan(struct gang_job *jobs, size_t n, bool next);
