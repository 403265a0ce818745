/* watchloop.c - one thread that sends to all watchers; see watchloop.h
 *
 * A watcher's socket takes what it can; what is left waits in the watcher, at most one helping
 * (SEND_BYTES and an item), and no more is made until it is gone.  Meanwhile the ring keeps the
 * changes; who falls behind the ring reads on from a source of his own. */
#include "rest/watch/watchloop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "http/http.h"
#include "rest/watch/watchevent.h"
#include "rest/watch/watchsource.h"

#define SEND_BYTES (16u << 10)
#define HELPINGS 8u      /* to one watcher before the next one's turn */
#define LOOK_ITEMS 4096u /* items looked at with the lock */
#define BEAT_US 15000000
#define AWAY_US 5000000    /* a slurmctld that only starts anew is not told of */
#define STUCK_US 120000000 /* a socket that takes nothing for so long is closed */
#define TICK_MS 1000
#define EVENTS 256
#define HEARD_MAX 65536u /* bytes: who talks on is no watcher */

struct loop {
    struct watch_hub *hub;
    struct strbuf out; /* a helping */
    bool more;         /* somebody had not enough */
    bool stopping;
};

void watcher_free(struct watcher *w)
{
    if (w->fd >= 0)
        (void)close(w->fd); /* a socket: nothing is lost that was taken */
    watchwords_done(&w->words);
    strbuf_done(&w->out);
    free(w);
}

void watchloop_add(struct watch_hub *hub, struct watcher *w)
{
    w->fresh = true;
    w->next = hub->watchers;
    if (w->next)
        w->next->prev = w;
    hub->watchers = w;
    hub->n_watchers++;
}

/* ---- one watcher ----------------------------------------------------------------------------- */

static void want_out(struct loop *l, struct watcher *w, bool out)
{
    struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP | (out ? (unsigned)EPOLLOUT : 0),
                              .data.ptr = w };

    if (w->fresh || w->waits_out != out) {
        if (epoll_ctl(l->hub->epoll_fd, w->fresh ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, w->fd, &ev) < 0)
            w->dead = true;
        w->waits_out = out;
        w->fresh = false;
    }
}

/* Send; what the socket does not take stays in w->out. */
static void send_bytes(struct watcher *w, const char *bytes, size_t len, size_t *ret_sent)
{
    ssize_t n = len ? send(w->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;

    *ret_sent = 0;
    if (n > 0) {
        *ret_sent = (size_t)n;
        w->sent_us = now_mono_us();
    } else if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        w->dead = true;
    }
}

/* True: nothing waits any more. */
static bool flush_rest(struct watcher *w)
{
    size_t sent;

    if (w->out.len > w->out_at) {
        send_bytes(w, w->out.buf + w->out_at, w->out.len - w->out_at, &sent);
        w->out_at += sent;
    }
    if (w->dead || w->out.len > w->out_at)
        return false;
    strbuf_done(&w->out); /* the memory of a helping is not kept for each */
    w->out_at = 0;
    return true;
}

static void send_helping(struct loop *l, struct watcher *w)
{
    size_t sent;

    if (l->out.failed) {
        w->dead = true;
        return;
    }
    send_bytes(w, l->out.buf, l->out.len, &sent);
    if (sent < l->out.len)
        strbuf_addn(&w->out, l->out.buf + sent, l->out.len - sent);
    w->dead = w->dead || w->out.failed;
}

static void say_bye(struct loop *l, struct watcher *w, const char *reason)
{
    watchevent_word(&l->out, w->sse, "bye", w->at, reason);
    w->closing = true;
}

/* Changes were lost: where the ring begins now he goes on. */
static void say_reset(struct loop *l, struct watcher *w)
{
    const struct watch_ring *ring = &w->source->ring;

    w->at = ring->end;
    w->seq = ring->head;
    w->resets = w->source->resets;
    watchevent_word(&l->out, w->sse, "reset", w->at, "the log no longer reaches back");
}

/* slurmctld went, or came back: what he hears nothing of may have changed. */
static bool is_away(const struct watch_source *s, int64_t now)
{
    return s->lost_us && now - s->lost_us > AWAY_US;
}

static void say_away(struct loop *l, struct watcher *w)
{
    w->away = !w->away;
    watchevent_word(&l->out, w->sse, w->away ? "away" : "back", w->at,
                    w->away ? "slurmctld does not answer" : NULL);
}

static void change_source(struct watcher *w, struct watch_source *s)
{
    watchsource_leave(w->source);
    w->source = s;
    w->seq = watchring_find(&s->ring, w->at);
    w->resets = s->resets;
    if (w->words.objects)
        atomic_store(&s->objects, true);
}

/* The ring has gone on without him. */
static void fall_behind(struct loop *l, struct watcher *w)
{
    struct watch_source *late = NULL, *s = w->source;

    if (watchsource_new(l->hub, s->token, s->name, true, &w->at, &late) < 0) {
        say_bye(l, w, "too slow: come again with the cursor");
        return;
    }
    change_source(w, late);
    w->resets = 0; /* of a source that starts: a reset there is told */
}

static void catch_up(struct watcher *w)
{
    struct watch_source *live = watchsource_find(w->source->hub, w->source->token, w->source->name);

    if (!live || live->state != SOURCE_LIVE || !watchring_covers(&live->ring, w->at))
        return;
    live->users++;
    change_source(w, live);
}

