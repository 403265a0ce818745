/* link.c - one connection on a uv loop
 *
 * Owns the socket, the bytes of frames not yet complete and the queue of frames not yet sent; runs
 * on its loop's thread.  Invariants: an idle link holds no buffer (frames are read into the loop's
 * scratch and only what is incomplete is kept); memory for a frame grows with the bytes that
 * arrived and never past the length its header announced, which on_header has judged; after
 * link_close() nothing is called but on_closed, once. */
#include "wire/server/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/logflags.h"
#include "base/timefmt.h"

#define IN_FIRST 4096u
#define RECORD_MAX (16u * WIRE_KIB)
#define IOV_MAX_USED 64u
#define READS_PER_EVENT 4u
#define TLS_READS_PER_EVENT 16u      /* a record is 16 KiB at most */
#define FLUSH_BUDGET (1u * WIRE_MIB) /* per event, then others get their turn */
#define LINGER_US INT64_C(1000000)
#define LINGER_BYTES (16u * WIRE_MIB)

static void flush_output(struct link *l);
static void parse_input(struct link *l, const uint8_t *data, size_t len);

int link_loop_init(struct link_loop *ll, uv_loop_t *loop)
{
    *ll = (struct link_loop){ .loop = loop, .scratch = malloc(LINK_SCRATCH) };
    return ll->scratch ? 0 : -ENOMEM;
}

void link_loop_done(struct link_loop *ll)
{
    free(ll->scratch);
    ll->scratch = NULL;
}

void link_batch_begin(struct link_loop *ll)
{
    if (ll->depth++ == 0)
        ll->now_mono_us = now_mono_us();
}

void link_batch_end(struct link_loop *ll)
{
    /* Flushing may queue output on other links; they join the list and are served here too. */
    while (ll->depth == 1 && ll->dirty) {
        struct link *l = ll->dirty;

        ll->dirty = l->dirty_next;
        l->dirty = false;
        flush_output(l);
    }
    ll->depth--;
}

static void mark_dirty(struct link *l)
{
    if (l->dirty)
        return;
    l->dirty = true;
    l->dirty_next = l->ll->dirty;
    l->ll->dirty = l;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void on_poll(uv_poll_t *poll, int status, int events);

static void update_events(struct link *l)
{
    int want = 0;

    if (l->closing)
        return;
    if (!l->connecting && !l->paused && (!l->finishing || l->lingering))
        want |= UV_READABLE;
    if (l->connecting || l->again || (l->out_n && !(l->tls && tls_write_waits_read(l->tls))) ||
        (l->tls && (want & UV_READABLE) && tls_read_waits_write(l->tls)))
        want |= UV_WRITABLE;
    if (want == l->events)
        return;
    l->events = want;
    if (want)
        (void)uv_poll_start(&l->poll, want, on_poll); /* fails only for a closing handle */
    else
        (void)uv_poll_stop(&l->poll);
}

static void finish_connect(struct link *l)
{
    socklen_t len = sizeof(int);
    int e = 0;

    if (getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &e, &len) < 0)
        e = errno;
    l->connecting = false;
    l->ops->on_connected(l, -e);
}

/* The sentence for a failed read or write. */
static const char *link_error(const struct link *l, int r)
{
    const char *why = l->tls ? tls_why(l->tls) : NULL;

    return why ? why : strerror(-r);
}

/* As recv(2), through TLS where there is any. */
static ssize_t recv_some(struct link *l, uint8_t *to, size_t room)
{
    ssize_t n;

    if (l->tls) {
        n = tls_read(l->tls, to, room);
    } else {
        do {
            n = recv(l->fd, to, room, MSG_DONTWAIT);
        } while (n < 0 && errno == EINTR);
        n = n < 0 ? -errno : n;
    }
    if (n > 0)
        log_flag(NETWORK_RAW, "descriptor %d: %zd bytes read%s", l->fd, n, l->tls ? " of TLS" : "");
    return n;
}

/* The peer's end of a connection that we are done with. */
static void linger_read(struct link *l)
{
    ssize_t n = recv(l->fd, l->ll->scratch, LINK_SCRATCH, MSG_DONTWAIT);

    if (n > 0)
        l->lingered += (size_t)n;
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || l->lingered > LINGER_BYTES)
        link_close(l, NULL);
}

