/* cache.h - records in memory between the journal and their rows; acct/ only
 *
 * Jobs are found by job id (the run that is current), steps by run and step.  A dirty entry differs
 * from its row; the writer stores all dirty ones before it commits.  Pure data, one thread. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_JOB INT64_MIN /* step number of a job's entry */

struct entry {
    struct entry *hash_next, *dirty_next, *older, *newer;
    uint64_t id;  /* job id, or run of a step */
    int64_t step; /* CACHE_JOB or acct_step_order() */
    int64_t run;
    ProtobufCMessage *rec; /* JobRecord or StepRecord; owned */
    bool dirty;
    bool stored; /* the run has a row; its indexed columns are: */
    int64_t end_us, array_job_id;
    uint32_t uid;
};

struct cache {
    struct entry **buckets;
    size_t nbuckets, n;
    struct entry *newest, *oldest; /* by use */
    struct entry *dirty_first, **dirty_end;
};

int cache_init(struct cache *c, size_t nbuckets); /* a power of two */
void cache_done(struct cache *c);
void cache_clear(struct cache *c); /* dirty or not */
/* Finding one makes it the newest.  NULL: not here. */
struct entry *cache_get(struct cache *c, uint64_t id, int64_t step);
/* rec is taken on success.  Errors: -ENOMEM. */
int cache_add(struct cache *c, uint64_t id, int64_t step, int64_t run, ProtobufCMessage *rec,
              struct entry **ret_entry);
void cache_mark(struct cache *c, struct entry *e); /* dirty */
/* Take the next dirty entry off the list, clean from now on; NULL: none is left. */
struct entry *cache_next_dirty(struct cache *c);
void cache_drop(struct cache *c, struct entry *e);   /* must be clean */
void cache_drop_steps(struct cache *c, int64_t run); /* those of the run; they must be clean */
void cache_evict(struct cache *c, size_t max);       /* least used first; all must be clean */