/* Items that he wants, up to a helping; lock held. */
static void take_items(struct loop *l, struct watcher *w)
{
    struct watch_ring *ring = &w->source->ring;
    const struct watch_item *item;
    unsigned looked = 0;

    while (l->out.len < SEND_BYTES && looked++ < LOOK_ITEMS &&
           (item = watchring_get(ring, w->seq))) {
        if (watchwords_match(&w->words, &item->facts))
            watchevent_item(&l->out, w->sse, item, w->words.objects, w->words.fields);
        w->at = item->at;
        w->seq++;
        if (w->source->late) /* nobody else reads it */
            watchring_drop(ring);
    }
    if (w->seq == ring->head) {
        w->at = ring->end;
        if (w->source->late)
            catch_up(w);
    } else {
        l->more = true;
    }
}

static const char *reason_of(const struct watch_source *s)
{
    return s->status == HTTP_NOT_BELIEVED ? "the token is no longer believed"
                                          : "slurmctld cannot be followed";
}

/* What is to be said to w now goes to l->out; lock held. */
static void make_helping(struct loop *l, struct watcher *w, int64_t now)
{
    struct watch_source *s = w->source;

    if (l->stopping)
        say_bye(l, w, "slurmrestd ends");
    else if (s->state == SOURCE_ENDED)
        say_bye(l, w, reason_of(s));
    else if (s->state != SOURCE_LIVE)
        return;
    else if (is_away(s, now) != w->away)
        say_away(l, w);
    else if (w->resets != s->resets)
        say_reset(l, w);
    else if (w->seq < s->ring.tail)
        fall_behind(l, w);
    else
        take_items(l, w);
    if (s->late)
        (void)pthread_cond_broadcast(&l->hub->changed); /* there may be room */
    if (!l->out.len && now - w->sent_us > BEAT_US)
        watchevent_beat(&l->out, w->sse, w->at);
}

static void serve_watcher(struct loop *l, struct watcher *w, int64_t now)
{
    for (unsigned i = 0; i < HELPINGS && !w->dead && !w->closing && flush_rest(w); i++) {
        strbuf_reset(&l->out);
        (void)pthread_mutex_lock(&l->hub->lock);
        make_helping(l, w, now);
        (void)pthread_mutex_unlock(&l->hub->lock);
        if (!l->out.len)
            break;
        send_helping(l, w);
    }
    if (w->closing && !w->dead && flush_rest(w)) {
        (void)shutdown(w->fd, SHUT_WR);
        w->dead = true;
    }
    if (now - w->sent_us > STUCK_US && w->out.len > w->out_at)
        w->dead = true;
    if (!w->dead)
        want_out(l, w, w->out.len > w->out_at);
}

/* He hung up, or talks on: what he says is not read. */
static void hear_watcher(struct watcher *w)
{
    char bytes[4096];
    ssize_t n = recv(w->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    if (n > 0)
        w->heard += (size_t)n;
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || w->heard > HEARD_MAX)
        w->dead = true;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void remove_watcher(struct watch_hub *hub, struct watcher *w)
{
    (void)pthread_mutex_lock(&hub->lock);
    if (w->prev)
        w->prev->next = w->next;
    else
        hub->watchers = w->next;
    if (w->next)
        w->next->prev = w->prev;
    hub->n_watchers--;
    watchsource_leave(w->source);
    (void)pthread_mutex_unlock(&hub->lock);
    /* Closing would not do: the socket may be our standard input as well, and still be told of. */
    (void)epoll_ctl(hub->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
    (void)shutdown(w->fd, SHUT_RDWR); /* likewise: he shall see the end */
    watcher_free(w);
}

static void serve_all(struct loop *l)
{
    struct watcher *w, *next;
    int64_t now = now_mono_us();

    (void)pthread_mutex_lock(&l->hub->lock);
    w = l->hub->watchers; /* new ones come before him; only we take some away */
    l->stopping = l->hub->stopping;
    (void)pthread_mutex_unlock(&l->hub->lock);
    l->more = false;
    for (; w; w = next) {
        next = w->next;
        if (!w->dead)
            serve_watcher(l, w, now);
        if (w->dead || l->stopping)
            remove_watcher(l->hub, w);
    }
}

static void take_events(struct loop *l, bool *ret_all)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(l->hub->epoll_fd, events, EVENTS, l->more ? 0 : TICK_MS);

    *ret_all = n == 0 || l->more;
    for (int i = 0; i < n; i++) {
        struct watcher *w = events[i].data.ptr;
        uint64_t count;

        if (!w) {
            *ret_all = true;
            (void)!read(l->hub->wake_fd, &count, sizeof(count)); /* only reset */
            continue;
        }
        if (events[i].events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
            hear_watcher(w);
        if (!w->dead && events[i].events & EPOLLOUT)
            serve_watcher(l, w, now_mono_us());
        *ret_all = *ret_all || w->dead;
    }
}

static void *run_loop(void *arg)
{
    struct loop l = { .hub = arg };
    bool all = true;

    while (!l.stopping) {
        take_events(&l, &all);
        if (all)
            serve_all(&l);
    }
    strbuf_done(&l.out);
    return NULL;
}

int watchloop_start(struct watch_hub *hub)
{
    struct epoll_event ev = { .events = EPOLLIN };
    int r;

    hub->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    hub->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (hub->epoll_fd < 0 || hub->wake_fd < 0 ||
        epoll_ctl(hub->epoll_fd, EPOLL_CTL_ADD, hub->wake_fd, &ev) < 0)
        return -errno;
    r = -pthread_create(&hub->loop, NULL, run_loop, hub);
    hub->loop_runs = r == 0;
    return r;
}

void watchloop_stop(struct watch_hub *hub)
{
    if (hub->loop_runs) {
        watch_wake(hub);
        (void)pthread_join(hub->loop, NULL);
    }
    hub->loop_runs = false;
}
