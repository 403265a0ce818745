/* streamtail.c - see streamtail.h.
 *
 * The thread has `files`; `pact` and what streamtail_look() tells are under the lock.  A request is
 * carried out from its check to its sync with `busy` set, which streamtail_claim() waits for. */
#include "stream/streamtail.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/process/threadname.h"
#include "model/tx.h"

#include "journal/term.h"
#include "stream/pactwire.h"
#include "stream/streamrec.h"
#include "stream/tailfiles.h"

#define IDENTITY_BYTES 32u
#define WAITING_MAX 16u /* requests; a controller sends one, and waits for the answer */

struct waiting {
    void *conn;
    uint32_t id;
    Pst__StreamRequest *req;
};

struct streamtail {
    streamtail_answer_fn *answer;
    uint8_t identity[IDENTITY_BYTES]; /* zeros: none */
    struct pact_member who;           /* id: under lock, changed by the thread */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;    /* to the thread */
    pthread_cond_t changed; /* from it: it is not busy any more */
    /* under lock */
    struct waiting queue[WAITING_MAX];
    uint32_t n_queue;
    bool stop, busy, made_anew;
    struct pact_tail pact;
    uint32_t newest;
    int64_t heard_us;
    /* the thread's */
    struct tailfiles files;
    uint64_t session; /* 0: none */
    uint8_t *batch;   /* pieces so far */
    size_t batch_len, batch_cap;
    uint64_t batch_first;
};

static void lock_tail(struct streamtail *t)
{
    (void)pthread_mutex_lock(&t->lock); /* a plain mutex, held by no one for long */
}

static void unlock_tail(struct streamtail *t)
{
    (void)pthread_mutex_unlock(&t->lock);
}

/* ---- hello ----------------------------------------------------------------------------------- */

static int read_history(const Pst__StreamRequest *req, struct pact_history *ret)
{
    int r = req->n_history && req->n_history % 2 == 0 ? 0 : -EINVAL;

    *ret = (struct pact_history){ .n = 0 };
    for (size_t i = 0; i < req->n_history && r == 0; i += 2)
        r = req->history[i] > UINT32_MAX
                ? -EINVAL
                : pact_history_add(ret, (uint32_t)req->history[i], req->history[i + 1]);
    /* its newest run is that of its own term */
    return r == 0 && ret->n && ret->v[ret->n - 1].term == req->term ? 0 : -EINVAL;
}

/* What our log has in common with another one is known only if both began as one. */
static struct pact_history own_history(const struct streamtail *t, uint64_t log)
{
    struct pact_history none = { .n = 0 };

    return t->files.id.log == log ? t->files.history : none;
}

static int keep_promise(struct streamtail *t, uint64_t log, uint32_t promised, struct err *err)
{
    struct streamid id = t->files.id;
    int r;

    id.promised = promised;
    if (!t->files.last && !t->files.snapshot_lsn)
        id.log = log; /* a log that begins here */
    if (id.promised == t->files.id.promised && id.log == t->files.id.log)
        return 0;
    r = streamid_store(t->files.dir_fd, &id, err);
    if (r == 0)
        t->files.id = id;
    return r;
}

static int cut_log(struct streamtail *t, const struct pact_history *active, uint64_t lsn,
                   struct err *err)
{
    if (lsn >= t->files.last)
        return 0;
    log_info("the log ends with record %llu, which is also the active controller's; it had records "
             "up to %llu",
             (unsigned long long)lsn, (unsigned long long)t->files.last);
    return tailfiles_cut(&t->files, lsn, pact_history_term(active, lsn + 1), err);
}

/* Nodes know all controllers by one key: one that has another is of no use. */
static bool has_identity(const struct streamtail *t, const Pst__StreamRequest *req)
{
    static const uint8_t none[IDENTITY_BYTES];

    return memcmp(t->identity, none, sizeof(none)) == 0 || !req->data.len ||
           (req->data.len == sizeof(none) &&
            memcmp(req->data.data, t->identity, sizeof(none)) == 0);
}

