/* streampeer.c - see streampeer.h.
 *
 * A request at a time, each with its answer.  The newest batch comes from memory, what is behind it
 * from the files, and parts of a snapshot go between them.  A connection begins with hello; the
 * answer tells where to go on. */
#include "stream/streampeer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api.pb-c.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "model/tx.h"

#include "base/timefmt.h"
#include "base/process/threadname.h"
#include "journal/files.h"
#include "journal/format.h"
#include "stream/pactwire.h"
#include "stream/streamlog_impl.h"
#include "stream/streamrec.h"
#include "wire/client.h"

#define CONNECT_MS 1500
#define CALL_MS 5000
#define AGAIN_US 300000 /* between two attempts */
#define AGAIN_MAX_US 10000000
#define WELL_US 30000000 /* a session that goes well for so long makes up for those before */
#define BEAT_PART 8      /* of a lease */
#define BEAT_MIN_US 50000
#define BEAT_MAX_US 250000
#define TELL_US 20000 /* what is acknowledged is told so late at most */

enum work { WORK_STOP, WORK_LIVE, WORK_FILES, WORK_PART, WORK_BEAT };

static void lock_log(struct streamlog *l)
{
    (void)pthread_mutex_lock(&l->lock); /* a plain mutex, held by no one for long */
}

static void unlock_log(struct streamlog *l)
{
    (void)pthread_mutex_unlock(&l->lock);
}

/* ---- one request ----------------------------------------------------------------------------- */

/* Send it, with what every request has.  *ret is to be freed; its verdict is what the caller
 * decides by. */
static int send_request(struct stream_peer *p, Pst__StreamRequest *req, Pst__StreamReply **ret,
                        struct err *err)
{
    struct streamlog *l = p->l;
    int64_t asked_us = term_clock_us();
    ProtobufCMessage *msg = NULL;
    int r;

    SET(req, term, l->config.record.term);
    SET(req, session, p->session);
    SET(req, log, l->id.log);
    lock_log(l);
    p->told = l->pact.committed;
    unlock_log(l);
    SET(req, committed, p->told);
    p->sent_us = now_mono_us();
    r = client_call(p->client, OP_STREAM, &req->base, &msg);
    if (r < 0)
        return err_set(err, r, "%s", client_strerror(p->client, r));
    *ret = PB_AS(stream_reply, msg);
    if ((*ret)->verdict == PST__STREAM_VERDICT__STREAM_TAKEN && p->index >= 0) {
        lock_log(l);
        l->confirmed_us[p->index] = MAX(l->confirmed_us[p->index], asked_us);
        unlock_log(l);
    }
    return 0;
}

/* A request whose answer must be "taken". */
static int send_taken(struct stream_peer *p, Pst__StreamRequest *req, Pst__StreamReply **ret,
                      struct err *err)
{
    Pst__StreamReply *reply = NULL;
    int r = send_request(p, req, &reply, err);

    if (r < 0)
        return r;
    if (reply->verdict != PST__STREAM_VERDICT__STREAM_TAKEN) {
        r = err_set(err, -ESTALE, "%s",
                    reply->why ? reply->why : "it does not take this term's log any more");
        pst__stream_reply__free_unpacked(reply, NULL);
        return r;
    }
    *ret = reply;
    return 0;
}

static void note_ack(struct stream_peer *p, uint64_t last)
{
    struct streamlog *l = p->l;

    lock_log(l);
    if (p->index >= 0) {
        pact_acked(&l->pact, (uint32_t)p->index, last, term_clock_us());
        if (l->pact.v[p->index].acked >= l->pact.synced) {
            p->acked_bytes = l->bytes;
            p->current_us = term_clock_us();
        }
    }
    (void)pthread_cond_broadcast(&l->changed);
    unlock_log(l);
}

