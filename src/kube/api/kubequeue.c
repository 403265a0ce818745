/* kubequeue.c - see kubequeue.h
 *
 * Rows that are due stand in a list; those that pause in a heap by time; those that failed in
 * another list, the one that failed longest ago first. */
#include "kube/api/kubequeue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "kube/api/kubemap.h"

#define AT_ONCE 16u
#define FIRST_PAUSE_US INT64_C(50000)
#define MOST_PAUSE_US (INT64_C(60) * USEC_PER_SEC)
#define PROBE_US (INT64_C(2) * USEC_PER_SEC)
#define FREED_AT_ONCE 16u /* by one that succeeds; each of them frees more */

struct row {
    struct row *next;
    bool ready, busy, again;
    int64_t due_mono_us; /* it pauses until then; 0: it does not */
    size_t place;        /* in the heap while it pauses */
    unsigned failures;
    struct row *held_next, **held_link; /* among those that failed; link NULL: not there */
    char key[];
};

struct kubequeue {
    struct kubeloop *loop;
    struct kubequeue_options o;
    kubequeue_fn *fn;
    void *ctx;
    struct kubemap rows;
    struct row **heap; /* the one that is due first at [0] */
    size_t n_heap, heap_cap;
    struct row *first, **last;
    struct row *held, **held_last;
    unsigned busy;
    struct kubetimer timer;
};

static void run_ready(void *ctx);

int kubequeue_new(struct kubeloop *loop, const struct kubequeue_options *o, kubequeue_fn *fn,
                  void *ctx, struct kubequeue **ret)
{
    struct kubequeue *q = calloc(1, sizeof(*q));

    if (!q)
        return -ENOMEM;
    q->loop = loop;
    q->o = *o;
    q->o.at_once = o->at_once ? o->at_once : AT_ONCE;
    q->o.first_pause_us = o->first_pause_us ? o->first_pause_us : FIRST_PAUSE_US;
    q->o.most_pause_us = o->most_pause_us ? o->most_pause_us : MOST_PAUSE_US;
    q->fn = fn;
    q->ctx = ctx;
    q->last = &q->first;
    q->held_last = &q->held;
    q->timer = (struct kubetimer){ .fn = run_ready, .ctx = q };
    *ret = q;
    return 0;
}

struct kubequeue *kubequeue_free(struct kubequeue *q)
{
    if (!q)
        return NULL;
    kubeloop_disarm(q->loop, &q->timer);
    free(q->heap);
    kubemap_done(&q->rows, free);
    free(q);
    return NULL;
}

size_t kubequeue_count(const struct kubequeue *q)
{
    return q->rows.n;
}

/* ---- the heap of pauses ---------------------------------------------------------------------- */

static void put_at(struct kubequeue *q, size_t place, struct row *w)
{
    q->heap[place] = w;
    w->place = place;
}

static void sift_up(struct kubequeue *q, size_t place, struct row *w)
{
    for (; place && q->heap[(place - 1) / 2]->due_mono_us > w->due_mono_us; place = (place - 1) / 2)
        put_at(q, place, q->heap[(place - 1) / 2]);
    put_at(q, place, w);
}

static void sift_down(struct kubequeue *q, size_t place, struct row *w)
{
    size_t child;

    while ((child = place * 2 + 1) < q->n_heap) {
        if (child + 1 < q->n_heap && q->heap[child + 1]->due_mono_us < q->heap[child]->due_mono_us)
            child++;
        if (q->heap[child]->due_mono_us >= w->due_mono_us)
            break;
        put_at(q, place, q->heap[child]);
        place = child;
    }
    put_at(q, place, w);
}

static void end_pause(struct kubequeue *q, struct row *w)
{
    struct row *last;

    if (!w->due_mono_us)
        return;
    last = q->heap[--q->n_heap];
    if (last != w) {
        size_t place = w->place;

        sift_down(q, place, last);
        if (last->place == place)
            sift_up(q, place, last);
    }
    w->due_mono_us = 0;
}

static int push_pause(struct kubequeue *q, struct row *w, int64_t due_mono_us)
{
    if (q->n_heap == q->heap_cap) {
        size_t cap = q->heap_cap ? q->heap_cap * 2 : 64;
        struct row **more = realloc(q->heap, cap * sizeof(struct row *));

        if (!more)
            return -ENOMEM;
        q->heap = more;
        q->heap_cap = cap;
    }
    w->due_mono_us = due_mono_us;
    sift_up(q, q->n_heap++, w);
    return 0;
}

static void make_ready(struct kubequeue *q, struct row *w)
{
    end_pause(q, w);
    if (w->ready)
        return;
    w->ready = true;
    w->next = NULL;
    *q->last = w;
    q->last = &w->next;
    kubeloop_arm(q->loop, &q->timer, now_mono_us());
}

static int begin_pause(struct kubequeue *q, struct row *w, int64_t after_us)
{
    int r;

    end_pause(q, w);
    r = push_pause(q, w, now_mono_us() + after_us);
    if (r == 0 && (!q->timer.armed || q->timer.due_mono_us > w->due_mono_us))
        kubeloop_arm(q->loop, &q->timer, w->due_mono_us);
    return r;
}

