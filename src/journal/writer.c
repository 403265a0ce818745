/* writer.c - append, group commit and the writer thread
 *
 * Owns the two batches.  The appender fills one under the lock; the writer swaps them and writes
 * the other with one write and one sync, while the next gathers.  There is no timer: an idle writer
 * syncs at once what it gets. Invariants: batches reach the disk in order; `durable` moves only
 * behind a successful sync; a batch that failed is kept and written again, to a new file when its
 * bytes may have touched the old one. Design note 0001, "Writing" and "Disk full". */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/failpoint.h"
#include "base/log.h"
#include "journal/format.h"
#include "base/timefmt.h"
#include "base/process/threadname.h"
#include "journal/impl.h"

#define RETRY_SECONDS 1
#define RETRY_REMOTE_NS 50000000L
#define SETTLES_AT_END 10
#define BATCH_CAP_MIN (64u << 10)

static void lock_journal(struct journal *j)
{
    (void)pthread_mutex_lock(&j->lock); /* a plain mutex, held by no one for long: cannot fail */
}

static void unlock_journal(struct journal *j)
{
    (void)pthread_mutex_unlock(&j->lock);
}

static int batch_reserve(struct batch *b, size_t more, size_t limit)
{
    size_t cap = b->cap ? b->cap : BATCH_CAP_MIN;
    uint8_t *p;

    if (b->cap - b->len >= more)
        return 0;
    while (cap - b->len < more)
        cap *= 2;
    if (cap > limit && b->len + more <= limit)
        cap = limit;
    p = realloc(b->data, cap);
    if (!p)
        return -ENOMEM;
    b->data = p;
    b->cap = cap;
    return 0;
}

/* Wait until `need` more bytes may be queued.  An empty buffer takes a record of any size. */
static int wait_for_room(struct journal *j, size_t need)
{
    while (!j->full_errno && j->filling->len && j->filling->len + need > j->config.batch_bytes) {
        if (!j->started || j->stop)
            return -ENOBUFS;
        j->commit_lsn = atomic_load(&j->last);
        (void)pthread_cond_signal(&j->wake);
        (void)pthread_cond_wait(&j->changed, &j->lock);
    }
    return j->full_errno ? -ENOSPC : 0;
}

int journal_append(struct journal *j, const uint8_t *data, size_t len, uint64_t *ret_lsn)
{
    size_t need = record_bytes(len);
    struct batch *b;
    uint64_t lsn;
    int r;

    if (len > JOURNAL_MAX_RECORD)
        return -EMSGSIZE;
    if (j->config.read_only)
        return -EROFS;
    lock_journal(j);
    r = wait_for_room(j, need);
    b = j->filling;
    if (r == 0)
        r = batch_reserve(b, need, j->config.batch_bytes);
    if (r < 0) {
        unlock_journal(j);
        return r;
    }
    lsn = atomic_load_explicit(&j->last, memory_order_relaxed) + 1;
    if (!b->records)
        b->first_lsn = lsn;
    record_encode(b->data + b->len, RECORD_DATA, b->records++, lsn, data, (uint32_t)len);
    b->len += need;
    atomic_store(&j->last, lsn);
    unlock_journal(j);
    *ret_lsn = lsn;
    return 0;
}

void journal_commit(struct journal *j)
{
    uint64_t last;

    lock_journal(j);
    last = atomic_load(&j->last);
    if (last > j->commit_lsn) { /* most batches of commands append nothing */
        j->commit_lsn = last;
        (void)pthread_cond_signal(&j->wake);
    }
    unlock_journal(j);
}

/* A segment is left when it is long enough, or when a failed write made it suspect. */
static int roll_over(struct journal *j, uint64_t first_lsn)
{
    struct segment *old = &j->segment, next;
    bool replaces = old->first_lsn == first_lsn;
    int r;

    if (!old->suspect && (old->offset < j->config.segment_bytes || replaces))
        return 0;
    r = segment_create(&j->policy, first_lsn, &next);
    if (r < 0)
        return r;
    segment_close(old);
    *old = next;
    if (!replaces) {
        atomic_fetch_add(&j->segments, 1);
        atomic_fetch_add(&j->log_files, 1);
    }
    return 0;
}

static void note_sync(struct journal *j, uint64_t us)
{
    atomic_store(&j->last_sync_us, us);
    histogram_add(&j->sync_hist_us, us);
    if (us > atomic_load(&j->worst_sync_us))
        atomic_store(&j->worst_sync_us, us);
    atomic_fetch_add(&j->syncs, 1);
}

static int write_bytes(struct journal *j, const uint8_t *data, size_t len)
{
    uint64_t us = 0;
    int r = segment_write(&j->segment, &j->policy, data, len, &us);

    if (r < 0)
        return r;
    if (!j->config.remote)
        note_sync(j, us);
    atomic_fetch_add(&j->bytes, len);
    atomic_fetch_add(&j->log_bytes, len);
    return 0;
}

