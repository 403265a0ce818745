/* watch.c - the thread that follows the log for watchers, and their groups; see watch.h
 *
 * A group is the watchers of one I/O thread and belongs to it; the ring and the counts are under
 * the lock.  A watcher is in its group, or late (watchlate.c has it), never both; its own thread
 * frees it.  A change reaches a watcher once: batches cover records without gap or overlap, and
 * `pos` says what he has of the first one. */
#include "ctld/watch/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "base/process/threadname.h"
#include "ctld/watch/watch_impl.h"
#include "ctld/core/service.h"
#include "ctld/policy/policy.h"
#include "model/account/assoc.h"

#define GAP_US 10000       /* between two batches ... */
#define GAP_EACH_US 50     /* ... and for each watcher */
#define LAG_US 100000      /* until the next try when a watcher's socket was full */
#define BEAT_US 5000000    /* a batch at least so often, to move the cursors of filtered watchers */
#define UNLOAD_US 60000000 /* after the last watcher left: the projection is freed */
#define START_MARGIN                                                                               \
    20000u /* records before the place asked for: others come with somewhat older cursors */

/* ---- one watcher ----------------------------------------------------------------------------- */

void watcher_free(struct watcher *w)
{
    watch_filter_free(w->filter);
    conn_unref(w->conn);
    free(w);
}

static void group_link(struct wgroup *g, struct watcher *w)
{
    w->prev = NULL;
    w->next = g->head;
    if (g->head)
        g->head->prev = w;
    g->head = w;
}

static void group_unlink(struct wgroup *g, struct watcher *w)
{
    if (w->prev)
        w->prev->next = w->next;
    else
        g->head = w->next;
    if (w->next)
        w->next->prev = w->prev;
}

/* Some connection by which the group's thread can be reached; lock held. */
static void group_choose(struct wgroup *g, const struct watcher *leaving)
{
    struct watcher *w = g->head;

    if (leaving && g->any != leaving->conn)
        return;
    g->any = conn_unref(g->any);
    if (w)
        g->any = conn_ref(w->conn);
}

/* He watches no more: out of every table, and freed. */
static void watcher_leave(struct watcher *w)
{
    struct wgroup *g = w->group;
    struct watch *hub = g->watch;

    idmap_remove(&g->by_conn, conn_id(w->conn));
    if (!w->late)
        group_unlink(g, w);
    pthread_mutex_lock(&hub->lock);
    group_choose(g, w);
    hub->nwatchers--;
    if (!hub->nwatchers)
        hub->empty_since_us = now_mono_us();
    pthread_mutex_unlock(&hub->lock);
    watcher_free(w);
}

/* The group of the thread that asks; NULL: nobody has watched there. */
static struct wgroup *group_mine(struct watch *hub)
{
    struct wgroup *mine = NULL;

    pthread_mutex_lock(&hub->lock);
    for (size_t i = 0; i < hub->ngroups && !mine; i++)
        if (pthread_equal(hub->groups[i]->thread, pthread_self()))
            mine = hub->groups[i];
    pthread_mutex_unlock(&hub->lock);
    return mine;
}

void watch_conn_closed(struct watch *hub, struct conn *c)
{
    struct wgroup *g = group_mine(hub);
    struct watcher *w = g ? idmap_get(&g->by_conn, conn_id(c)) : NULL;

    if (!w)
        return;
    if (w->late)
        w->gone = true; /* freed when it comes back */
    else
        watcher_leave(w);
}

/* Tell the watcher that it begins anew, and forget it. */
static void watcher_end(struct conn *c, void *arg)
{
    struct watcher *w = arg;

    (void)c;
    if (!w->gone)
        watcher_send(w, false, true, false);
    watcher_leave(w);
}

/* ---- the ring -------------------------------------------------------------------------------- */

