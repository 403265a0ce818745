/* journal.h - the ordered log: append, group commit, recovery, snapshots
 *
 * Directory: <dir>/journal/<first lsn, 16 hex>.log segments and <dir>/journal/<lsn>.snap snapshots, <dir>/journal/lock.
 * A segment starts with a 32-byte header (magic, format version, cluster id hash, first lsn, crc); a record is
 *   u32 length | u32 flags | u64 lsn | u64 xxh3 of (length, flags, lsn, payload) | payload, padded to 8.
 * Payload: an encoded pst.Transaction.  lsn counts records, from 1.
 * Snapshot: same record format, puts only, header names the lsn it stands for, a trailer record makes it
 * complete; written to a temporary name, synced, renamed.
 *
 * Threads: one appender (the core).  One writer thread inside does write+fdatasync; it calls on_durable.
 * Readers (journal_reader) are independent of both and may run in other threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define JOURNAL_MAX_RECORD (32u << 20)

struct journal;

struct journal_config {
    const char *dir;              /* StateSaveLocation */
    uint64_t segment_bytes;       /* roll over at about this; 0 = 64 MiB */
    uint64_t reserve_bytes;       /* keep this much free on the disk; below: refuse (see journal_full) */
    size_t batch_bytes;           /* append buffer limit before journal_append blocks; 0 = 64 MiB */
    bool read_only;
    /* From the writer thread, after each sync: everything up to lsn is on disk. */
    void (*on_durable)(void *ctx, uint64_t lsn);
    /* From the writer thread, once: the disk is full or failing.  New work must be refused; what was
     * queued stays queued and is retried every second; on_full(false) when it works again. */
    void (*on_full)(void *ctx, bool full, int error);
    void *ctx;
};

/* Recovery: calls `on_record` for every record of the newest complete snapshot, then for every record after
 * it, in order.  snapshot: the record comes from a snapshot.  A torn tail (crash in the middle of the
 * last write) is cut off and logged; damage before the tail is refused with -EUCLEAN and a sentence naming
 * file, offset, lsn and the repair command (`penstock journal repair DIR`).
 * A negative return of on_record stops with that error.
 * Errors: -EUCLEAN, -EBUSY another process holds the lock, -ENOSPC, ... */
typedef int journal_record_fn(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len);
int journal_open(const struct journal_config *config, journal_record_fn *on_record, void *record_ctx,
                 struct journal **ret_journal, struct err *err);
int journal_start(struct journal *j);             /* start the writer thread */
/* Sync what is queued, stop the thread, close.  Always NULL. */
struct journal *journal_close(struct journal *j);

/* Queue one record; gives its lsn.  Copies data.  Errors: -ENOSPC while full, -EMSGSIZE. Blocks only while
 * batch_bytes are waiting. */
int journal_append(struct journal *j, const uint8_t *data, size_t len, uint64_t *ret_lsn);
/* Wake the writer for what was appended since (the core calls it once per batch of commands). */
void journal_commit(struct journal *j);
uint64_t journal_last(const struct journal *j);    /* newest lsn appended; any thread */
uint64_t journal_durable(const struct journal *j); /* newest lsn on disk; any thread */
int journal_wait_durable(struct journal *j, uint64_t lsn); /* block; for tests and shutdown */

/* Snapshots: any thread but only one at a time.  begin names the lsn whose state the puts describe; commit makes it
 * the newest and lets segments go that neither it nor keep_lsn (the slowest consumer's next lsn) needs;
 * the two newest snapshots are kept. */
struct journal_snapshot;
int journal_snapshot_begin(struct journal *j, uint64_t lsn, struct journal_snapshot **ret_snap);
int journal_snapshot_put(struct journal_snapshot *s, const uint8_t *data, size_t len);
int journal_snapshot_commit(struct journal_snapshot *s, uint64_t keep_lsn); /* frees s */
void journal_snapshot_abort(struct journal_snapshot *s);                    /* frees s */
uint64_t journal_bytes_since_snapshot(const struct journal *j);

struct journal_stats {
    uint64_t syncs, bytes, records, last_sync_us, worst_sync_us, segments;
};
void journal_get_stats(const struct journal *j, struct journal_stats *ret);

/* Independent reading, for consumers with a cursor and for operators' tools.  Starts at from_lsn (0 = the
 * oldest kept).  next: 1 with a record (borrowed until the next call), 0 at the present end (call again later;
 * never past journal_durable when reading a live one: pass it as limit_lsn, UINT64_MAX = whatever is on disk),
 * -EUCLEAN damage (err), -ENOENT from_lsn no longer kept. */
struct journal_reader;
int journal_reader_open(const char *dir, uint64_t from_lsn, struct journal_reader **ret_reader,
                        struct err *err);
int journal_reader_next(struct journal_reader *r, uint64_t limit_lsn, uint64_t *ret_lsn,
                        const uint8_t **ret_data, size_t *ret_len, struct err *err);
struct journal_reader *journal_reader_close(struct journal_reader *r);

/* Operators: check every file; report(line) for each finding and a summary; returns 0 clean, 1 damaged. */
int journal_verify(const char *dir, void (*report)(void *ctx, const char *line), void *ctx);
/* Cut at the first damage of the log, moving what follows to <dir>/journal/damaged-<time>/; says what is lost. Never
 * run on a live journal (takes the lock). */
int journal_repair(const char *dir, void (*report)(void *ctx, const char *line), void *ctx,
                   struct err *err);
