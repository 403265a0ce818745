/* acctthread.c - the thread that stores the journal's records in the accounting database
 *
 * It reads the journal through a cursor of its own and applies batches of up to BATCH_RECORDS, or
 * what comes within BATCH_US; somebody who waits for the cursor ends a batch early.  Whatever
 * fails, the batch is undone and read again from the stored cursor after RETRY_US: the place is
 * never lost, and nobody but those who ask for accounting records ever waits for it.
 *
 * The journal itself is not touched after the start, so it may be closed first; what is on disk
 * comes in through acctthread_durable(). */
#include "ctld/acctthread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "acct/acct.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/pbutil.h"
#include "base/timefmt.h"
#include "ctld/acctquery.h"
#include "ctld/ctld.h"

#define BATCH_RECORDS 2000u
#define BATCH_US 50000
#define RETRY_US 500000

struct acctthread {
    char *db_path, *journal_dir, *cluster;
    uint64_t journal_end; /* at the start */
    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t wake;     /* the thread: more to do, or somebody waits */
    pthread_cond_t advanced; /* those who wait for the cursor */
    _Atomic uint64_t durable, cursor;
    unsigned waiting; /* under the lock */
    uint64_t wanted;  /* by a query; likewise */
    bool stopping;    /* likewise */
    struct acctpool *pool;
    /* the thread's own */
    struct acct *acct;
    struct journal_reader *reader;
    struct pb_arena *arena;
    uint64_t read_lsn; /* newest taken from the journal */
    bool failing;      /* and said so */
};

static struct timespec timespec_of(int64_t mono_us)
{
    return (struct timespec){ .tv_sec = mono_us / USEC_PER_SEC,
                              .tv_nsec = mono_us % USEC_PER_SEC * 1000 };
}

/* ---- reading and storing ------------------------------------------------------------------------
 */

static int open_database(struct acctthread *t, struct err *err)
{
    int r = acct_open(t->db_path, t->cluster, &t->acct, err);
    uint64_t cursor;

    if (r < 0)
        return r;
    cursor = acct_cursor(t->acct);
    if (cursor > t->journal_end) {
        log_error("accounting: %s is at record %llu and the journal ends at %llu: a repair cut it, "
                  "or it is a new one; going on from its end",
                  t->db_path, (unsigned long long)cursor, (unsigned long long)t->journal_end);
        r = acct_rewind(t->acct, t->journal_end);
        if (r < 0) {
            err_set(err, r, "accounting: %s: %s", t->db_path, acct_error(t->acct));
            t->acct = acct_close(t->acct);
            return r;
        }
        cursor = t->journal_end;
    }
    atomic_store(&t->cursor, cursor);
    return 0;
}

static int open_reader(struct acctthread *t, struct err *err)
{
    uint64_t cursor = acct_cursor(t->acct);
    struct err why = { .text = "" };
    int r = journal_reader_open(t->journal_dir, cursor + 1, &t->reader, &why);

    if (r == -ENOENT) {
        r = journal_reader_open(t->journal_dir, 0, &t->reader, err);
        if (r == 0)
            log_error("accounting: the database is at record %llu, and what follows is no longer "
                      "kept (%s): going on with the oldest record there is",
                      (unsigned long long)cursor, why.text);
    } else if (r < 0) {
        return err_set(err, r, "%s", why.text[0] ? why.text : strerrordesc_np(-r));
    }
    t->read_lsn = cursor;
    return r;
}

static int store_one(struct acctthread *t, uint64_t lsn, const uint8_t *data, size_t len,
                     struct err *err)
{
    static const Pst__Transaction nothing = PST__TRANSACTION__INIT;
    const Pst__Transaction *tx;

    pb_arena_reset(t->arena);
    tx = pst__transaction__unpack(pb_arena_allocator(t->arena), len, data);
    if (!tx) {
        log_error("accounting: record %llu of the journal cannot be decoded and is left out",
                  (unsigned long long)lsn);
        tx = &nothing;
    }
    return acct_apply(t->acct, lsn, tx, err);
}