static int take_hello(struct streamtail *t, const Pst__StreamRequest *req, struct err *err)
{
    struct pact_history active, ours;
    uint64_t lsn = 0;
    uint32_t promised;
    int r, kept;

    t->session = 0;
    t->batch_len = 0;
    if (read_history(req, &active) < 0 || !req->log || !req->session)
        return err_set(err, -EBADMSG, "the history of the log makes no sense");
    if (!has_identity(t, req))
        return err_set(err, -EKEYREJECTED,
                       "slurmctld.key of %s is another than that of the active controller: copy it",
                       t->who.host);
    ours = own_history(t, req->log);
    lock_tail(t);
    r = pact_tail_hello(&t->pact, req->term, &active, &ours, &lsn);
    promised = t->pact.promised;
    unlock_tail(t);
    if (r == -ESTALE)
        return r;
    kept = keep_promise(t, req->log, promised, err);
    if (kept < 0)
        return kept;
    if (r == -EUCLEAN)
        return err_set(err, r,
                       "%s lacks records that were acknowledged: its log has %llu in common with "
                       "ours",
                       "the active controller", (unsigned long long)lsn);
    t->session = req->session;
    return r == 0 ? cut_log(t, &active, lsn, err) : r;
}

/* ---- records --------------------------------------------------------------------------------- */

static int add_piece(struct streamtail *t, const Pst__StreamRequest *req, struct err *err)
{
    size_t n = req->data.len, need = t->batch_len + n;

    if (t->batch_len && t->batch_first != req->first)
        return err_set(err, -EBADMSG, "a piece of records is not the next one");
    if (need > STREAM_BATCH_MAX)
        return err_set(err, -EBADMSG, "a batch of records is too long");
    if (need > t->batch_cap) {
        size_t cap = MAX(need, 2 * t->batch_cap);
        uint8_t *p = realloc(t->batch, cap);

        if (!p)
            return err_nomem(err);
        t->batch = p;
        t->batch_cap = cap;
    }
    memcpy(t->batch + t->batch_len, req->data.data, n);
    t->batch_len = need;
    t->batch_first = req->first;
    return 0;
}

static int write_batch(struct streamtail *t, const Pst__StreamRequest *req, struct err *err)
{
    uint64_t last;
    int r = streamrec_check(t->batch, t->batch_len, req->first, &last);

    if (r < 0)
        return err_set(err, r, "records from %llu on are damaged", (unsigned long long)req->first);
    lock_tail(t);
    r = pact_tail_append(&t->pact, req->term, req->first, last);
    unlock_tail(t);
    if (r < 0)
        return err_set(err, r, "records from %llu on are not the next ones",
                       (unsigned long long)req->first);
    if (req->data_term > req->term)
        return err_set(err, -EBADMSG, "records are of a term to come");
    r = tailfiles_append(&t->files, req->data_term, t->batch, t->batch_len, last, err);
    if (r < 0)
        return r;
    lock_tail(t);
    pact_tail_synced(&t->pact, last);
    unlock_tail(t);
    return 0;
}

