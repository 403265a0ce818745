/* watchlate.c - watchers whose place the ring no longer holds are served from the journal, one
 * after the other
 *
 * A frame is sent when the one before it has left, so a slow reader costs one frame of memory and
 * its turn, which the connection's stall limit bounds.  A watcher that has caught up with the ring
 * goes back to its group. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "base/process/threadname.h"
#include "ctld/watch/watch_impl.h"

#define PAUSE_US 50000

void watcher_send(struct watcher *w, bool ready, bool reset, bool more)
{
    Pst__WatchBatch msg = PST__WATCH_BATCH__INIT;

    msg.has_cursor_lsn = true;
    msg.cursor_lsn = w->pos.lsn;
    msg.has_ready = msg.ready = ready;
    msg.has_reset = msg.reset = reset;
    (void)conn_reply(w->conn, OP_WATCH, w->id, more ? FRAME_MORE : 0,
                     &msg.base); /* lost: he asks again */
}

/* One frame on its way; the thread waits for it. */
struct shipment {
    struct watch *hub;
    struct watcher *to;
    struct shared_bytes *body;
    bool done;
};

static bool ship_next(struct conn *c, void *arg)
{
    struct shipment *s = arg;

    if (!s->to->ready)
        watcher_send(s->to, true, false, true);
    s->to->ready = true;
    conn_send_shared(c, OP_WATCH, FRAME_MORE, s->to->id, s->body);
    return false;
}

static void ship_done(void *arg)
{
    struct shipment *s = arg;

    pthread_mutex_lock(&s->hub->lock);
    s->done = true;
    pthread_cond_broadcast(&s->hub->late_wake);
    pthread_mutex_unlock(&s->hub->lock);
}

static void ship_body(struct watch *hub, struct watcher *to, struct shared_bytes *body)
{
    struct shipment s = { .hub = hub, .to = to, .body = body };

    conn_stream(to->conn, ship_next, ship_done, &s);
    pthread_mutex_lock(&hub->lock);
    while (!s.done)
        pthread_cond_wait(&hub->late_wake, &hub->lock);
    pthread_mutex_unlock(&hub->lock);
}

struct making {
    struct watch_batch *b;
};

static int on_change(void *ctx, const Pst__WatchChange *c, uint32_t states)
{
    return watch_batch_add(((struct making *)ctx)->b, c, states);
}

/* One batch to w: its changes, or only where we are. */
static int serve_batch(struct watch *hub, struct watcher *w, struct watchproj *p, struct err *err)
{
    struct making m = { .b = watch_batch_new(watchproj_lsn(p) + 1) };
    struct shared_bytes *out = NULL;
    int r = m.b ? 1 : -ENOMEM;

    while (r > 0 && m.b->len < WATCH_BATCH_BYTES)
        r = watchproj_next(p, atomic_load(&hub->durable), on_change, &m, err);
    if (r >= 0 && watch_batch_seal(m.b, watchproj_lsn(p)) < 0)
        r = -ENOMEM;
    if (r >= 0 && watch_batch_cut(m.b, w->filter, w->pos, &out) < 0)
        r = -ENOMEM;
    if (out) {
        ship_body(hub, w, out);
        shared_unref(out);
    }
    if (r >= 0 && watchproj_lsn(p) >= w->pos.lsn)
        w->pos = (struct watch_pos){ watchproj_lsn(p), UINT32_MAX };
    watch_batch_unref(m.b);
    return r;
}

/* Lock held: may w go back, or must this end? */
static bool caught_up(const struct watch *hub, const struct watcher *w)
{
    return hub->stopping || w->gone || w->sight != hub->sight || hub->state == WATCH_IDLE ||
           (hub->state == WATCH_LIVE && w->pos.lsn >= hub->base && w->pos.index == UINT32_MAX);
}

static int serve_watcher(struct watch *hub, struct watcher *w, struct err *err)
{
    struct watchproj *p = NULL;
    uint64_t from = w->pos.lsn - (w->pos.index != UINT32_MAX && w->pos.lsn);
    int r = watchproj_open(hub->dir, from, &p, err);
    bool done = false;

    while (r >= 0 && !done) {
        atomic_store(&hub->late_at, w->pos.lsn);
        r = serve_batch(hub, w, p, err);
        pthread_mutex_lock(&hub->lock);
        done = caught_up(hub, w);
        if (r == 0 && !done) {
            int64_t until = now_mono_us() + PAUSE_US;
            struct timespec ts = { .tv_sec = until / USEC_PER_SEC,
                                   .tv_nsec = until % USEC_PER_SEC * 1000 };

            (void)pthread_cond_timedwait(&hub->late_wake, &hub->lock,
                                         &ts); /* too early is no harm */
        }
        pthread_mutex_unlock(&hub->lock);
    }
    atomic_store(&hub->late_at, UINT64_MAX);
    watchproj_free(p);
    return r < 0 ? r : 0;
}

static void *run_late(void *arg)
{
    struct watch *hub = arg;

    for (;;) {
        struct err err = { .text = "" };
        struct watcher *w;
        struct conn *c;
        bool stopping;
        int r;

        pthread_mutex_lock(&hub->lock);
        while (!hub->late_head && !hub->stopping)
            pthread_cond_wait(&hub->late_wake, &hub->lock);
        w = hub->late_head;
        if (w) {
            hub->late_head = w->late_next;
            if (!hub->late_head)
                hub->late_end = &hub->late_head;
        }
        stopping = hub->stopping;
        pthread_mutex_unlock(&hub->lock);
        if (!w)
            break;
        c = conn_ref(w->conn);
        r = stopping ? -ESHUTDOWN : serve_watcher(hub, w, &err);
        if (r < 0 && !stopping && r != -ENOENT)
            log_error("watch: %s", err.text[0] ? err.text : strerrordesc_np(-r));
        if (conn_run(c, r < 0 ? hub->late_lost : hub->late_back, w) < 0)
            log_nomem("a watcher is left alone");
        conn_unref(c);
    }
    return NULL;
}

int watchlate_add(struct watch *hub, struct watcher *w)
{
    int r;

    if (!hub->late_running) {
        r = -pthread_create(&hub->late_thread, NULL, run_late, hub);
        if (r < 0)
            return r;
        hub->late_running = true;
        threadname_set(hub->late_thread, "watch-late");
    }
    w->late = true;
    w->late_next = NULL;
    *hub->late_end = w;
    hub->late_end = &w->late_next;
    pthread_cond_broadcast(&hub->late_wake);
    return 0;
}