/* To the place beyond the disk, where there is one; what it has already is done. */
static int send_batch(struct journal *j, const struct batch *b)
{
    const struct journal_remote *remote = j->config.remote;
    int64_t start = now_mono_us();
    int r;

    if (!remote || !remote->append)
        return 0;
    r = remote->append(remote->ctx, b->first_lsn, b->data, b->len);
    if (r == 0)
        note_sync(j, (uint64_t)(now_mono_us() - start));
    return r;
}

static int write_batch(struct journal *j, const struct batch *b)
{
    int r = send_batch(j, b);

    if (r == 0)
        r = roll_over(j, b->first_lsn);

    if (r == 0)
        r = write_bytes(j, b->data, b->len);
    if (r < 0)
        return r;
    j->marked = false;
    atomic_fetch_add(&j->records, b->records);
    return 0;
}

static void set_full(struct journal *j, int error)
{
    bool before;

    lock_journal(j);
    before = j->full_errno != 0;
    j->full_errno = error;
    (void)pthread_cond_broadcast(&j->changed);
    unlock_journal(j);
    if (before != (error != 0) && j->config.on_full)
        j->config.on_full(j->config.ctx, error != 0, error);
}

/* Wait for the next try; false when the journal is being closed. */
static bool wait_for_retry(struct journal *j)
{
    bool far = j->config.remote && j->config.remote->append;
    struct timespec until;
    bool stop;

    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail */
    until.tv_sec += far ? 0 : RETRY_SECONDS;
    until.tv_nsec += far ? RETRY_REMOTE_NS : 0;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    lock_journal(j);
    while (!j->stop && pthread_cond_timedwait(&j->wake, &j->lock, &until) != ETIMEDOUT)
        ;
    stop = j->stop;
    unlock_journal(j);
    return !stop;
}

/* On this disk it is; wait until it is where it has to be besides.  When the journal is being
 * closed that is tried a few times more. */
static int settle_batch(struct journal *j, const struct batch *b, int64_t start_us)
{
    const struct journal_remote *remote = j->config.remote;
    int left = SETTLES_AT_END, r;

    if (!remote || !remote->settle)
        return 0;
    while ((r = remote->settle(remote->ctx, b->first_lsn + b->records - 1)) == -EAGAIN) {
        lock_journal(j);
        if (j->stop)
            left--;
        unlock_journal(j);
        if (left <= 0)
            return -ECANCELED;
    }
    if (r == 0)
        note_sync(j, (uint64_t)(now_mono_us() - start_us));
    return r;
}

static void offer_batch(struct journal *j, const struct batch *b)
{
    const struct journal_remote *remote = j->config.remote;

    if (remote && remote->offer)
        remote->offer(remote->ctx, b->first_lsn, b->records, b->data, b->len);
}

/* Write b, however long it takes.  Gives up, with the error, only when the journal is being
 * closed. */
static int write_until_done(struct journal *j, const struct batch *b)
{
    bool again = true, failed = false;
    int r;

    for (;;) {
        r = write_batch(j, b);
        if (r == 0 || r == -EOWNERDEAD || !again)
            break;
        failed = true;
        set_full(j, -r);
        again = wait_for_retry(j); /* when closing: one last try */
    }
    if (r == 0 && failed)
        set_full(j, 0);
    return r;
}

static void publish_durable(struct journal *j, uint64_t lsn)
{
    failpoint_crash("journal.crash.before_publish");
    lock_journal(j);
    atomic_store(&j->durable, lsn);
    (void)pthread_cond_broadcast(&j->changed);
    unlock_journal(j);
    if (j->config.on_durable)
        j->config.on_durable(j->config.ctx, lsn);
}

/* Take what was appended; NULL when there is nothing.  With the lock. */
static struct batch *take_batch(struct journal *j)
{
    struct batch *b = j->filling;

    if (!b->records)
        return NULL;
    j->filling = b == &j->batches[0] ? &j->batches[1] : &j->batches[0];
    j->filling->len = 0;
    j->filling->records = 0;
    (void)pthread_cond_broadcast(&j->changed); /* there is room */
    return b;
}

/* Asked before a batch is written, which saves the work, and behind its sync, which decides: what
 * is on the disk within the term is in the log that the next term begins with. */
static bool is_ours(const struct journal *j)
{
    return !j->config.still_ours || j->config.still_ours(j->config.ctx);
}

/* Write what is queued, batch by batch, until nothing is left or closing gave up. */
static int drain_buffer(struct journal *j)
{
    for (;;) {
        struct batch *b;
        int64_t start_us;
        int r;

        lock_journal(j);
        b = take_batch(j);
        unlock_journal(j);
        if (!b)
            return 0;
        start_us = now_mono_us();
        r = is_ours(j) ? 0 : -EOWNERDEAD;
        if (r == 0)
            offer_batch(j, b);
        if (r == 0)
            r = write_until_done(j, b);
        if (r == 0)
            r = settle_batch(j, b, start_us);
        if (r == 0 && !is_ours(j))
            r = -EOWNERDEAD;
        if (r < 0)
            return r;
        publish_durable(j, b->first_lsn + b->records - 1);
    }
}