/* Read once into place or scratch: true when there may be more. */
static bool read_once(struct link *l)
{
    uint8_t *to = l->ll->scratch;
    size_t room = LINK_SCRATCH;
    ssize_t n;

    if (l->in_len) {
        if (l->in_len == l->in_cap) {
            size_t cap = MIN(MAX(2 * l->in_cap, (size_t)IN_FIRST), l->in_need);
            uint8_t *p = realloc(l->in, cap);

            if (!p) {
                link_close(l, ERR_NOMEM);
                return false;
            }
            l->in = p;
            l->in_cap = cap;
            if (l->ops->on_grow)
                l->ops->on_grow(l);
            if (l->closing || l->finishing)
                return false;
        }
        to = l->in + l->in_len;
        room = MIN(l->in_cap, l->in_need) - l->in_len;
    }
    n = recv_some(l, to, room);
    if (n == -EAGAIN || n == -EWOULDBLOCK)
        return false;
    if (n <= 0) {
        link_close(l, n < 0 ? link_error(l, (int)n) : NULL);
        return false;
    }
    if (to == l->ll->scratch) {
        parse_input(l, to, (size_t)n);
    } else {
        l->in_len += (size_t)n;
        if (l->in_len == l->in_need) {
            /* Taken away while it is parsed: what is incomplete is kept anew. */
            _cleanup_free_ uint8_t *whole = TAKE_PTR(l->in);
            size_t len = l->in_len;

            l->in_len = l->in_cap = 0;
            parse_input(l, whole, len);
        }
    }
    return (size_t)n == room || (l->tls && !l->closing);
}

/* May the socket be read?  Whoever wants to see the first bytes before that has seen them. */
static bool hear_first(struct link *l)
{
    if (!l->heard)
        l->heard = !l->ops->on_first || l->ops->on_first(l);
    return l->heard;
}

/* What TLS has read of the socket and we have not read of it wakes nobody: we do ourselves. */
static void read_some(struct link *l)
{
    unsigned reads = l->tls ? TLS_READS_PER_EVENT : READS_PER_EVENT;

    for (unsigned i = 0; i < reads && !l->closing && !l->paused && !l->finishing; i++)
        if (!read_once(l))
            break;
    if (!l->tls || l->closing)
        return;
    if (l->out_n)
        mark_dirty(l); /* what waited for the handshake */
    if (tls_has_input(l->tls) && !l->paused && !l->finishing)
        l->again = true;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct link *l = poll->data;
    struct link_loop *ll = l->ll;

    link_batch_begin(ll);
    if (status <
        0) { /* an error is pending on the socket: what was received before it still counts */
        l->events = 0;
        events = l->connecting ? UV_WRITABLE : UV_READABLE;
    }
    if (l->connecting && (events & UV_WRITABLE))
        finish_connect(l);
    else if ((events & UV_READABLE) && l->lingering)
        linger_read(l);
    else if (((events & UV_READABLE) || (l->tls && !l->connecting)) && hear_first(l))
        read_some(l);
    if ((events & UV_WRITABLE) && !l->closing)
        mark_dirty(l);
    if (status < 0 && !l->connecting)
        link_close(l, "connection reset");
    update_events(l);
    link_batch_end(ll);
}

int link_init(struct link *l, struct link_loop *ll, int fd, bool connecting,
              const struct link_ops *ops)
{
    int r;

    *l = (struct link){ .fd = fd, .ll = ll, .ops = ops, .connecting = connecting };
    r = uv_poll_init(ll->loop, &l->poll, fd);
    if (r < 0)
        return r;
    l->poll.data = l;
    l->out_since_us = now_mono_us();
    update_events(l);
    return 0;
}

/* ---- input ----------------------------------------------------------------------------------- */

