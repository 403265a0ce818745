/* quota.c - how many connections and bytes one peer may hold; see quota.h
 *
 * A peer exists while a connection is his.  Invariant: the sum of seats' bytes is their peer's,
 * and the sum over peers that are not exempt is the quota's. */
#include "wire/server/quota.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define BUCKETS 1024u
#define TIGHT 4u /* of his share is left to each while all hold too much together */

struct quota_peer {
    struct quota_peer *next;
    struct quota_key key;
    bool exempt;
    unsigned seats, waiting; /* under the lock */
    unsigned users;          /* seats that are logged in */
    struct quota_seat *oldest, *newest;
    atomic_size_t bytes;
};

struct quota {
    struct quota_limits limits;
    pthread_mutex_t lock;
    struct quota_peer *buckets[BUCKETS];
    unsigned waiting, users; /* without the exempt */
    atomic_size_t bytes;     /* likewise */
};

struct quota *quota_new(const struct quota_limits *limits)
{
    struct quota *q = calloc(1, sizeof(*q));

    if (!q)
        return NULL;
    q->limits = *limits;
    (void)pthread_mutex_init(&q->lock, NULL); /* cannot fail with default attributes */
    return q;
}

struct quota *quota_free(struct quota *q)
{
    if (q)
        (void)pthread_mutex_destroy(&q->lock);
    free(q);
    return NULL;
}

/* ---- peers; the lock is held ----------------------------------------------------------------- */

static struct quota_peer **bucket_of(struct quota *q, const struct quota_key *key)
{
    uint64_t h = key->is_uid ? key->uid : 0, part;

    for (size_t i = 0; i < sizeof(key->addr); i += sizeof(part)) {
        memcpy(&part, key->addr + i, sizeof(part));
        h = (h ^ part) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return &q->buckets[(h ^ (h >> 32)) % BUCKETS];
}

static bool same_key(const struct quota_key *a, const struct quota_key *b)
{
    return a->is_uid == b->is_uid && a->uid == b->uid &&
           memcmp(a->addr, b->addr, sizeof(a->addr)) == 0;
}

static struct quota_peer *find_peer(struct quota *q, const struct quota_key *key)
{
    struct quota_peer **bucket = bucket_of(q, key), *p = *bucket;

    while (p && !same_key(&p->key, key))
        p = p->next;
    if (p)
        return p;
    p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->key = *key;
    p->exempt =
        key->is_uid && (key->uid == 0 || key->uid == geteuid() || key->uid == q->limits.exempt);
    p->next = *bucket;
    *bucket = p;
    return p;
}

static void drop_if_empty(struct quota *q, struct quota_peer *peer)
{
    struct quota_peer **at = bucket_of(q, &peer->key);

    if (peer->seats)
        return;
    while (*at != peer)
        at = &(*at)->next;
    *at = peer->next;
    free(peer);
}

static void add_bytes(struct quota *q, struct quota_peer *peer, size_t more, size_t less)
{
    /* wraps as it shall */
    (void)atomic_fetch_add_explicit(&peer->bytes, more - less, memory_order_relaxed);
    if (!peer->exempt)
        (void)atomic_fetch_add_explicit(&q->bytes, more - less, memory_order_relaxed);
}

static void sit_down(struct quota *q, struct quota_seat *seat, struct quota_peer *peer,
                     bool waiting)
{
    seat->peer = peer;
    seat->waiting = waiting;
    peer->seats++;
    add_bytes(q, peer, seat->bytes, 0);
    if (!waiting) {
        peer->users++;
        q->users += !peer->exempt;
        return;
    }
    peer->waiting++;
    q->waiting += !peer->exempt;
    seat->older = peer->newest;
    seat->newer = NULL;
    *(peer->newest ? &peer->newest->newer : &peer->oldest) = seat;
    peer->newest = seat;
}

static void stop_waiting(struct quota *q, struct quota_seat *seat)
{
    struct quota_peer *peer = seat->peer;

    *(seat->older ? &seat->older->newer : &peer->oldest) = seat->newer;
    *(seat->newer ? &seat->newer->older : &peer->newest) = seat->older;
    seat->older = seat->newer = NULL;
    peer->waiting--;
    q->waiting -= !peer->exempt;
}

static void stand_up(struct quota *q, struct quota_seat *seat)
{
    struct quota_peer *peer = seat->peer;

    if (seat->waiting) {
        stop_waiting(q, seat);
    } else {
        peer->users--;
        q->users -= !peer->exempt;
    }
    peer->seats--;
    add_bytes(q, peer, 0, seat->bytes);
    seat->peer = NULL;
    drop_if_empty(q, peer);
}

/* ---- which connection gives way; the lock is held --
 * --------------------------------------------------------- */

static struct quota_seat *oldest_of(const struct quota_peer *peer, bool with_bytes)
{
    for (struct quota_seat *s = peer->oldest; s; s = s->newer)
        if (!s->steady && (!with_bytes || s->bytes))
            return s;
    return NULL;
}

/* The peer with the most that wait loses one. */
static struct quota_seat *oldest_of_most(struct quota *q)
{
    struct quota_seat *found = NULL;
    unsigned most = 0;

