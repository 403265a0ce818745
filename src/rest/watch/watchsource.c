/* watchsource.c - one caller's connection to slurmctld; see watchsource.h
 *
 * The thread holds the hub's lock for bookkeeping alone, never while it waits for slurmctld. */
#include "rest/watch/watchsource.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/owntext.h"
#include "base/timefmt.h"
#include "cli/query/out_query.h"
#include "http/http.h"
#include "rest/watch/watchevent.h"
#include "rest/watch/watchobjects.h"
#include "conf/conf_tokens.h"
#include "wire/auth/jwt.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define STACK_BYTES (512u << 10)
#define READ_MS 1000          /* then it looks at the clock */
#define SILENCE_US 30000000   /* slurmctld tells where it is every 5 s */
#define AGAIN_US 60000000     /* the caller's rights are asked for again */
#define RETRY_US 200000       /* after a connection went */
#define RETRY_MOST_US 2000000 /* ... doubled up to */
#define UNUSED_US 10000000    /* a source without a watcher ends */
#define FAR_RECORDS 200000u   /* a cursor further back is no place to begin for all */
#define MARGIN_RECORDS 5000u  /* others come with somewhat older cursors */

enum outcome { AGAIN = 1, LOST_PLACE = 2 }; /* of a session; negative: it failed */

void watch_wake(struct watch_hub *hub)
{
    uint64_t one = 1;
    ssize_t n = write(hub->wake_fd, &one, sizeof(one));

    (void)n; /* full: the loop is awake already */
}

/* ---- bookkeeping ----------------------------------------------------------------------------- */

static bool speaks_for(const struct watch_source *s, const char *token, const char *name)
{
    return jwt_is_same(s->token, token) && strcmp(s->name ? s->name : "", name ? name : "") == 0;
}

struct watch_source *watchsource_find(struct watch_hub *hub, const char *token, const char *name)
{
    for (struct watch_source *s = hub->sources; s; s = s->next)
        if (!s->late && !s->stopping && s->state != SOURCE_ENDED && speaks_for(s, token, name))
            return s;
    return NULL;
}

unsigned watchsource_users(const struct watch_hub *hub, const char *token, const char *name)
{
    unsigned n = 0;

    for (const struct watch_source *s = hub->sources; s; s = s->next)
        n += speaks_for(s, token, name) ? s->users : 0;
    return n;
}

static void stop_source(struct watch_source *s)
{
    s->stopping = true;
    if (s->fd >= 0)
        (void)shutdown(s->fd, SHUT_RDWR); /* wakes its thread */
}

void watchsource_stop_all(struct watch_hub *hub)
{
    for (struct watch_source *s = hub->sources; s; s = s->next)
        stop_source(s);
}

void watchsource_leave(struct watch_source *s)
{
    s->users--;
    s->unused_since_us = now_mono_us();
    if (!s->users && s->late)
        stop_source(s);
    (void)pthread_cond_broadcast(&s->hub->changed);
}

static void source_free(struct watch_source *s)
{
    wipe_text(&s->token);
    free(s->name);
    free(s->user);
    watchring_done(&s->ring);
    free(s);
}

static void unlink_source(struct watch_source *s)
{
    struct watch_source **at = &s->hub->sources;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    s->hub->n_sources--;
}

/* Wait for a change of the hub, or so long; lock held. */
static void wait_a_while(struct watch_hub *hub, int64_t us)
{
    int64_t until = now_mono_us() + us;
    struct timespec ts = { .tv_sec = until / USEC_PER_SEC, .tv_nsec = until % USEC_PER_SEC * 1000 };

    (void)pthread_cond_timedwait(&hub->changed, &hub->lock, &ts); /* too early is no harm */
}

static const char *speaker_of(const struct watch_source *s)
{
    if (s->name && s->name[0])
        return s->name;
    return s->user ? s->user : "";
}

/* Has the user of `of` a place, beside the sources that slurmctld believed to be his?  The first
 * ones that nobody uses make room. */
static bool user_has_slot(const struct watch_hub *hub, const struct watch_source *of)
{
    unsigned n = 0;

    for (struct watch_source *s = hub->sources; s; s = s->next) {
        n += s != of && s->believed && !s->late && strcmp(speaker_of(s), speaker_of(of)) == 0;
        if (!s->users && n >= WATCH_SOURCES_OWN)
            stop_source(s);
    }
    return n < WATCH_SOURCES_OWN;
}

