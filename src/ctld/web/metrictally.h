/* metrictally.h - what one job and one node count for in the metrics; pure */
#pragma once

#include <stdint.h>

#include "job.pb-c.h"
#include "node.pb-c.h"

enum job_counter {
#define JOB_METRIC(counter, suffix, pages, help) JOB_COUNT_##counter,
#include "ctld/web/metricnames.def"
    JOB_COUNTERS
};
enum node_counter {
#define NODE_METRIC(counter, suffix, part_suffix, help) NODE_COUNT_##counter,
#include "ctld/web/metricnames.def"
    NODE_COUNTERS
};
enum node_value {
#define NODE_VALUE(value, suffix, help) NODE_VALUE_##value,
#include "ctld/web/metricnames.def"
    NODE_VALUES
};

struct job_tally {
    uint64_t n[JOB_COUNTERS];
};
struct node_values { /* memory in bytes */
    uint64_t v[NODE_VALUES];
};
struct node_tally {
    uint64_t n[NODE_COUNTERS];
    uint64_t nodes, cpus, gpus;
};

/* What the job counts for: of the largest numbers of nodes that is its own, else how many. */
void metrictally_job(const Pst__JobRecord *job, struct job_tally *ret);
/* Add what one job counts for. */
void metrictally_add(struct job_tally *into, const struct job_tally *one);
void metrictally_values(const Pst__NodeRecord *node, struct node_values *ret);
/* Add one node, whose values are these. */
void metrictally_node(struct node_tally *into, const Pst__NodeRecord *node,
                      const struct node_values *values);