/* The sequence number of the first batch behind pos; lock held. */
static uint64_t ring_find(const struct watch *hub, uint64_t lsn)
{
    uint64_t lo = hub->tail, hi = hub->head;

    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;

        if (hub->ring[mid % WATCH_RING]->last <= lsn)
            lo = mid + 1;
        else
            hi = mid;
    }
    /* The one before may end with a transaction that he has in part. */
    return lo > hub->tail && hub->ring[(lo - 1) % WATCH_RING]->last == lsn ? lo - 1 : lo;
}

/* Does the ring hold every change behind pos?  Lock held. */
static bool ring_covers(const struct watch *hub, struct watch_pos pos)
{
    return hub->state != WATCH_IDLE &&
           (pos.lsn > hub->base || (pos.lsn == hub->base && pos.index == UINT32_MAX));
}

static void ring_drop(struct watch *hub)
{
    struct watch_batch *b = hub->ring[hub->tail % WATCH_RING];

    hub->base = b->last;
    hub->ring_bytes -= watch_batch_size(b);
    hub->tail++;
    watch_batch_unref(b);
}

static void ring_add(struct watch *hub, struct watch_batch *b)
{
    while (hub->head - hub->tail == WATCH_RING ||
           (hub->head > hub->tail && hub->ring_bytes + watch_batch_size(b) > WATCH_RING_BYTES))
        ring_drop(hub);
    hub->ring[hub->head++ % WATCH_RING] = b;
    hub->ring_bytes += watch_batch_size(b);
}

/* The next batch for w, held; NULL: none yet, or *ret_lost. */
static struct watch_batch *ring_next(struct watch *hub, const struct watcher *w, bool *ret_lost)
{
    struct watch_batch *b = NULL;

    pthread_mutex_lock(&hub->lock);
    *ret_lost = w->seq < hub->tail;
    if (!*ret_lost && w->seq < hub->head) {
        b = hub->ring[w->seq % WATCH_RING];
        atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&hub->lock);
    return b;
}

/* ---- a group's turn, on its I/O thread ------------------------------------------------------- */

static void fall_behind(struct watch *hub, struct watcher *w)
{
    int r;

    group_unlink(w->group, w);
    w->late = true;
    pthread_mutex_lock(&hub->lock);
    r = watchlate_add(hub, w);
    pthread_mutex_unlock(&hub->lock);
    if (r < 0)
        watcher_end(w->conn, w);
}

/* Nothing of late was for him: his cursor moves all the same. */
static void tell_place(struct watcher *w)
{
    watcher_send(w, false, false, true);
    w->told_us = now_mono_us();
}

/* Send what is there for him; true when his socket takes no more for now. */
static bool serve_watcher(struct watch *hub, struct watcher *w)
{
    struct watch_batch *b;
    bool lost = false;

    for (;;) {
        struct shared_bytes *out;

        if (conn_out_bytes(w->conn) > WATCH_OUT_BYTES)
            return true;
        b = ring_next(hub, w, &lost);
        if (!b)
            break;
        if (watch_batch_cut(b, w->filter, w->pos, &out) < 0) {
            watch_batch_unref(b);
            return true; /* out of memory: again at the next turn */
        }
        if (out) {
            conn_send_shared(w->conn, OP_WATCH, FRAME_MORE, w->id, out);
            shared_unref(out);
        }
        if (b->last >= w->pos.lsn)
            w->pos = (struct watch_pos){ b->last, UINT32_MAX };
        if (out)
            w->told_us = now_mono_us();
        else if (w->pos.index == UINT32_MAX && now_mono_us() - w->told_us > BEAT_US)
            tell_place(w);
        w->seq++;
        watch_batch_unref(b);
    }
    if (lost)
        fall_behind(hub, w);
    return false;
}

