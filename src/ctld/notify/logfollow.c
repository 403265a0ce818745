/* logfollow.c - the thread behind a consumer of the log; see logfollow.h
 *
 * The place is stored by rename after every batch that held something, and now and then without, so
 * that a restart does not read far.  It is never ahead of what arrived. */
#include "ctld/notify/logfollow.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "base/process/threadname.h"
#include "journal/journal.h"

#define SCAN_MAX 5000u    /* records of a batch, with something in them or not */
#define SAVE_EVERY 50000u /* records without anything between two stores of the place */

struct follow {
    const struct follow_ops *ops;
    void *ctx;
    char *dir, *path;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_bool stopping;
    _Atomic uint64_t durable, cursor;
    /* the thread's own */
    struct journal_reader *reader;
    uint64_t saved;
    bool failing; /* and said so */
};

/* ---- the place ------------------------------------------------------------------------------- */

static int place_read(const char *path, uint64_t *ret, struct err *err)
{
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    char line[32];

    if (!f)
        return -errno;
    if (!fgets(line, sizeof(line), f))
        return err_set(err, -EUCLEAN,
                       "%s is empty: remove it to go on with what happens from now on", path);
    line[strcspn(line, "\n")] = '\0';
    if (parse_u64(line, 0, UINT64_MAX, ret) < 0)
        return err_set(
            err, -EUCLEAN,
            "%s holds no record number: remove it to go on with what happens from now on", path);
    return 0;
}

static int place_write(const char *path, uint64_t lsn)
{
    _cleanup_free_ char *tmp = NULL;
    char text[32];
    int len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)lsn), fd, r = 0;

    if (asprintf(&tmp, "%s.new", path) < 0)
        return -ENOMEM;
    fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    if (write(fd, text, (size_t)len) != len || fdatasync(fd) < 0)
        r = -EIO;
    (void)close(fd); /* synced */
    if (r == 0 && rename(tmp, path) < 0)
        r = -errno;
    return r;
}

static void save_cursor(struct follow *f)
{
    uint64_t at = atomic_load(&f->cursor);
    int r = at == f->saved ? 0 : place_write(f->path, at);

    if (r == 0)
        f->saved = at;
    else /* what came behind the stored place comes again after a restart */
        log_error("%s: cannot store the place in %s: %s", f->ops->what, f->path,
                  strerrordesc_np(-r));
}

/* ---- a batch --------------------------------------------------------------------------------- */

static int open_reader(struct follow *f, struct err *err)
{
    uint64_t cursor = atomic_load(&f->cursor);
    struct err why = { .text = "" };
    int r = journal_reader_open(f->dir, cursor + 1, &f->reader, &why);

    if (r == -ENOENT) {
        r = journal_reader_open(f->dir, 0, &f->reader, err);
        if (r == 0)
            log_error("%s: the last record seen is %llu, and what follows is no longer kept (%s): "
                      "going on with "
                      "the oldest there is",
                      f->ops->what, (unsigned long long)cursor, why.text);
    } else if (r < 0) {
        return err_set(err, r, "%s", why.text[0] ? why.text : strerrordesc_np(-r));
    }
    return r;
}

/* Read on.  Gives how many have something in them. */
static int fill_batch(struct follow *f, uint64_t *ret_last, struct err *err)
{
    int held = 0;

    for (unsigned n = 0; n < SCAN_MAX && held < (int)f->ops->batch && !atomic_load(&f->stopping);
         n++) {
        const uint8_t *data;
        uint64_t lsn;
        size_t len;
        int r = journal_reader_next(f->reader, atomic_load(&f->durable), &lsn, &data, &len, err);

        if (r <= 0)
            return r < 0 ? r : held;
        r = f->ops->record(f->ctx, lsn, data, len, err);
        if (r < 0)
            return r;
        held += r;
        *ret_last = lsn;
    }
    return held;
}