/* Keep data until the rest of its frame is there. */
static void stash_input(struct link *l, const uint8_t *data, size_t len, size_t need)
{
    uint8_t *p;

    if (len == 0)
        return;
    p = malloc(len);
    if (!p) {
        link_close(l, ERR_NOMEM);
        return;
    }
    memcpy(p, data, len);
    l->in = p;
    l->in_len = l->in_cap = len;
    l->in_need = need;
    if (l->in_since_us == 0)
        l->in_since_us = l->ll->now_mono_us;
    if (l->ops->on_grow)
        l->ops->on_grow(l);
}

/* Dispatch the whole frames in data; l->in is empty. */
static void parse_input(struct link *l, const uint8_t *data, size_t len)
{
    while (len >= FRAME_HEADER_SIZE) {
        struct frame f;
        size_t total;

        if (l->closing || l->finishing)
            return;
        if (l->paused)
            break;
        if (l->ops->on_header(l, data, &f) < 0)
            return;
        total = FRAME_HEADER_SIZE + f.len + (l->seal_in ? SEAL_TAG_SIZE : 0);
        if (len < total) {
            stash_input(l, data, len, total);
            return;
        }
        f.body = data + FRAME_HEADER_SIZE;
        if (l->seal_in && !seal_fits(l->seal_in, data, f.body, f.len, f.body + f.len)) {
            link_close(l, "a frame is not the peer's own");
            return;
        }
        l->rest = len - total;
        l->in_since_us = 0;
        l->ops->on_frame(l, &f);
        l->rest = 0;
        data += total;
        len -= total;
    }
    if (!l->closing && !l->finishing)
        stash_input(l, data, len, MAX(len, (size_t)FRAME_HEADER_SIZE));
}

void link_pause(struct link *l, bool pause)
{
    if (l->paused == pause || l->closing)
        return;
    l->paused = pause;
    if (!pause && l->tls && tls_has_input(l->tls))
        l->again = true;
    if (!pause && l->in_len) {
        _cleanup_free_ uint8_t *data = TAKE_PTR(l->in);
        size_t len = l->in_len;

        l->in_len = l->in_cap = 0;
        l->in_since_us = 0; /* the wait was ours */
        link_batch_begin(l->ll);
        parse_input(l, data, len);
        link_batch_end(l->ll);
    }
    update_events(l);
}

/* ---- output ---------------------------------------------------------------------------------- */

static int out_grow(struct link *l)
{
    uint32_t cap = l->out_cap ? 2 * l->out_cap : 8;
    struct link_out *out = calloc(cap, sizeof(*out));

    if (!out)
        return -ENOMEM;
    for (uint32_t i = 0; i < l->out_n; i++)
        out[i] = l->out[(l->out_head + i) & (l->out_cap - 1)];
    free(l->out);
    l->out = out;
    l->out_cap = cap;
    l->out_head = 0;
    return 0;
}

static int queue_out(struct link *l, struct link_out o)
{
    if (l->closing || l->lingering || (l->out_n == l->out_cap && out_grow(l) < 0))
        return l->closing || l->lingering ? -EPIPE : -ENOMEM;
    if (l->out_n == 0)
        l->out_since_us = now_mono_us();
    l->out[(l->out_head + l->out_n++) & (l->out_cap - 1)] = o;
    *(o.streamed ? &l->out_streamed : &l->out_plain) += o.len;
    if (!l->draining) /* flush_output() looks at the queue after on_drain */
        link_kick(l);
    return 0;
}

static int queue_take(struct link *l, uint8_t *buf, size_t len, bool streamed)
{
    int r = queue_out(l, (struct link_out){ .buf = buf, .len = len, .streamed = streamed });

    if (r < 0)
        free(buf);
    return r;
}

int link_send_take(struct link *l, uint8_t *buf, size_t len, bool streamed)
{
    uint8_t *sealed;

    if (!l->seal_out)
        return queue_take(l, buf, len, streamed);
    sealed = realloc(buf, len + SEAL_TAG_SIZE);
    if (!sealed) {
        free(buf);
        return -ENOMEM;
    }
    seal_tag(l->seal_out, sealed, sealed + FRAME_HEADER_SIZE, len - FRAME_HEADER_SIZE,
             sealed + len);
    return queue_take(l, sealed, len + SEAL_TAG_SIZE, streamed);
}

