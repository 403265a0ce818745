/* client.c - calls over a kept connection with nothing but poll(2)
 *
 * Owns the socket and both buffers; one thread at a time.  Invariants: a frame is queued whole or
 * not at all, and what the socket did not take stays queued, so the stream stays in step after a
 * timeout; late replies (their call timed out or ended its stream early)
 * are skipped by their id.  Every send says MSG_NOSIGNAL, so a peer that died is an error and not a
 * signal. */
#include "wire/client.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api.pb-c.h"

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "wire/access.h"
#include "wire/client_impl.h"
#include "wire/client_tls.h"
#include "wire/errors.h"
#include "wire/hello.h"

#define MOVES_MAX 3 /* of a call, from one controller to the next */
#define IN_CHUNK (64u * WIRE_KIB)
#define IN_KEEP (256u * WIRE_KIB) /* a larger buffer is given back when it is empty */

int64_t client_deadline(int timeout_ms)
{
    return timeout_ms <= 0 ? INT64_MAX : now_mono_us() + (int64_t)timeout_ms * 1000;
}

int client_wait_ms(int64_t deadline_mono_us)
{
    int64_t left_us;

    if (deadline_mono_us == INT64_MAX)
        return -1;
    left_us = deadline_mono_us - now_mono_us();
    if (left_us <= 0)
        return 0;
    return left_us / 1000 >= INT_MAX ? INT_MAX : (int)((left_us + 999) / 1000);
}

int client_alloc(int timeout_ms, struct client **ret_client)
{
    struct client *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    c->fd = -1;
    c->version = WIRE_VERSION;
    c->timeout_ms = timeout_ms;
    *ret_client = c;
    return 0;
}

struct client *client_free(struct client *c)
{
    int saved = errno;

    if (c) {
        if (c->fd >= 0)
            (void)close(c->fd); /* nothing left to report to */
        (void)tls_free(c->tls); /* always NULL, as the next five */
        (void)tls_free(c->next_tls);
        (void)tls_ctx_unref(c->tls_ctx);
        explicit_bzero(c->stream_key, sizeof(c->stream_key));
        (void)seal_free(c->seal_in);
        (void)seal_free(c->seal_out);
        hello_sent_done(&c->sent);
        free(c->in);
        free(c->out);
        free(c->error_text);
        free(c->asked);
        free(c);
    }
    errno = saved;
    return NULL;
}

int client_fd(const struct client *c)
{
    return c->broken ? -1 : c->fd;
}

int client_release_fd(struct client *c)
{
    int fd = c->fd;

    if (c->broken)
        return -EPIPE;
    if (c->tls || c->in_pos != c->in_len || c->out_pos != c->out_len || c->seal_in || c->seal_out)
        return -EBUSY;
    c->fd = -1;
    (void)client_free(c);
    return fd;
}

int client_from_fd(int fd, struct client **ret_client)
{
    struct client *c;
    int r = client_alloc(0, &c);

    if (r < 0)
        return r;
    c->fd = fd;
    *ret_client = c;
    return 0;
}

int client_from_stream(int fd, ProtobufCBinaryData key, struct client **ret_client)
{
    struct client *c;
    int r = key.len && key.len != TLS_KEY_SIZE ? -EINVAL : client_from_fd(fd, &c);

    if (r < 0 || !key.len) {
        if (r == 0)
            *ret_client = c;
        return r;
    }
    r = tls_ctx_of_keys(&c->tls_ctx, NULL);
    if (r == 0)
        r = tls_new_stream_server(c->tls_ctx, fd, key.data, &c->tls);
    if (r < 0) {
        c->fd = -1; /* stays the caller's */
        (void)client_free(c);
        return r;
    }
    *ret_client = c;
    return 0;
}

uint32_t client_next_id(struct client *c)
{
    if (++c->last_id == 0)
        c->last_id = 1;
    return c->last_id;
}

static int fail_connection(struct client *c, int r)
{
    c->broken = true;
    return r;
}

