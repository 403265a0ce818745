/* nodespec.h - the CPUs that a node keeps from jobs (CoreSpecCount, CpuSpecList) */
#pragma once

#include "base/bitmap.h"
#include "node.pb-c.h"

/* 0 with *ret (caller frees), whole cores; NULL when it keeps none.  -ENOMEM. */
int nodespec_cpus(const Pst__NodeRecord *n, struct bitmap **ret);
/* CPUs that jobs can get. */
uint32_t nodespec_effective(const Pst__NodeRecord *n);
