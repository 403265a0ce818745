/* acctthread.c - the thread that brings the journal's records to the accounting store
 *
 * It reads the journal through a cursor of its own and applies batches of up to BATCH_RECORDS,
 * or the records of BATCH_US, or longer where slurmdbd wants it (CommitDelay).  A request that
 * waits for the cursor ends a batch early.  After any failure the batch is undone and read again
 * from the stored cursor after RETRY_US: the place is never lost.  Only requests for accounting
 * records ever wait for this thread.
 *
 * The journal itself is not touched after the start, so it may be closed first; what is on disk
 * comes in through acctthread_durable(). */
#include "ctld/acct/acctthread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acct/acct.h"
#include "acctd/acctops.h"
#include "acctd/serve.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/logflags.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "base/process/threadname.h"
#include "ctld/acct/acctsink.h"
#include "ctld/ctld.h"
#include "wire/errors.h"
#include "wire/server/server.h"

#define BATCH_RECORDS 2000u
#define BATCH_US 50000
#define RETRY_US 500000
#define IDLE_US (30 * USEC_PER_SEC) /* with nothing to store, the store is told so */
/* what is older than this is on disk, unless the disk stands still */
#define SETTLED_US (5 * USEC_PER_SEC)

struct acctthread {
    struct ctld *ctld;
    _Atomic uint64_t most_waiting; /* records that may wait; 0: any number */
    char *journal_dir;
    uint64_t journal_end;  /* at the start */
    _Atomic unsigned keep; /* enum acct_keep */
    _Atomic uint32_t most_steps;
    uid_t slurm_uid;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t wake;     /* wakes the thread: there is more to do, or a request waits */
    pthread_cond_t advanced; /* wakes the requests that wait for the cursor */
    _Atomic uint64_t durable, cursor;
    unsigned waiting;    /* under the lock */
    uint64_t wanted;     /* by a query; likewise */
    bool stopping;       /* likewise */
    struct serve *serve; /* NULL: slurmdbd answers */
    /* the thread's own */
    struct acctsink *sink;
    struct journal_reader *reader;
    struct pb_arena *arena;
    uint64_t read_lsn;   /* newest taken from the journal */
    atomic_bool failing; /* and said so; any thread reads it */
};

static struct timespec timespec_of(int64_t mono_us)
{
    return (struct timespec){ .tv_sec = mono_us / USEC_PER_SEC,
                              .tv_nsec = mono_us % USEC_PER_SEC * 1000 };
}

/* ---- reading and storing --------------------------------------------------------------------- */

static int open_sink(struct acctthread *t, struct err *err)
{
    uint64_t end = MAX(t->journal_end, atomic_load(&t->durable)); /* it has grown since */
    int r;

    t->sink->keep = atomic_load(&t->keep);
    t->sink->most_steps = atomic_load(&t->most_steps);
    r = t->sink->ops->open(t->sink, end, err);

    if (r == 0)
        atomic_store(&t->cursor, t->sink->cursor);
    return r;
}

static int open_reader(struct acctthread *t, struct err *err)
{
    uint64_t cursor = t->sink->cursor;
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
    return t->sink->ops->add(t->sink, lsn, tx, err);
}

/* Wait for more until the batch is due.  False: it is. */
static bool wait_for_more(struct acctthread *t, int64_t until_mono_us)
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
    int64_t until = now_mono_us() + MAX(BATCH_US, t->sink->gather_us);
    unsigned n = 0;

    while (n < BATCH_RECORDS && (n % 64 || now_mono_us() < until) && !t->sink->ops->full(t->sink)) {
        uint64_t durable = atomic_load(&t->durable), lsn;
        const uint8_t *data;
        size_t len;
        int r;

        if (atomic_load(&t->keep) != t->sink->keep ||
            atomic_load(&t->most_steps) != t->sink->most_steps)
            break; /* what is on disk by now may be from behind that: the next batch goes by it */
        r = journal_reader_next(t->reader, durable, &lsn, &data, &len, err);
        if (r > 0) {
            r = store_one(t, lsn, data, len, err);
            t->read_lsn = lsn;
            n++;
        } else if (r == 0 && !wait_for_more(t, until)) {
            break;
        }
        if (r < 0)
            return r;
    }
    return (int)n;
}

