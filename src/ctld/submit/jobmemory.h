/* jobmemory.h - how much memory a job asks for: defaults, and what follows from limits and devices
 *
 * Pure functions of the configuration and two records. */
#pragma once

#include "conf/conf.h"

#include "job.pb-c.h"
#include "node.pb-c.h"

/* A job that names no memory gets the partition's default, else the configuration's. */
void jobmemory_default(const struct conf *conf, const Pst__PartitionRecord *p, Pst__JobRecord *r);

/* A job that asks for more memory a CPU than MaxMemPerCPU grants gets so many more CPUs.  node_mib:
 * what one gets that asks for all of a node's memory. */
void jobmemory_as_cpus(const struct conf *conf, const Pst__PartitionRecord *p, uint64_t node_mib,
                       Pst__JobRecord *r);