static void group_run(struct conn *c, void *arg)
{
    struct wgroup *g = arg;
    struct watch *hub = g->watch;
    uint64_t position, epoch, sight, slowest = UINT64_MAX;
    enum watch_state state;
    struct watcher *next;

    (void)c;
    atomic_store(&g->posted, false);
    pthread_mutex_lock(&hub->lock);
    position = hub->position;
    epoch = hub->epoch;
    sight = hub->sight;
    state = hub->state;
    pthread_mutex_unlock(&hub->lock);
    for (struct watcher *w = g->head; w; w = next) {
        next = w->next;
        if (w->epoch != epoch || w->sight != sight) {
            watcher_end(w->conn, w);
            continue;
        }
        if (state != WATCH_LIVE || (!w->ready && position < w->pos.lsn))
            continue;
        if (!w->ready)
            watcher_send(w, true, false, true);
        w->ready = true;
        if (serve_watcher(hub, w))
            atomic_fetch_add(&hub->lagging, 1);
    }
    for (const struct watcher *w = g->head; w; w = w->next)
        slowest = MIN(slowest, w->pos.lsn);
    atomic_store(&g->slowest, slowest);
}

static void post_groups(struct watch *hub)
{
    atomic_store(&hub->lagging, 0);
    for (unsigned i = 0; i < WATCH_GROUPS; i++) {
        struct wgroup *g;
        struct conn *any = NULL;

        pthread_mutex_lock(&hub->lock);
        g = i < hub->ngroups ? hub->groups[i] : NULL;
        if (g && g->any && !atomic_exchange(&g->posted, true))
            any = conn_ref(g->any);
        pthread_mutex_unlock(&hub->lock);
        if (any && conn_run(any, group_run, g) < 0)
            atomic_store(&g->posted, false);
        conn_unref(any);
    }
}

/* A watcher that was late has caught up. */
static void watcher_rejoin(struct conn *c, void *arg)
{
    struct watcher *w = arg;
    struct watch *hub = w->group->watch;
    bool covered, seen_anew;

    (void)c;
    if (w->gone) {
        watcher_leave(w);
        return;
    }
    pthread_mutex_lock(&hub->lock);
    seen_anew = w->sight != hub->sight;
    covered = !seen_anew && ring_covers(hub, w->pos);
    w->seq = ring_find(hub, w->pos.lsn);
    w->epoch = hub->epoch;
    hub->kick = true;
    if (!covered && !seen_anew && watchlate_add(hub, w) == 0)
        w = NULL;
    pthread_cond_signal(&hub->wake);
    pthread_mutex_unlock(&hub->lock);
    if (!w)
        return;
    if (!covered) {
        watcher_end(c, w);
        return;
    }
    w->late = false;
    group_link(w->group, w);
    pthread_mutex_lock(&hub->lock);
    group_choose(w->group, NULL);
    pthread_mutex_unlock(&hub->lock);
}

/* ---- requests -------------------------------------------------------------------------------- */

static struct wgroup *group_new(struct watch *hub)
{
    struct wgroup *g = calloc(1, sizeof(*g));

    if (!g)
        return NULL;
    g->watch = hub;
    g->thread = pthread_self();
    atomic_init(&g->slowest, UINT64_MAX);
    pthread_mutex_lock(&hub->lock);
    if (hub->ngroups == WATCH_GROUPS) {
        free(g);
        g = NULL;
    } else {
        hub->groups[hub->ngroups++] = g;
    }
    pthread_mutex_unlock(&hub->lock);
    return g;
}

static struct watcher *watcher_new(struct wgroup *g, struct conn *c, const struct frame *frame,
                                   const Pst__WatchRequest *req, struct err *err)
{
    struct watcher *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->group = g;
    w->id = frame->id;
    w->conn = conn_ref(c);
    w->pos =
        (struct watch_pos){ req->since_lsn, req->has_since_index ? req->since_index : UINT32_MAX };
    if (watch_filter_new(req, &w->filter, err) < 0 || idmap_put(&g->by_conn, conn_id(c), w) < 0) {
        watcher_free(w);
        return NULL;
    }
    return w;
}

