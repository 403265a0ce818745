/* restwatch.c - who may watch, and from which source; see restwatch.h */
#include "rest/watch/restwatch.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "http/http.h"
#include "rest/restcall.h"
#include "rest/watch/watchevent.h"
#include "rest/watch/watchloop.h"
#include "rest/watch/watchsource.h"
#include "wire/errors.h"

#define WHERE "watch"
#define SLOT_WAIT_US 5000000 /* until there is a place for a source */
#define SOCKET_BYTES 65536   /* of what the kernel holds for a slow reader */

/* ---- limits ---------------------------------------------------------------------------------- */

/* A watcher is a descriptor. */
static void raise_files(void)
{
    struct rlimit rl;

    if (getrlimit(RLIMIT_NOFILE, &rl) < 0 || rl.rlim_cur >= WATCHERS_MAX + WATCH_SOURCES_MAX * 2)
        return;
    rl.rlim_cur = MIN(rl.rlim_max, (rlim_t)WATCHERS_MAX + WATCH_SOURCES_MAX * 2);
    (void)setrlimit(RLIMIT_NOFILE, &rl); /* fewer watchers then: the others are told */
}

static bool refuse_call(struct rest_call *call, unsigned status, int number, const char *text)
{
    rest_error_said(call, number, text, WHERE, "Unable to watch");
    call->status = status;
    return false;
}

/* ---- a source for a request ------------------------------------------------------------------ */

struct wish {
    struct watch_hub *hub;
    const char *token, *name;
    const struct watch_words *words;
    int64_t until; /* give up */
    char why[256];
    unsigned status;
};

static void wait_for_change(struct wish *w)
{
    struct timespec ts = { .tv_sec = w->until / USEC_PER_SEC,
                           .tv_nsec = w->until % USEC_PER_SEC * 1000 };

    (void)pthread_cond_timedwait(&w->hub->changed, &w->hub->lock, &ts); /* looked at again */
}

/* Until it follows slurmctld, or cannot: then it is left.  We are one of its users. */
static bool wait_for_start(struct wish *w, struct watch_source *s)
{
    while (s->state == SOURCE_STARTING && !w->hub->stopping) {
        w->until = now_mono_us() + SLOT_WAIT_US;
        wait_for_change(w);
    }
    if (s->state == SOURCE_LIVE && !w->hub->stopping)
        return true;
    w->status = s->state == SOURCE_ENDED ? s->status : HTTP_UNAVAILABLE;
    memcpy(w->why, s->why, sizeof(w->why));
    watchsource_leave(s);
    return false;
}

/* A new source, once there is a place for one; NULL: there was none for too long.  Another may have
 * made the same one meanwhile: live ones are looked for each time. */
static struct watch_source *new_source(struct wish *w, bool late)
{
    struct watch_source *s = NULL;
    int r = -EBUSY;

    while (r == -EBUSY && now_mono_us() < w->until && !w->hub->stopping) {
        s = late ? NULL : watchsource_find(w->hub, w->token, w->name);
        if (s) {
            s->users++;
            return s;
        }
        r = watchsource_new(w->hub, w->token, w->name, late,
                            w->words->has_cursor ? &w->words->cursor : NULL, &s);
        if (r == -EBUSY)
            wait_for_change(w);
    }
    return r == 0 ? s : NULL;
}

/* We are a user of what is given. */
static struct watch_source *join_source(struct wish *w, bool late)
{
    struct watch_source *s;

    w->until = now_mono_us() + SLOT_WAIT_US;
    s = new_source(w, late);
    return s && wait_for_start(w, s) ? s : NULL;
}

/* Lock held.  NULL: status and why say it. */
static struct watch_source *find_source(struct wish *w)
{
    struct watch_source *s;

    w->status = HTTP_UNAVAILABLE;
    if (w->hub->n_watchers >= WATCHERS_MAX ||
        watchsource_users(w->hub, w->token, w->name) >= WATCHERS_OWN)
        return NULL;
    s = join_source(w, false);
    if (!s || !w->words->has_cursor || watchring_covers(&s->ring, w->words->cursor))
        return s;
    watchsource_leave(s);
    return join_source(w, true);
}

/* ---- taking ---------------------------------------------------------------------------------- */

static bool names_type(const char *accept, const char *type)
{
    size_t len = strlen(type);

    for (const char *p = accept; *p; p += strcspn(p, ","), p += *p == ',') {
        p += strspn(p, " \t");
        if (strncasecmp(p, type, len) == 0 && strchr(",; \t", p[len]))
            return true;
    }
    return false;
}

static bool choose_form(struct rest_call *call, bool *ret_sse)
{
    const char *accept = rest_header(call, "Accept");

    *ret_sse = !accept || names_type(accept, "text/event-stream") || names_type(accept, "text/*") ||
               names_type(accept, "*/*");
    /* Who names lines means them, though he takes anything. */
    if (accept && !names_type(accept, "text/event-stream") &&
        (names_type(accept, "application/jsonl") || names_type(accept, "application/x-ndjson")))
        *ret_sse = false;
    else if (!*ret_sse)
        return refuse_call(call, HTTP_MEDIA_TYPE, 0,
                           "Accept names neither text/event-stream nor application/jsonl");
    return true;
}

