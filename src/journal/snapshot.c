/* snapshot.c - writing snapshots, and letting go of what they made superfluous
 *
 * Owns the temporary file of the one snapshot being written.  A snapshot that has its final name is
 * complete, on disk, and so is the log up to its lsn.  Runs on any one thread beside the writer; it
 * shares with it only atomics, and the directory, where it removes nothing but old files.  It may
 * use the reserve kept free on the disk: a snapshot is what lets the log's old files go. Design
 * note 0001, "Snapshots". */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process/failpoint.h"
#include "journal/files.h"
#include "journal/format.h"
#include "journal/impl.h"
#include "journal/letgo.h"

#define FLUSH_BYTES (1u << 20)

struct journal_snapshot {
    struct journal *journal;
    uint64_t lsn;
    uint64_t log_bytes, log_files; /* of the log when it was begun */
    int fd;
    int error;       /* of the first put that failed */
    uint64_t offset; /* written */
    uint64_t puts;
    uint8_t *buf;
    size_t len, cap;
    char name[FILE_NAME_BYTES], tmp[FILE_NAME_BYTES + 4];
};

static struct journal_snapshot *snapshot_free(struct journal_snapshot *s)
{
    atomic_store(&s->journal->snapshot_open, false);
    if (s->fd >= 0)
        (void)close(s->fd); /* synced where it matters */
    free(s->buf);
    free(s);
    return NULL;
}

static int flush_buffer(struct journal_snapshot *s)
{
    uint64_t start = s->offset;
    size_t done = 0;
    int r = failpoint("journal.snapshot.enospc") ? -ENOSPC : 0;

    while (r == 0 && done < s->len) {
        ssize_t n = pwrite(s->fd, s->buf + done, s->len - done, (off_t)s->offset);

        if (n < 0 && errno != EINTR)
            r = -errno;
        if (n > 0) {
            done += (size_t)n;
            s->offset += (uint64_t)n;
        }
    }
    s->len = 0;
    /* Start the disk on it now: one gigabyte at the end would hold up the log's own syncs. */
    if (r == 0)
        (void)sync_file_range(s->fd, (off_t)start, (off_t)(s->offset - start),
                              SYNC_FILE_RANGE_WRITE);
    return r;
}

static int reserve_bytes(struct journal_snapshot *s, size_t more)
{
    size_t cap = MAX(more, (size_t)FLUSH_BYTES);
    uint8_t *p;
    int r;

    if (s->cap - s->len >= more)
        return 0;
    r = flush_buffer(s);
    if (r < 0 || s->cap >= more)
        return r;
    p = realloc(s->buf, cap);
    if (!p)
        return -ENOMEM;
    s->buf = p;
    s->cap = cap;
    return 0;
}

static int put_record(struct journal_snapshot *s, enum record_kind kind, const uint8_t *data,
                      size_t len)
{
    int r = reserve_bytes(s, record_bytes(len));

    if (r < 0)
        return r;
    record_encode(s->buf + s->len, kind, 0, s->puts + 1, data, (uint32_t)len);
    s->len += record_bytes(len);
    return 0;
}

static int open_temporary(struct journal_snapshot *s)
{
    int r;

    snapshot_name(s->lsn, s->name);
    (void)snprintf(s->tmp, sizeof(s->tmp), "%s.tmp", s->name); /* fits */
    s->fd = openat(s->journal->dir_fd, s->tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (s->fd < 0)
        return -errno;
    r = reserve_bytes(s, FILE_HEADER_BYTES);
    if (r < 0) {
        (void)unlinkat(s->journal->dir_fd, s->tmp, 0); /* recovery removes it otherwise */
        return r;
    }
    file_header_encode(SNAPSHOT_MAGIC, s->journal->config.cluster_id, s->lsn, s->buf);
    s->len = FILE_HEADER_BYTES;
    return 0;
}

int journal_snapshot_begin(struct journal *j, uint64_t lsn, struct journal_snapshot **ret_snap)
{
    struct journal_snapshot *s;
    int r;

    if (j->config.read_only)
        return -EROFS;
    if (!lsn || lsn > atomic_load(&j->last))
        return -EINVAL;
    if (atomic_exchange(&j->snapshot_open, true))
        return -EBUSY;
    s = calloc(1, sizeof(*s));
    if (!s) {
        atomic_store(&j->snapshot_open, false);
        return -ENOMEM;
    }
    s->journal = j;
    s->lsn = lsn;
    s->log_bytes = atomic_load(&j->log_bytes);
    s->log_files = atomic_load(&j->log_files);
    s->fd = -1;
    r = open_temporary(s);
    if (r < 0) {
        (void)snapshot_free(s);
        return r;
    }
    *ret_snap = s;
    return 0;
}

int journal_snapshot_put(struct journal_snapshot *s, const uint8_t *data, size_t len)
{
    if (len > JOURNAL_MAX_RECORD)
        s->error = s->error ? s->error : -EMSGSIZE;
    if (!s->error)
        s->error = put_record(s, RECORD_PUT, data, len);
    if (!s->error)
        s->puts++;
    return s->error;
}

static int finish_file(struct journal_snapshot *s)
{
    struct journal *j = s->journal;
    int r = s->error;

    if (r == 0)
        r = put_record(s, RECORD_TRAILER, NULL, 0);
    if (r == 0)
        r = flush_buffer(s);
    if (r == 0)
        r = failpoint("journal.snapshot.sync_eio") ? -EIO : fdatasync(s->fd) < 0 ? -errno : 0;
    /* A snapshot ahead of the log would bring back, after a crash, what was never acknowledged. */
    if (r == 0)
        r = journal_wait_durable(j, s->lsn);
    failpoint_crash("journal.crash.snapshot_before_rename");
    if (r == 0 && renameat(j->dir_fd, s->tmp, j->dir_fd, s->name) < 0)
        r = -errno;
    if (r < 0)
        return r;
    failpoint_crash("journal.crash.snapshot_after_rename");
    return fsync(j->dir_fd) < 0 ? -errno : 0;
}

/* The file stands; the place that the log is in needs one too before the log there may be cut. */
static int send_away(struct journal_snapshot *s, uint64_t keep_lsn)
{
    const struct journal_remote *remote = s->journal->config.remote;
    _cleanup_close_ int fd = -1;
    int r = remote ? snapshot_open_read(s->journal->dir_fd, s->lsn, &fd) : 0;

    return r == 0 && remote ? remote->snapshot(remote->ctx, s->lsn, fd, keep_lsn) : r;
}

int journal_snapshot_commit(struct journal_snapshot *s, uint64_t keep_lsn)
{
    struct journal *j = s->journal;
    size_t gone;
    int r = finish_file(s);

    if (r == 0)
        r = send_away(s, keep_lsn);
    if (r < 0) {
        journal_snapshot_abort(s);
        return r;
    }
    atomic_store(&j->snapshot_bytes, s->log_bytes);
    atomic_store(&j->snapshot_files, s->log_files);
    (void)journal_dir_let_go(j->dir_fd, keep_lsn, &gone); /* else space is given back next time */
    atomic_fetch_sub(&j->segments, gone);
    (void)snapshot_free(s);
    return 0;
}

void journal_snapshot_abort(struct journal_snapshot *s)
{
    if (!s)
        return;
    (void)unlinkat(s->journal->dir_fd, s->tmp, 0); /* recovery removes it otherwise */
    (void)snapshot_free(s);
}
