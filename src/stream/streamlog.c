/* streamlog.c - see streamlog.h: the batch under way, the witness's set, start and end.
 *
 * Lock order: there is one lock.  No call of the network is made with it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/failpoint.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "base/process/threadname.h"
#include "journal/files.h"
#include "stream/streamlog_impl.h"
#include "stream/streampeer.h"

#define SETTLE_US 200000 /* then the writer looks whether it is to end */
#define KEEP_US 50000    /* between two looks at the set */
#define KEEP_FAILED_US 300000
#define WITNESS_TRY_MS 1000

static void lock_log(struct streamlog *l)
{
    (void)pthread_mutex_lock(&l->lock); /* a plain mutex, held by no one for long */
}

static void unlock_log(struct streamlog *l)
{
    (void)pthread_mutex_unlock(&l->lock);
}

/* ---- the journal's writer -------------------------------------------------------------------- */

static void offer_batch(void *ctx, uint64_t first_lsn, uint32_t records, const uint8_t *data,
                        size_t len)
{
    struct streamlog *l = ctx;
    struct shared_bytes *copy = shared_new(len);

    if (copy)
        memcpy(copy->data, data, len);
    else
        log_nomem("the batch of record %llu goes to the standbys from the disk",
                  (unsigned long long)first_lsn);
    lock_log(l);
    l->offer = shared_unref(l->offer);
    l->offer = copy;
    l->offer_first = first_lsn;
    l->offer_last = first_lsn + records - 1;
    l->bytes += len;
    (void)pthread_cond_broadcast(&l->changed);
    unlock_log(l);
}

static int settle_batch(void *ctx, uint64_t last_lsn)
{
    struct streamlog *l = ctx;
    int64_t until = now_mono_us() + SETTLE_US;
    int r = -EAGAIN;

    lock_log(l);
    pact_synced(&l->pact, last_lsn);
    while (r == -EAGAIN) {
        if (pact_commit(&l->pact) >= last_lsn)
            r = 0;
        else if (l->pact.over)
            r = -EOWNERDEAD;
        else if (now_mono_us() >= until)
            break;
        else
            streamlog_wait(l, until);
    }
    if (r == 0) {
        l->offer = shared_unref(l->offer);
        (void)pthread_cond_broadcast(&l->changed); /* it may be told */
    }
    unlock_log(l);
    return r;
}

/* It goes to the standbys between their batches; nobody waits for it. */
static int keep_snapshot(void *ctx, uint64_t lsn, int fd, uint64_t keep_lsn)
{
    struct streamlog *l = ctx;

    (void)fd; /* it is opened again by who sends it */
    lock_log(l);
    l->push_lsn = lsn;
    l->push_keep = keep_lsn;
    (void)pthread_cond_broadcast(&l->changed);
    unlock_log(l);
    return 0;
}

/* ---- the set --------------------------------------------------------------------------------- */

static void learn_record(struct streamlog *l, const struct pact_record *record)
{
    bool over = l->pact.over;
    uint64_t version = l->pact.version;

    pact_learn(&l->pact, record);
    if (record->term > atomic_load(l->config.newest))
        atomic_store(l->config.newest, record->term);
    if (l->pact.over && !over)
        log_error("term %u is over: %s has term %u", l->pact.term, record->holder.host,
                  record->term);
    if (l->pact.version != version) {
        char text[PACT_SET_MAX * (PACT_HOST_BYTES + 1)] = "";
        size_t n = 0;

        for (uint32_t i = 0; i < record->in_sync.n; i++)
            n += (size_t)snprintf(text + n, sizeof(text) - n, " %s", record->in_sync.v[i].host);
        log_info("in sync:%s", text);
    }
    (void)pthread_cond_broadcast(&l->changed);
}

void streamlog_learn(struct streamlog *l, const struct pact_record *record)
{
    lock_log(l);
    if (l->begun)
        learn_record(l, record);
    l->witness_answers = true;
    unlock_log(l);
}

static void note_trouble(struct streamlog *l, const struct err *err)
{
    log_limited(LOG_ERROR, "%s", err->text);
    lock_log(l);
    l->witness_errors++;
    l->witness_answers = false;
    unlock_log(l);
}

