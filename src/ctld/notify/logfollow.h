/* logfollow.h - a consumer of the durable log with a place of its own
 *
 * A thread reads the journal behind its stored place (a file with one number), hands the records on
 * in batches, and moves the place once the records of a batch have arrived.  After a failure and a
 * pause it begins again behind the last record that arrived: each record comes at least once, in
 * order, over restarts of both sides.  No other thread waits for this one; memory holds one
 * batch. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct follow;

/* All are called from the follower's thread. */
struct follow_ops {
    const char *what; /* "jobcomp": first word of messages */
    unsigned batch;   /* records with something in them that may wait for flush() */
    int retry_ms;     /* pause after a failure */
    int idle_ms;      /* idle() is called about so often; 0 = never */
    /* One record.  1: flush() has to see it through, 0: nothing in it, negative: failed, with
     * err. */
    int (*record)(void *ctx, uint64_t lsn, const uint8_t *data, size_t len, struct err *err);
    /* See what record() gave 1 for through; ends early when *stop.  0: all arrived; negative: not
     * all, and *ret_done is the record behind which to begin again (0: it does not know). */
    int (*flush)(void *ctx, const atomic_bool *stop, uint64_t *ret_done, struct err *err);
    void (*idle)(void *ctx);
};

/* Follow the journal in dir with the place kept in the file `cursor`; without that file from record
 * `from` + 1 on. durable: the newest record on disk.  ops and ctx stay the caller's and must
 * outlive the follower. */
int follow_start(const char *dir, const char *cursor, uint64_t from, uint64_t durable,
                 const struct follow_ops *ops, void *ctx, struct follow **ret, struct err *err);
void follow_durable(struct follow *f, uint64_t lsn); /* any thread */
/* The first record the log should keep for it.  It does not hold more than FOLLOW_KEEP records: a
 * consumer that is away for weeks must not fill the disk. */
#define FOLLOW_KEEP UINT64_C(5000000)
uint64_t follow_keep(const struct follow *f); /* any thread */
uint64_t follow_cursor(const struct follow *f);
uint64_t follow_lag(const struct follow *f);  /* durable records behind its place; any thread */
struct follow *follow_stop(struct follow *f); /* always NULL */