static void *writer_main(void *arg)
{
    struct journal *j = arg;
    int r = 0;

    threadname_set(pthread_self(), "journal");
    while (r == 0) {
        bool stop;

        lock_journal(j);
        while (!j->stop && j->commit_lsn <= atomic_load(&j->durable))
            (void)pthread_cond_wait(&j->wake, &j->lock);
        stop = j->stop;
        unlock_journal(j);
        r = drain_buffer(j);
        if (stop)
            break;
    }
    lock_journal(j);
    j->stopped = true;
    (void)pthread_cond_broadcast(&j->changed);
    unlock_journal(j);
    return NULL;
}

int journal_start(struct journal *j)
{
    int r;

    if (j->config.read_only)
        return -EROFS;
    if (j->started)
        return -EALREADY;
    r = pthread_create(&j->thread, NULL, writer_main, j);
    if (r)
        return -r;
    lock_journal(j);
    j->started = true;
    unlock_journal(j);
    return 0;
}

/* After a proper end the log says so, which lets the next recovery tell damage of the last batch
 * from a torn write. */
static void write_mark(struct journal *j)
{
    uint8_t mark[RECORD_HEADER_BYTES];
    uint64_t last = atomic_load(&j->last);

    if (j->segment.fd < 0 || j->segment.suspect || j->marked || !last || !is_ours(j))
        return;
    record_encode(mark, RECORD_MARK, 0, last, NULL, 0);
    (void)write_bytes(j, mark, sizeof(mark)); /* without it recovery is only less sure */
}

static void stop_writer(struct journal *j)
{
    uint64_t last, durable;

    lock_journal(j);
    j->stop = true;
    (void)pthread_cond_broadcast(&j->wake);
    (void)pthread_cond_broadcast(&j->changed);
    unlock_journal(j);
    if (j->started)
        (void)pthread_join(j->thread, NULL); /* our own thread, joined once */
    else if (!j->config.read_only)
        (void)drain_buffer(j); /* what is left is said below */
    last = atomic_load(&j->last);
    durable = atomic_load(&j->durable);
    if (durable < last)
        log_error("journal: %" PRIu64 " records from %" PRIu64
                  " on could not be written before the end; none of them was acknowledged",
                  last - durable, durable + 1);
    else
        write_mark(j);
}

struct journal *journal_close(struct journal *j)
{
    int saved = errno;

    if (!j)
        return NULL;
    stop_writer(j);
    segment_close(&j->segment);
    for (size_t i = 0; i < ARRAY_SIZE(j->batches); i++)
        free(j->batches[i].data);
    if (j->lock_fd >= 0)
        (void)close(j->lock_fd); /* releases the lock */
    if (j->dir_fd >= 0)
        (void)close(j->dir_fd); /* was only a handle */
    (void)pthread_cond_destroy(&j->wake);
    (void)pthread_cond_destroy(&j->changed);
    (void)pthread_mutex_destroy(&j->lock);
    free((char *)j->config.dir);
    free(j);
    errno = saved;
    return NULL;
}

int journal_wait_durable(struct journal *j, uint64_t lsn)
{
    int r = 0;

    lock_journal(j);
    if (lsn > atomic_load(&j->last)) {
        unlock_journal(j);
        return -EINVAL;
    }
    if (lsn > j->commit_lsn && lsn > atomic_load(&j->durable)) {
        j->commit_lsn = lsn;
        (void)pthread_cond_signal(&j->wake);
    }
    while (r == 0 && lsn > atomic_load(&j->durable)) {
        if (j->full_errno)
            r = -j->full_errno;
        else if (!j->started || j->stopped)
            r = -ESHUTDOWN;
        else
            (void)pthread_cond_wait(&j->changed, &j->lock);
    }
    unlock_journal(j);
    return r;
}

uint64_t journal_last(const struct journal *j)
{
    return atomic_load(&j->last);
}

uint64_t journal_durable(const struct journal *j)
{
    return atomic_load(&j->durable);
}

uint64_t journal_bytes_since_snapshot(const struct journal *j)
{
    return atomic_load(&j->log_bytes) - atomic_load(&j->snapshot_bytes);
}

uint64_t journal_files_since_snapshot(const struct journal *j)
{
    return atomic_load(&j->log_files) - atomic_load(&j->snapshot_files);
}

const struct histogram *journal_sync_histogram(const struct journal *j)
{
    return &j->sync_hist_us;
}

void journal_get_stats(const struct journal *j, struct journal_stats *ret)
{
    *ret = (struct journal_stats){
        .syncs = atomic_load(&j->syncs),
        .bytes = atomic_load(&j->bytes),
        .records = atomic_load(&j->records),
        .last_sync_us = atomic_load(&j->last_sync_us),
        .worst_sync_us = atomic_load(&j->worst_sync_us),
        .segments = atomic_load(&j->segments),
    };
}