/* Send one change, if there is one to send.  False: the witness did not answer. */
static bool keep_set(struct streamlog *l)
{
    struct witness_state state;
    struct err err = { .text = "" };
    struct pact_change c;
    bool want;
    int r;

    lock_log(l);
    want = pact_want(&l->pact, term_clock_us(), (int64_t)l->config.stream->patience_ms * 1000, &c);
    if (want)
        (void)pthread_cond_broadcast(&l->changed); /* who is waited for has changed */
    unlock_log(l);
    if (!want)
        return true;
    r = witcall_change(l->call, &c, NULL, &state, &err);
    if (r < 0) {
        note_trouble(l, &err);
        return false;
    }
    streamlog_learn(l, &state.record);
    return true;
}

static void *keeper_main(void *arg)
{
    struct streamlog *l = arg;
    bool stop = false, well = true;

    threadname_set(pthread_self(), "in-sync");
    while (!stop) {
        int64_t until = now_mono_us() + (well ? KEEP_US : KEEP_FAILED_US);

        lock_log(l);
        while (!l->stop && now_mono_us() < until)
            streamlog_wait_cond(l, &l->keep, until);
        stop = l->stop;
        unlock_log(l);
        if (!stop)
            well = keep_set(l);
    }
    return NULL;
}

/* With the lock. */
static bool is_confirmed(const struct streamlog *l, int64_t since_us)
{
    for (uint32_t i = 0; i < l->pact.n; i++) {
        const struct pact_peer *v = &l->pact.v[i];

        if ((v->in_sync || v->maybe) && (!v->matched || l->confirmed_us[i] < since_us))
            return false;
    }
    return !l->pact.over;
}

bool streamlog_confirm(struct streamlog *l, int64_t since_us, int64_t wait_us)
{
    int64_t until = now_mono_us() + wait_us;
    bool yes;

    lock_log(l);
    while (!(yes = is_confirmed(l, since_us)) && !l->stop && !l->pact.over && now_mono_us() < until)
        streamlog_wait(l, until);
    unlock_log(l);
    return yes;
}

static const struct pact_peer *peer_of(const struct streamlog *l, const char *host)
{
    const struct pact_peer *found = NULL;

    for (uint32_t i = 0; i < l->pact.n; i++)
        if (strcasecmp(l->pact.v[i].who.host, host) == 0 && (!found || l->pact.v[i].in_sync))
            found = &l->pact.v[i];
    return found;
}

bool streamlog_in_sync(struct streamlog *l, const char *host)
{
    const struct pact_peer *v;
    bool yes;

    lock_log(l);
    v = peer_of(l, host);
    yes = v && v->in_sync;
    unlock_log(l);
    return yes;
}

void streamlog_get_stats(struct streamlog *l, struct streamlog_stats *ret)
{
    int64_t now = term_clock_us();

    *ret = (struct streamlog_stats){ .n = l->n_peers };
    lock_log(l);
    ret->witness_errors = l->witness_errors;
    ret->witness_answers = l->witness_answers;
    ret->aside = l->aside;
    for (size_t i = 0; i < l->n_peers; i++) {
        const struct stream_peer *p = &l->peers[i];
        struct streamlog_peer *out = &ret->peers[i];
        const struct pact_peer *v = peer_of(l, p->host);
        bool behind = !v || !v->matched || v->acked < l->pact.synced;

        (void)snprintf(out->host, sizeof(out->host), "%s", p->host);
        out->in_sync = v && v->in_sync;
        out->follows = p->index >= 0;
        out->aside = p->aside;
        if (behind && p->current_us) {
            out->lag_bytes = l->bytes - p->acked_bytes;
            out->lag_us = (uint64_t)MAX(now - p->current_us, INT64_C(0));
        }
        (void)snprintf(out->why, sizeof(out->why), "%s", p->why);
    }
    unlock_log(l);
}

/* ---- life ------------------------------------------------------------------------------------ */

int streamlog_new(const struct streamlog_config *config, struct streamlog **ret, struct err *err)
{
    struct streamlog *l = calloc(1, sizeof(*l));
    pthread_condattr_t attr;
    int r;

    if (!l)
        return err_nomem(err);
    (void)pthread_mutex_init(&l->lock, NULL); /* none of these can fail with these arguments */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&l->changed, &attr);
    (void)pthread_cond_init(&l->keep, &attr);
    (void)pthread_condattr_destroy(&attr);
    l->config = *config;
    l->dir_fd = -1;
    l->config.dir = strdup(config->dir);
    l->remote = (struct journal_remote){
        .offer = offer_batch, .settle = settle_batch, .snapshot = keep_snapshot, .ctx = l
    };
    r = l->config.dir ? witcall_new(config->link, config->stream, WITNESS_TRY_MS, &l->call)
                      : -ENOMEM;
    if (r < 0) {
        (void)streamlog_free(l); /* always NULL */
        return err_nomem(err);
    }
    *ret = l;
    return 0;
}