/* It has taken a piece of a batch: who takes a long one is not silent. */
static void note_piece(struct stream_peer *p)
{
    struct streamlog *l = p->l;

    lock_log(l);
    if (p->index >= 0)
        pact_heard(&l->pact, (uint32_t)p->index, term_clock_us());
    unlock_log(l);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Which terms our records have. */
static int find_history(const struct streamlog *l, struct pact_history *ret)
{
    _cleanup_val_(file_list_done) struct file_list files = { 0 };
    int r = file_list_read(l->dir_fd, &files);

    *ret = (struct pact_history){ .n = 0 };
    for (size_t i = 0; i < files.segments.n && r == 0; i++)
        if (files.segments.term[i] <= l->config.record.term && files.segments.lsn[i] <= l->begin)
            r = pact_history_add(ret, files.segments.term[i], files.segments.lsn[i]);
    return r == 0 && (!ret->n || ret->v[ret->n - 1].term != l->config.record.term)
               ? pact_history_add(ret, l->config.record.term, l->begin)
               : r;
}

/* One batch, in pieces; the answer to the last one counts. */
static int send_batch(struct stream_peer *p, const uint8_t *data, size_t len, uint64_t first,
                      uint32_t term, struct err *err)
{
    Pst__StreamReply *reply = NULL;
    uint64_t last = 0;
    int r = 0;

    for (size_t at = 0; at < len && r == 0;) {
        Pst__StreamRequest req = PST__STREAM_REQUEST__INIT;
        size_t n = MIN(len - at, (size_t)STREAM_PIECE);

        req.has_data = true;
        req.data = (ProtobufCBinaryData){ n, (uint8_t *)data + at }; /* packed at once */
        SET(&req, first, first);
        SET(&req, data_term, term);
        at += n;
        if (at < len)
            SET(&req, more, true);
        r = send_taken(p, &req, &reply, err);
        if (r == 0) {
            last = reply->last;
            pst__stream_reply__free_unpacked(reply, NULL);
        }
        if (r == 0 && at < len)
            note_piece(p);
    }
    if (r < 0)
        return r;
    if (last < first)
        return err_set(err, -EPROTO, "it took records and does not have them");
    p->next = last + 1;
    note_ack(p, last);
    return 0;
}

/* The batch that is under way, or what of it comes next. */
static int send_live(struct stream_peer *p, struct shared_bytes *batch, uint64_t first,
                     struct err *err)
{
    size_t at = streamrec_offset(batch->data, batch->len, first, p->next);
    int r = 0;

    while (at < batch->len && r == 0) {
        uint64_t records, from = p->next;
        size_t n = streamrec_cut(batch->data + at, batch->len - at, STREAM_PIECE, &records);

        if (!n)
            return err_set(err, -EIO, "the batch makes no sense");
        r = send_batch(p, batch->data + at, n, from, p->l->config.record.term, err);
        at += n;
        if (r == 0 && p->next != from + records)
            return err_set(err, -EPROTO, "it has other records than were sent");
    }
    return r;
}

static int grow_buffer(struct stream_peer *p, size_t need)
{
    uint8_t *buf;

    if (need <= p->buf_cap)
        return 0;
    buf = realloc(p->buf, need);
    if (!buf)
        return -ENOMEM;
    p->buf = buf;
    p->buf_cap = need;
    return 0;
}

/* Records from `next` on, of one term, up to `limit` or until there are enough.  Their bytes in
 * *ret_len, numbered as one batch. */
static int read_records(struct stream_peer *p, struct journal_reader *reader, uint64_t limit,
                        size_t *ret_len, struct err *err)
{
    uint32_t ordinal = 0;
    size_t len = 0;
    int r = 1;

    while (r > 0 && len < STREAM_PIECE) {
        const uint8_t *data;
        uint64_t lsn;
        size_t n;

        r = journal_reader_next(reader, limit, &lsn, &data, &n, err);
        if (r <= 0)
            break;
        r = grow_buffer(p, len + record_bytes(n));
        if (r < 0)
            return err_nomem(err);
        record_encode(p->buf + len, RECORD_DATA, ordinal, lsn, data, (uint32_t)n);
        len += record_bytes(n);
        ordinal++;
        r = 1;
    }
    *ret_len = len;
    return r < 0 ? r : 0;
}

/* What it lacks and our files have: up to `limit`, or for a while. */
static int send_files(struct stream_peer *p, uint64_t limit, struct err *err)
{
    struct journal_reader *reader = NULL;
    struct pact_history h;
    int r = find_history(p->l, &h);

    if (r == 0)
        r = journal_reader_open(p->l->config.dir, p->next, &reader, err);
    for (int i = 0; i < 16 && r == 0 && p->next <= limit; i++) {
        uint32_t term = pact_history_term(&h, p->next);
        uint64_t to = p->next;
        size_t len = 0;

        for (uint32_t k = 0; k < h.n; k++) /* the end of that term's records */
            if (h.v[k].term == term)
                to = k + 1 < h.n ? MIN(limit, h.v[k + 1].first - 1) : limit;
        r = read_records(p, reader, to, &len, err);
        if (r == 0 && !len)
            break; /* not to be seen yet */
        if (r == 0)
            r = send_batch(p, p->buf, len, p->next, term, err);
    }
    (void)journal_reader_close(reader); /* always NULL */
    if (r == -ENOENT)
        return err_set(err, r, "record %llu is no longer kept: a snapshot is sent",
                       (unsigned long long)p->next);
    return r < 0 && !err->text[0] ? err_set(err, r, "%s", strerrordesc_np(-r)) : r;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static void end_part(struct stream_peer *p)
{
    if (p->part_fd >= 0)
        (void)close(p->part_fd); /* was read */
    p->part_fd = -1;
}

static int begin_part(struct stream_peer *p, uint64_t lsn)
{
    struct stat st;
    int r;

    end_part(p);
    r = snapshot_open_read(p->l->dir_fd, lsn, &p->part_fd);
    if (r == 0 && fstat(p->part_fd, &st) < 0)
        r = -errno;
    if (r < 0)
        return r;
    p->part_lsn = lsn;
    p->part_at = 0;
    p->part_total = (uint64_t)st.st_size;
    return p->part_total ? 0 : -EIO;
}

/* The next part.  copy: the answer to the last one is kept in *ret. */
static int send_part(struct stream_peer *p, bool copy, uint32_t term, uint64_t keep,
                     Pst__StreamReply **ret, struct err *err)
{
    Pst__StreamRequest req = PST__STREAM_REQUEST__INIT;
    Pst__StreamReply *reply = NULL;
    size_t n = (size_t)MIN(p->part_total - p->part_at, (uint64_t)STREAM_PIECE);
    ssize_t got;
    int r = grow_buffer(p, STREAM_PIECE);

    if (r < 0)
        return err_nomem(err);
    got = pread(p->part_fd, p->buf, n, (off_t)p->part_at);
    if (got != (ssize_t)n)
        return err_set(err, got < 0 ? -errno : -EIO, "the snapshot cannot be read");
    req.has_data = true;
    req.data = (ProtobufCBinaryData){ n, p->buf };
    SET(&req, snapshot, p->part_lsn);
    SET(&req, offset, p->part_at);
    SET(&req, total, p->part_total);
    SET(&req, keep, keep);
    if (copy) {
        SET(&req, copy, true);
        SET(&req, data_term, term);
    }
    r = send_taken(p, &req, &reply, err);
    if (r < 0)
        return r;
    p->part_at += n;
    if (!copy)
        note_ack(p, reply->last);
    if (ret && p->part_at == p->part_total)
        *ret = reply;
    else
        pst__stream_reply__free_unpacked(reply, NULL);
    return 0;
}

/* A snapshot of the log that it follows. */
static int send_next_part(struct stream_peer *p, uint64_t lsn, uint64_t keep, struct err *err)
{
    int r = 0;

    if (p->part_fd < 0 && begin_part(p, lsn) < 0) {
        p->pushed_lsn = lsn; /* let go meanwhile: the next one will do */
        return 0;
    }
    r = send_part(p, false, 0, keep, NULL, err);
    if (r == 0 && p->part_at == p->part_total) {
        p->pushed_lsn = p->part_lsn;
        end_part(p);
    }
    return r;
}

/* The whole log: the newest snapshot, or nothing where the log goes back to its first record. */
static int send_copy(struct stream_peer *p, Pst__StreamReply **ret, struct err *err)
{
    _cleanup_val_(file_list_done) struct file_list files = { 0 };
    Pst__StreamRequest req = PST__STREAM_REQUEST__INIT;
    struct pact_history h;
    uint64_t lsn;
    uint32_t term;
    int r = file_list_read(p->l->dir_fd, &files);

    if (r == 0)
        r = find_history(p->l, &h);
    if (r < 0)
        return err_set(err, r, "%s", strerrordesc_np(-r));
    lsn = files.snapshots.n ? files.snapshots.lsn[files.snapshots.n - 1] : 0;
    term = pact_history_term(&h, lsn + 1);
    log_info("%s gets a copy of the log: the snapshot of record %llu", p->host,
             (unsigned long long)lsn);
    if (!lsn) {
        SET(&req, copy, true);
        SET(&req, snapshot, 0);
        SET(&req, data_term, term);
        return send_taken(p, &req, ret, err);
    }
    r = begin_part(p, lsn);
    if (r < 0)
        return err_set(err, r, "the snapshot cannot be read: %s", strerrordesc_np(-r));
    while (r == 0 && p->part_at < p->part_total)
        r = send_part(p, true, term, 0, ret, err);
    end_part(p);
    return r;
}

/* ---- a connection ---------------------------------------------------------------------------- */

static int say_hello(struct stream_peer *p, Pst__StreamReply **ret, struct err *err)
{
    static const uint8_t none[STREAM_IDENTITY_BYTES];
    const uint8_t *identity = p->l->config.identity;
    uint64_t pairs[2 * PACT_HISTORY_MAX];
    Pst__StreamRequest req = PST__STREAM_REQUEST__INIT;
    struct pact_history h;
    int r = find_history(p->l, &h);

    if (r == 0)
        r = streamid_random(&p->session, err);
    if (r < 0)
        return err->text[0] ? r : err_set(err, r, "%s", strerrordesc_np(-r));
    for (uint32_t i = 0; i < h.n; i++) {
        pairs[2 * i] = h.v[i].term;
        pairs[2 * i + 1] = h.v[i].first;
    }
    SET(&req, hello, true);
    if (memcmp(identity, none, sizeof(none)) != 0) {
        req.has_data = true;
        req.data = (ProtobufCBinaryData){ sizeof(none), (uint8_t *)identity }; /* packed at once */
    }
    req.n_history = 2 * (size_t)h.n;
    req.history = pairs;
    return send_request(p, &req, ret, err);
}

/* It follows from here on: it is counted, if it is who we mean. */
static int note_match(struct stream_peer *p, const Pst__StreamReply *reply, struct err *err)
{
    struct streamlog *l = p->l;
    struct pact_member who;
    int index;

    if (pactwire_member(reply->who, &who) < 0 || !who.id || strcasecmp(who.host, p->host) != 0)
        return err_set(err, -EPROTO, "%s calls itself by another name", p->addr);
    p->next = reply->last + 1;
    p->pushed_lsn = reply->snapshot;
    lock_log(l);
    p->aside = (struct aside){ reply->aside, reply->aside_bytes };
    index = pact_matched(&l->pact, &who, reply->last, term_clock_us());
    p->index = index;
    if (index >= 0) {
        l->confirmed_us[index] = 0;
        p->why[0] = '\0';
    }
    (void)pthread_cond_broadcast(&l->changed);
    unlock_log(l);
    if (index < 0)
        return err_set(err, index, "too many logs have followed this one");
    note_ack(p, reply->last);
    log_info("%s follows the log from record %llu on", p->host, (unsigned long long)p->next);
    return 0;
}

static int begin_session(struct stream_peer *p, struct err *err)
{
    Pst__StreamReply *reply = NULL;
    int r = say_hello(p, &reply, err);

    if (r == 0 && reply->verdict == PST__STREAM_VERDICT__STREAM_WANTS_COPY) {
        pst__stream_reply__free_unpacked(reply, NULL);
        reply = NULL;
        r = send_copy(p, &reply, err);
    } else if (r == 0 && reply->verdict != PST__STREAM_VERDICT__STREAM_TAKEN) {
        r = err_set(err, -EREMOTEIO, "%s",
                    reply->why ? reply->why
                               : "it knows of a later term, or is about to take control");
    }
    if (r == 0 && reply)
        r = note_match(p, reply, err);
    if (reply)
        pst__stream_reply__free_unpacked(reply, NULL);
    return r;
}

static int64_t beat_us(const struct streamlog *l)
{
    return MIN(MAX((int64_t)l->config.lease_ms * 1000 / BEAT_PART, (int64_t)BEAT_MIN_US),
               (int64_t)BEAT_MAX_US);
}

/* What is to be done now, waiting for it.  *ret_batch is referenced. */
static enum work next_work(struct stream_peer *p, struct shared_bytes **ret_batch,
                           uint64_t *ret_first, uint64_t *ret_limit, uint64_t *ret_keep)
{
    struct streamlog *l = p->l;
    enum work work = WORK_STOP;

    lock_log(l);
    while (!l->stop) {
        uint64_t limit = l->offer ? l->pact.committed : l->pact.synced;
        int64_t due = p->sent_us + (l->pact.committed > p->told ? TELL_US : beat_us(l));

        if (l->offer && p->next >= l->offer_first && p->next <= l->offer_last) {
            work = WORK_LIVE;
            *ret_batch = shared_ref(l->offer);
            *ret_first = l->offer_first;
            pact_near(&l->pact, (uint32_t)p->index);
        } else if (p->next <= limit) {
            work = WORK_FILES;
            *ret_limit = limit;
        } else if (p->part_fd >= 0 || (l->push_lsn > p->pushed_lsn && l->push_lsn <= p->told)) {
            work = WORK_PART;
            *ret_limit = l->push_lsn;
            *ret_keep = l->push_keep;
        } else if (now_mono_us() >= due) {
            work = WORK_BEAT;
        } else {
            streamlog_wait(l, due);
            continue;
        }
        break;
    }
    unlock_log(l);
    return work;
}

static int send_beat(struct stream_peer *p, struct err *err)
{
    Pst__StreamRequest req = PST__STREAM_REQUEST__INIT;
    Pst__StreamReply *reply = NULL;
    int r = send_taken(p, &req, &reply, err);

    if (r < 0)
        return r;
    note_ack(p, reply->last);
    pst__stream_reply__free_unpacked(reply, NULL);
    return 0;
}

/* Serve it until something fails; -ECANCELED: the end. */
static int serve_session(struct stream_peer *p, struct err *err)
{
    int r = 0;

    while (r == 0) {
        struct shared_bytes *batch = NULL;
        uint64_t first = 0, limit = 0, keep = 0;

        switch (next_work(p, &batch, &first, &limit, &keep)) {
        case WORK_STOP:
            return -ECANCELED;
        case WORK_LIVE:
            r = send_live(p, batch, first, err);
            break;
        case WORK_FILES:
            r = send_files(p, limit, err);
            break;
        case WORK_PART:
            r = send_next_part(p, limit, keep, err);
            break;
        case WORK_BEAT:
            r = send_beat(p, err);
            break;
        }
        (void)shared_unref(batch); /* always NULL */
    }
    return r;
}

static int connect_peer(struct stream_peer *p, struct err *err)
{
    struct streamlog *l = p->l;
    struct client *c = NULL;
    int r = streamlink_open(l->config.link, p->addr, streamlink_port(l->config.link), "slurmctld",
                            CONNECT_MS, &c, err);

    if (r < 0)
        return err->text[0] ? r : err_set(err, r, "%s", strerrordesc_np(-r));
    client_set_timeout(c, CALL_MS);
    lock_log(l);
    p->client = c;
    unlock_log(l);
    return 0;
}

static void end_session(struct stream_peer *p, const struct err *why)
{
    struct streamlog *l = p->l;
    struct client *c;
    bool news;

    lock_log(l);
    c = p->client;
    p->client = NULL;
    if (p->index >= 0)
        pact_lost(&l->pact, (uint32_t)p->index);
    p->index = -1;
    news = why->text[0] && strncmp(why->text, p->why, sizeof(p->why) - 1) != 0;
    (void)snprintf(p->why, sizeof(p->why), "%s", why->text);
    (void)pthread_cond_broadcast(&l->changed);
    unlock_log(l);
    (void)client_free(c); /* always NULL */
    end_part(p);
    if (news)
        log_info("%s does not follow the log: %s", p->host, why->text);
}

/* One that joins, and then does not take what it is sent (its disk is full, it stands still), would
 * make batches wait again and again: it is asked less and less often. */
static void choose_rest(struct stream_peer *p, int r, int64_t began_us)
{
    if (now_mono_us() - began_us > WELL_US)
        p->again_us = AGAIN_US;
    else if (r == -ESTALE || r == -ETIMEDOUT)
        p->again_us = MIN(2 * p->again_us, (int64_t)AGAIN_MAX_US);
}

/* False: the end. */
static bool rest_peer(struct stream_peer *p)
{
    int64_t until = now_mono_us() + p->again_us;
    bool go_on;

    lock_log(p->l);
    while (!p->l->stop && now_mono_us() < until)
        streamlog_wait(p->l, until);
    go_on = !p->l->stop;
    unlock_log(p->l);
    return go_on;
}

void *stream_peer_main(void *arg)
{
    struct stream_peer *p = arg;

    threadname_set(pthread_self(), "standby");
    p->again_us = AGAIN_US;
    do {
        struct err err = { .text = "" };
        int r = connect_peer(p, &err);

        if (r == 0)
            r = begin_session(p, &err);
        if (r == 0) {
            int64_t began_us = now_mono_us();

            r = serve_session(p, &err);
            choose_rest(p, r, began_us);
        }
        end_session(p, &err);
    } while (rest_peer(p));
    free(p->buf);
    return NULL;
}
