/* memuse.h - the memory that a job's processes use on this node */
#pragma once

#include "noded/jobs/jobtable.h"

/* What is resident of all processes of the job's steps, in KiB; what several share counts for each.
 * One walk over /proc for each step daemon that lives: for a question that comes once in a run. */
uint64_t memuse_kib(const struct njob *job);