int streamlog_add(struct streamlog *l, const char *host, const char *addr)
{
    struct stream_peer *p = &l->peers[l->n_peers];

    if (l->n_peers == PACT_SET_MAX - 1 || strlen(host) >= sizeof(p->host) ||
        strlen(addr) >= sizeof(p->addr))
        return -EINVAL;
    *p = (struct stream_peer){ .l = l, .index = -1, .part_fd = -1 };
    (void)snprintf(p->host, sizeof(p->host), "%s", host);
    (void)snprintf(p->addr, sizeof(p->addr), "%s", addr);
    l->n_peers++;
    return 0;
}

/* The log gets the name that all its copies will have, if it has none. */
static int name_log(struct streamlog *l, struct err *err)
{
    int r = streamid_load(l->dir_fd, &l->id, err);

    if (r == 0 && l->id.own != l->config.record.holder.id)
        r = err_set(err, -EUCLEAN, "%s/" JOURNAL_SUBDIR "/" JOURNAL_ID_NAME " has been changed",
                    l->config.dir);
    if (r == 0 && !l->id.log)
        r = streamid_random(&l->id.log, err);
    if (r == 0) {
        l->id.promised = l->config.record.term;
        r = streamid_store(l->dir_fd, &l->id, err);
    }
    return r;
}

static uint64_t newest_snapshot(const struct streamlog *l)
{
    _cleanup_val_(file_list_done) struct file_list files = { 0 };

    if (file_list_read(l->dir_fd, &files) < 0 || !files.snapshots.n)
        return 0;
    return files.snapshots.lsn[files.snapshots.n - 1];
}

int streamlog_start(struct streamlog *l, uint64_t last, struct err *err)
{
    int r = journal_dir_open(l->config.dir, false, &l->dir_fd, err);

    if (r == 0)
        r = name_log(l, err);
    if (r < 0)
        return r;
    lock_log(l);
    pact_begin(&l->pact, &l->config.record, last);
    if (failpoint("stream.alone")) /* the planted fault that a check of histories has to find */
        l->pact.fault = 1;
    l->begin = last + 1;
    l->push_lsn = newest_snapshot(l);
    aside_trim(l->dir_fd, &l->aside); /* nothing more is put aside while this controller leads */
    l->begun = true;
    unlock_log(l);
    r = -pthread_create(&l->keeper, NULL, keeper_main, l);
    l->started = r == 0;
    for (size_t i = 0; i < l->n_peers && r == 0; i++) {
        r = -pthread_create(&l->peers[i].thread, NULL, stream_peer_main, &l->peers[i]);
        l->peers[i].started = r == 0;
    }
    return r < 0 ? err_set(err, r, "no thread can be made: %s", strerrordesc_np(-r)) : 0;
}

struct streamlog *streamlog_free(struct streamlog *l)
{
    if (!l)
        return NULL;
    lock_log(l);
    l->stop = true;
    for (size_t i = 0; i < l->n_peers; i++)
        if (l->peers[i].client)
            (void)shutdown(client_fd(l->peers[i].client), SHUT_RDWR); /* nobody waits for it */
    (void)pthread_cond_broadcast(&l->changed);
    (void)pthread_cond_broadcast(&l->keep);
    unlock_log(l);
    for (size_t i = 0; i < l->n_peers; i++)
        if (l->peers[i].started)
            (void)pthread_join(l->peers[i].thread, NULL); /* our own threads, joined once */
    if (l->started)
        (void)pthread_join(l->keeper, NULL);
    l->offer = shared_unref(l->offer);
    l->call = witcall_free(l->call);
    if (l->dir_fd >= 0)
        (void)close(l->dir_fd); /* was only a handle */
    free((char *)l->config.dir);
    (void)pthread_cond_destroy(&l->changed);
    (void)pthread_cond_destroy(&l->keep);
    (void)pthread_mutex_destroy(&l->lock);
    free(l);
    return NULL;
}

const struct journal_remote *streamlog_remote(const struct streamlog *l)
{
    return &l->remote;
}
