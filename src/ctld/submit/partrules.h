/* partrules.h - limits of partitions that a submission must keep with EnforcePartLimits
 *
 * Without EnforcePartLimits the scheduler holds these limits: the job waits. */
#pragma once

#include "ctld/ctld.h"

enum part_enforce { PART_ENFORCE_NO, PART_ENFORCE_ANY, PART_ENFORCE_ALL };

/* EnforcePartLimits: of a list of partitions one must hold, or each. */
enum part_enforce partrules_enforced(const struct conf *conf);

/* Does the job keep the partition's limits of time, nodes, memory and CPUs, and are the nodes that
 * it names in the partition?  0 or an ESLURM code. */
int partrules_check(const struct ctld *ctld, const struct partition *p, const Pst__JobRecord *r);