/* Wait for events or the deadline: 0 ready, -ETIMEDOUT. */
static int wait_for(struct client *c, short events, int64_t deadline)
{
    struct pollfd p = { .fd = c->fd, .events = events };

    for (;;) {
        int n = poll(&p, 1, client_wait_ms(deadline));

        if (n > 0)
            return 0;
        if (n == 0 && client_wait_ms(deadline) == 0)
            return -ETIMEDOUT;
        if (n < 0 && errno != EINTR)
            return -errno;
    }
}

/* ---- output ---------------------------------------------------------------------------------- */

static int queue_copy(struct client *c, const uint8_t *data, size_t len)
{
    size_t have = c->out_len - c->out_pos;

    if (c->out_pos) {
        memmove(c->out, c->out + c->out_pos, have);
        c->out_pos = 0;
        c->out_len = have;
    }
    if (have + len > c->out_cap) {
        size_t cap = MAX(2 * c->out_cap, have + len);
        uint8_t *p = realloc(c->out, cap);

        if (!p)
            return -ENOMEM;
        c->out = p;
        c->out_cap = cap;
    }
    memcpy(c->out + have, data, len);
    c->out_len = have + len;
    return 0;
}

/* Send what goes without waiting: bytes taken, or an error. */
static ssize_t send_some(struct client *c, const uint8_t *data, size_t len)
{
    if (c->tls) {
        ssize_t n = client_tls_send(c, data, len);

        return n == -EAGAIN ? 0 : n;
    }
    for (;;) {
        ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n >= 0)
            return n;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return 0;
        if (errno != EINTR)
            return -errno;
    }
}

void client_gather(struct client *c, size_t bytes)
{
    c->gather = bytes;
}

int client_flush(struct client *c)
{
    while (c->out_pos < c->out_len) {
        ssize_t n;

        if (c->broken || c->fd < 0)
            return -EPIPE;
        n = send_some(c, c->out + c->out_pos, c->tls_left ? c->tls_left : c->out_len - c->out_pos);
        if (n < 0) {
            c->out_pos = c->out_len; /* it will never leave; input may still hold the reason */
            return (int)n;
        }
        if (n == 0)
            return -EAGAIN;
        c->out_pos += (size_t)n;
        if (c->tls_left && (c->tls_left -= (size_t)n) == 0 && client_tls_hand_over(c) < 0)
            return fail_connection(c, -EPIPE);
    }
    return 0;
}

short client_out_events(const struct client *c)
{
    return client_out_pending(c) == 0 ? 0 : c->tls ? client_tls_send_events(c) & POLLOUT : POLLOUT;
}

size_t client_out_pending(const struct client *c)
{
    return c->out_len - c->out_pos;
}

/* Wait until the output is gone.  -ETIMEDOUT, -EPIPE ... */
static int client_flush_until(struct client *c, int64_t deadline)
{
    for (;;) {
        int r = client_flush(c);

        if (r != -EAGAIN)
            return r;
        r = wait_for(c, c->tls ? client_tls_send_events(c) : POLLOUT, deadline);
        if (r < 0)
            return r;
    }
}

/* Put the tag behind a frame.  *buf and *len are of the longer one then. */
static int seal_frame(struct client *c, uint8_t **buf, size_t *len)
{
    uint8_t *p = realloc(*buf, *len + SEAL_TAG_SIZE);

    if (!p)
        return -ENOMEM;
    *buf = p;
    seal_tag(c->seal_out, p, p + FRAME_HEADER_SIZE, *len - FRAME_HEADER_SIZE, p + *len);
    *len += SEAL_TAG_SIZE;
    if (c->seal_once)
        c->seal_out = seal_free(c->seal_out);
    return 0;
}