static void *run_hub(void *arg);

/* Lock held.  Negative: he cannot be served. */
static int admit_watcher(struct watch *hub, struct watcher *w, bool has_since)
{
    int r = 0;

    if (!hub->journal || hub->stopping)
        return -ESHUTDOWN;
    if (!has_since)
        w->pos.lsn = atomic_load(&hub->durable);
    if (w->pos.lsn > journal_last(hub->journal))
        return -ERANGE; /* of another log, or one that was cut */
    if (!hub->running) {
        r = -pthread_create(&hub->thread, NULL, run_hub, hub);
        if (r < 0)
            return r;
        hub->running = true;
        threadname_set(hub->thread, "watch");
    }
    if (hub->state == WATCH_IDLE) {
        hub->state = WATCH_STARTING;
        hub->base = w->pos.lsn - (w->pos.index != UINT32_MAX && w->pos.lsn);
        hub->position = 0;
    }
    w->epoch = hub->epoch;
    w->sight = hub->sight;
    w->seq = ring_find(hub, w->pos.lsn);
    w->late = !ring_covers(hub, w->pos);
    if (w->late)
        r = watchlate_add(hub, w);
    return r;
}

static void enter_watcher(struct watch *hub, struct watcher *w, bool has_since)
{
    int r;

    pthread_mutex_lock(&hub->lock);
    hub->nwatchers++;
    atomic_store(&hub->active, true);
    r = admit_watcher(hub, w, has_since);
    hub->kick = true;
    pthread_cond_signal(&hub->wake);
    pthread_mutex_unlock(&hub->lock);
    if (r == 0 && w->late)
        return;
    w->late = false;
    group_link(w->group, w);
    pthread_mutex_lock(&hub->lock);
    group_choose(w->group, NULL);
    pthread_mutex_unlock(&hub->lock);
    if (r < 0)
        watcher_end(w->conn, w);
}

void watch_start(struct watch *hub, struct conn *c, const struct frame *frame)
{
    struct wgroup *g = group_mine(hub);
    struct err err = { .text = "" };
    Pst__WatchRequest *req = NULL;
    struct watcher *w = NULL;
    bool has_since = false;

    if (!g)
        g = group_new(hub);
    if (FRAME_UNPACK(watch_request, frame, &req, &err) < 0) {
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST, err.text);
        return;
    }
    if (g && idmap_get(&g->by_conn, conn_id(c)))
        err_set(&err, -EINVAL, "This connection watches already");
    else if (g)
        w = watcher_new(g, c, frame, req, &err);
    has_since = req->has_since_lsn;
    pst__watch_request__free_unpacked(req, NULL);
    if (w)
        enter_watcher(hub, w, has_since);
    else
        (void)conn_error(c, frame->op, frame->id, err.text[0] ? EPST_BAD_REQUEST : EPST_BUSY,
                         err.text[0] ? err.text : NULL);
}

/* ---- the thread ------------------------------------------------------------------------------ */

struct making {
    struct watch_batch *b;
};

static int on_change(void *ctx, const Pst__WatchChange *c, uint32_t states)
{
    return watch_batch_add(((struct making *)ctx)->b, c, states);
}

/* Wait, with the lock, until `until_mono_us`. */
static void wait_until(struct watch *hub, int64_t until_mono_us)
{
    struct timespec ts = { .tv_sec = until_mono_us / USEC_PER_SEC,
                           .tv_nsec = until_mono_us % USEC_PER_SEC * 1000 };

    (void)pthread_cond_timedwait(&hub->wake, &hub->lock, &ts); /* too early is no harm */
}

