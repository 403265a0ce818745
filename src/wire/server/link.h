/* link.h - one connection on a uv loop: whole frames in, a queue of buffers out (private to wire/)
 *
 * Works on any stream socket through uv_poll_t, with send and receive of its own: every send
 * carries MSG_NOSIGNAL and partial progress is seen at once.  Everything here runs on the loop's
 * thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h" /* before uv.h, which brings in another MIN */
#include <uv.h>

#include "wire/frame.h"
#include "wire/auth/seal.h"
#include "wire/tls/tls.h"
#include "wire/shared.h"

#define LINK_PROGRESS (16u * WIRE_KIB)
#define LINK_SCRATCH (64u * WIRE_KIB)

struct link;

/* What the links of one loop share: the buffer they read into, and those with output to send when
 * the present callback ends, so that frames queued in one go leave in one system call. */
struct link_loop {
    uv_loop_t *loop;
    uint8_t *scratch; /* LINK_SCRATCH bytes */
    unsigned depth;   /* of link_batch_begin() */
    struct link *dirty;
    int64_t now_mono_us; /* at the start of the present batch */
};

int link_loop_init(struct link_loop *ll, uv_loop_t *loop); /* -ENOMEM */
void link_loop_done(struct link_loop *ll);
void link_batch_begin(struct link_loop *ll);
void link_batch_end(struct link_loop *ll); /* sends what was queued meanwhile */

struct link_ops {
    /* link_init() with connecting: the connection stands (r 0) or failed; may close. */
    void (*on_connected)(struct link *l, int r);
    /* The socket has bytes for the first time, none of them read yet.  True: read on.  False:
     * closed, or to be asked again with the next bytes.  May be NULL. */
    bool (*on_first)(struct link *l);
    /* A header has arrived: fill in *ret_frame (frame_read_header) and judge it.  Negative: the
     * link reads no further; the callee has closed or finished it. */
    int (*on_header)(struct link *l, const uint8_t *header, struct frame *ret_frame);
    /* A whole frame; body borrowed.  May send, pause, finish or close, not free. */
    void (*on_frame)(struct link *l, const struct frame *frame);
    /* Output went out or may go out: the place to queue more.  May be NULL. */
    void (*on_drain)(struct link *l);
    /* More memory holds a frame that is not whole (in_cap); may close.  May be NULL. */
    void (*on_grow)(struct link *l);
    /* Once, when the socket is closed and nothing of the link is in use; may free it. */
    void (*on_closed)(struct link *l);
};

struct link_out {
    uint8_t *buf;                /* owned, or of `shared` */
    struct shared_bytes *shared; /* held, or NULL */
    size_t len;
    bool streamed;
};

struct link {
    uv_poll_t poll;
    int fd;
    struct link_loop *ll;
    const struct link_ops *ops;
    int events; /* as told to uv_poll_start() */
    bool connecting, heard, paused, finishing, lingering, closing, draining, again;
    bool slow;     /* closed by link_close_slow() */
    char why[200]; /* reason of the end; "" when the peer closed */
    /* input not yet dispatched: less than a frame, or more when paused */
    uint8_t *in;
    size_t in_len, in_cap, in_need;
    size_t rest; /* bytes behind the frame being dispatched */
    int64_t in_since_us;
    struct tls *tls;                 /* owned; NULL: plain */
    struct seal *seal_in, *seal_out; /* owned; NULL: frames carry no tag in that direction */
    /* output: a ring of out_cap (a power of two) entries */
    struct link_out *out;
    uint32_t out_cap, out_head, out_n;
    size_t out_off;       /* of the head entry, already taken */
    size_t out_plain;     /* bytes waiting, without ... */
    size_t out_streamed;  /* ... those of streams */
    size_t out_taken;     /* since then, less than LINK_PROGRESS */
    int64_t out_since_us; /* last progress: nothing waits, or the peer took so much */
    int64_t linger_until_us;
    size_t lingered;
    /* batch */
    bool dirty;
    struct link *dirty_next;
};

/* Take fd (a connected, or with `connecting` a connecting, non-blocking stream socket).  On failure
 * fd stays the caller's.  l may be freed in on_closed only. */
int link_init(struct link *l, struct link_loop *ll, int fd, bool connecting,
              const struct link_ops *ops);
/* Queue a frame (malloc'd, taken), sealed when the link is. -ENOMEM, -EPIPE when closing: freed
 * all the same. */
int link_send_take(struct link *l, uint8_t *buf, size_t len, bool streamed);
/* The same for a frame whose body others send too; the header is taken, of the body a reference
 * of its own. -ENOMEM: half a frame may be queued, the link must be closed. */
int link_send_shared(struct link *l, uint8_t *header, struct shared_bytes *body);
/* Frames carry tags from now on; both are taken, either may be NULL. */
void link_seal_take(struct link *l, struct seal *in, struct seal *out);
/* Bytes go through TLS from now on; taken. */
void link_tls_take(struct link *l, struct tls *tls);
/* Try to send now rather than at the end of the batch. */
void link_flush(struct link *l);
/* Have on_drain called at the end of this batch, or now. */
void link_kick(struct link *l);
void link_pause(struct link *l, bool pause);
/* Stop reading frames, send what is queued, then close; the peer gets a second to read it. */
void link_finish(struct link *l, const char *why);
/* Close now; what is queued is lost. */
void link_close(struct link *l, const char *why);
/* The same where the peer was too slow: there may be many of them for as long as a network is. */
void link_close_slow(struct link *l, const char *why);
/* Check deadlines: half a frame, or output that the peer does not read, for longer than
 * stall_us. */
void link_tick(struct link *l, int64_t now_mono_us, int64_t stall_us);

static inline size_t link_out_bytes(const struct link *l)
{
    return l->out_plain + l->out_streamed;
}
