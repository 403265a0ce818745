/* journal.h - the ordered log: append, group commit, recovery, snapshots
 *
 * Directory: <dir>/journal/<first lsn, 16 hex>.log segments and <dir>/journal/<lsn>.snap snapshots,
 * <dir>/journal/lock.  A segment starts with a 32-byte header (magic, format version, cluster id,
 * first lsn, xxh3); a record is u32 length | u32 flags (kind, place in its batch) | u64 lsn | u64
 * xxh3 of (length, flags, lsn, payload) | payload, padded to 8.  Payload: an encoded
 * pst.Transaction.  lsn counts records, from 1.  Snapshot: same record format, puts only, header
 * names the lsn it stands for, a trailer record makes it complete; written to a temporary name,
 * synced, renamed.  All of it, and why: docs/design/0001-journal.md.
 *
 * Threads: one appender (the core).  One writer thread inside does write+fdatasync; it calls
 * on_durable. Readers (journal_reader) are independent of both and may run in other threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/histogram.h"

#define JOURNAL_MAX_RECORD (32u << 20)

struct journal;

/* A place beyond this host's disk in which the log becomes durable.  data is as in a segment:
 * records one behind another, in order, the first of lsn first_lsn.
 * Either the place comes first, and the files are a copy that readers use, of nothing but what that
 * place has: append, from the writer thread: 0 when it is durable there.  It is called again with
 * the same batch until it gives 0; what of it was taken before must not be taken twice.
 * -EOWNERDEAD: the term is over.
 * Or both go at once (append NULL): offer, from the writer thread, before the batch is written
 * here, does not wait and copies what it needs; settle, behind the sync of the batch, waits a
 * moment for it: 0 when it is durable there up to last_lsn, -EAGAIN not yet, -EOWNERDEAD.
 * snapshot, from the thread of journal_snapshot_commit: keep the file `fd`, the snapshot of lsn,
 * and let go of what nobody needs below keep_lsn. */
struct journal_remote {
    int (*append)(void *ctx, uint64_t first_lsn, const uint8_t *data, size_t len);
    void (*offer)(void *ctx, uint64_t first_lsn, uint32_t records, const uint8_t *data, size_t len);
    int (*settle)(void *ctx, uint64_t last_lsn);
    int (*snapshot)(void *ctx, uint64_t lsn, int fd, uint64_t keep_lsn);
    void *ctx;
};

struct journal_config {
    const char *dir;        /* StateSaveLocation */
    uint64_t segment_bytes; /* roll over at about this; 0 = 64 MiB */
    uint64_t reserve_bytes; /* the log leaves this much free on the disk, for snapshots */
    size_t batch_bytes;     /* append buffer limit before journal_append blocks; 0 = 64 MiB */
    bool read_only;         /* no lock, nothing is cut or written; append gives -EROFS */
    bool any_level;         /* with read_only: files of a newer release are read, too */
    uint64_t cluster_id;    /* written into new files; a file of another is damage; 0 = any */
    /* The writer's term (term.h).  Not 0: the log goes on in a new segment of this term, whatever
     * an earlier writer, which may still run, does to the old ones; its lock does not count. */
    uint32_t term;
    const struct journal_remote *remote; /* borrowed; NULL: the disk of this host is the place */
    /* The caller knows everything up to this lsn (it has followed the log): only what comes
     * behind is given out.  -ENOENT: the log does not reach back to it any more.  0: the usual
     * recovery. */
    uint64_t known_lsn;
    /* With read_only: begin at the newest snapshot that is not of a later record, to show the
     * state of this one.  Records behind it are given out all the same: on_record ends the
     * reading.  0: no limit. */
    uint64_t limit_lsn;
    /* From journal_open(), when the last record was given out and nothing is changed on the disk
     * yet.  Below 0: as when on_record gives it.  NULL: nothing. */
    int (*on_last)(void *record_ctx);
    /* From the writer thread, after each sync and before on_durable: is the term still ours?
     * False ends the writer: nothing more becomes durable or acknowledged.  NULL: it is. */
    bool (*still_ours)(void *ctx);
    /* From the writer thread, after each sync: everything up to lsn is on disk. */
    void (*on_durable)(void *ctx, uint64_t lsn);
    /* From the writer thread, once: the disk is full or failing.  New work must be refused; what
     * was queued stays queued and is retried every second; on_full(false) when it works again. */
    void (*on_full)(void *ctx, bool full, int error);
    void *ctx;
};

/* Recovery: calls `on_record` for every record of the newest complete snapshot, then for every
 * record after it, in order.  snapshot: the record comes from a snapshot.  A torn tail (crash in
 * the middle of the last write) is cut off and logged; damage before the tail is refused with
 * -EUCLEAN and a sentence naming file, offset, lsn and the repair command (`penstock journal repair
 * DIR`). A negative return of on_record stops with that error. Errors: -EUCLEAN, -EBUSY another
 * process holds the lock, -ENOTSUP a newer release wrote the log, -ENOSPC, ... */