/* Read on; one batch, published.  1: there may be more. */
static int advance_batch(struct watch *hub, struct watchproj *p, bool beat, struct err *err)
{
    struct making m = { .b = watch_batch_new(watchproj_lsn(p) + 1) };
    uint64_t limit = atomic_load(&hub->durable);
    int r = m.b ? 1 : -ENOMEM;

    while (r > 0 && m.b->len < WATCH_BATCH_BYTES)
        r = watchproj_next(p, limit, on_change, &m, err);
    if (r >= 0 && (m.b->n || beat) && watch_batch_seal(m.b, watchproj_lsn(p)) < 0)
        r = -ENOMEM;
    if (r < 0) {
        watch_batch_unref(m.b);
        return r;
    }
    pthread_mutex_lock(&hub->lock);
    hub->position = watchproj_lsn(p);
    if (m.b->body)
        ring_add(hub, TAKE_PTR(m.b));
    pthread_mutex_unlock(&hub->lock);
    watch_batch_unref(m.b);
    return r;
}

static void clear_ring(struct watch *hub)
{
    while (hub->tail < hub->head)
        ring_drop(hub);
}

static int begin_projection(struct watch *hub, struct watchproj **ret, struct err *err)
{
    uint64_t base, early;
    int r;

    pthread_mutex_lock(&hub->lock);
    base = hub->base;
    pthread_mutex_unlock(&hub->lock);
    early = base > START_MARGIN ? base - START_MARGIN : 0;
    r = watchproj_open(hub->dir, early, ret, err);
    if (r == -ENOENT && early < base) {
        err->text[0] = '\0';
        early = base;
        r = watchproj_open(hub->dir, early, ret, err);
    }
    if (r == 0) {
        pthread_mutex_lock(&hub->lock);
        hub->state = WATCH_LIVE;
        hub->base = hub->position = watchproj_lsn(*ret);
        hub->kick = true;
        pthread_mutex_unlock(&hub->lock);
    }
    return r;
}

/* Everybody is told to begin anew. */
static struct watchproj *restart_watchers(struct watch *hub, struct watchproj *p, int r,
                                          const struct err *err)
{
    log_error("watch: %s: watchers begin anew", err->text[0] ? err->text : strerrordesc_np(-r));
    pthread_mutex_lock(&hub->lock);
    clear_ring(hub);
    hub->state = WATCH_IDLE;
    hub->epoch++;
    pthread_mutex_unlock(&hub->lock);
    post_groups(hub);
    return watchproj_free(p);
}

/* With the lock: sleep until there is something to do.  False: nobody watches any more. */
static bool wait_for_work(struct watch *hub, const struct watchproj *p, int64_t beat_at,
                          int64_t not_before)
{
    for (;;) {
        int64_t now = now_mono_us(), until = beat_at;

        if (hub->stopping)
            return true;
        if (!hub->nwatchers) {
            until = hub->empty_since_us + UNLOAD_US;
            if (now >= until)
                return false;
        } else if (now < not_before) {
            until = not_before;
        } else if (hub->kick || now >= beat_at || atomic_load(&hub->durable) > watchproj_lsn(p)) {
            return true;
        } else if (atomic_load(&hub->lagging)) {
            until = MIN(until, now + LAG_US);
            wait_until(hub, until);
            return true;
        }
        wait_until(hub, until);
    }
}

