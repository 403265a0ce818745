/* hastream.c - see hastream.h */
#include "ctld/ha/hastream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "ctld/ha/roles.h"
#include "stream/streamlog.h"
#include "stream/streamtail.h"
#include "stream/witcall.h"
#include "wire/auth/idkey.h"
#include "wire/errors.h"

#define TRY_PART 6u /* of a lease, for the witness */
#define TRY_MIN_MS 150u
#define TRY_MAX_MS 1000u
#define CONFIRM_PART 8 /* of a lease, for the others when the witness does not answer */

struct hastream {
    struct ha *ha;
    struct stream_config config;
    struct streamlink *link;
    struct witcall *call; /* the main thread's; while this controller leads that of the lease */
    struct witness_state seen;
    struct pact_member self; /* as it claimed */
    struct err why, told;
    atomic_uint newest; /* term that was heard of */
    pthread_mutex_t lock;
    struct streamtail *tail; /* under lock: I/O threads bring requests */
};

/* ---- the witness, as where records of terms are ---------------------------------------------- */

static void note_state(struct hastream *s, const struct witness_state *state)
{
    s->seen = *state;
    if (state->record.term > atomic_load(&s->newest))
        atomic_store(&s->newest, state->record.term);
}

/* What is known of a term whose holder has not said more. */
static void guess_record(const struct hastream *s, struct term_record *ret)
{
    *ret = (struct term_record){ .term = s->seen.record.term,
                                 .lease_ms = s->ha->view.lease_ms,
                                 .port = conf_ctld_port(s->ha->ctld->conf) };
    (void)snprintf(ret->host, sizeof(ret->host), "%s", s->seen.record.holder.host);
    (void)snprintf(ret->addr, sizeof(ret->addr), "%s", s->seen.record.holder.host);
}

static int store_newest(void *ctx, struct term_record *ret)
{
    struct hastream *s = ctx;
    struct witness_state state;
    int r;

    *ret = (struct term_record){ .term = 0 };
    s->why.text[0] = '\0';
    r = witcall_read(s->call, &state, &s->why);
    if (r < 0)
        return -EHOSTUNREACH;
    note_state(s, &state);
    if (!state.record.term)
        return -ENOENT;
    if (!state.has_lease || term_decode(state.lease, ret) < 0 || ret->term != state.record.term)
        guess_record(s, ret);
    return 0;
}

static bool is_self(const struct hastream *s, const struct pact_record *r)
{
    return r->holder.id == s->self.id && strcasecmp(r->holder.host, s->self.host) == 0;
}

static int store_claim(void *ctx, const struct term_record *rec)
{
    struct hastream *s = ctx;
    struct pact_change c = {
        .claim = true, .version = s->seen.record.version, .term = rec->term, .by = s->self
    };
    struct witness_state state;
    uint8_t lease[TERM_BYTES];
    int r;

    term_encode(rec, lease);
    s->why.text[0] = '\0';
    r = witcall_change(s->call, &c, lease, &state, &s->why);
    if (r < 0) /* was it done? */
        r = witcall_read(s->call, &state, &s->why);
    if (r < 0)
        return -EHOSTUNREACH;
    note_state(s, &state);
    return state.record.term == rec->term && is_self(s, &state.record) ? 0 : -EEXIST;
}

static int take_answer(struct hastream *s, const struct term_record *rec, int done,
                       const struct witness_state *state)
{
    struct streamlog *log = s->ha->ctld->streamlog;

    if (log)
        streamlog_learn(log, &state->record);
    if (done || state->record.term == rec->term)
        return done ? 0 : -EOWNERDEAD;
    if (state->record.term < rec->term) { /* it was set back by hand: it says nothing about us */
        log_limited(LOG_ERROR, "the witness at %s knows term %u, and this controller has term %u",
                    s->config.witness, state->record.term, rec->term);
        return -EHOSTUNREACH;
    }
    note_state(s, state);
    return -EOWNERDEAD;
}

