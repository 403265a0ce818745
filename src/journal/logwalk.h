/* logwalk.h - reading the log and snapshots from the directory, with a verdict on what ends them
 *
 * Shared by recovery, verify and repair.  Reads only.  Any thread. */
#pragma once

#include "journal/files.h"
#include "journal/journal.h"

enum walk_state {
    WALK_END,    /* every record is sound up to the end of the log */
    WALK_TORN,   /* sound up to an unfinished last write */
    WALK_DAMAGE, /* records that were on disk are unreadable or missing */
};

#define WALK_REASON_BYTES 160

struct walk {
    enum walk_state state;
    uint64_t segment; /* first lsn of the file where the walk ended, and its term */
    uint32_t term;
    uint64_t offset; /* there, behind the last sound record */
    uint64_t lsn;    /* the next record: one past the last sound one */
    uint64_t torn;   /* bytes of the unfinished write */
    uint16_t level;  /* of that file (format.h) */
    bool marked;     /* the last thing read is a mark: the log was closed properly */
    uint64_t bytes;  /* of the records given to fn */
    uint64_t records;
    int failed;                     /* what fn returned, when negative */
    char reason[WALK_REASON_BYTES]; /* of damage, a phrase */
};

/* How to read: what is known about the log from outside it. */
struct walk_opts {
    uint64_t cluster_id; /* 0 = any */
    /* A snapshot stands for this lsn, or a term called it durable: the log up to here was on disk.
     * What is behind it in the last file is read from there, not from memory. */
    uint64_t proven_lsn;
    bool any_level; /* files of a newer release, too */
};

/* Read segment number `index` of l: records from `start` on go to fn (may be NULL), those before
 * are only checked.  Ends where the next segment begins.  *w is set whenever the result is 0.
 * Errors: what fn returns, -ENOMEM, -EPROTONOSUPPORT, -ENOTSUP (format.h); w->reason then says
 * why (or is ""). */
int walk_segment(int dir_fd, const struct file_list *l, size_t index, uint64_t start,
                 const struct walk_opts *opts, journal_record_fn *fn, void *ctx, struct walk *w);

/* Read all segments from the one that holds `start` (there must be one). */
int walk_log(int dir_fd, const struct file_list *l, uint64_t start, const struct walk_opts *opts,
             journal_record_fn *fn, void *ctx, struct walk *w);

/* Read the snapshot of this lsn from beginning to end.  -EBADMSG: incomplete or damaged (or
 * fn returned that), `reason` (WALK_REASON_BYTES) says how. */
int walk_snapshot(int dir_fd, uint64_t lsn, const struct walk_opts *opts, journal_record_fn *fn,
                  void *ctx, uint64_t *ret_puts, char *reason);

/* The same over an open file: what the fuzz target feeds. */
int walk_snapshot_fd(int fd, uint64_t lsn, const struct walk_opts *opts, journal_record_fn *fn,
                     void *ctx, uint64_t *ret_puts, char *reason);
int walk_segment_fd(int fd, uint64_t first_lsn, uint64_t next_first, uint64_t start,
                    const struct walk_opts *opts, journal_record_fn *fn, void *ctx, struct walk *w);
