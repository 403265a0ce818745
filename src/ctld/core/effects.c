/* effects.c - frames that wait for durability; see effects.h.
 *
 * lsn values arrive in ascending order because one thread commits.  The lock is held for list
 * work only. */
#include "ctld/core/effects.h"
#include "ctld/core/service.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/must.h"
#include "journal/reign.h"
#include "wire/server/server.h"

struct effect {
    struct effect *next;
    uint64_t lsn;
    struct conn *conn;
    uint8_t *buf;
    size_t len;
};

struct effects {
    pthread_mutex_t lock;
    struct effect *head, *tail;
    uint64_t durable;
    struct reign *reign; /* NULL: whatever is durable may leave */
    bool releasing;      /* a thread sends what is durable: nobody may overtake it */
    atomic_size_t pending;
    atomic_bool withheld; /* an answer was dropped since the reign was over */
};

int effects_new(struct effects **ret)
{
    struct effects *e = calloc(1, sizeof(*e));

    if (!e)
        return -ENOMEM;
    pthread_mutex_init(&e->lock, NULL);
    *ret = e;
    return 0;
}

static void effect_done(struct effects *e, struct effect *f, bool send)
{
    if (send) {
        conn_send_take(f->conn, f->buf, f->len);
    } else {
        free(f->buf);
        atomic_store(&e->withheld, true);
    }
    conn_unref(f->conn);
    free(f);
    atomic_fetch_sub_explicit(&e->pending, 1, memory_order_relaxed);
}

struct effects *effects_free(struct effects *e)
{
    if (!e)
        return NULL;
    while (e->head) {
        struct effect *f = e->head;

        e->head = f->next;
        effect_done(e, f, false);
    }
    pthread_mutex_destroy(&e->lock);
    free(e);
    return NULL;
}

void effects_add(struct effects *e, uint64_t lsn, struct conn *conn, uint8_t *buf, size_t len)
{
    struct effect *f = must(malloc(sizeof(*f)));
    bool now;

    *f = (struct effect){ .lsn = lsn, .conn = conn_ref(conn), .buf = buf, .len = len };
    atomic_fetch_add_explicit(&e->pending, 1, memory_order_relaxed);
    pthread_mutex_lock(&e->lock);
    /* Behind the others even when durable, so that frames to one peer keep their order. */
    now = !e->head && !e->releasing && lsn <= e->durable;
    if (!now) {
        if (e->tail)
            e->tail->next = f;
        else
            e->head = f;
        e->tail = f;
    }
    pthread_mutex_unlock(&e->lock);
    if (now) /* a controller that slept through its lease answers nothing, old news neither */
        effect_done(e, f, !e->reign || reign_left_us(e->reign) > 0);
}

void effects_guard(struct effects *e, struct reign *reign)
{
    e->reign = reign;
}

/* What is durable, as a list; NULL: nothing.  The lock is held. */
static struct effect *take_ready(struct effects *e)
{
    struct effect *ready = e->head, *last = NULL;

    for (struct effect *f = e->head; f && f->lsn <= e->durable; f = f->next)
        last = f;
    if (!last)
        return NULL;
    e->head = last->next;
    if (!e->head)
        e->tail = NULL;
    last->next = NULL;
    return ready;
}

static void send_list(struct effects *e, struct effect *list, bool send)
{
    while (list) {
        struct effect *next = list->next;

        effect_done(e, list, send);
        list = next;
    }
}

void effects_release(struct effects *e, uint64_t lsn)
{
    bool send = true; /* the log was ours when lsn became durable */
    struct effect *ready;

    pthread_mutex_lock(&e->lock);
    if (lsn > e->durable)
        e->durable = lsn;
    while (!e->releasing && (ready = take_ready(e))) {
        e->releasing = true; /* who comes meanwhile leaves it to us */
        pthread_mutex_unlock(&e->lock);
        send_list(e, ready, send);
        send = !e->reign || reign_left_us(e->reign) > 0;
        pthread_mutex_lock(&e->lock);
        e->releasing = false;
    }
    pthread_mutex_unlock(&e->lock);
}

size_t effects_pending(const struct effects *e)
{
    return atomic_load_explicit(&e->pending, memory_order_relaxed);
}

bool effects_unsaid(const struct effects *e)
{
    return atomic_load(&e->withheld) || effects_pending(e);
}

/* ---- the service ----------------------------------------------------------------------------- */

static void release_durable(struct ctld *ctld, uint64_t lsn)
{
    effects_release(ctld->effects, lsn);
}

const struct ctld_service effects_service = { .name = "effects", .durable = release_durable };
