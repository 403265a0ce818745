/* impl.h - the layout of struct journal, for the files of this folder
 *
 * Who may touch what is said field by field.  Lock order: there is one lock. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "journal/journal.h"
#include "journal/segment.h"

#define SEGMENT_BYTES_DEFAULT (64u << 20)
#define BATCH_BYTES_DEFAULT (64u << 20)
#define BATCH_BYTES_MAX (256u << 20) /* keeps a batch below BATCH_MAX_RECORDS */

/* Records encoded one behind another, written by one write and one sync. */
struct batch {
    uint8_t *data;
    size_t len, cap;
    uint64_t first_lsn;
    uint32_t records;
};

struct journal {
    struct journal_config config; /* constant; dir is ours */
    struct segment_policy policy; /* constant */
    int dir_fd, lock_fd;          /* constant */

    pthread_mutex_t lock;
    pthread_cond_t wake;    /* to the writer: a commit, or stop */
    pthread_cond_t changed; /* from the writer: room in the buffer, durable moved, full changed */
    /* Under lock: */
    struct batch *filling; /* one of batches; the other is the writer's */
    uint64_t commit_lsn;   /* the writer is asked to sync up to here */
    bool started, stop;
    bool stopped;   /* the writer has ended: nothing more becomes durable */
    int full_errno; /* positive while the disk is full or failing */

    struct batch batches[2];
    pthread_t thread;
    /* The writer's, or open's and close's while it does not run: */
    struct segment segment;
    bool marked; /* the log ends with a mark */

    /* Any thread: */
    atomic_uint_fast64_t last, durable;
    atomic_uint_fast64_t log_bytes; /* written since this process opened the log, and replayed */
    atomic_uint_fast64_t snapshot_bytes;            /* log_bytes at the newest snapshot */
    atomic_uint_fast64_t log_files, snapshot_files; /* likewise, of its files */
    atomic_uint_fast64_t syncs, bytes, records, last_sync_us, worst_sync_us, segments;
    struct histogram sync_hist_us;
    atomic_bool snapshot_open; /* one at a time */
};
