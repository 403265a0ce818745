/* podswait.h - wait until no pod of a job is on a node any more
 *
 * For EpilogSlurmctld: a job of pods that Slurm ends itself (scancel, a time limit, preemption) has
 * its nodes until that program has ended, and pods stop some time after their job.  One thread. */
#pragma once

#include <stdint.h>

#include "kube/doctor/doctorask.h"

#define PODSWAIT_COMING_US INT64_C(35000000) /* no binding that was sent is on its way longer */

struct podswait_counts {
    size_t there;  /* on a node, and not over */
    size_t coming; /* on none yet: somebody may be binding it */
};

/* What a list of pods says.  -EINVAL: it is none, and nobody knows. */
int podswait_count(const json_t *list, struct podswait_counts *ret);
/* Ask until nothing of the job is there: 0, or -ETIME after limit_us.  Silence is no "nothing". */
int podswait_run(struct doctorask *a, uint32_t job, int64_t limit_us);
