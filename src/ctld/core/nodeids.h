/* nodeids.h - which id a new node gets
 *
 * Ids are small numbers: arrays and bitmaps are indexed by them.  A job's record names its nodes by
 * id, and lives for a while after the job.  The id of a node that has gone is therefore kept back
 * until every job is gone that ended before the node went, so that no new node is taken for the old
 * one.  Core thread. */
#pragma once

#include <stdint.h>

struct ctld;
struct nodeids;

/* An id that no node has and no job's record means.  Each call gives another one.  O(1), the first
 * time O(ids). */
uint32_t nodeids_take(struct ctld *ctld);
