/* adminfollow.c - controllers that hear of every change; see adminfollow.h */
#include "acct/admin/adminfollow.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/timefmt.h"
#include "wire/server/server.h"
#include "api.pb-c.h"

#define CHANGES_OF_FRAME 1000u
#define ARRIVAL_US (3 * USEC_PER_SEC)
#define BRING_US (1 * USEC_PER_SEC)

struct follower {
    struct follower *next;
    struct conn *conn;
    uint32_t id;
    uint64_t version; /* in force there */
    uint64_t brought; /* a ticket */
    int64_t due_us;   /* of the oldest ticket that it did not answer */
    bool tells, late; /* late: no answer waits for it until it tells again */
};

struct held {
    struct held *next;
    struct admin_delivery *d;
    uint64_t version;
    int64_t due_us;
};

struct adminfollow {
    pthread_mutex_t lock;
    struct follower *list;
    struct held *first, **last; /* in order of versions */
    uint64_t ticket;            /* the last */
};

struct admin_delivery *admin_delivery_free(struct admin_delivery *d)
{
    if (!d)
        return NULL;
    for (size_t i = 0; i < d->n; i++)
        pst__acct_change__free_unpacked(d->changes[i], NULL);
    free(d->changes);
    free(d->answer);
    if (d->conn)
        conn_unref(d->conn);
    free(d);
    return NULL;
}

struct adminfollow *adminfollow_new(void)
{
    struct adminfollow *fs = calloc(1, sizeof(*fs));

    if (!fs)
        return NULL;
    pthread_mutex_init(&fs->lock, NULL);
    fs->last = &fs->first;
    return fs;
}

static void give_answer(struct admin_delivery *d)
{
    if (d->conn) {
        conn_send_take(d->conn, d->answer, d->answer_len);
        d->answer = NULL;
    }
    (void)admin_delivery_free(d); /* always NULL */
}

/* The lock is held, as in those below. */
static bool is_everywhere(const struct adminfollow *fs, uint64_t version)
{
    for (const struct follower *f = fs->list; f; f = f->next)
        if (f->tells && !f->late && f->version < version)
            return false;
    return true;
}

static void give_first(struct adminfollow *fs)
{
    struct held *h = fs->first;

    fs->first = h->next;
    if (!fs->first)
        fs->last = &fs->first;
    give_answer(h->d);
    free(h);
}

static void give_ready(struct adminfollow *fs)
{
    while (fs->first && is_everywhere(fs, fs->first->version))
        give_first(fs);
}

struct adminfollow *adminfollow_free(struct adminfollow *fs)
{
    if (!fs)
        return NULL;
    while (fs->first)
        give_first(fs);
    while (fs->list) {
        struct follower *f = fs->list;

        fs->list = f->next;
        conn_unref(f->conn);
        free(f);
    }
    pthread_mutex_destroy(&fs->lock);
    free(fs);
    return NULL;
}

int adminfollow_add(struct adminfollow *fs, struct conn *conn, uint32_t id, bool tells,
                    uint64_t version)
{
    struct follower *f = calloc(1, sizeof(*f));

    if (!f)
        return -ENOMEM;
    *f = (struct follower){ .conn = conn_ref(conn), .id = id, .tells = tells, .version = version };
    pthread_mutex_lock(&fs->lock);
    f->brought = fs->ticket;
    f->next = fs->list;
    fs->list = f;
    pthread_mutex_unlock(&fs->lock);
    return 0;
}

void adminfollow_gone(struct adminfollow *fs, struct conn *conn)
{
    pthread_mutex_lock(&fs->lock);
    for (struct follower **at = &fs->list, *f; (f = *at);) {
        if (conn_id(f->conn) != conn_id(conn)) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        conn_unref(f->conn);
        free(f);
    }
    give_ready(fs);
    pthread_mutex_unlock(&fs->lock);
}

void adminfollow_send(struct conn *conn, uint32_t id, bool asks, Pst__AcctChange **changes,
                      size_t n)
{
    for (size_t at = 0; at < n; at += CHANGES_OF_FRAME) {
        Pst__AcctChanges some = PST__ACCT_CHANGES__INIT;

        some.changes = changes + at;
        some.n_changes = n - at < CHANGES_OF_FRAME ? n - at : CHANGES_OF_FRAME;
        some.has_more = some.more = at + some.n_changes < n;
        some.has_asks = some.asks = asks;
        if (conn_reply(conn, OP_ACCT_FOLLOW, id, FRAME_MORE, &some.base) < 0)
            conn_close(conn); /* it comes again and asks for what it lacks */
    }
}

