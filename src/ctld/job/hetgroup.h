/* hetgroup.h - heterogeneous jobs: one submission of several components, each a job with
 * resources of its own
 *
 * Component k of the job with leader id L is job L + k.  They are accepted, started, held,
 * released and requeued together; the leader owns the script, and its end is everybody's.  Core
 * thread, but for the questions about one record. */
#pragma once

#include "ctld/ctld.h"
#include "model/hetjob.h"

#define HET_COMPONENTS_MAX 128u

/* The first of n ids in a row that are free, from `from` on; 0 when there is no such row. */
uint32_t het_ids(struct ctld *ctld, uint32_t from, uint32_t n);
/* Make rec component k of n of the job with this leader. */
void het_fill(Pst__JobRecord *rec, uint32_t leader, uint32_t k, uint32_t n);

/* Have all components ended? */
bool het_all_ended(const struct ctld *ctld, const Pst__JobRecord *r);
