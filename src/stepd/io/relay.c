/* relay.c - see relay.h
 *
 * One poll(2) loop.  Frames of a node go up wrapped with its number; those of a relay below are
 * wrapped already and go up as they are.  While RELAY_OUT_MAX waits for the caller nothing is read
 * from below, and the other way round, so that a slow reader is felt where the bytes come from. */
#include "stepd/io/relay.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "stepd/shared/asuser.h"
#include "wire/errors.h"
#include "wire/fanout.h"
#include "wire/tls/tls.h"

#define RELAY_OUT_MAX (1u << 20)
#define FRAMES_PER_TURN 64

struct relay {
    struct client *up;
    struct fanout fan;
    bool gone; /* the peer behind up has gone: send it nothing */
};

static void up_send(struct relay *r, const Pst__RelayFrame *f)
{
    if (!r->gone && client_send_nonblock(r->up, OP_RELAY_FRAME, FRAME_ONEWAY, client_next_id(r->up),
                                         &f->base) < 0)
        r->gone = true;
}

static void tell_refused(struct relay *r, uint32_t lo, uint32_t hi, const char *why, int code)
{
    Pst__RelayFrame f = PST__RELAY_FRAME__INIT;

    f.has_lo = f.has_hi = true;
    f.lo = lo;
    f.hi = hi;
    f.lost = (char *)why;
    f.has_lost_code = code != 0;
    f.lost_code = code;
    up_send(r, &f);
}

static void tell_lost(void *ctx, uint32_t lo, uint32_t hi, const char *why)
{
    tell_refused(ctx, lo, hi, why, 0);
}

/* ---- from below ------------------------------------------------------------------------------ */

static void link_lost(struct relay *r, struct fan_link *l, const char *why)
{
    l->client = client_free(l->client);
    tell_lost(r, l->lo, l->hi, why);
}

/* A part of a file was written: pass that on, so that the sender sends more. */
static void pass_answer(struct relay *r, const struct fan_link *l, const struct frame *f)
{
    Pst__RelayFrame up = PST__RELAY_FRAME__INIT;

    up.has_lo = up.has_hi = up.has_op = true;
    up.lo = up.hi = l->lo;
    up.op = f->op;
    up_send(r, &up);
}

/* The answer to a request.  That of a launch says something only when it is a refusal. */
static void on_answer(struct relay *r, struct fan_link *l, const struct frame *f)
{
    Pst__Error *e;

    if (!(f->flags & FRAME_ERROR)) {
        if (r->fan.open->bcast && !l->relay)
            pass_answer(r, l, f);
        return;
    }
    if (FRAME_UNPACK(error, f, &e, NULL) < 0) {
        link_lost(r, l, slurm_err_text(EPST_PROTOCOL));
        return;
    }
    l->client = client_free(l->client);
    tell_refused(r, l->lo, l->hi, e->text ? e->text : "the request was refused", e->code);
    pst__error__free_unpacked(e, NULL);
}

static void on_below(struct relay *r, struct fan_link *l, const struct frame *f)
{
    Pst__RelayFrame up = PST__RELAY_FRAME__INIT;

    if (f->flags & FRAME_REPLY) {
        on_answer(r, l, f);
        return;
    }
    if (l->relay) {
        if (f->op == OP_RELAY_FRAME && client_forward(r->up, OP_RELAY_FRAME, f->body, f->len) < 0)
            r->gone = true;
        return;
    }
    up.has_lo = up.has_hi = up.has_op = up.has_body = true;
    up.lo = up.hi = l->lo;
    up.op = f->op;
    up.body = (ProtobufCBinaryData){ .len = f->len, .data = (uint8_t *)f->body };
    up_send(r, &up);
    if (f->op == OP_STEP_DONE)
        l->client = client_free(l->client);
}

static bool up_full(const struct relay *r)
{
    return client_out_pending(r->up) > RELAY_OUT_MAX;
}

/* True when there may be frames left that poll(2) does not know of. */
static bool read_below(struct relay *r, struct fan_link *l)
{
    for (unsigned i = 0; i < FRAMES_PER_TURN; i++) {
        struct frame f;
        int n;

        if (!l->client || r->gone || up_full(r))
            return false;
        n = client_recv(l->client, 0, &f);
        if (n == 0)
            return false;
        if (n < 0) {
            link_lost(r, l, strerror(-n));
            return false;
        }
        on_below(r, l, &f);
    }
    return true;
}

/* ---- from above ------------------------------------------------------------------------------ */