int client_queue_take(struct client *c, uint8_t *buf, size_t len)
{
    _cleanup_free_ uint8_t *owned = buf;
    bool last = c->has_stream_key && c->seal_out; /* for slurmd: then another goes on */
    ssize_t n = 0;
    int r;

    if (c->broken || c->fd < 0)
        return -EPIPE;
    if (c->seal_out) {
        r = seal_frame(c, &owned, &len);
        if (r < 0)
            return fail_connection(c, r); /* the numbers of frames would not agree any more */
    }
    if (!last && client_out_pending(c) + len <= c->gather)
        return queue_copy(c, owned, len);
    if (c->out_pos == c->out_len) {
        n = send_some(c, owned, len);
        if (n < 0)
            return (int)n;
    }
    if ((size_t)n == len)
        return last ? client_tls_hand_over(c) : 0;
    r = queue_copy(c, owned + n, len - (size_t)n);
    if (last && r == 0)
        c->tls_left = c->out_len - c->out_pos;
    else if (c->gather && r == 0 && n == 0)
        r = client_flush(c);
    if (r == -EAGAIN)
        r = 0;
    return r < 0 && n > 0 ? fail_connection(c, r)
                          : r; /* half a frame is out: nothing may follow it */
}

static int send_frame(struct client *c, unsigned op, uint32_t flags, uint32_t id,
                      const ProtobufCMessage *msg)
{
    uint32_t deadline_ms = (flags & FRAME_REPLY) || c->timeout_ms < 0 ? 0 : (uint32_t)c->timeout_ms;
    uint8_t *buf;
    size_t len;
    int r = frame_pack(op, flags, id, deadline_ms, msg, &buf, &len);

    if (r < 0)
        return r;
    frame_set_version(buf, c->version);
    if (!(flags & (FRAME_REPLY | FRAME_ONEWAY)))
        client_keep_asked(c, id, buf, len);
    return client_queue_take(c, buf, len);
}

int client_forward(struct client *c, unsigned op, const void *body, size_t len)
{
    struct frame f = {
        .version = c->version, .op = (uint16_t)op, .flags = FRAME_ONEWAY, .len = (uint32_t)len
    };
    uint8_t *buf;

    if (len > FRAME_MAX_BODY)
        return -EMSGSIZE;
    buf = malloc(FRAME_HEADER_SIZE + len);
    if (!buf)
        return -ENOMEM;
    f.id = client_next_id(c);
    frame_encode_header(&f, buf);
    if (len)
        memcpy(buf + FRAME_HEADER_SIZE, body, len);
    return client_queue_take(c, buf, FRAME_HEADER_SIZE + len);
}

int client_send_nonblock(struct client *c, unsigned op, uint32_t flags, uint32_t id,
                         const ProtobufCMessage *msg)
{
    return send_frame(c, op, flags, id, msg);
}

int client_send(struct client *c, unsigned op, uint32_t flags, uint32_t id,
                const ProtobufCMessage *msg)
{
    int64_t deadline = client_deadline(c->timeout_ms);
    int r = send_frame(c, op, flags, id, msg);

    return r < 0 ? r : client_flush_until(c, deadline);
}

/* ---- input ----------------------------------------------------------------------------------- */

/* Make room for at least `want` unread bytes in all and some to spare. */
static int in_reserve(struct client *c, size_t want)
{
    size_t have = c->in_len - c->in_pos;
    uint8_t *p;

    if (have == 0 && c->in_cap > IN_KEEP && want <= IN_CHUNK) {
        free(c->in);
        c->in = NULL;
        c->in_cap = 0;
    }
    if (c->in_pos && (have == 0 || c->in_pos + want > c->in_cap)) {
        if (have)
            memmove(c->in, c->in + c->in_pos, have);
        c->in_pos = 0;
        c->in_len = have;
    } else if (have == 0) {
        c->in_pos = c->in_len = 0;
    }
    want = MAX(want, (size_t)IN_CHUNK);
    if (c->in_pos + want <= c->in_cap)
        return 0;
    p = realloc(c->in, c->in_pos + want);
    if (!p)
        return -ENOMEM;
    c->in = p;
    c->in_cap = c->in_pos + want;
    return 0;
}