static int queue_shared(struct link *l, struct shared_bytes *bytes)
{
    struct link_out o = { .buf = bytes->data, .shared = shared_ref(bytes), .len = bytes->len };
    int r = queue_out(l, o);

    if (r < 0)
        shared_unref(bytes);
    return r;
}

int link_send_shared(struct link *l, uint8_t *header, struct shared_bytes *body)
{
    uint8_t *tag = l->seal_out ? malloc(SEAL_TAG_SIZE) : NULL;
    int r;

    if (l->seal_out && !tag) {
        free(header);
        return -ENOMEM;
    }
    if (tag)
        seal_tag(l->seal_out, header, body->data, body->len, tag);
    r = queue_take(l, header, FRAME_HEADER_SIZE, false);
    if (r == 0 && body->len)
        r = queue_shared(l, body);
    if (r == 0 && tag)
        return queue_take(l, tag, SEAL_TAG_SIZE, false);
    free(tag);
    return r;
}

void link_seal_take(struct link *l, struct seal *in, struct seal *out)
{
    (void)seal_free(l->seal_in); /* always NULL, as the next */
    (void)seal_free(l->seal_out);
    l->seal_in = in;
    l->seal_out = out;
}

void link_tls_take(struct link *l, struct tls *tls)
{
    (void)tls_free(l->tls); /* always NULL */
    l->tls = tls;
}

static void out_free(struct link_out *o)
{
    if (o->shared)
        shared_unref(o->shared);
    else
        free(o->buf);
}

/* `n` bytes of the queue were taken by the socket. */
static void consume_input(struct link *l, size_t n)
{
    while (n) {
        struct link_out *o = &l->out[l->out_head];
        size_t part = MIN(n, o->len - l->out_off);

        *(o->streamed ? &l->out_streamed : &l->out_plain) -= part;
        n -= part;
        l->out_off += part;
        if (l->out_off == o->len) {
            out_free(o);
            l->out_head = (l->out_head + 1) & (l->out_cap - 1);
            l->out_n--;
            l->out_off = 0;
        }
    }
}

/* The head of the queue as one record of TLS: bytes taken, -EAGAIN ... */
static ssize_t send_record(struct link *l)
{
    uint8_t record[RECORD_MAX];
    const struct link_out *head = &l->out[l->out_head];
    size_t len = 0, off = l->out_off;

    tls_more(l->tls, tls_is_up(l->tls) && link_out_bytes(l) > sizeof(record));
    if (head->len - off >= sizeof(record)) /* long output is copied by nobody but the library */
        return tls_write(l->tls, head->buf + off, sizeof(record));
    for (uint32_t i = 0; i < l->out_n && len < sizeof(record); i++, off = 0) {
        const struct link_out *o = &l->out[(l->out_head + i) & (l->out_cap - 1)];
        size_t part = MIN(o->len - off, sizeof(record) - len);

        memcpy(record + len, o->buf + off, part);
        len += part;
    }
    return tls_write(l->tls, record, len);
}

/* As send_queue(). */
static ssize_t send_records(struct link *l)
{
    size_t sent = 0;

    while (l->out_n) {
        ssize_t n = send_record(l);

        if (n == -EAGAIN)
            break;
        if (n < 0)
            return n;
        consume_input(l, (size_t)n);
        sent += (size_t)n;
    }
    return (ssize_t)sent;
}

/* Send until the queue is empty or the socket full: bytes sent, or a negative errno. */
static ssize_t send_queue(struct link *l)
{
    size_t sent = 0;

    if (l->tls)
        return send_records(l);
    while (l->out_n) {
        struct iovec iov[IOV_MAX_USED];
        struct msghdr msg = { .msg_iov = iov };
        size_t total = 0;
        ssize_t n;

        for (uint32_t i = 0; i < l->out_n && i < IOV_MAX_USED; i++) {
            const struct link_out *o = &l->out[(l->out_head + i) & (l->out_cap - 1)];
            size_t off = i ? 0 : l->out_off;

            iov[i] = (struct iovec){ .iov_base = o->buf + off, .iov_len = o->len - off };
            total += o->len - off;
            msg.msg_iovlen = i + 1;
        }
        n = sendmsg(l->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS))
            break;
        if (n < 0)
            return -errno;
        consume_input(l, (size_t)n);
        sent += (size_t)n;
        if ((size_t)n < total)
            break;
    }
    return (ssize_t)sent;
}

