/* nodespec.h - the CPUs that a node keeps from jobs (CoreSpecCount, CpuSpecList) */
#pragma once

#include "base/bitmap.h"
#include "node.pb-c.h"

/* 0 with *ret (caller frees), whole cores; NULL when it keeps none.  -ENOMEM. */
int nodespec_cpus(const Pst__NodeRecord *n, struct bitmap **ret);
/* CPUs that jobs can get. */
uint32_t nodespec_effective(const Pst__NodeRecord *n);
/* A sentence why a machine is not what is wanted of the node, in buf; NULL: it is.  mem_pct: so
 * much of RealMemory is enough. */
const char *nodespec_too_small(const Pst__NodeRecord *have, const Pst__NodeRecord *want,
                               double mem_pct, char *buf, size_t size);