static void *run_hub(void *arg)
{
    struct watch *hub = arg;
    struct watchproj *p = NULL;
    int64_t beat_at = 0, not_before = 0;

    for (;;) {
        struct err err = { .text = "" };
        bool go, beat, stop;
        unsigned watchers;
        int r = 0;

        pthread_mutex_lock(&hub->lock);
        while (hub->state == WATCH_IDLE && !hub->stopping)
            pthread_cond_wait(&hub->wake, &hub->lock);
        go = !p || wait_for_work(hub, p, beat_at, not_before);
        if (!go) {
            clear_ring(hub);
            hub->state = WATCH_IDLE;
            atomic_store(&hub->active, false);
        }
        hub->kick = false;
        beat = now_mono_us() >= beat_at;
        stop = hub->stopping;
        watchers = hub->nwatchers;
        pthread_mutex_unlock(&hub->lock);
        if (stop)
            break;
        if (!go) {
            p = watchproj_free(p);
            continue;
        }
        if (!p)
            r = begin_projection(hub, &p, &err);
        if (r == 0)
            r = advance_batch(hub, p, beat, &err);
        if (beat || r < 0)
            beat_at = now_mono_us() + BEAT_US;
        if (r < 0)
            p = restart_watchers(hub, p, r, &err);
        else
            post_groups(hub);
        not_before = r > 0 ? 0 : now_mono_us() + GAP_US + (int64_t)watchers * GAP_EACH_US;
    }
    watchproj_free(p);
    return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

void watch_durable(struct watch *hub, uint64_t lsn)
{
    atomic_store(&hub->durable, lsn);
    if (!atomic_load(&hub->active))
        return;
    pthread_mutex_lock(&hub->lock);
    pthread_cond_signal(&hub->wake);
    pthread_mutex_unlock(&hub->lock);
}

/* ---- what may be seen ------------------------------------------------------------------------ */

static void digest_word(uint64_t *digest, const char *word)
{
    *digest = fnv_bytes(word, strlen(word) + 1, *digest);
}

/* PrivateData, and who sees past it. */
static uint64_t digest_rights(const struct ctld *ctld)
{
    const struct assoc_mgr *am = ctld->cluster->am;
    uint64_t digest = 1 + policy_private(ctld->conf);
    const ProtobufCMessage *rec;

    if (!policy_private(ctld->conf))
        return digest;
    for (size_t pos = 0; (rec = am_next(am, AM_USER, &pos));) {
        const Pst__UserRecord *user = (const Pst__UserRecord *)rec;
        uint64_t one = (uint64_t)user->admin_level;

        digest_word(&one, user->name);
        if (user->admin_level > PST__ADMIN_LEVEL__ADMIN_NONE)
            digest += one; /* they come in no order */
    }
    for (size_t pos = 0; (rec = am_next(am, AM_ACCOUNT, &pos));) {
        const Pst__AccountRecord *account = (const Pst__AccountRecord *)rec;
        uint64_t one = account->users_are_coords;

        digest_word(&one, account->name);
        for (size_t i = 0; i < account->n_coordinators; i++)
            digest_word(&one, account->coordinators[i]);
        digest += one;
    }
    return digest;
}

/* Who was let in by other rules begins anew, and is looked at again. */
void watch_rights_changed(struct watch *hub)
{
    uint64_t rights = hub ? digest_rights(hub->ctld) : 0;

    if (!hub || rights == hub->rights)
        return;
    hub->rights = rights;
    pthread_mutex_lock(&hub->lock);
    hub->sight++;
    hub->kick = true;
    pthread_cond_signal(&hub->wake);
    pthread_cond_broadcast(&hub->late_wake);
    pthread_mutex_unlock(&hub->lock);
}

/* A watcher has yet to take what is in the ring behind him, or, when he is late, in the log. */
void watch_figures(struct watch *hub, unsigned *ret_watchers, uint64_t *ret_lag)
{
    uint64_t slowest = UINT64_MAX, late = UINT64_MAX, newest, durable;

    *ret_watchers = 0;
    *ret_lag = 0;
    if (!hub)
        return;
    pthread_mutex_lock(&hub->lock);
    *ret_watchers = hub->nwatchers;
    newest = hub->head > hub->tail ? hub->ring[(hub->head - 1) % WATCH_RING]->last : 0;
    for (unsigned i = 0; i < hub->ngroups; i++)
        if (hub->groups[i]->any)
            slowest = MIN(slowest, atomic_load(&hub->groups[i]->slowest));
    for (const struct watcher *w = hub->late_head; w; w = w->late_next)
        late = MIN(late, w->pos.lsn);
    pthread_mutex_unlock(&hub->lock);
    late = MIN(late, atomic_load(&hub->late_at));
    durable = atomic_load(&hub->durable);
    if (*ret_watchers && slowest < newest)
        *ret_lag = newest - slowest;
    if (*ret_watchers && late < durable)
        *ret_lag = MAX(*ret_lag, durable - late);
}

void watch_quiesce(struct watch *hub)
{
    if (!hub)
        return;
    pthread_mutex_lock(&hub->lock);
    hub->journal = NULL;
    pthread_mutex_unlock(&hub->lock);
}

struct watch *watch_stop(struct watch *hub)
{
    if (!hub)
        return NULL;
    pthread_mutex_lock(&hub->lock);
    hub->stopping = true;
    pthread_cond_broadcast(&hub->wake);
    pthread_cond_broadcast(&hub->late_wake);
    pthread_mutex_unlock(&hub->lock);
    if (hub->running)
        pthread_join(hub->thread, NULL);
    if (hub->late_running)
        pthread_join(hub->late_thread, NULL);
    clear_ring(hub);
    for (unsigned i = 0; i < hub->ngroups; i++) {
        conn_unref(hub->groups[i]->any);
        idmap_done(&hub->groups[i]->by_conn);
        free(hub->groups[i]);
    }
    pthread_cond_destroy(&hub->wake);
    pthread_cond_destroy(&hub->late_wake);
    pthread_mutex_destroy(&hub->lock);
    free(hub->dir);
    free(hub);
    return NULL;
}

int watch_new(struct ctld *ctld, struct watch **ret)
{
    struct watch *hub = calloc(1, sizeof(*hub));
    pthread_condattr_t attr;

    if (!hub)
        return -ENOMEM;
    hub->ctld = ctld;
    hub->late_end = &hub->late_head;
    hub->late_back = watcher_rejoin;
    hub->late_lost = watcher_end;
    atomic_init(&hub->late_at, UINT64_MAX);
    pthread_mutex_init(&hub->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&hub->wake, &attr);
    pthread_cond_init(&hub->late_wake, &attr);
    pthread_condattr_destroy(&attr);
    hub->dir = strdup(conf_str(ctld->conf, CONF_STATE_SAVE_LOCATION));
    if (!hub->dir)
        return watch_stop(hub) ? 0 : -ENOMEM;
    hub->journal = ctld->journal;
    atomic_store(&hub->durable, journal_durable(ctld->journal));
    *ret = hub;
    return 0;
}

/* ---- the service ----------------------------------------------------------------------------- */

static int open_watch(struct ctld *ctld, struct err *err)
{
    struct watch *hub = NULL;
    int r = watch_new(ctld, &hub);

    (void)err;
    ctld->watch = hub;
    return r;
}

static void quiesce_watch(struct ctld *ctld)
{
    watch_quiesce(ctld->watch);
}

static void stop_watch(struct ctld *ctld)
{
    ctld->watch = watch_stop(ctld->watch);
}

static void tell_durable(struct ctld *ctld, uint64_t lsn)
{
    if (ctld->watch)
        watch_durable(ctld->watch, lsn);
}

static void follow_rights(struct ctld *ctld)
{
    watch_rights_changed(ctld->watch);
}

static void answer_request(struct ctld *ctld, struct conn *c, const struct frame *frame)
{
    watch_start(ctld->watch, c, frame);
}

static const struct ctld_op watch_ops[] = { { OP_WATCH, .front = answer_request }, { 0 } };

static void forget_watchers(struct ctld *ctld, struct conn *conn)
{
    struct watch *hub = ctld->watch;

    if (hub)
        watch_conn_closed(hub, conn);
}

const struct ctld_service watch_service = {
    .name = "watch",
    .ops = watch_ops,
    .open = open_watch,
    .quiesce = quiesce_watch,
    .stop = stop_watch,
    .durable = tell_durable,
    .on_conn_gone = forget_watchers,
    .acct_changed = follow_rights,
    .reconfigured = follow_rights,
    .recovered = follow_rights,
};