static int run_batch(struct acctthread *t, struct err *err)
{
    int64_t fed_us = now_us() - SETTLED_US;
    int r = open_sink(t, err);

    if (r == 0 && !t->reader)
        r = open_reader(t, err);
    if (r == 0)
        r = t->sink->ops->begin(t->sink, err);
    if (r < 0)
        return r;
    r = fill_batch(t, err);
    if (r < 0) {
        t->sink->ops->close(t->sink); /* undoes the batch; the next round opens the sink again */
        return r;
    }
    if (atomic_load(&t->durable) > t->read_lsn)
        fed_us = 0; /* there is more */
    return t->sink->ops->commit(t->sink, fed_us, err);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void note_success(struct acctthread *t)
{
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->cursor, t->sink->cursor);
    if (t->waiting)
        pthread_cond_broadcast(&t->advanced);
    pthread_mutex_unlock(&t->lock);
    if (t->serve)
        serve_advanced(t->serve, NULL);
    if (t->failing)
        log_info("accounting: works again, at record %llu", (unsigned long long)t->sink->cursor);
    t->failing = false;
}

/* max_dbd_msg_action=exit: too much waits.  Before the cursor is known, what this controller wrote
 * itself counts. */
static void check_waiting(struct acctthread *t)
{
    uint64_t most = atomic_load(&t->most_waiting), durable = atomic_load(&t->durable),
             from = MAX(atomic_load(&t->cursor), t->journal_end);

    if (!most || durable <= from || durable - from <= most || atomic_load(&t->ctld->acct_full))
        return;
    log_fatal("accounting: %llu records wait to be stored, and MaxDBDMsgs is %llu: "
              "max_dbd_msg_action=exit",
              (unsigned long long)(durable - from), (unsigned long long)most);
    atomic_store(&t->ctld->acct_full, true);
    ctld_stop(t->ctld);
}

/* Say it once, and try again later from the stored cursor. */
static void note_failure(struct acctthread *t, int r, const struct err *err)
{
    const char *text = err->text[0] ? err->text : strerrordesc_np(-r);
    struct timespec ts = timespec_of(now_mono_us() + RETRY_US);

    if (!t->failing)
        log_error("%s: trying again, nothing is lost meanwhile", text);
    t->failing = true;
    t->reader = journal_reader_close(t->reader);
    check_waiting(t);
    if (t->serve)
        serve_advanced(t->serve, text);
    pthread_mutex_lock(&t->lock);
    while (!t->stopping)
        if (pthread_cond_timedwait(&t->wake, &t->lock, &ts) == ETIMEDOUT)
            break;
    pthread_mutex_unlock(&t->lock);
}

/* Until there is something to store, or to say.  False: the end. */
static bool wait_for_work(struct acctthread *t)
{
    struct timespec ts = timespec_of(now_mono_us() + IDLE_US);
    bool go;

    pthread_mutex_lock(&t->lock);
    while (!t->stopping && !t->failing && t->sink->open &&
           atomic_load(&t->durable) <= atomic_load(&t->cursor))
        if (pthread_cond_timedwait(&t->wake, &t->lock, &ts) == ETIMEDOUT)
            break;
    go = !t->stopping;
    pthread_mutex_unlock(&t->lock);
    return go;
}

static void *run_writer(void *arg)
{
    struct acctthread *t = arg;

    while (wait_for_work(t)) {
        struct err err = { .text = "" };
        int r = run_batch(t, &err);

        if (r < 0)
            note_failure(t, r, &err);
        else
            note_success(t);
        log_flag(DBD_AGENT, "%s, stored up to record %llu",
                 r < 0 ? "nothing could be stored" : "a batch is stored",
                 (unsigned long long)t->sink->cursor);
    }
    return NULL;
}

/* ---- for others ------------------------------------------------------------------------------ */

static uint64_t cursor_of(void *arg)
{
    return acctthread_cursor(arg);
}

static void hurry_batch(void *arg, uint64_t lsn)
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

bool acctthread_fails(const struct acctthread *t)
{
    return t && atomic_load(&t->failing);
}

bool acctthread_is_remote(const struct acctthread *t)
{
    return t && !t->serve;
}

void acctthread_stats(struct acctthread *t, Pst__DiagReply *reply, bool reset)
{
    if (t && t->serve)
        serve_stats(t->serve, reply, reset);
}

unsigned acctthread_keep(const struct acctthread *t)
{
    return t ? atomic_load(&t->keep) : 0;
}