/* The lease holds as well while all of the set answer: who answers has taken no term. */
static int store_renew(void *ctx, const struct term_record *rec)
{
    struct hastream *s = ctx;
    struct streamlog *log = s->ha->ctld->streamlog;
    int64_t began = term_clock_us();
    struct witness_state state;
    uint8_t lease[TERM_BYTES];
    int r;

    term_encode(rec, lease);
    s->why.text[0] = '\0';
    r = witcall_renew(s->call, &s->self, rec->term, lease, &state, &s->why);
    if (r >= 0)
        r = take_answer(s, rec, r, &state);
    else
        log_limited(LOG_ERROR, "term %u: %s", rec->term, s->why.text);
    if (r >= 0 || r == -EOWNERDEAD)
        return r;
    if (!log) /* nobody else is in the set yet */
        return 0;
    return streamlog_confirm(log, began, (int64_t)rec->lease_ms * 1000 / CONFIRM_PART)
               ? 0
               : -EHOSTUNREACH;
}

static bool store_is_over(void *ctx, uint32_t term)
{
    const struct hastream *s = ctx;

    return atomic_load(&s->newest) > term;
}

static void store_forget(void *ctx, uint32_t newest)
{
    (void)ctx; /* there is one record */
    (void)newest;
}

/* ---- standing by ----------------------------------------------------------------------------- */

int hastream_begin(struct ha *ha, struct err *err)
{
    const struct conf *conf = ha->ctld->conf;
    unsigned try_ms = ha->view.lease_ms / TRY_PART;
    struct hastream *s = calloc(1, sizeof(*s));
    int r;

    if (!s)
        return err_nomem(err);
    s->ha = ha;
    (void)pthread_mutex_init(&s->lock, NULL); /* cannot fail with default attributes */
    ha->stream = s;
    r = stream_config_parse(conf_str(conf, CONF_JOURNAL_PARAMETERS), &s->config, err);
    if (r < 0)
        return r;
    if (ha->count > PACT_SET_MAX)
        return err_set(err, -EINVAL, "JournalType=stream: at most %u SlurmctldHost", PACT_SET_MAX);
    r = streamlink_new(conf, &s->link);
    if (r == 0)
        r = witcall_new(s->link, &s->config, (int)MIN(MAX(try_ms, TRY_MIN_MS), TRY_MAX_MS),
                        &s->call);
    if (r < 0)
        return err_nomem(err);
    ha->store = (struct term_store){ store_newest,  store_claim,  store_renew,
                                     store_is_over, store_forget, s };
    return 0;
}

/* On the tail's thread. */
static void send_answer(void *arg, uint32_t id, const Pst__StreamReply *reply)
{
    struct conn *c = arg;

    (void)conn_reply(c, OP_STREAM, id, 0, &reply->base);
    (void)conn_unref(c); /* always NULL */
}

bool hastream_has_log(struct ha *ha)
{
    struct hastream *s = ha->stream;
    struct streamtail_config config = { .dir = conf_str(ha->ctld->conf, CONF_STATE_SAVE_LOCATION),
                                        .host = ha->host,
                                        .answer = send_answer,
                                        .identity = ha->ctld->identity
                                                        ? idkey_public(ha->ctld->identity)
                                                        : NULL };
    struct err err = { .text = "" };
    struct streamtail *tail = NULL;

    if (s->tail) /* this thread alone changes it */
        return true;
    if (streamtail_open(&config, &tail, &err) < 0) {
        if (strcmp(s->told.text, err.text) != 0)
            log_error("standing by: %s", err.text);
        s->told = err;
        return false;
    }
    (void)pthread_mutex_lock(&s->lock);
    s->tail = tail;
    (void)pthread_mutex_unlock(&s->lock);
    return true;
}

void hastream_look(struct ha *ha)
{
    struct hastream *s = ha->stream;
    struct streamtail_view v;
    bool member;

    if (!s->tail) {
        ha->view.barred = true;
        return;
    }
    streamtail_look(s->tail, &v);
    if (v.made_anew) /* what was shown is of another log, or of this one's past */
        ha->restart_follow = true;
    member = pact_set_has(&s->seen.record.in_sync, &v.who);
    ha->view.barred = !member;
    atomic_store(&ha->in_sync, member);
    if (ha->view.any && v.term == ha->view.record.term && v.heard_us > ha->view.watch.seen_us)
        ha->view.watch.seen_us = v.heard_us;
}