static void set_up_socket(int fd)
{
    const int one = 1, size = SOCKET_BYTES;

    /* None of these is needed: a socket of another family does not know them. */
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* Lock held: the watcher stands in the source, where he asked to begin, and has his first words. */
static void place_watcher(struct watcher *w, struct watch_source *s)
{
    w->source = s;
    w->at = w->words.has_cursor ? w->words.cursor : s->ring.end;
    w->seq = watchring_find(&s->ring, w->at);
    w->resets = s->late ? 0 : s->resets;
    w->sent_us = now_mono_us();
    if (w->words.objects)
        atomic_store(&s->objects, true);
    watchevent_head(&w->out, w->sse, now_us());
    watchevent_word(&w->out, w->sse, "hello", w->at, NULL);
}

static bool admit_watcher(struct watch_hub *hub, struct rest_call *call, struct watcher *w)
{
    struct wish wish = {
        .hub = hub, .token = rest_token(call), .name = rest_acting_for(call), .words = &w->words
    };
    struct watch_source *s;
    bool taken = false;

    if (wish.token && rest_link_run_out(wish.token))
        return refuse_call(call, HTTP_NOT_BELIEVED, SLURM_PROTOCOL_AUTHENTICATION_ERROR, NULL);
    (void)pthread_mutex_lock(&hub->lock);
    s = find_source(&wish);
    if (s) {
        place_watcher(w, s);
        w->fd = w->out.failed ? -ENOMEM : rest_take_over(call);
        if (w->fd >= 0) {
            set_up_socket(w->fd);
            watchloop_add(hub, w);
            taken = true;
        } else {
            watchsource_leave(s);
        }
    }
    (void)pthread_mutex_unlock(&hub->lock);
    if (taken) { /* he is the loop's now, which may have removed him already */
        watch_wake(hub);
        return true;
    }
    if (wish.status == HTTP_NOT_BELIEVED)
        return refuse_call(call, wish.status, SLURM_PROTOCOL_AUTHENTICATION_ERROR, NULL);
    return refuse_call(call, HTTP_UNAVAILABLE, wish.why[0] ? EPST_UNREACHABLE : EPST_BUSY,
                       wish.why[0] ? wish.why : NULL);
}

static bool take_watcher(void *ctx, struct rest_call *call)
{
    struct watch_hub *hub = ctx;
    struct watcher *w = calloc(1, sizeof(*w));
    struct err err = { .text = "" };
    bool taken = false;

    if (!w)
        return refuse_call(call, HTTP_UNAVAILABLE, EPST_BUSY, NULL);
    w->fd = -1;
    if (choose_form(call, &w->sse)) {
        if (watchwords_read(call->query, call->n_query, rest_header(call, "Last-Event-ID"),
                            &w->words, &err) < 0)
            (void)refuse_call(call, HTTP_BAD_REQUEST, 0, err.text);
        else
            taken = admit_watcher(hub, call, w);
    }
    if (!taken)
        watcher_free(w);
    return taken;
}

static unsigned count_watchers(void *ctx)
{
    struct watch_hub *hub = ctx;
    unsigned n;

    (void)pthread_mutex_lock(&hub->lock);
    n = hub->n_watchers;
    (void)pthread_mutex_unlock(&hub->lock);
    return n;
}

struct rest_taking restwatch_taking(struct watch_hub *hub)
{
    return (struct rest_taking){
        .path = "/penstock/v1/watch", .take = take_watcher, .busy = count_watchers, .ctx = hub
    };
}

/* ---- life ------------------------------------------------------------------------------------ */

int restwatch_new(const struct conf *conf, struct watch_hub **ret, struct err *err)
{
    struct watch_hub *hub = calloc(1, sizeof(*hub));
    pthread_condattr_t attr;
    int r;

    if (!hub)
        return err_nomem(err);
    hub->conf = conf;
    hub->wake_fd = hub->epoll_fd = -1;
    /* None of these fails on Linux. */
    (void)pthread_mutex_init(&hub->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&hub->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    raise_files();
    r = rest_links_new(conf, &hub->links);
    if (r == 0)
        r = watchloop_start(hub);
    if (r < 0) {
        (void)restwatch_free(hub); /* always NULL */
        return err_set(err, r, "the thread of the watchers cannot start: %s", strerrordesc_np(-r));
    }
    *ret = hub;
    return 0;
}

void restwatch_stop(struct watch_hub *hub)
{
    if (!hub)
        return;
    (void)pthread_mutex_lock(&hub->lock);
    hub->stopping = true;
    watchsource_stop_all(hub);
    (void)pthread_cond_broadcast(&hub->changed);
    (void)pthread_mutex_unlock(&hub->lock);
    watchloop_stop(hub);
    (void)pthread_mutex_lock(&hub->lock);
    while (hub->n_threads)
        (void)pthread_cond_wait(&hub->changed, &hub->lock);
    (void)pthread_mutex_unlock(&hub->lock);
}

struct watch_hub *restwatch_free(struct watch_hub *hub)
{
    if (!hub)
        return NULL;
    restwatch_stop(hub);
    (void)rest_links_free(hub->links); /* always NULL */
    if (hub->wake_fd >= 0)
        (void)close(hub->wake_fd); /* nothing is lost */
    if (hub->epoll_fd >= 0)
        (void)close(hub->epoll_fd); /* likewise */
    (void)pthread_cond_destroy(&hub->changed);
    (void)pthread_mutex_destroy(&hub->lock);
    free(hub);
    return NULL;
}