/* ---- the connection -------------------------------------------------------------------------- */

static int dial_ctld(struct watch_source *s, struct rest_link **ret, struct err *err)
{
    const struct rest_identity who = { s->token, s->name };
    int r = rest_links_take(s->hub->links, REST_CTLD, &who, ret, err);

    if (r < 0)
        return r;
    (void)pthread_mutex_lock(&s->hub->lock);
    s->fd = client_fd(rest_link_client(*ret));
    if (s->stopping && s->fd >= 0)
        (void)shutdown(s->fd, SHUT_RDWR);
    (void)pthread_mutex_unlock(&s->hub->lock);
    return 0;
}

static void hang_up(struct watch_source *s, struct rest_link *link)
{
    (void)pthread_mutex_lock(&s->hub->lock);
    s->fd = -1;
    (void)pthread_mutex_unlock(&s->hub->lock);
    (void)rest_link_free(link); /* always NULL */
}

static int send_request(struct client *c, const struct watch_at *since)
{
    uint32_t entities[] = { PST__WATCH_ENTITY__WATCH_JOB, PST__WATCH_ENTITY__WATCH_NODE,
                            PST__WATCH_ENTITY__WATCH_PARTITION };
    Pst__WatchRequest req = PST__WATCH_REQUEST__INIT;

    req.entities = entities;
    req.n_entities = ARRAY_SIZE(entities);
    if (since) {
        req.has_since_lsn = true;
        req.since_lsn = since->lsn;
        req.has_since_index = since->index != UINT32_MAX;
        req.since_index = since->index;
    }
    return client_send(c, OP_WATCH, 0, client_next_id(c), &req.base);
}

static bool is_stopping(struct watch_source *s)
{
    bool stopping;

    (void)pthread_mutex_lock(&s->hub->lock);
    stopping = s->stopping;
    (void)pthread_mutex_unlock(&s->hub->lock);
    return stopping;
}

/* Errors that go by: it is tried again. */
static bool is_passing(int code)
{
    return code == EPST_BUSY || code == EPST_SHUTTING_DOWN || code == EPST_DEADLINE ||
           code == ESLURM_IN_STANDBY_MODE;
}

static int refusal_of(const struct frame *frame, struct err *err)
{
    Pst__Error *e = NULL;
    int code;

    if (FRAME_UNPACK(error, frame, &e, err) < 0)
        return -EBADMSG;
    code = (int)e->code;
    (void)err_set(err, -EACCES, "%s", e->text ? e->text : slurm_err_text(code));
    pst__error__free_unpacked(e, NULL);
    return is_passing(code) ? -EAGAIN : -EACCES;
}

/* The next batch of the watch, in the arena.  0: none within READ_MS. */
static int read_batch(struct client *c, struct pb_arena *arena, const Pst__WatchBatch **ret,
                      struct err *err)
{
    struct frame frame;
    int r = client_recv(c, READ_MS, &frame);

    *ret = NULL;
    if (r == -EREMOTEIO && is_passing(client_error(c, NULL)))
        return -EAGAIN;
    if (r <= 0)
        return r;
    if (frame.op != OP_WATCH)
        return 0;
    if (frame.flags & FRAME_ERROR)
        return refusal_of(&frame, err);
    pb_arena_reset(arena);
    *ret = (const Pst__WatchBatch *)query_unpack(arena, &pst__watch_batch__descriptor, frame.body,
                                                 frame.len);
    return *ret ? 1 : -EBADMSG;
}

/* ---- following ------------------------------------------------------------------------------- */

static size_t ring_limit(const struct watch_hub *hub)
{
    return MAX(WATCH_RING_LEAST, WATCH_RINGS_BYTES / MAX(hub->n_sources, 1u));
}

/* The changes of a batch as items, those told before the connection went left out. */
struct items {
    struct watch_item **list;
    size_t n;
};

static void items_done(struct items *items)
{
    for (size_t i = 0; i < items->n; i++)
        watchring_item_free(items->list[i]);
    free(items->list);
}