    for (size_t i = 0; i < BUCKETS; i++)
        for (struct quota_peer *p = q->buckets[i]; p; p = p->next) {
            struct quota_seat *s = p->waiting > most && !p->exempt ? oldest_of(p, false) : NULL;

            if (s) {
                found = s;
                most = p->waiting;
            }
        }
    return found;
}

/* A storm from one user on this host is not worth the work of exchanging one for another. */
static struct quota_seat *old_enough(struct quota_seat *seat, const struct quota_key *key,
                                     int64_t now_mono_us)
{
    return seat && key->is_uid && now_mono_us - seat->since_mono_us < QUOTA_YOUNG_US ? NULL : seat;
}

/* It leaves the waiting ones at once; its connection is closed in a moment. */
static void give_way(struct quota *q, struct quota_seat *seat,
                     void (*hold)(struct quota_seat *seat))
{
    hold(seat);
    stand_up(q, seat);
}

int quota_enter(struct quota *q, struct quota_seat *seat, const struct quota_key *key,
                int64_t now_mono_us, void (*hold)(struct quota_seat *seat),
                struct quota_seat **ret_out)
{
    struct quota_seat *out = NULL;
    struct quota_peer *peer;
    bool full_each, full;
    int r = 0;

    (void)pthread_mutex_lock(&q->lock); /* fails only on misuse */
    peer = find_peer(q, key);
    full_each = peer && !peer->exempt && peer->waiting >= q->limits.waiting_each;
    full = peer && !peer->exempt && q->waiting >= q->limits.waiting;
    if (full_each)
        out = old_enough(oldest_of(peer, false), key, now_mono_us);
    else if (full)
        out = oldest_of_most(q);
    if (!peer)
        r = -ENOMEM;
    else if ((full_each || full) && !out)
        r = -EBUSY;
    seat->since_mono_us = now_mono_us;
    if (r == 0)
        sit_down(q, seat, peer, true); /* before the other: the peer stays */
    if (out)
        give_way(q, out, hold);
    if (r < 0 && peer)
        drop_if_empty(q, peer);
    (void)pthread_mutex_unlock(&q->lock);
    *ret_out = out;
    return r;
}

bool quota_login(struct quota *q, struct quota_seat *seat, uid_t uid)
{
    struct quota_key key = { .is_uid = true, .uid = uid };
    struct quota_peer *peer;
    bool ok;

    (void)pthread_mutex_lock(&q->lock);
    peer = seat->peer ? find_peer(q, &key) : NULL; /* NULL: it has given way meanwhile */
    ok =
        peer && (peer->exempt || (peer->users < q->limits.user_each && q->users < q->limits.users));
    if (ok) {
        struct quota_seat whole = *seat;

        peer->seats++; /* it may be the one that is left */
        stand_up(q, seat);
        peer->seats--;
        seat->bytes = whole.bytes;
        sit_down(q, seat, peer, false);
    } else if (peer) {
        drop_if_empty(q, peer);
    }
    (void)pthread_mutex_unlock(&q->lock);
    return ok;
}

void quota_leave(struct quota *q, struct quota_seat *seat)
{
    (void)pthread_mutex_lock(&q->lock);
    if (seat->peer)
        stand_up(q, seat);
    (void)pthread_mutex_unlock(&q->lock);
}

void quota_steady(struct quota *q, struct quota_seat *seat, bool steady)
{
    (void)pthread_mutex_lock(&q->lock);
    seat->steady = steady;
    (void)pthread_mutex_unlock(&q->lock);
}

struct quota_seat *quota_oldest_with_bytes(struct quota *q, const struct quota_seat *seat,
                                           void (*hold)(struct quota_seat *seat))
{
    struct quota_seat *out = NULL;

    (void)pthread_mutex_lock(&q->lock);
    if (seat->peer)
        out = oldest_of(seat->peer, true);
    if (out)
        give_way(q, out, hold);
    (void)pthread_mutex_unlock(&q->lock);
    return out;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* A waiting seat may be taken away by another thread, its peer with it; a user's stays until its
 * owner leaves. */
static void lock_waiting(struct quota *q, const struct quota_seat *seat)
{
    if (seat->waiting)
        (void)pthread_mutex_lock(&q->lock);
}

static void unlock_waiting(struct quota *q, const struct quota_seat *seat)
{
    if (seat->waiting)
        (void)pthread_mutex_unlock(&q->lock);
}

void quota_hold(struct quota *q, struct quota_seat *seat, size_t bytes)
{
    if (bytes == seat->bytes)
        return;
    lock_waiting(q, seat);
    if (seat->peer)
        add_bytes(q, seat->peer, bytes, seat->bytes);
    seat->bytes = bytes;
    unlock_waiting(q, seat);
}

static bool peer_over(const struct quota *q, const struct quota_peer *peer, size_t more)
{
    size_t share = q->limits.bytes_each;

    if (!peer || peer->exempt)
        return false;
    if (atomic_load_explicit(&q->bytes, memory_order_relaxed) > q->limits.bytes)
        share /= TIGHT;
    return atomic_load_explicit(&peer->bytes, memory_order_relaxed) + more > share;
}

bool quota_over(struct quota *q, const struct quota_seat *seat, size_t more)
{
    bool over;

    lock_waiting(q, seat);
    over = peer_over(q, seat->peer, more);
    unlock_waiting(q, seat);
    return over;
}

bool quota_over_now(struct quota *q, const struct quota_seat *seat)
{
    bool over;

    (void)pthread_mutex_lock(&q->lock);
    over = peer_over(q, seat->peer, 0);
    (void)pthread_mutex_unlock(&q->lock);
    return over;
}

bool quota_exempt(struct quota *q, const struct quota_seat *seat)
{
    bool exempt;

    lock_waiting(q, seat);
    exempt = seat->peer && seat->peer->exempt;
    unlock_waiting(q, seat);
    return exempt;
}

bool quota_crowded(struct quota *q, const struct quota_seat *seat)
{
    bool crowded;

    (void)pthread_mutex_lock(&q->lock);
    crowded = seat->peer && !seat->peer->exempt &&
              (q->users > q->limits.users / 2 || seat->peer->users > q->limits.user_each / 2);
    (void)pthread_mutex_unlock(&q->lock);
    return crowded;
}