static void on_relay_frame(struct relay *r, const struct frame *f)
{
    Pst__RelayFrame *down;

    if (FRAME_UNPACK(relay_frame, f, &down, NULL) < 0)
        return;
    for (size_t i = 0; i < r->fan.n_links; i++) {
        struct fan_link *l = &r->fan.links[i];
        int n;

        if (!l->client || l->hi < down->lo || l->lo > down->hi)
            continue;
        n = l->relay ? client_forward(l->client, OP_RELAY_FRAME, f->body, f->len)
                     : client_forward(l->client, down->op, down->body.data, down->body.len);
        if (n < 0 && client_fd(l->client) < 0)
            link_lost(r, l, strerror(-n));
    }
    pst__relay_frame__free_unpacked(down, NULL);
}

static bool below_full(const struct relay *r)
{
    for (size_t i = 0; i < r->fan.n_links; i++)
        if (r->fan.links[i].client && client_out_pending(r->fan.links[i].client) > RELAY_OUT_MAX)
            return true;
    return false;
}

static void read_above(struct relay *r)
{
    while (!r->gone && !below_full(r)) {
        struct frame f;
        int n = client_recv(r->up, 0, &f);

        if (n == 0)
            return;
        if (n < 0)
            r->gone = true;
        else if (f.op == OP_RELAY_FRAME && !(f.flags & FRAME_REPLY))
            on_relay_frame(r, &f);
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void flush_output(struct relay *r)
{
    if (client_out_pending(r->up) && client_flush(r->up) < 0 && client_fd(r->up) < 0)
        r->gone = true;
    for (size_t i = 0; i < r->fan.n_links; i++)
        if (r->fan.links[i].client)
            (void)client_flush(r->fan.links[i].client); /* what is broken shows when it is read */
}

static void one_turn(struct relay *r, struct pollfd *fds, bool more)
{
    bool up_is_full = up_full(r), below_is_full = below_full(r);

    fds[0] = (struct pollfd){
        .fd = client_fd(r->up),
        .events = (short)((below_is_full ? 0 : POLLIN) | POLLRDHUP | client_out_events(r->up)),
    };
    for (size_t i = 0; i < r->fan.n_links; i++) {
        const struct client *c = r->fan.links[i].client;

        fds[i + 1] = (struct pollfd){
            .fd = c ? client_fd(c) : -1,
            .events = (short)((up_is_full ? 0 : POLLIN) | (c ? client_out_events(c) : 0)),
        };
    }
    if (poll(fds, (nfds_t)(r->fan.n_links + 1), more && !up_is_full ? 0 : -1) < 0 && errno != EINTR)
        r->gone = true;
    /* Its end arrived, but what is unread hides it from read_above(). */
    if (fds[0].revents & (POLLHUP | POLLERR | POLLRDHUP) && below_is_full)
        r->gone = true;
}

static void serve_relay(struct relay *r)
{
    _cleanup_free_ struct pollfd *fds = calloc(r->fan.n_links + 1, sizeof(*fds));
    bool more = true; /* what came with the answers */

    while (fds && !r->gone) {
        one_turn(r, fds, more);
        flush_output(r);
        read_above(r);
        more = false;
        for (size_t i = 0; i < r->fan.n_links; i++)
            more |= read_below(r, &r->fan.links[i]);
    }
}

static int answer_launch(struct relay *r, uint32_t id, int code)
{
    Pst__Error e = PST__ERROR__INIT;

    if (code == 0)
        return client_send(r->up, OP_RELAY, FRAME_REPLY, id, NULL);
    e.has_code = true;
    e.code = SLURM_ERROR;
    e.text = strerror(-code);
    (void)client_send(r->up, OP_RELAY, FRAME_REPLY | FRAME_ERROR, id,
                      &e.base); /* gone: it sees that too */
    return code;
}

int relay_serve(const Pst__BcastFile *file, int fd)
{
    struct relay r = { .fan = { .program = "slurmstepd", .lost = tell_lost, .ctx = &r } };
    bool tls = file->relay && file->relay->stream_key.len;
    ProtobufCBinaryData plain = { 0 };
    int e = client_from_stream(fd, tls ? file->relay->stream_key : plain, &r.up);

    if (e < 0)
        return 1;
    if (tls && tls_ctx_of_keys(&r.fan.tls, NULL) < 0)
        return 1;
    e = become_user(file->uid, file->gid, file->gids, file->n_gids);
    if (e == 0 &&
        (!file->relay || !(file->relay->launch || file->relay->bcast) || file->relay->n_nodes == 0))
        e = -EINVAL;
    if (answer_launch(&r, file->request_id, e) == 0) {
        r.fan.open = file->relay;
        if (fanout_open(&r.fan) == 0)
            serve_relay(&r);
        fanout_done(&r.fan);
    }
    client_free(r.up);
    (void)tls_ctx_unref(r.fan.tls); /* always NULL */
    return e < 0;
}
