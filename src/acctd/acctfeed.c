/* acctfeed.c - OP_DBD_REGISTER and OP_DBD_FEED; see acctfeed.h.
 *
 * A feed is one batch of the store: rows and cursor become durable together, then the cursor is the
 * answer. A controller that heard no answer registers again and goes on from there, so nothing is
 * lost, and what comes twice is at or below the cursor and left out. */
#include "acctd/acctfeed.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "acct.pb-c.h"
#include "acct/acct.h"
#include "acct/nodeevents.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "event.pb-c.h"
#include "wire/server/server.h"

#define SOURCES_MAX 1024u
#define NAME_MAX_BYTES 64u

struct source {
    struct feeds *feeds;
    char name[NAME_MAX_BYTES];
    pthread_mutex_t lock; /* of all below */
    struct acct *acct;    /* NULL: opened at the next registration */
    struct pb_arena *arena;
    char peer[320];
    /* not under it */
    _Atomic uint64_t conn_id; /* of the controller's connection; 0: never registered */
    _Atomic int64_t gone_us;  /* that connection ended then; 0: it did not */
};

struct feeds {
    char *location;
    feeds_key_fn *tell_key;
    void *key_ctx;
    pthread_mutex_t lock; /* of the list; sources stay where they are */
    struct source *sources[SOURCES_MAX];
    size_t n;
};

struct feeds *feeds_free(struct feeds *f)
{
    if (!f)
        return NULL;
    for (size_t i = 0; i < f->n; i++) {
        (void)acct_close(f->sources[i]->acct); /* always NULL */
        (void)pb_arena_free(f->sources[i]->arena);
        pthread_mutex_destroy(&f->sources[i]->lock);
        free(f->sources[i]);
    }
    pthread_mutex_destroy(&f->lock);
    free(f->location);
    free(f);
    return NULL;
}

int feeds_new(const char *location, struct feeds **ret)
{
    struct feeds *f = calloc(1, sizeof(*f));

    if (!f)
        return -ENOMEM;
    pthread_mutex_init(&f->lock, NULL);
    f->location = strdup(location);
    if (!f->location) {
        feeds_free(f);
        return -ENOMEM;
    }
    *ret = f;
    return 0;
}

void feeds_tell_keys(struct feeds *f, feeds_key_fn *fn, void *ctx)
{
    f->tell_key = fn;
    f->key_ctx = ctx;
}

static void tell_key(void *ctx, const char *user, const char *key)
{
    const struct source *s = ctx;

    if (s->feeds->tell_key)
        s->feeds->tell_key(s->feeds->key_ctx, s->name, user, key);
}

static struct source *source_new(struct feeds *f, const char *name)
{
    struct source *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    if (pb_arena_new(&s->arena) < 0) {
        free(s);
        return NULL;
    }
    s->feeds = f;
    pthread_mutex_init(&s->lock, NULL);
    (void)snprintf(s->name, sizeof(s->name), "%s", name); /* its length was checked */
    return s;
}

/* Found by name, or made; NULL: too many, or no memory. */
static struct source *get_source(struct feeds *f, const char *name, bool make)
{
    struct source *s = NULL;

    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < f->n && !s; i++)
        if (strcmp(f->sources[i]->name, name) == 0)
            s = f->sources[i];
    if (!s && make && f->n < SOURCES_MAX) {
        s = source_new(f, name);
        if (s)
            f->sources[f->n++] = s;
    }
    pthread_mutex_unlock(&f->lock);
    return s;
}

/* ---- controllers that are gone --------------------------------------------------------------- */

void feeds_conn_closed(struct feeds *f, struct conn *conn)
{
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < f->n; i++)
        if (atomic_load(&f->sources[i]->conn_id) == conn_id(conn))
            atomic_store(&f->sources[i]->gone_us, now_us());
    pthread_mutex_unlock(&f->lock);
}

int feeds_note_gone(struct feeds *f, struct sql *db, struct err *err)
{
    size_t n;
    int r = 0;

    pthread_mutex_lock(&f->lock);
    n = f->n;
    pthread_mutex_unlock(&f->lock);
    for (size_t i = 0; r == 0 && i < n; i++) { /* sources stay where they are */
        int64_t gone_us = atomic_load(&f->sources[i]->gone_us);

        if (gone_us)
            r = nodes_note_gone(db, f->sources[i]->name, gone_us);
    }
    return r < 0 ? err_set(err, r, "a controller that is gone cannot be noted: %s", sql_error(db))
                 : 0;
}