void acctthread_reconfigured(struct acctthread *t, const struct conf *conf)
{
    if (!t)
        return;
    atomic_store(&t->keep, acctsink_keep(conf)); /* before what comes later is on disk */
    atomic_store(&t->most_steps, acctsink_most_steps(conf));
    atomic_store(&t->most_waiting, acctsink_most_waiting(conf));
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

void acctthread_catch_up(struct acctthread *t, int timeout_ms)
{
    if (t)
        (void)acctthread_wait(t, atomic_load(&t->durable), timeout_ms); /* nobody waits longer */
}

void acctthread_request(struct acctthread *t, struct conn *conn, const struct frame *frame,
                        uint64_t shown_lsn)
{
    if (t && t->serve)
        serve_request(t->serve, conn, frame, MAX(shown_lsn, atomic_load(&t->durable)));
    else
        (void)conn_error(conn, frame->op, frame->id, t ? EPST_BAD_REQUEST : ESLURM_DISABLED,
                         t ? "Accounting is with slurmdbd: ask there"
                           : "Slurm accounting storage is disabled");
}

/* ---- start and stop -------------------------------------------------------------------------- */

/* May the same call succeed later, without an administrator's help? */
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
    if (t->sink)
        t->sink->ops->interrupt(t->sink);
    if (t->running)
        pthread_join(t->thread, NULL);
    t->serve = serve_free(t->serve);
    t->reader = journal_reader_close(t->reader);
    if (t->sink)
        t->sink->ops->free(t->sink);
    t->arena = pb_arena_free(t->arena);
    pthread_cond_destroy(&t->advanced);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    free(t->journal_dir);
    free(t);
    return NULL;
}

static struct acctthread *thread_new(const char *journal_dir)
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
    t->journal_dir = strdup(journal_dir);
    if (!t->journal_dir || pb_arena_new(&t->arena) < 0)
        return acctthread_stop(t);
    return t;
}

static bool is_admin(void *ctx, uid_t uid)
{
    const struct acctthread *t = ctx;

    return uid == 0 || uid == getuid() || uid == t->slurm_uid;
}

/* The embedded store: opened at once, so that a damaged one is seen at the start. */
static int start_embedded(struct acctthread *t, struct ctld *ctld, const char *db_path,
                          struct err *err)
{
    const char *cluster = ctld->conf ? conf_str(ctld->conf, CONF_CLUSTER_NAME) : NULL;
    struct serve_config config = { .find_op = serve_op,
                                   .location = db_path,
                                   .cluster = cluster,
                                   .cursor = cursor_of,
                                   .hurry = hurry_batch,
                                   .ctx = t,
                                   .is_admin = is_admin,
                                   .admin_ctx = t };
    int r = acctsink_embedded(db_path, cluster, &t->sink);

    if (r == 0)
        r = open_sink(t, err);
    if (r < 0 && may_pass(r)) {
        log_error("%s: trying again, nothing is lost meanwhile", err->text);
        err->text[0] = '\0';
        t->failing = true;
        r = 0;
    }
    return r < 0 ? r : serve_new(&config, &t->serve);
}

int acctthread_start(struct ctld *ctld, const char *db_path, const char *journal_dir,
                     struct acctthread **ret, struct err *err)
{
    struct acctthread *t = thread_new(journal_dir);
    struct err why = { .text = "" };
    int r;

    if (!t)
        return -ENOMEM;
    t->journal_end = journal_last(ctld->journal);
    atomic_store(&t->keep, ctld->conf ? acctsink_keep(ctld->conf) : (unsigned)ACCT_KEEP_ALL);
    atomic_store(&t->most_steps, ctld->conf ? acctsink_most_steps(ctld->conf) : UINT32_MAX);
    t->ctld = ctld;
    atomic_store(&t->most_waiting, ctld->conf ? acctsink_most_waiting(ctld->conf) : 0);
    t->slurm_uid = ctld->conf ? conf_slurm_uid(ctld->conf) : getuid();
    atomic_store(&t->durable, journal_durable(ctld->journal));
    r = db_path ? start_embedded(t, ctld, db_path, &why)
                : acctsink_slurmdbd(ctld->conf, ctld->cluster->rec->cluster_id, &t->sink);
    if (r == 0)
        r = -pthread_create(&t->thread, NULL, run_writer, t);
    if (r < 0) {
        (void)acctthread_stop(t); /* always NULL */
        return err_set(err, r, "%s", why.text[0] ? why.text : strerrordesc_np(-r));
    }
    t->running = true;
    threadname_set(t->thread, "acct");
    *ret = t;
    return 0;
}