uint64_t hastream_committed(struct ha *ha, uint32_t *ret_term)
{
    struct hastream *s = ha->stream;
    struct streamtail_view v = { .committed = 0 };

    if (s->tail)
        streamtail_look(s->tail, &v);
    if (v.made_anew)
        ha->restart_follow = true;
    *ret_term = v.term;
    return v.committed;
}

const char *hastream_why(const struct ha *ha)
{
    return ha->stream->why.text;
}

void hastream_answer(struct ctld *ctld, struct conn *c, const struct frame *frame)
{
    struct hastream *s = ctld->ha ? ctld->ha->stream : NULL;
    Pst__StreamRequest *req;
    bool taken;

    if (!s) {
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST,
                         "JournalType is not stream on this controller");
        return;
    }
    if (FRAME_UNPACK(stream_request, frame, &req, NULL) < 0) {
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST, NULL);
        return;
    }
    (void)pthread_mutex_lock(&s->lock);
    taken = s->tail && streamtail_take(s->tail, conn_ref(c), frame->id, req);
    if (s->tail && !taken)
        (void)conn_unref(c); /* of the reference for the tail */
    (void)pthread_mutex_unlock(&s->lock);
    if (taken)
        return;
    pst__stream_request__free_unpacked(req, NULL);
    (void)conn_error(c, frame->op, frame->id, EPST_BUSY, "the log is not ready to be written");
}

/* ---- taking control -------------------------------------------------------------------------- */

uint32_t hastream_claim(struct ha *ha)
{
    struct hastream *s = ha->stream;
    struct streamtail_view v;

    streamtail_claim(s->tail); /* it is there: hastream_look() bars the turn without */
    streamtail_look(s->tail, &v);
    if (v.made_anew)
        ha->restart_follow = true;
    s->self = v.who;
    return MAX(ha->view.record.term, v.newest) + 1;
}

void hastream_unclaim(struct ha *ha)
{
    streamtail_unclaim(ha->stream->tail);
}

static int add_peers(struct ha *ha, struct streamlog *log, struct err *err)
{
    const struct conf *conf = ha->ctld->conf;

    for (size_t i = 0; i < ha->count; i++) {
        const char *addr = NULL, *host = conf_ctld_host(conf, i, &addr);

        if (i != ha->view.index && streamlog_add(log, host, addr) < 0)
            return err_set(err, -EINVAL, "SlurmctldHost=%s: the name is too long", host);
    }
    return 0;
}

static void close_tail(struct hastream *s)
{
    struct streamtail *tail;

    (void)pthread_mutex_lock(&s->lock);
    tail = TAKE_PTR(s->tail);
    (void)pthread_mutex_unlock(&s->lock);
    (void)streamtail_close(tail); /* always NULL */
}

int hastream_take(struct ha *ha, struct err *err)
{
    struct hastream *s = ha->stream;
    struct streamlog_config config = { .dir = conf_str(ha->ctld->conf, CONF_STATE_SAVE_LOCATION),
                                       .link = s->link,
                                       .stream = &s->config,
                                       .newest = &s->newest,
                                       .lease_ms = ha->view.lease_ms,
                                       .record = s->seen.record };
    struct streamlog *log = NULL;
    int r;

    if (ha->ctld->identity)
        memcpy(config.identity, idkey_public(ha->ctld->identity), sizeof(config.identity));
    r = streamlog_new(&config, &log, err);

    if (r == 0)
        r = add_peers(ha, log, err);
    if (r < 0) {
        (void)streamlog_free(log); /* always NULL */
        return r;
    }
    close_tail(s);
    ha->ctld->streamlog = log; /* the lease's thread may see it from now on */
    return 0;
}

void hastream_end(struct ha *ha)
{
    struct hastream *s = ha->stream;

    if (!s)
        return;
    ha->ctld->streamlog = streamlog_free(ha->ctld->streamlog);
    close_tail(s);
    s->call = witcall_free(s->call);
    s->link = streamlink_free(s->link);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
    ha->stream = NULL;
}