static ssize_t recv_some(struct client *c)
{
    uint8_t *to = c->in + c->in_len;
    size_t room = c->in_cap - c->in_len;
    ssize_t n;

    if (!c->tls) {
        n = recv(c->fd, to, room, MSG_DONTWAIT);
        return n < 0 ? -errno : n;
    }
    n = client_tls_recv(c, to, room);
    if (n == -EAGAIN)
        (void)client_flush(c); /* a handshake that is over lets it go; else input tells why not */
    return n;
}

static short recv_events(const struct client *c)
{
    return c->tls ? (short)(client_tls_recv_events(c) | client_out_events(c)) : POLLIN;
}

/* Read once, waiting until the deadline (`deadline` 0: not at all).  1 read, 0 nothing yet. */
static int fill_input(struct client *c, int64_t deadline)
{
    for (;;) {
        ssize_t n = recv_some(c);
        int r;

        if (n > 0) {
            c->in_len += (size_t)n;
            return 1;
        }
        if (n == 0 || n == -ECONNRESET)
            return fail_connection(c, -EPIPE);
        if (n == -EINTR)
            continue;
        if (n != -EAGAIN && n != -EWOULDBLOCK)
            return fail_connection(c, (int)n);
        if (deadline == 0)
            return 0;
        r = wait_for(c, recv_events(c), deadline);
        if (r < 0)
            return r == -ETIMEDOUT ? 0 : fail_connection(c, r);
    }
}

int client_recv_any(struct client *c, int64_t deadline, struct frame *ret_frame)
{
    for (;;) {
        size_t have = c->in_len - c->in_pos;
        size_t want = FRAME_HEADER_SIZE;
        int r;

        if (have >= FRAME_HEADER_SIZE) {
            struct frame f;

            r = frame_decode_header(c->in + c->in_pos, &f);
            if (r < 0)
                return fail_connection(c, -EPROTO);
            want += f.len + (c->seal_in ? SEAL_TAG_SIZE : 0);
            if (have >= want) {
                f.body = c->in + c->in_pos + FRAME_HEADER_SIZE;
                if (c->seal_in &&
                    !seal_fits(c->seal_in, c->in + c->in_pos, f.body, f.len, f.body + f.len))
                    return fail_connection(c, -EPROTO);
                c->in_pos += want;
                *ret_frame = f;
                return 1;
            }
        }
        if (c->broken || c->fd < 0)
            return -EPIPE;
        r = in_reserve(c, want);
        if (r < 0)
            return fail_connection(c, r);
        r = fill_input(c, deadline);
        if (r <= 0)
            return r;
    }
}

int client_take_error(struct client *c, const struct frame *frame)
{
    Pst__Error *e;

    free(c->error_text);
    c->error_text = NULL;
    c->error_code = EPST_PROTOCOL;
    if (FRAME_UNPACK(error, frame, &e, NULL) == 0) {
        c->error_code = e->has_code ? e->code : SLURM_ERROR;
        if (e->text && e->text[0])
            c->error_text = strdup(e->text); /* lost for want of memory: the standard text serves */
        pst__error__free_unpacked(e, NULL);
    }
    return -EREMOTEIO;
}

/* The challenge on the local socket, which is not awaited: only its versions matter. */
static int note_challenge(struct client *c, const struct frame *frame)
{
    Pst__Challenge *challenge;
    int r = FRAME_UNPACK(challenge, frame, &challenge, NULL);

    if (r == 0) {
        r = hello_version(challenge, &c->version, NULL);
        pst__challenge__free_unpacked(challenge, NULL);
    }
    if (r == 0)
        return 0;
    free(c->error_text);
    c->error_text = NULL;
    c->error_code = EPST_VERSION;
    return fail_connection(c, -EREMOTEIO);
}

/* A frame came.  True when it told the kept request to come later: the request was sent again. */
static bool ask_again(struct client *c, const struct frame *frame, int64_t *deadline)
{
    uint8_t *again;
    size_t len;

    if (!client_is_asked(c, frame))
        return false;
    if (frame->flags & FRAME_ERROR)
        (void)client_take_error(c, frame); /* remembered; what it gives is no news */
    again = client_back_off(c, frame, &len, deadline);
    return again && client_queue_take(c, again, len) == 0 &&
           client_flush_until(c, client_deadline(c->timeout_ms)) == 0;
}

