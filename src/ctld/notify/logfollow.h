/* logfollow.h - a follower: a thread that reads the durable log and hands its records on
 *
 * The follower remembers its place in the log, the number of the last record that has arrived, in a
 * file.  It hands records on in batches, and moves the place when the records of a batch have
 * arrived.  After a failure it pauses and begins again behind its place.  So each record comes at
 * least once, and records come in order, also over restarts of both sides.  No other thread waits
 * for the follower; its memory holds one batch. */
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
    unsigned batch;   /* flush() is called after so many records for which record() gave 1 */
    int retry_ms;     /* pause after a failure */
    int idle_ms;      /* idle() is called about so often; 0 = never */
    /* Take one record.  1: it arrives with the next flush(); 0: it has nothing for this consumer;
     * negative: failed, with err. */
    int (*record)(void *ctx, uint64_t lsn, const uint8_t *data, size_t len, struct err *err);
    /* Bring the records that were taken to their goal; ends early when *stop is set.  0: all have
     * arrived; negative: not all, and *ret_done is the last record that has (0: unknown). */
    int (*flush)(void *ctx, const atomic_bool *stop, uint64_t *ret_done, struct err *err);
    void (*idle)(void *ctx);
};

/* Follow the journal in dir with the place kept in the file `cursor`; without that file from record
 * `from` + 1 on. durable: the newest record on disk.  ops and ctx stay the caller's and must
 * outlive the follower. */
int follow_start(const char *dir, const char *cursor, uint64_t from, uint64_t durable,
                 const struct follow_ops *ops, void *ctx, struct follow **ret, struct err *err);
void follow_durable(struct follow *f, uint64_t lsn); /* any thread */
/* The first record that the log must keep for the follower.  It asks for at most FOLLOW_KEEP
 * records: a consumer that does not answer for weeks must not fill the disk. */
#define FOLLOW_KEEP UINT64_C(5000000)
uint64_t follow_keep(const struct follow *f); /* any thread */
uint64_t follow_cursor(const struct follow *f);
/* How many durable records have not arrived yet.  Any thread. */
uint64_t follow_lag(const struct follow *f);
struct follow *follow_stop(struct follow *f); /* always NULL */
