/* witserve.c - see witserve.h.
 *
 * One I/O thread has the record and everything else here: a change is synced in the callback, as
 * nobody may be answered before.  Where the record could not be written it is not known which one a
 * restart would find, so that nothing is answered any more. */
#include "stream/witserve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "model/tx.h"

#include "base/timefmt.h"
#include "stream/witfile.h"
#include "wire/errors.h"

#define CONNECTIONS 256u

struct witserve {
    char *dir, *cluster;
    struct witness_state state;
    bool broken; /* the record could not be written */
    int64_t boot_us;
    struct server *server;
};

/* ---- one request --------------------------------------------------------------------------- */

static bool is_holder(const struct pact_record *r, const struct pact_change *c)
{
    return r->term && c->term == r->term && c->by.id == r->holder.id &&
           strcasecmp(c->by.host, r->holder.host) == 0;
}

/* A renewal: of the term and of nobody else's. */
static bool take_lease(struct witness_state *s, const Pst__WitnessRequest *req)
{
    struct term_record t;

    if (!req->has_lease || req->lease.len != TERM_BYTES || term_decode(req->lease.data, &t) < 0 ||
        t.term != s->record.term)
        return false;
    memcpy(s->lease, req->lease.data, TERM_BYTES);
    s->has_lease = true;
    return true;
}

static void tell_state(const struct witness_state *state, bool done, struct witserve_reply *ret)
{
    Pst__WitnessReply *r = &ret->reply;

    ret->state = *state;
    pst__witness_reply__init(r);
    SET(r, version, ret->state.record.version);
    SET(r, term, ret->state.record.term);
    SET(r, done, done);
    if (ret->state.record.term) {
        pactwire_tell_member(&ret->state.record.holder, &ret->holder);
        r->holder = &ret->holder;
    }
    r->n_in_sync = pactwire_tell_set(&ret->state.record.in_sync, &ret->set);
    r->in_sync = ret->set.list;
    if (ret->state.has_lease) {
        r->has_lease = true;
        r->lease = (ProtobufCBinaryData){ TERM_BYTES, ret->state.lease };
    }
}

int witserve_carry_out(struct witness_state *state, const Pst__WitnessRequest *req,
                       witserve_store_fn *store, void *ctx, struct witserve_reply *ret)
{
    struct witness_state next = *state;
    struct pact_change c;
    bool changes = (req->has_claim && req->claim) || (req->has_change && req->change);
    bool done = false;
    int r;

    if (!changes && !req->has_lease) {
        tell_state(state, false, ret);
        return 0;
    }
    r = pactwire_change(req, &c);
    if (r < 0)
        return r;
    if (changes) {
        done = pact_witness_apply(&next.record, &c) == 0;
        if (done && c.claim)
            next.has_lease = false;
        if (done && c.claim && !take_lease(&next, req))
            return -EINVAL; /* the others would not know where it is */
        r = done ? store(ctx, &next) : 0;
    } else if (is_holder(&next.record, &c)) {
        done = take_lease(&next, req);
    }
    if (r < 0)
        return r == -EINVAL ? -EIO : r;
    *state = next;
    tell_state(state, done, ret);
    return 0;
}

/* ---- the server ---------------------------------------------------------------------------- */

static int store_state(void *ctx, const struct witness_state *s)
{
    struct witserve *w = ctx;
    struct err err = { .text = "" };
    int r = witfile_store(w->dir, w->cluster, s, &err);

    if (r < 0) {
        w->broken = true;
        log_error("%s: nothing is answered until this program is started again", err.text);
    }
    return r;
}

static void log_change(const struct witserve *w, const struct peer *peer)
{
    const struct pact_record *r = &w->state.record;
    char text[PACT_SET_MAX * (PACT_HOST_BYTES + 1)] = "";
    size_t n = 0;

    for (uint32_t i = 0; i < r->in_sync.n; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, " %s", r->in_sync.v[i].host);
    log_info("record %llu: term %u of %s, in sync:%s; told from %s", (unsigned long long)r->version,
             r->term, r->holder.host, text, peer->addr);
}

static void answer_witness(struct witserve *w, struct conn *c, const struct frame *frame)
{
    uint64_t before = w->state.record.version;
    Pst__WitnessRequest *req;
    struct witserve_reply out;
    int r;

    if (FRAME_UNPACK(witness_request, frame, &req, NULL) < 0) {
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST, NULL);
        return;
    }
    r = witserve_carry_out(&w->state, req, store_state, w, &out);
    pst__witness_request__free_unpacked(req, NULL);
    if (r == -EINVAL)
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST, NULL);
    else if (r < 0)
        conn_close(c); /* whether it was done is not known */
    else
        (void)conn_reply(c, frame->op, frame->id, 0, &out.reply.base);
    if (r == 0 && w->state.record.version != before)
        log_change(w, conn_peer(c));
}

static void on_request(void *ctx, struct conn *c, const struct frame *frame)
{
    struct witserve *w = ctx;
    Pst__PingReply r = PST__PING_REPLY__INIT;

    if (w->broken) {
        (void)conn_error(c, frame->op, frame->id, EPST_DISK_FULL,
                         "the witness cannot write its record");
    } else if (frame->op == OP_WITNESS) {
        answer_witness(w, c, frame);
    } else if (frame->op == OP_PING) {
        r.mode = (char *)"witness"; /* not changed by packing */
        SET(&r, boot_us, w->boot_us);
        SET(&r, now_us, now_us());
        SET(&r, term, w->state.record.term);
        (void)conn_reply(c, frame->op, frame->id, 0, &r.base);
    } else {
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST,
                         "the witness does not know this operation");
    }
}

static void on_close(void *ctx, struct conn *c)
{
    (void)ctx; /* nothing is kept of a connection */
    (void)c;
}

int witserve_new(const struct witserve_config *config, struct witserve **ret, struct err *err)
{
    struct witserve *w = calloc(1, sizeof(*w));
    struct server_config server = config->server;
    int r = 0;

    if (!w)
        return err_nomem(err);
    w->boot_us = now_us();
    w->dir = strdup(config->dir);
    w->cluster = strdup(config->cluster);
    if (!w->dir || !w->cluster)
        r = err_nomem(err);
    if (r == 0)
        r = witfile_load(w->dir, w->cluster, &w->state, err);
    server.threads = 1;
    server.max_connections = CONNECTIONS;
    server.cluster = w->cluster;
    server.service = "witness";
    server.serves = ACCESS_AT(ACCESS_CTLD);
    server.hooks = (struct server_hooks){ .on_request = on_request, .on_close = on_close };
    server.ctx = w;
    if (r == 0)
        r = server_new(&server, &w->server, err);
    if (r < 0) {
        (void)witserve_free(w); /* always NULL */
        return r;
    }
    *ret = w;
    return 0;
}

int witserve_start(struct witserve *w)
{
    return server_start(w->server);
}

uint16_t witserve_port(const struct witserve *w)
{
    return server_port(w->server);
}

struct witserve *witserve_free(struct witserve *w)
{
    if (w) {
        if (w->server)
            (void)server_free(w->server); /* always NULL */
        free(w->dir);
        free(w->cluster);
        free(w);
    }
    return NULL;
}