/* As client_recv_any, with the handshake's frames dealt with. */
static int recv_frame(struct client *c, int64_t deadline, struct frame *ret_frame)
{
    for (;;) {
        int r = client_recv_any(c, deadline, ret_frame);

        if (r <= 0)
            return r;
        if (ret_frame->op == OP_CHALLENGE && !(ret_frame->flags & FRAME_REPLY)) {
            r = note_challenge(c, ret_frame);
            if (r < 0)
                return r;
            continue;
        }
        if (ask_again(c, ret_frame, &deadline))
            continue;
        if (!(ret_frame->flags & FRAME_REPLY) && !access_asked_of_caller(ret_frame->op))
            return fail_connection(c, -EPROTO); /* a server does not ask its client */
        if (ret_frame->op != OP_HELLO || !(ret_frame->flags & FRAME_REPLY))
            return 1;
        if (ret_frame->flags & FRAME_ERROR)
            return fail_connection(c, client_take_error(c, ret_frame));
        c->handshake = false;
    }
}

int client_recv(struct client *c, int timeout_ms, struct frame *ret_frame)
{
    int64_t deadline = timeout_ms < 0    ? INT64_MAX
                       : timeout_ms == 0 ? 0
                                         : client_deadline(timeout_ms);

    return recv_frame(c, deadline, ret_frame);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The controller's last word (server_set_farewell()): what it has not answered was not carried
 * out.  Accounting, which it hands on, is not included. */
static bool is_farewell(const struct frame *f)
{
    return f->id == 0 && (f->flags & FRAME_REPLY) && (f->flags & FRAME_ERROR);
}

/* Next frame of the reply to request id, which was an op. */
static int recv_reply(struct client *c, unsigned op, uint32_t id, int64_t deadline,
                      struct frame *ret_frame)
{
    for (;;) {
        int r = recv_frame(c, deadline, ret_frame);

        if (r == 0)
            return -ETIMEDOUT;
        if (r < 0)
            return r;
        if (is_farewell(ret_frame))
            return access_role(ACCESS_DBD, op) == ACCESS_NONE ? client_take_error(c, ret_frame)
                                                              : fail_connection(c, -EPIPE);
        if (ret_frame->id != id || !(ret_frame->flags & FRAME_REPLY))
            continue;
        if (ret_frame->flags & FRAME_ERROR)
            return client_take_error(c, ret_frame);
        return ret_frame->op == op ? 0 : fail_connection(c, -EPROTO);
    }
}

/* Send a request and see it off.  A peer that refused us closes early: its Error, when it left one,
 * says more than the failed send. */
static int send_request(struct client *c, unsigned op, const ProtobufCMessage *request, uint32_t id)
{
    int r = client_send(c, op, 0, id, request);
    struct frame f;

    if (r == -EPIPE || r == -ECONNRESET) {
        int r2 = c->broken ? r : recv_reply(c, op, id, client_deadline(c->timeout_ms), &f);

        c->broken = true;
        return r2 == -EREMOTEIO ? r2 : -EPIPE;
    }
    return r;
}

void client_set_timeout(struct client *c, int timeout_ms)
{
    c->timeout_ms = timeout_ms;
}

bool client_keeps_text(const struct client *c)
{
    return c->keeps_text;
}

void client_set_again(struct client *c, client_again_fn *fn, void *ctx)
{
    c->again = fn;
    c->again_ctx = ctx;
}

/* Did the controller leave the request to another one, and is that one reached? */
static bool is_moved(struct client *c)
{
    struct client *fresh = NULL, old;

    if (!c->again || c->error_code != ESLURM_IN_STANDBY_MODE || c->again(c->again_ctx, &fresh) < 0)
        return false;
    client_set_again(fresh, c->again, c->again_ctx);
    client_set_timeout(fresh, c->timeout_ms);
    old = *c;
    *c = *fresh;
    *fresh = old;
    (void)client_free(fresh); /* always NULL */
    return true;
}

static int call_once(struct client *c, unsigned op, const ProtobufCMessage *request,
                     ProtobufCMessage **ret_reply)
{
    int64_t deadline = client_deadline(c->timeout_ms);
    uint32_t id = client_next_id(c);
    struct frame f;
    int r = send_request(c, op, request, id);

    if (r < 0)
        return r;
    r = recv_reply(c, op, id, deadline, &f);
    if (r < 0 || !ret_reply)
        return r;
    assert(wire_op_info(op)); /* else it belongs to WIRE_OPS_STEP */
    r = frame_unpack(&f, wire_op_info(op)->reply, ret_reply, NULL);
    return r == -ENOMEM || r == 0 ? r : -EPROTO;
}

int client_call(struct client *c, unsigned op, const ProtobufCMessage *request,
                ProtobufCMessage **ret_reply)
{
    int r = call_once(c, op, request, ret_reply);

    for (int i = 0; r == -EREMOTEIO && i < MOVES_MAX && is_moved(c); i++)
        r = call_once(c, op, request, ret_reply);
    return r;
}

static int stream_once(struct client *c, unsigned op, const ProtobufCMessage *request,
                       client_stream_fn *fn, void *ctx, bool *ret_begun)
{
    uint32_t id = client_next_id(c);
    struct frame f;
    int r = send_request(c, op, request, id);

    while (r == 0) {
        r = recv_reply(c, op, id, client_deadline(c->timeout_ms), &f);
        *ret_begun |= r == 0;
        if (r == 0)
            r = fn(ctx, &f);
        if (r >= 0 && !(f.flags & FRAME_MORE))
            return 0;
        r = MIN(r, 0);
    }
    return r;
}

int client_stream(struct client *c, unsigned op, const ProtobufCMessage *request,
                  client_stream_fn *fn, void *ctx)
{
    bool begun = false;
    int r = stream_once(c, op, request, fn, ctx, &begun);

    for (int i = 0; r == -EREMOTEIO && !begun && i < MOVES_MAX && is_moved(c); i++)
        r = stream_once(c, op, request, fn, ctx, &begun);
    return r;
}

int client_error(const struct client *c, const char **ret_text)
{
    if (ret_text)
        *ret_text = c->error_text ? c->error_text : slurm_err_text(c->error_code);
    return c->error_code;
}

const char *client_strerror(const struct client *c, int r)
{
    const char *text = c ? client_tls_why(c, r) : NULL;

    if (text)
        return text;
    switch (r) {
    case -EREMOTEIO:
        if (!c)
            return slurm_err_text(SLURM_ERROR);
        (void)client_error(c, &text); /* the code is not asked for */
        return text;
    case -ECONNREFUSED:
    case -EHOSTUNREACH:
    case -ENETUNREACH:
    case -EHOSTDOWN:
    case -ENETDOWN:
    case -EADDRNOTAVAIL:
    case -ENXIO:
        return slurm_err_text(EPST_UNREACHABLE);
    case -ETIMEDOUT:
    case -EAGAIN:
        return slurm_err_text(EPST_TIMEOUT);
    case -EACCES:
    case -EPERM:
    case -ENOKEY:
    case -EKEYEXPIRED:
        return slurm_err_text(EPST_AUTH);
    case -EPIPE:
    case -ECONNRESET:
        return slurm_err_text(SLURM_PROTOCOL_SOCKET_ZERO_BYTES_SENT);
    case -EPROTO:
    case -EBADMSG:
        return slurm_err_text(EPST_PROTOCOL);
    case -EMSGSIZE:
        return slurm_err_text(EPST_BAD_REQUEST);
    case -EBUSY:
        return slurm_err_text(EPST_BUSY);
    default:
        return r >= 0 ? slurm_err_text(SLURM_OK) : strerror(-r);
    }
}