static int run_batch(struct follow *f, struct err *err)
{
    uint64_t last = atomic_load(&f->cursor), done = 0;
    int held = f->reader ? 0 : open_reader(f, err), r;

    if (held == 0)
        held = fill_batch(f, &last, err);
    r = f->ops->flush(f->ctx, &f->stopping, &done,
                      err); /* after a failure too: what was taken is in it */
    if (r == 0)
        done = last;
    if (done > atomic_load(&f->cursor) && done <= last)
        atomic_store(&f->cursor, done);
    if (r < 0 || held != 0 || last - f->saved >= SAVE_EVERY)
        save_cursor(f);
    return r < 0 ? r : MIN(held, 0);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static struct timespec deadline_in(int ms)
{
    int64_t at = now_mono_us() + (int64_t)ms * 1000;

    return (struct timespec){ .tv_sec = at / USEC_PER_SEC, .tv_nsec = at % USEC_PER_SEC * 1000 };
}

/* Say it once, and pause. */
static void note_failure(struct follow *f, int r, const struct err *err)
{
    struct timespec ts = deadline_in(f->ops->retry_ms);

    f->reader = journal_reader_close(f->reader);
    if (atomic_load(&f->stopping))
        return;
    if (!f->failing)
        log_error("%s: %s: trying again, nothing is lost meanwhile", f->ops->what,
                  err->text[0] ? err->text : strerrordesc_np(-r));
    f->failing = true;
    pthread_mutex_lock(&f->lock);
    while (!atomic_load(&f->stopping))
        if (pthread_cond_timedwait(&f->wake, &f->lock, &ts) == ETIMEDOUT)
            break;
    pthread_mutex_unlock(&f->lock);
}

/* Until there is something to read.  False: the end. */
static bool wait_for_work(struct follow *f)
{
    while (!atomic_load(&f->stopping) && atomic_load(&f->durable) <= atomic_load(&f->cursor)) {
        struct timespec ts = deadline_in(f->ops->idle_ms ? f->ops->idle_ms : 3600 * 1000);

        pthread_mutex_lock(&f->lock);
        if (!atomic_load(&f->stopping) && atomic_load(&f->durable) <= atomic_load(&f->cursor))
            (void)pthread_cond_timedwait(&f->wake, &f->lock, &ts); /* too early is no harm */
        pthread_mutex_unlock(&f->lock);
        if (f->ops->idle)
            f->ops->idle(f->ctx);
    }
    return !atomic_load(&f->stopping);
}

static void *run_consumer(void *arg)
{
    struct follow *f = arg;

    while (wait_for_work(f)) {
        struct err err = { .text = "" };
        int r = run_batch(f, &err);

        if (r < 0) {
            note_failure(f, r, &err);
        } else if (f->failing) {
            log_info("%s: works again, at record %llu", f->ops->what,
                     (unsigned long long)atomic_load(&f->cursor));
            f->failing = false;
        }
    }
    save_cursor(f);
    return NULL;
}

/* ---- for others ------------------------------------------------------------------------------ */

void follow_durable(struct follow *f, uint64_t lsn)
{
    pthread_mutex_lock(&f->lock);
    if (lsn > atomic_load(&f->durable)) {
        atomic_store(&f->durable, lsn);
        pthread_cond_signal(&f->wake);
    }
    pthread_mutex_unlock(&f->lock);
}

uint64_t follow_cursor(const struct follow *f)
{
    return atomic_load(&f->cursor);
}

uint64_t follow_lag(const struct follow *f)
{
    uint64_t cursor = atomic_load(&f->cursor), durable = atomic_load(&f->durable);

    return durable > cursor ? durable - cursor : 0;
}

uint64_t follow_keep(const struct follow *f)
{
    uint64_t next = atomic_load(&f->cursor) + 1, durable = atomic_load(&f->durable);

    return durable > FOLLOW_KEEP ? MAX(next, durable - FOLLOW_KEEP) : next;
}

struct follow *follow_stop(struct follow *f)
{
    if (!f)
        return NULL;
    pthread_mutex_lock(&f->lock);
    atomic_store(&f->stopping, true);
    pthread_cond_broadcast(&f->wake);
    pthread_mutex_unlock(&f->lock);
    if (f->running)
        pthread_join(f->thread, NULL);
    f->reader = journal_reader_close(f->reader);
    pthread_cond_destroy(&f->wake);
    pthread_mutex_destroy(&f->lock);
    free(f->dir);
    free(f->path);
    free(f);
    return NULL;
}

static struct follow *follow_new(const char *dir, const char *cursor)
{
    struct follow *f = calloc(1, sizeof(*f));
    pthread_condattr_t attr;

    if (!f)
        return NULL;
    pthread_mutex_init(&f->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&f->wake, &attr);
    pthread_condattr_destroy(&attr);
    f->dir = strdup(dir);
    f->path = strdup(cursor);
    return f->dir && f->path ? f : follow_stop(f);
}

int follow_start(const char *dir, const char *cursor, uint64_t from, uint64_t durable,
                 const struct follow_ops *ops, void *ctx, struct follow **ret, struct err *err)
{
    struct follow *f = follow_new(dir, cursor);
    uint64_t at = from;
    int r;

    if (!f)
        return -ENOMEM;
    f->ops = ops;
    f->ctx = ctx;
    r = place_read(cursor, &at, err);
    if (r == -ENOENT)
        r = place_write(cursor, from); /* what comes from now on is not lost by the next crash */
    if (r == 0 && at > durable) {      /* a repair cut the log, or it is a new one */
        log_error("%s: %s is at record %llu and the journal ends at %llu: going on from its end",
                  ops->what, cursor, (unsigned long long)at, (unsigned long long)durable);
        at = durable;
    }
    if (r < 0) {
        follow_stop(f);
        return err->text[0] ? r : err_set(err, r, "%s: %s", cursor, strerrordesc_np(-r));
    }
    atomic_store(&f->cursor, at);
    atomic_store(&f->durable, durable);
    f->saved = at;
    r = -pthread_create(&f->thread, NULL, run_consumer, f);
    if (r < 0) {
        follow_stop(f);
        return err_set(err, r, "%s: cannot start a thread: %s", ops->what, strerrordesc_np(-r));
    }
    f->running = true;
    threadname_set(f->thread, ops->what);
    *ret = f;
    return 0;
}