bool adminfollow_deliver(struct adminfollow *fs, struct admin_delivery *d, uint64_t version)
{
    struct held *h = NULL;

    pthread_mutex_lock(&fs->lock);
    for (struct follower *f = fs->list; f; f = f->next)
        adminfollow_send(f->conn, f->id, f->tells, d->changes, d->n);
    if (d->conn && d->n && !is_everywhere(fs, version))
        h = calloc(1, sizeof(*h)); /* without memory the answer is given at once */
    if (h) {
        *h = (struct held){ .d = d, .version = version, .due_us = now_mono_us() + ARRIVAL_US };
        *fs->last = h;
        fs->last = &h->next;
    }
    pthread_mutex_unlock(&fs->lock);
    if (!h)
        give_answer(d);
    return h != NULL;
}

void adminfollow_arrived(struct adminfollow *fs, struct conn *conn, uint64_t version)
{
    pthread_mutex_lock(&fs->lock);
    for (struct follower *f = fs->list; f; f = f->next)
        if (conn_id(f->conn) == conn_id(conn)) {
            f->version = version > f->version ? version : f->version;
            f->late = false;
        }
    give_ready(fs);
    pthread_mutex_unlock(&fs->lock);
}

uint64_t adminfollow_ask(struct adminfollow *fs)
{
    Pst__AcctChanges ask = PST__ACCT_CHANGES__INIT;
    bool any = false;
    uint64_t ticket;

    pthread_mutex_lock(&fs->lock);
    ticket = fs->ticket + 1;
    ask.has_bring = 1;
    ask.bring = ticket;
    for (struct follower *f = fs->list; f; f = f->next) {
        if (!f->tells || f->late)
            continue;
        any = true;
        if (f->brought == fs->ticket)
            f->due_us = now_mono_us() + BRING_US;
        if (conn_reply(f->conn, OP_ACCT_FOLLOW, f->id, FRAME_MORE, &ask.base) < 0)
            conn_close(f->conn);
    }
    for (struct follower *f = fs->list; f && any; f = f->next)
        if (!f->tells || f->late)
            f->brought = ticket; /* it was not asked */
    if (any)
        fs->ticket = ticket;
    pthread_mutex_unlock(&fs->lock);
    return any ? ticket : 0;
}

uint64_t adminfollow_brought(struct adminfollow *fs)
{
    uint64_t least = UINT64_MAX;

    pthread_mutex_lock(&fs->lock);
    for (const struct follower *f = fs->list; f; f = f->next)
        if (f->tells && !f->late && f->brought < least)
            least = f->brought;
    pthread_mutex_unlock(&fs->lock);
    return least;
}

void adminfollow_has_brought(struct adminfollow *fs, struct conn *conn, uint64_t ticket)
{
    pthread_mutex_lock(&fs->lock);
    for (struct follower *f = fs->list; f; f = f->next)
        if (conn_id(f->conn) == conn_id(conn)) {
            f->brought = ticket > f->brought && ticket <= fs->ticket ? ticket : f->brought;
            f->due_us = now_mono_us() + BRING_US;
            f->late = false;
        }
    pthread_mutex_unlock(&fs->lock);
}

int64_t adminfollow_expire(struct adminfollow *fs, bool *gave_up)
{
    int64_t now = now_mono_us(), next;

    *gave_up = false;
    pthread_mutex_lock(&fs->lock);
    while (fs->first && fs->first->due_us <= now) {
        for (struct follower *f = fs->list; f; f = f->next)
            f->late = f->late || f->version < fs->first->version;
        *gave_up = true;
        give_first(fs);
    }
    next = fs->first ? fs->first->due_us : 0;
    for (struct follower *f = fs->list; f; f = f->next) {
        if (!f->tells || f->late || f->brought >= fs->ticket)
            continue;
        if (f->due_us <= now)
            *gave_up = f->late = true;
        else if (!next || f->due_us < next)
            next = f->due_us;
    }
    give_ready(fs);
    pthread_mutex_unlock(&fs->lock);
    return next;
}