/* Everything is sent: say so to the peer and wait for its end. */
static void start_linger(struct link *l)
{
    l->lingering = true;
    l->paused = false;
    l->linger_until_us = now_mono_us() + LINGER_US;
    if (shutdown(l->fd, SHUT_WR) < 0)
        link_close(l, NULL); /* the peer is gone already */
}

/* A peer that takes a byte now and then would keep its queue for ever. */
static void note_progress(struct link *l, size_t n)
{
    l->out_taken += n;
    if (l->out_n && l->out_taken < LINK_PROGRESS)
        return;
    l->out_taken = 0;
    l->out_since_us = now_mono_us();
}

static void flush_output(struct link *l)
{
    size_t sent = 0;

    if (l->draining)
        return;
    l->again = false;
    while (!l->closing && !l->connecting && !l->lingering) {
        ssize_t n = send_queue(l);

        if (n < 0) {
            link_close(l, link_error(l, (int)n));
            return;
        }
        if (n > 0) {
            log_flag(NETWORK_RAW, "descriptor %d: %zd bytes written%s", l->fd, n,
                     l->tls ? " of TLS" : "");
            note_progress(l, (size_t)n);
        }
        sent += (size_t)n;
        if (l->ops->on_drain && !l->finishing) {
            uint32_t before = l->out_n;

            l->draining = true;
            l->ops->on_drain(l);
            l->draining = false;
            if (before == 0 && l->out_n && !l->closing) {
                if (sent < FLUSH_BUDGET)
                    continue;
                l->again = true;
            }
        }
        break;
    }
    if (l->finishing && !l->lingering && !l->closing && l->out_n == 0)
        start_linger(l);
    update_events(l);
}

void link_flush(struct link *l)
{
    link_batch_begin(l->ll);
    flush_output(l);
    link_batch_end(l->ll);
}

void link_kick(struct link *l)
{
    if (l->closing)
        return;
    if (l->draining) {
        l->again = true;
        update_events(l);
    } else if (l->ll->depth) {
        mark_dirty(l);
    } else {
        link_batch_begin(l->ll);
        mark_dirty(l);
        link_batch_end(l->ll);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

static void set_why(struct link *l, const char *why)
{
    if (why && !l->why[0])
        (void)snprintf(l->why, sizeof(l->why), "%s", why); /* cut is fine */
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct link *l = handle->data;

    for (uint32_t i = 0; i < l->out_n; i++)
        out_free(&l->out[(l->out_head + i) & (l->out_cap - 1)]);
    free(l->out);
    free(l->in);
    link_seal_take(l, NULL, NULL);
    link_tls_take(l, NULL);
    l->out = NULL;
    l->in = NULL;
    l->out_n = 0;
    l->ops->on_closed(l);
}

void link_close(struct link *l, const char *why)
{
    if (l->closing)
        return;
    set_why(l, why);
    l->closing = true;
    uv_close((uv_handle_t *)&l->poll, on_handle_closed); /* takes fd out of the loop at once */
    (void)close(l->fd);                                  /* no caller to report to */
    l->fd = -1;
}

void link_close_slow(struct link *l, const char *why)
{
    l->slow = !l->closing;
    link_close(l, why);
}

void link_finish(struct link *l, const char *why)
{
    if (l->closing || l->finishing)
        return;
    set_why(l, why);
    l->finishing = true;
    if (l->in_len) {
        free(l->in);
        l->in = NULL;
        l->in_len = l->in_cap = 0;
    }
    link_kick(l);
}

void link_tick(struct link *l, int64_t now_us, int64_t stall_us)
{
    if (l->closing)
        return;
    if (l->lingering) {
        if (now_us > l->linger_until_us)
            link_close(l, NULL);
    } else if (l->out_n && now_us - l->out_since_us > stall_us) {
        link_close_slow(l, "peer does not read its replies");
    } else if (l->in_len && !l->paused && now_us - l->in_since_us > stall_us) {
        link_close_slow(l, "peer left a frame half sent");
    }
}
