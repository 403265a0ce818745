/* restdbprio.h - priorities of jobs that wait
 *
 * Accounting has the priority that a job was given by hand, and the one that it started with.  What
 * the scheduler gave to a job that waits changes all the time: slurmctld is asked for it, for a few
 * jobs one by one, for more of them at once. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rest/restcall.h"
#include "job.pb-c.h"

struct restdbprio {
    struct rest_call *call;
    struct restdbprio_known {
        uint32_t job_id, priority;
    } * known; /* of all jobs that wait, by number; NULL: not asked */
    size_t n, cap;
    unsigned single; /* jobs asked for one by one */
    bool failed;     /* slurmctld does not answer: priorities stay unknown */
};

void restdbprio_done(struct restdbprio *p);
/* Put the priority into the record of a job of this cluster as if it had started with it. */
void restdbprio_fill(struct restdbprio *p, Pst__JobRecord *job);