static int take_records(struct streamtail *t, const Pst__StreamRequest *req, struct err *err)
{
    int r = add_piece(t, req, err);

    if (r == 0 && req->has_more && req->more)
        return 0;
    if (r == 0)
        r = write_batch(t, req, err);
    t->batch_len = 0;
    return r;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

/* A copy of the active controller's log takes the place of ours. */
static int finish_copy(struct streamtail *t, const Pst__StreamRequest *req, struct err *err)
{
    struct streamid id;
    bool has = req->snapshot > 0;
    int r;

    lock_tail(t);
    r = !t->pact.claiming && t->pact.wanting && t->pact.promised == req->term ? 0 : -ESTALE;
    unlock_tail(t);
    if (r < 0)
        return r;
    r = tailfiles_replace(&t->files, has, req->data_term, err);
    if (r == 0) {
        id = t->files.id;
        id.log = req->log;
        r = streamid_store(t->files.dir_fd, &id, err);
    }
    if (r < 0)
        return r;
    t->files.id = id;
    log_info("the log begins anew behind record %llu, with the active controller's snapshot",
             (unsigned long long)t->files.last);
    lock_tail(t);
    r = pact_tail_copied(&t->pact, req->term, t->files.last);
    t->who.id = id.own;
    t->made_anew = true;
    unlock_tail(t);
    return r;
}

/* One of our own log, which makes files superfluous. */
static int finish_snapshot(struct streamtail *t, const Pst__StreamRequest *req, struct err *err)
{
    bool ours;

    lock_tail(t);
    ours = t->pact.stream == req->term && req->snapshot <= t->pact.committed;
    unlock_tail(t);
    if (!ours || req->snapshot <= t->files.snapshot_lsn)
        return 0; /* the next one will do */
    return tailfiles_publish(&t->files, req->has_keep ? req->keep : 0, err);
}

static int take_snapshot(struct streamtail *t, const Pst__StreamRequest *req, struct err *err)
{
    bool copy = req->has_copy && req->copy;
    int r = 1;

    if (req->total)
        r = tailfiles_part(&t->files, req->snapshot, req->offset, req->total, req->data.data,
                           req->data.len, err);
    else if (!copy || req->snapshot)
        return err_set(err, -EBADMSG, "a snapshot of no bytes");
    if (r <= 0)
        return r;
    return copy ? finish_copy(t, req, err) : finish_snapshot(t, req, err);
}

/* ---- requests -------------------------------------------------------------------------------- */

static int carry_out(struct streamtail *t, const Pst__StreamRequest *req, struct err *err)
{
    int r;

    if (!req->has_term || !req->term)
        return err_set(err, -EBADMSG, "a request without a term");
    if (req->has_hello && req->hello)
        return take_hello(t, req, err);
    if (!t->session || req->session != t->session)
        return -ESTALE; /* another connection has begun since, or none has */
    lock_tail(t);
    r = !t->pact.claiming && t->pact.promised == req->term ? 0 : -ESTALE;
    if (r == 0 && t->pact.stream == req->term)
        pact_tail_committed(&t->pact, req->committed);
    unlock_tail(t);
    if (r == 0 && req->has_snapshot)
        r = take_snapshot(t, req, err);
    else if (r == 0 && req->data.len)
        r = take_records(t, req, err);
    if (r == 0) {
        lock_tail(t);
        if (t->pact.stream == req->term) /* what was sent with it may be acknowledged */
            pact_tail_committed(&t->pact, req->committed);
        unlock_tail(t);
    }
    return r;
}

static Pst__StreamVerdict verdict_of(int r)
{
    switch (r) {
    case 0:
        return PST__STREAM_VERDICT__STREAM_TAKEN;
    case -ESTALE:
        return PST__STREAM_VERDICT__STREAM_OLD_TERM;
    case -ENODATA:
        return PST__STREAM_VERDICT__STREAM_WANTS_COPY;
    default:
        return PST__STREAM_VERDICT__STREAM_REFUSED;
    }
}

static void tell_outcome(struct streamtail *t, const struct waiting *w, int r, struct err *err)
{
    Pst__StreamReply reply = PST__STREAM_REPLY__INIT;
    Pst__StreamMember who;

    if (r < 0 && r != -ENODATA)
        t->session = 0; /* it has to begin anew */
    if (r < 0 && err->text[0])
        log_limited(LOG_ERROR, "the active controller's log is not taken: %s", err->text);
    lock_tail(t);
    pactwire_tell_member(&t->who, &who);
    t->newest = MAX(t->files.newest_term, t->pact.promised);
    if (r == 0 || r == -ENODATA)
        t->heard_us = term_clock_us();
    t->busy = false;
    (void)pthread_cond_broadcast(&t->changed);
    unlock_tail(t);
    reply.who = &who;
    SET(&reply, verdict, verdict_of(r));
    SET(&reply, last, t->files.last);
    SET(&reply, snapshot, t->files.snapshot_lsn);
    SET(&reply, aside, t->files.aside.folders);
    SET(&reply, aside_bytes, t->files.aside.bytes);
    if (r < 0 && err->text[0])
        reply.why = err->text;
    t->answer(w->conn, w->id, &reply);
    pst__stream_request__free_unpacked(w->req, NULL);
}

/* The next request; false: the end was asked for. */
static bool next_request(struct streamtail *t, struct waiting *ret)
{
    bool stop;

    lock_tail(t);
    while (!t->stop && !t->n_queue)
        (void)pthread_cond_wait(&t->wake, &t->lock);
    stop = t->stop && !t->n_queue;
    if (!stop) {
        *ret = t->queue[0];
        memmove(t->queue, t->queue + 1, --t->n_queue * sizeof(t->queue[0]));
        t->busy = true;
    }
    unlock_tail(t);
    return !stop;
}

static void *tail_main(void *arg)
{
    struct streamtail *t = arg;
    struct waiting w;

    threadname_set(pthread_self(), "stream");
    while (next_request(t, &w)) {
        struct err err = { .text = "" };

        tell_outcome(t, &w, carry_out(t, w.req, &err), &err);
    }
    return NULL;
}

bool streamtail_take(struct streamtail *t, void *conn, uint32_t id, Pst__StreamRequest *req)
{
    bool room;

    lock_tail(t);
    room = t->n_queue < WAITING_MAX && !t->stop;
    if (room) {
        t->queue[t->n_queue++] = (struct waiting){ conn, id, req };
        (void)pthread_cond_signal(&t->wake);
    }
    unlock_tail(t);
    return room;
}

/* ---- the main thread's ----------------------------------------------------------------------- */

void streamtail_claim(struct streamtail *t)
{
    lock_tail(t);
    t->pact.claiming = true;
    while (t->busy)
        (void)pthread_cond_wait(&t->changed, &t->lock);
    unlock_tail(t);
}

void streamtail_unclaim(struct streamtail *t)
{
    lock_tail(t);
    t->pact.claiming = false;
    unlock_tail(t);
}

void streamtail_look(struct streamtail *t, struct streamtail_view *ret)
{
    lock_tail(t);
    *ret = (struct streamtail_view){ .who = t->who,
                                     .term = t->pact.stream,
                                     .newest = t->newest,
                                     .last = t->pact.last,
                                     .committed = t->pact.committed,
                                     .heard_us = t->heard_us,
                                     .made_anew = t->made_anew };
    t->made_anew = false;
    unlock_tail(t);
}

static void begin_pact(struct streamtail *t)
{
    const struct tailfiles *f = &t->files;

    t->pact = (struct pact_tail){ .promised = f->id.promised,
                                  .last = f->last,
                                  .committed = f->id.log ? f->snapshot_lsn : 0 };
    t->who.id = f->id.own;
    t->newest = MAX(f->newest_term, f->id.promised);
}

int streamtail_open(const struct streamtail_config *config, struct streamtail **ret,
                    struct err *err)
{
    struct streamtail *t = calloc(1, sizeof(*t));
    int r;

    if (!t)
        return err_nomem(err);
    r = tailfiles_open(config->dir, &t->files, err);
    if (r < 0) {
        free(t);
        return r;
    }
    t->answer = config->answer;
    if (config->identity)
        memcpy(t->identity, config->identity, sizeof(t->identity));
    (void)snprintf(t->who.host, sizeof(t->who.host), "%s", config->host);
    begin_pact(t);
    (void)pthread_mutex_init(&t->lock, NULL); /* cannot fail with default attributes, as the next */
    (void)pthread_cond_init(&t->wake, NULL);
    (void)pthread_cond_init(&t->changed, NULL);
    r = -pthread_create(&t->thread, NULL, tail_main, t);
    if (r < 0) {
        tailfiles_close(&t->files);
        free(t);
        return err_set(err, r, "no thread can be made: %s", strerrordesc_np(-r));
    }
    *ret = t;
    return 0;
}

struct streamtail *streamtail_close(struct streamtail *t)
{
    if (!t)
        return NULL;
    lock_tail(t);
    t->stop = true;
    (void)pthread_cond_signal(&t->wake);
    unlock_tail(t);
    (void)pthread_join(t->thread, NULL); /* our own thread, joined once */
    tailfiles_close(&t->files);
    free(t->batch);
    (void)pthread_cond_destroy(&t->changed);
    (void)pthread_cond_destroy(&t->wake);
    (void)pthread_mutex_destroy(&t->lock);
    free(t);
    return NULL;
}