static struct row *find_row(struct kubequeue *q, const char *key)
{
    struct row *w = kubemap_get(&q->rows, key);

    if (w)
        return w;
    w = calloc(1, sizeof(*w) + strlen(key) + 1);
    if (!w)
        return NULL;
    memcpy(w->key, key, strlen(key) + 1);
    if (kubemap_put(&q->rows, key, w) < 0) {
        free(w);
        return NULL;
    }
    return w;
}

int kubequeue_add(struct kubequeue *q, const char *key)
{
    struct row *w = find_row(q, key);

    if (!w)
        return -ENOMEM;
    if (w->busy)
        w->again = true;
    else
        make_ready(q, w);
    return 0;
}

int kubequeue_add_after(struct kubequeue *q, const char *key, int64_t after_us)
{
    struct row *w = find_row(q, key);

    if (!w)
        return -ENOMEM;
    if (w->ready || (w->due_mono_us && w->due_mono_us <= now_mono_us() + after_us))
        return 0;
    return begin_pause(q, w, after_us);
}

/* ---- rows that failed ------------------------------------------------------------------------ */

/* False: it had not failed. */
static bool let_go(struct kubequeue *q, struct row *w)
{
    if (!w->held_link)
        return false;
    *w->held_link = w->held_next;
    if (w->held_next)
        w->held_next->held_link = w->held_link;
    else
        q->held_last = w->held_link;
    w->held_link = NULL;
    return true;
}

/* It is the last of them; the first one is tried soon. */
static void hold_row(struct kubequeue *q, struct row *w)
{
    (void)let_go(q, w); /* it may have been the first */
    w->held_next = NULL;
    w->held_link = q->held_last;
    *q->held_last = w;
    q->held_last = &w->held_next;
    if (q->held->due_mono_us > now_mono_us() + PROBE_US)
        (void)begin_pause(q, q->held, PROBE_US); /* there is room: it paused */
}

/* What kept them from being done may be over. */
static void free_some(struct kubequeue *q)
{
    unsigned n = 0;

    for (struct row *w = q->held; w && n < FREED_AT_ONCE; w = w->held_next)
        if (w->due_mono_us && !w->busy) {
            make_ready(q, w);
            n++;
        }
}

static struct row *end_work(struct kubequeue *q, const char *key)
{
    struct row *w = kubemap_get(&q->rows, key);

    if (!w || !w->busy)
        return NULL;
    w->busy = false;
    q->busy--;
    if (q->first)
        kubeloop_arm(q->loop, &q->timer, now_mono_us());
    return w;
}

static void pause_failed(struct kubequeue *q, struct row *w)
{
    int64_t pause = q->o.first_pause_us;

    w->failures++;
    for (unsigned i = 1; i < w->failures && pause < q->o.most_pause_us; i++)
        pause *= 2;
    w->again = false;
    if (begin_pause(q, w, MIN(pause, q->o.most_pause_us)) < 0)
        make_ready(q, w); /* no memory for the pause: at once is better than never */
}

void kubequeue_done(struct kubequeue *q, const char *key, bool ok)
{
    struct row *w = end_work(q, key);

    if (!w)
        return;
    if (!ok) {
        pause_failed(q, w);
        if (q->o.in_turns)
            hold_row(q, w);
        return;
    }
    w->failures = 0;
    if (let_go(q, w))
        free_some(q);
    if (w->again) {
        w->again = false;
        make_ready(q, w);
    } else if (!w->due_mono_us && !w->ready) {
        free(kubemap_take(&q->rows, key));
    }
}

void kubequeue_refuse(struct kubequeue *q, const char *key)
{
    struct row *w = end_work(q, key);

    if (!w)
        return;
    pause_failed(q, w);
    if (let_go(q, w))
        free_some(q);
}

static void hurry_row(void *ctx, const char *key, void *row)
{
    struct row *w = row;

    (void)key;
    if (!w->failures)
        return;
    w->failures = 0; /* one that is under way may fail once more: then its pause is the first */
    if (w->due_mono_us && !w->busy)
        make_ready(ctx, w);
}

void kubequeue_hurry(struct kubequeue *q)
{
    kubemap_walk(&q->rows, hurry_row, q);
}

static void run_ready(void *ctx)
{
    struct kubequeue *q = ctx;
    int64_t now = now_mono_us();
    struct row *w;

    while (q->n_heap && q->heap[0]->due_mono_us <= now) {
        w = q->heap[0];
        end_pause(q, w);
        if (w->busy)
            w->again = true;
        else
            make_ready(q, w);
    }
    while (q->first && q->busy < q->o.at_once) {
        w = q->first;
        q->first = w->next;
        if (!q->first)
            q->last = &q->first;
        w->ready = false;
        w->busy = true;
        q->busy++;
        q->fn(q->ctx, w->key);
    }
    if (q->n_heap && (!q->timer.armed || q->timer.due_mono_us > q->heap[0]->due_mono_us))
        kubeloop_arm(q->loop, &q->timer, q->heap[0]->due_mono_us);
}