typedef int journal_record_fn(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data,
                              size_t len);
int journal_open(const struct journal_config *config, journal_record_fn *on_record,
                 void *record_ctx, struct journal **ret_journal, struct err *err);
int journal_start(struct journal *j); /* start the writer thread */
/* Sync what is queued, stop the thread, close.  Always NULL. */
struct journal *journal_close(struct journal *j);

/* Queue one record; gives its lsn.  Copies data.  Errors: -ENOSPC while full, -EMSGSIZE, -ENOMEM,
 * -EROFS, -ENOBUFS batch_bytes are waiting and the writer does not run.  Blocks only while
 * batch_bytes are waiting. */
int journal_append(struct journal *j, const uint8_t *data, size_t len, uint64_t *ret_lsn);
/* Wake the writer for what was appended since (the core calls it once per batch of commands). */
void journal_commit(struct journal *j);
uint64_t journal_last(const struct journal *j);    /* newest lsn appended; any thread */
uint64_t journal_durable(const struct journal *j); /* newest lsn on disk; any thread */
/* Block until lsn is on disk; for tests and shutdown.  Errors: the errno of on_full while the disk
 * is full or failing, -ESHUTDOWN the writer does not run, -EINVAL never appended. */
int journal_wait_durable(struct journal *j, uint64_t lsn);

/* Snapshots: any thread but only one at a time.  begin names the lsn whose state the puts describe;
 * commit waits until that lsn is on disk, makes the snapshot the newest and lets segments go that
 * neither of the two newest snapshots, which are kept, nor keep_lsn (the slowest consumer's next
 * lsn) needs.  So one damaged snapshot never loses state; until there are two, every segment stays.
 * A failed put is remembered and returned by commit, which then leaves nothing behind.  Errors of
 * begin: -EBUSY one is open, -EINVAL lsn 0 or not appended yet, -EROFS; of commit also what
 * journal_wait_durable reports. */
struct journal_snapshot;
int journal_snapshot_begin(struct journal *j, uint64_t lsn, struct journal_snapshot **ret_snap);
int journal_snapshot_put(struct journal_snapshot *s, const uint8_t *data, size_t len);
int journal_snapshot_commit(struct journal_snapshot *s, uint64_t keep_lsn); /* frees s */
void journal_snapshot_abort(struct journal_snapshot *s);                    /* frees s */
/* The log behind the newest snapshot: what the next start reads.  Each term has files of its own,
 * so these grow with takeovers also where little is written.  Any thread. */
uint64_t journal_bytes_since_snapshot(const struct journal *j);
uint64_t journal_files_since_snapshot(const struct journal *j);

struct journal_stats {
    uint64_t syncs, bytes, records, last_sync_us, worst_sync_us, segments;
};
/* How long each write to the disk took, with its sync; borrowed, any thread. */
const struct histogram *journal_sync_histogram(const struct journal *j);
void journal_get_stats(const struct journal *j, struct journal_stats *ret);

/* Independent reading, for consumers with a cursor and for operators' tools.  Starts at from_lsn (0
 * = the oldest kept).  next: 1 with a record (borrowed until the next call), 0 at the present end
 * (call again later; never past journal_durable when reading a live one: pass it as limit_lsn,
 * UINT64_MAX = whatever is on disk), -EUCLEAN damage (err), -ENOENT from_lsn no longer kept. */
struct journal_reader;
int journal_reader_open(const char *dir, uint64_t from_lsn, struct journal_reader **ret_reader,
                        struct err *err);
int journal_reader_next(struct journal_reader *r, uint64_t limit_lsn, uint64_t *ret_lsn,
                        const uint8_t **ret_data, size_t *ret_len, struct err *err);
struct journal_reader *journal_reader_close(struct journal_reader *r); /* always NULL */

/* Call fn for the records from .. to (0 = the oldest kept, UINT64_MAX = the newest), never with
 * snapshot set. Errors: what the reader gives, what fn returns. */
int journal_dump(const char *dir, uint64_t from_lsn, uint64_t to_lsn, journal_record_fn *fn,
                 void *ctx, struct err *err);

/* Operators: check every file; report(line) for each finding and a summary; returns 0 clean, 1
 * damaged, or a negative errno when the directory cannot be read.  May run beside a live journal.
 */
int journal_verify(const char *dir, void (*report)(void *ctx, const char *line), void *ctx);
/* Cut the log at the first damage behind the newest complete snapshot, moving what follows to
 * <dir>/journal/damaged-<time>/; says what is lost.  Damage before that snapshot costs no state:
 * what lies before it is moved away instead.  Returns 0 when the journal can be opened again. Never
 * run on a live journal (takes the lock: -EBUSY).  -EUCLEAN: no state can be rebuilt, a backup is
 * needed; nothing was changed. */
int journal_repair(const char *dir, void (*report)(void *ctx, const char *line), void *ctx,
                   struct err *err);