static int make_items(const struct watch_source *s, struct pb_arena *arena,
                      const Pst__WatchBatch *b, struct items *ret)
{
    int r = 0;

    if (!b->n_changes)
        return 0;
    ret->list = calloc(b->n_changes, sizeof(struct watch_item *));
    if (!ret->list)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < b->n_changes; i++) {
        const Pst__WatchChange *c = (const Pst__WatchChange *)query_unpack(
            arena, &pst__watch_change__descriptor, b->changes[i].data, b->changes[i].len);

        if (!c)
            return -EBADMSG;
        if (!watch_at_before(s->ring.end, (struct watch_at){ c->lsn, c->index }))
            continue;
        r = watchevent_make(arena, c, &ret->list[ret->n]);
        ret->n += r == 0;
    }
    return r;
}

static int put_items(struct watch_source *s, struct items *items)
{
    for (size_t i = 0; i < items->n; i++) {
        while (!s->late && s->ring.tail < s->ring.head && s->ring.bytes > ring_limit(s->hub))
            watchring_drop(&s->ring);
        if (watchring_put(&s->ring, items->list[i]) < 0)
            return -ENOMEM;
        items->list[i] = NULL;
    }
    return 0;
}

/* The first frame: where slurmctld begins. */
static void begin_at(struct watch_source *s, uint64_t lsn, bool since)
{
    struct watch_at at = since ? s->since : (struct watch_at){ lsn, UINT32_MAX };

    if (s->state == SOURCE_STARTING || !since)
        watchring_restart(&s->ring, at);
    s->state = SOURCE_LIVE;
    s->believed = true;
    s->wants_since = true;
    (void)pthread_cond_broadcast(&s->hub->changed);
}

static int take_batch(struct watch_source *s, struct pb_arena *arena, const Pst__WatchBatch *b,
                      bool since)
{
    _cleanup_val_(items_done) struct items items = { 0 };
    bool ready = b->has_ready && b->ready;
    int r;

    if (b->has_reset && b->reset)
        return LOST_PLACE;
    if (!ready && s->state != SOURCE_LIVE)
        return -EBADMSG;
    r = ready ? 0 : make_items(s, arena, b, &items);
    if (r < 0)
        return r;
    if (items.n && atomic_load(&s->objects))
        watchobjects_add(s, items.list, items.n);
    (void)pthread_mutex_lock(&s->hub->lock);
    s->lost_us = 0;
    if (ready && !s->believed && !s->late && !user_has_slot(s->hub, s))
        r = -EBUSY;
    else if (ready)
        begin_at(s, b->cursor_lsn, since);
    else
        r = put_items(s, &items);
    if (r == 0 && !ready && b->has_cursor_lsn && b->cursor_lsn >= s->ring.end.lsn)
        s->ring.end = (struct watch_at){ b->cursor_lsn, UINT32_MAX };
    (void)pthread_mutex_unlock(&s->hub->lock);
    return r;
}

/* A late one reads no further than its watcher. */
static void wait_for_room(struct watch_source *s)
{
    (void)pthread_mutex_lock(&s->hub->lock);
    while (s->late && s->ring.bytes > WATCH_LATE_BYTES && !s->stopping)
        wait_a_while(s->hub, AGAIN_US);
    (void)pthread_mutex_unlock(&s->hub->lock);
}

/* Is it to end, asked to, or as nobody uses it any more? */
static bool is_done(struct watch_source *s)
{
    bool done;

    (void)pthread_mutex_lock(&s->hub->lock);
    if (!s->users && now_mono_us() - s->unused_since_us > UNUSED_US)
        s->stopping = true;
    done = s->stopping;
    (void)pthread_mutex_unlock(&s->hub->lock);
    return done;
}

static int follow_changes(struct watch_source *s, struct client *c, struct pb_arena *arena,
                          bool since, struct err *err)
{
    int64_t began = now_mono_us(), heard = began, looked = 0;

    for (;;) {
        const Pst__WatchBatch *b;
        int r = read_batch(c, arena, &b, err);
        int64_t now = now_mono_us();

        if (r < 0)
            return r;
        if (now - looked > USEC_PER_SEC && s->token && rest_link_run_out(s->token))
            return err_set(err, -EKEYEXPIRED, "the token has run out");
        looked = now - looked > USEC_PER_SEC ? now : looked;
        if (r > 0) {
            heard = now;
            r = take_batch(s, arena, b, since);
            watch_wake(s->hub);
            if (r != 0)
                return r;
            wait_for_room(s);
        }
        if (is_done(s))
            return -ECANCELED;
        if (now - heard > SILENCE_US)
            return -ETIMEDOUT;
        if (now - began > AGAIN_US && s->state == SOURCE_LIVE)
            return AGAIN;
    }
}