/* It is back: the event ends, if there is one. */
static int note_back(struct serve_call *call, struct source *s, struct err *err)
{
    int64_t gone_us = atomic_exchange(&s->gone_us, 0);
    int r = acct_came_back(s->acct, serve_tracks_down(call) ? gone_us : 0, now_us());
    int64_t unset = 0;

    if (r < 0) {
        (void)atomic_compare_exchange_strong(&s->gone_us, &unset, gone_us); /* it is gone still */
        return err_set(err, r, "accounting: %s", acct_error(s->acct));
    }
    return 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

static int check_cluster(struct serve_call *call, const char *cluster, struct err *err)
{
    if (!serve_feeds(call))
        return err_set(err, -EINVAL, "records are taken by slurmdbd, and this is no slurmdbd");
    if (!cluster || !cluster[0] || strlen(cluster) >= NAME_MAX_BYTES)
        return err_set(err, -EINVAL, "a cluster's name has 1 to %u characters", NAME_MAX_BYTES - 1);
    return 0;
}

static int answer_cursor(struct serve_call *call, const struct source *s)
{
    Pst__DbdCursor reply = PST__DBD_CURSOR__INIT;

    reply.has_cursor = true;
    reply.cursor = acct_cursor(s->acct);
    reply.has_commit_delay_s = (reply.commit_delay_s = serve_commit_delay_s(call)) != 0;
    return serve_reply(call, &reply.base, false);
}

static int do_register(struct serve_call *call, struct source *s, const Pst__DbdRegister *req,
                       struct err *err)
{
    const struct peer *peer = conn_peer(serve_conn(call));
    int r;

    s->acct = acct_close(s->acct); /* anew: the database may have been changed by others */
    r = acct_open_source(serve_location(call), s->name, req->uuid, &s->acct, err);
    if (r < 0)
        return r;
    if (req->has_keep)
        acct_keep(s->acct, req->keep);
    acct_tell_keys(s->acct, tell_key, s);
    if (req->has_last_lsn && acct_cursor(s->acct) > req->last_lsn) {
        log_error("cluster %s: stored up to record %llu, and its journal ends at %llu: a repair "
                  "cut it; going on "
                  "from its end",
                  s->name, (unsigned long long)acct_cursor(s->acct),
                  (unsigned long long)req->last_lsn);
        r = acct_rewind(s->acct, req->last_lsn);
        if (r < 0)
            return err_set(err, r, "accounting: %s", acct_error(s->acct));
    }
    r = note_back(call, s, err);
    if (r < 0)
        return r;
    atomic_store(&s->conn_id, conn_id(serve_conn(call)));
    (void)snprintf(s->peer, sizeof(s->peer), "%s", peer->host); /* cut: for the log */
    log_info("cluster %s has registered from %s, at record %llu", s->name, s->peer,
             (unsigned long long)acct_cursor(s->acct));
    return answer_cursor(call, s);
}

int feed_register(struct serve_call *call, const ProtobufCMessage *request, struct err *err)
{
    const Pst__DbdRegister *req = (const Pst__DbdRegister *)request;
    struct source *s;
    int r = check_cluster(call, req->cluster, err);

    if (r < 0)
        return r;
    s = get_source(serve_feeds(call), req->cluster, true);
    if (!s)
        return err_set(err, -EBUSY, "slurmdbd has no room for another cluster");
    pthread_mutex_lock(&s->lock);
    r = do_register(call, s, req, err);
    pthread_mutex_unlock(&s->lock);
    return r;
}

/* One record of the batch. */
static int apply_record(struct source *s, const Pst__DbdRecord *rec, struct err *err)
{
    static const Pst__Transaction nothing = PST__TRANSACTION__INIT;
    const Pst__Transaction *tx;

    pb_arena_reset(s->arena);
    tx = pst__transaction__unpack(pb_arena_allocator(s->arena), rec->data.len, rec->data.data);
    if (!tx) {
        log_error("cluster %s: record %llu cannot be decoded and is left out", s->name,
                  (unsigned long long)rec->lsn);
        tx = &nothing;
    }
    return acct_apply(s->acct, rec->lsn, tx, err);
}

static int store_records(struct source *s, const Pst__DbdFeed *req, struct err *err)
{
    static const Pst__Transaction nothing = PST__TRANSACTION__INIT;
    int r = acct_begin(s->acct);

    if (r < 0)
        return err_set(err, r, "accounting: %s", acct_error(s->acct));
    for (size_t i = 0; r == 0 && i < req->n_records; i++)
        r = apply_record(s, req->records[i], err);
    if (r == 0 && req->upto > acct_cursor(s->acct))
        r = acct_apply(s->acct, req->upto, &nothing, err);
    if (r < 0)
        return r;
    if (req->has_fed_us)
        acct_fed(s->acct, req->fed_us);
    r = acct_commit(s->acct);
    return r < 0 ? err_set(err, r, "accounting: %s", acct_error(s->acct)) : 0;
}

static int do_store(struct serve_call *call, struct source *s, const Pst__DbdFeed *req,
                    struct err *err)
{
    int r;

    if (atomic_load(&s->conn_id) != conn_id(serve_conn(call)))
        return err_set(err, -EINVAL, "cluster %s must register on this connection first", s->name);
    if (!s->acct || req->after != acct_cursor(s->acct))
        return err_set(err, -EINVAL, "cluster %s must register: its cursor is not %llu", s->name,
                       (unsigned long long)req->after);
    r = store_records(s, req, err);
    if (r < 0) {
        log_error("cluster %s: records up to %llu are not stored: %s", s->name,
                  (unsigned long long)req->upto, err->text);
        s->acct = acct_close(s->acct);
        return r;
    }
    return answer_cursor(call, s);
}

int feed_store(struct serve_call *call, const ProtobufCMessage *request, struct err *err)
{
    const Pst__DbdFeed *req = (const Pst__DbdFeed *)request;
    struct source *s;
    int r = check_cluster(call, req->cluster, err);

    if (r < 0)
        return r;
    s = get_source(serve_feeds(call), req->cluster, false);
    if (!s)
        return err_set(err, -EINVAL, "cluster %s must register first", req->cluster);
    pthread_mutex_lock(&s->lock);
    r = do_store(call, s, req, err);
    pthread_mutex_unlock(&s->lock);
    return r;
}