/* Wait for more until the batch is due.  False: it is. */
static bool linger(struct acctthread *t, int64_t until_mono_us)
{
    struct timespec ts = timespec_of(until_mono_us);
    bool more;

    pthread_mutex_lock(&t->lock);
    while (!(more = atomic_load(&t->durable) > t->read_lsn) && !t->waiting &&
           t->wanted <= atomic_load(&t->cursor) && !t->stopping)
        if (pthread_cond_timedwait(&t->wake, &t->lock, &ts) == ETIMEDOUT)
            break;
    pthread_mutex_unlock(&t->lock);
    return more;
}

/* Fill a batch.  Gives the number of records, or the first error. */
static int fill_batch(struct acctthread *t, struct err *err)
{
    int64_t until = now_mono_us() + BATCH_US;
    unsigned n = 0;

    while (n < BATCH_RECORDS && (n % 64 || now_mono_us() < until)) {
        const uint8_t *data;
        uint64_t lsn;
        size_t len;
        int r = journal_reader_next(t->reader, atomic_load(&t->durable), &lsn, &data, &len, err);

        if (r > 0) {
            r = store_one(t, lsn, data, len, err);
            t->read_lsn = lsn;
            n++;
        } else if (r == 0 && !linger(t, until)) {
            break;
        }
        if (r < 0)
            return r;
    }
    return (int)n;
}

static int batch(struct acctthread *t, struct err *err)
{
    int r = t->acct ? 0 : open_database(t, err);

    if (r == 0 && !t->reader)
        r = open_reader(t, err);
    if (r < 0)
        return r;
    r = acct_begin(t->acct);
    if (r < 0)
        return err_set(err, r, "accounting: %s: %s", t->db_path, acct_error(t->acct));
    r = fill_batch(t, err);
    if (r < 0) {
        t->acct = acct_close(t->acct); /* undoes the batch, whoever failed; opened again */
        return r;
    }
    r = acct_commit(t->acct);
    if (r < 0)
        return err_set(err, r, "accounting: %s: %s", t->db_path, acct_error(t->acct));
    return 0;
}

/* ---- the thread ---------------------------------------------------------------------------------
 */

static void succeed(struct acctthread *t)
{
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->cursor, acct_cursor(t->acct));
    if (t->waiting)
        pthread_cond_broadcast(&t->advanced);
    pthread_mutex_unlock(&t->lock);
    acctpool_advanced(t->pool, NULL);
    if (t->failing)
        log_info("accounting: works again, at record %llu",
                 (unsigned long long)acct_cursor(t->acct));
    t->failing = false;
}

/* Say it once, and try again later from the stored cursor. */
static void fail(struct acctthread *t, int r, const struct err *err)
{
    const char *text = err->text[0] ? err->text : strerrordesc_np(-r);
    struct timespec ts = timespec_of(now_mono_us() + RETRY_US);

    if (!t->failing)
        log_error("%s: trying again, nothing is lost meanwhile", text);
    t->failing = true;
    t->reader = journal_reader_close(t->reader);
    acctpool_advanced(t->pool, text);
    pthread_mutex_lock(&t->lock);
    while (!t->stopping)
        if (pthread_cond_timedwait(&t->wake, &t->lock, &ts) == ETIMEDOUT)
            break;
    pthread_mutex_unlock(&t->lock);
}

/* Until there is something to store.  False: the end. */
static bool wait_for_work(struct acctthread *t)
{
    bool go;

    pthread_mutex_lock(&t->lock);
    while (!t->stopping && !t->failing && atomic_load(&t->durable) <= atomic_load(&t->cursor))
        pthread_cond_wait(&t->wake, &t->lock);
    go = !t->stopping;
    pthread_mutex_unlock(&t->lock);
    return go;
}

static void *run(void *arg)
{
    struct acctthread *t = arg;

    while (wait_for_work(t)) {
        struct err err = { .text = "" };
        int r = batch(t, &err);

        if (r < 0)
            fail(t, r, &err);
        else
            succeed(t);
    }
    return NULL;
}

/* ---- for others ---------------------------------------------------------------------------------
 */

static uint64_t cursor_of(void *arg)
{
    return acctthread_cursor(arg);
}