static int run_session(struct watch_source *s, struct pb_arena *arena, struct err *err)
{
    struct rest_link *link = NULL;
    bool since = s->wants_since;
    int r = dial_ctld(s, &link, err);

    if (r < 0)
        return r;
    if (s->state == SOURCE_LIVE)
        s->since = s->ring.end; /* the thread alone writes it */
    r = send_request(rest_link_client(link), since ? &s->since : NULL);
    if (r == 0)
        r = follow_changes(s, rest_link_client(link), arena, since, err);
    hang_up(s, link);
    return r;
}

/* Where slurmctld is now. */
static int ask_now(struct watch_source *s, struct pb_arena *arena, uint64_t *ret, struct err *err)
{
    struct rest_link *link = NULL;
    const Pst__WatchBatch *b = NULL;
    int64_t until = now_mono_us() + SILENCE_US;
    int r = dial_ctld(s, &link, err);

    if (r < 0)
        return r;
    r = send_request(rest_link_client(link), NULL);
    while (r >= 0 && !b) {
        r = read_batch(rest_link_client(link), arena, &b, err);
        if (r == 0 && now_mono_us() > until)
            r = -ETIMEDOUT;
        if (r == 0 && is_stopping(s))
            r = -ECANCELED;
    }
    if (r > 0)
        *ret = b->cursor_lsn;
    hang_up(s, link);
    return r < 0 ? r : 0;
}

/* One for all watchers of a caller begins somewhat before the first one's cursor, unless that is
 * far back: the others come with cursors of about the same age, after a restart of ours. */
static int choose_start(struct watch_source *s, struct pb_arena *arena, struct err *err)
{
    uint64_t now = 0;
    int r;

    if (s->late || !s->wants_since)
        return 0;
    r = ask_now(s, arena, &now, err);
    if (r < 0)
        return r;
    if (s->since.lsn > now || now - s->since.lsn > FAR_RECORDS)
        s->wants_since = false;
    else
        s->since =
            (struct watch_at){ s->since.lsn > MARGIN_RECORDS ? s->since.lsn - MARGIN_RECORDS : 0,
                               UINT32_MAX };
    return 0;
}

/* ---- its thread ------------------------------------------------------------------------------ */

static bool is_final(int r)
{
    return rest_link_refused(r) || r == -EKEYEXPIRED || r == -ECANCELED || r == -ENOMEM;
}

static void end_source(struct watch_source *s, int r, const struct err *err)
{
    (void)pthread_mutex_lock(&s->hub->lock);
    s->state = SOURCE_ENDED;
    s->status = rest_link_refused(r) || r == -EKEYEXPIRED ? HTTP_NOT_BELIEVED : HTTP_UNAVAILABLE;
    (void)snprintf(s->why, sizeof(s->why), "%s", /* cut is fine */
                   r == -EKEYEXPIRED                         ? "the token has run out"
                   : r == -EBUSY                             ? "" /* as where there is no place */
                   : r == -ECANCELED || err->text[0] == '\0' ? "slurmctld cannot be followed"
                                                             : err->text);
    (void)pthread_cond_broadcast(&s->hub->changed);
    watch_wake(s->hub); /* the loop says good-bye */
    while (s->users)
        wait_a_while(s->hub, RETRY_US);
    (void)pthread_mutex_unlock(&s->hub->lock);
}

static int run_sessions(struct watch_source *s, struct pb_arena *arena, struct err *err)
{
    int64_t pause = RETRY_US;
    int r = choose_start(s, arena, err);

    while (r >= 0) {
        bool lived = s->state == SOURCE_LIVE;

        r = run_session(s, arena, err);
        if (is_stopping(s))
            return -ECANCELED;
        if (r == LOST_PLACE) {
            (void)pthread_mutex_lock(&s->hub->lock);
            s->wants_since = false;
            s->resets += lived || s->late || s->state == SOURCE_LIVE;
            s->state = SOURCE_STARTING;
            (void)pthread_mutex_unlock(&s->hub->lock);
        }
        if (r < 0 && (is_final(r) || s->state != SOURCE_LIVE))
            return r;
        if (r >= 0 || !lived)
            pause = RETRY_US;
        if (r < 0) {
            (void)pthread_mutex_lock(&s->hub->lock);
            if (!s->lost_us)
                s->lost_us = now_mono_us();
            if (!s->stopping)
                wait_a_while(s->hub, pause);
            (void)pthread_mutex_unlock(&s->hub->lock);
            pause = MIN(pause * 2, RETRY_MOST_US);
            err->text[0] = '\0';
            r = 0;
        }
    }
    return r;
}