static void hurry(void *arg, uint64_t lsn)
{
    struct acctthread *t = arg;

    pthread_mutex_lock(&t->lock);
    t->wanted = MAX(t->wanted, lsn);
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

uint64_t acctthread_cursor(const struct acctthread *t)
{
    return atomic_load(&t->cursor);
}

void acctthread_durable(struct acctthread *t, uint64_t lsn)
{
    pthread_mutex_lock(&t->lock);
    if (lsn > atomic_load(&t->durable)) {
        atomic_store(&t->durable, lsn);
        pthread_cond_signal(&t->wake);
    }
    pthread_mutex_unlock(&t->lock);
}

bool acctthread_wait(struct acctthread *t, uint64_t lsn, int timeout_ms)
{
    struct timespec ts = timespec_of(now_mono_us() + (int64_t)timeout_ms * 1000);
    bool reached;

    pthread_mutex_lock(&t->lock);
    t->waiting++;
    pthread_cond_signal(&t->wake);
    while (!(reached = atomic_load(&t->cursor) >= lsn) && !t->stopping)
        if (pthread_cond_timedwait(&t->advanced, &t->lock, &ts) == ETIMEDOUT)
            break;
    t->waiting--;
    pthread_mutex_unlock(&t->lock);
    return reached;
}

void acctthread_query(struct acctthread *t, struct conn *conn, uint32_t id, Pst__AcctFilter *filter)
{
    acctpool_query(t->pool, conn, id, atomic_load(&t->durable), filter);
}

/* ---- start and stop -----------------------------------------------------------------------------
 */

/* May the same call succeed later, with nobody doing anything about it? */
static bool may_pass(int r)
{
    return r == -ENOSPC || r == -EBUSY || r == -EIO || r == -EDQUOT || r == -EROFS;
}

struct acctthread *acctthread_stop(struct acctthread *t)
{
    if (!t)
        return NULL;
    pthread_mutex_lock(&t->lock);
    t->stopping = true;
    pthread_cond_broadcast(&t->wake);
    pthread_cond_broadcast(&t->advanced);
    pthread_mutex_unlock(&t->lock);
    if (t->running)
        pthread_join(t->thread, NULL);
    t->pool = acctpool_free(t->pool);
    t->reader = journal_reader_close(t->reader);
    t->acct = acct_close(t->acct);
    t->arena = pb_arena_free(t->arena);
    pthread_cond_destroy(&t->advanced);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    free(t->db_path);
    free(t->journal_dir);
    free(t->cluster);
    free(t);
    return NULL;
}

static struct acctthread *thread_new(const char *db_path, const char *journal_dir,
                                     const char *cluster)
{
    struct acctthread *t = calloc(1, sizeof(*t));
    pthread_condattr_t attr;

    if (!t)
        return NULL;
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->wake, &attr);
    pthread_cond_init(&t->advanced, &attr);
    pthread_condattr_destroy(&attr);
    t->db_path = strdup(db_path);
    t->journal_dir = strdup(journal_dir);
    t->cluster = cluster ? strdup(cluster) : NULL;
    if (!t->db_path || !t->journal_dir || (cluster && !t->cluster) || pb_arena_new(&t->arena) < 0)
        return acctthread_stop(t);
    return t;
}

int acctthread_start(struct ctld *ctld, const char *db_path, const char *journal_dir,
                     struct acctthread **ret, struct err *err)
{
    const char *cluster = ctld->conf ? conf_str(ctld->conf, CONF_CLUSTER_NAME) : NULL;
    struct acctthread *t = thread_new(db_path, journal_dir, cluster);
    struct acctpool_config pool = { .db_path = db_path, .cursor = cursor_of, .hurry = hurry };
    struct err why = { .text = "" };
    int r;

    if (!t)
        return -ENOMEM;
    t->journal_end = journal_last(ctld->journal);
    atomic_store(&t->durable, journal_durable(ctld->journal));
    r = open_database(t, &why);
    if (r < 0 && may_pass(r)) {
        log_error("%s: trying again, nothing is lost meanwhile", why.text);
        t->failing = true;
        r = 0;
    }
    pool.ctx = t;
    if (r == 0)
        r = acctpool_new(&pool, &t->pool);
    if (r == 0)
        r = -pthread_create(&t->thread, NULL, run, t);
    if (r < 0) {
        (void)acctthread_stop(t); /* always NULL */
        return err_set(err, r, "%s", why.text[0] ? why.text : strerrordesc_np(-r));
    }
    t->running = true;
    (void)pthread_setname_np(t->thread, "acct"); /* a label for people only */
    *ret = t;
    return 0;
}