static void *run_source(void *arg)
{
    struct watch_source *s = arg;
    struct watch_hub *hub = s->hub;
    struct pb_arena *arena = NULL;
    struct err err = { .text = "" };
    int r = pb_arena_new(&arena);

    if (r == 0)
        r = run_sessions(s, arena, &err);
    log_debug("watch: a source ends: %s", err.text[0] ? err.text : strerrordesc_np(-r));
    end_source(s, r, &err);
    pb_arena_free(arena);
    (void)pthread_mutex_lock(&hub->lock);
    unlink_source(s);
    hub->n_threads--;
    (void)pthread_cond_broadcast(&hub->changed);
    (void)pthread_mutex_unlock(&hub->lock);
    source_free(s);
    return NULL;
}

static int start_thread(struct watch_source *s)
{
    pthread_attr_t attr;
    pthread_t thread;
    int r;

    (void)pthread_attr_init(&attr); /* neither fails on Linux with these values */
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    r = -pthread_create(&thread, &attr, run_source, s);
    (void)pthread_attr_destroy(&attr);
    return r;
}

/* Whom a token names, so that one user with many tokens does not take every place.  slurmctld
 * verifies it. */
static char *user_of(const struct conf *conf, const char *token)
{
    uint8_t signature[JWT_SIGNATURE_MAX];
    struct jwt_user user = { .name = NULL };
    struct token_rules rules;
    size_t len = 0, shown = 0;

    if (!token || conf_tokens(conf, &rules) < 0)
        return NULL;
    if (jwt_signature(token, strlen(token), signature, &len, &shown, NULL) == 0)
        (void)jwt_read_claims(token, shown, now_us(), &rules.jwt, &user, NULL); /* NULL: nobody */
    token_rules_done(&rules);
    return user.name;
}

/* May there be one more?  A source that nobody uses makes room, once it has ended.  What a token
 * says of its user is anybody's word until slurmctld believes it: who forges some takes no place of
 * that user's. */
static bool has_slot(struct watch_hub *hub, const struct watch_source *of, bool late)
{
    unsigned all = 0, own = 0, starting = 0;

    for (const struct watch_source *s = hub->sources; s; s = s->next) {
        all += s->late;
        own += s->late && speaks_for(s, of->token, of->name);
        starting += !s->believed && s->state != SOURCE_ENDED;
    }
    if (starting >= WATCH_STARTING_MAX)
        return false;
    if (late)
        return all < WATCH_LATE_MAX && own < WATCH_LATE_OWN && hub->n_sources < WATCH_SOURCES_MAX;
    if (!user_has_slot(hub, of))
        return false;
    for (struct watch_source *s = hub->sources;
         s && hub->n_sources >= WATCH_SOURCES_MAX - WATCH_LATE_MAX + all; s = s->next)
        if (!s->users)
            stop_source(s);
    return hub->n_sources - all < WATCH_SOURCES_MAX - WATCH_LATE_MAX;
}

int watchsource_new(struct watch_hub *hub, const char *token, const char *name, bool late,
                    const struct watch_at *since, struct watch_source **ret)
{
    struct watch_source *s;
    int r;

    if (hub->stopping)
        return -EBUSY;
    s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->hub = hub;
    s->late = late;
    s->fd = -1;
    s->users = 1;
    s->token = token ? strdup(token) : NULL;
    s->name = name ? strdup(name) : NULL;
    s->wants_since = since != NULL;
    if (since)
        s->since = *since;
    s->user = user_of(hub->conf, token);
    if ((token && !s->token) || (name && !s->name))
        r = -ENOMEM;
    else
        r = has_slot(hub, s, late) ? start_thread(s) : -EBUSY;
    if (r < 0) {
        source_free(s);
        return r;
    }
    s->next = hub->sources;
    hub->sources = s;
    hub->n_sources++;
    hub->n_threads++;
    *ret = s;
    return 0;
}
