/* keyindex.c - idempotency keys by digest, and by age; see keyindex.h
 *
 * Two lists in order of number: of all, and of each user.  Numbers go around after 2^32, and those
 * that are there span far less than half of that: the difference of two says which is older.  After
 * a restart they come in no order; the lists are then put in order when somebody asks first. */
#include "ctld/submit/keyindex.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/must.h"
#include "model/tables/idmap.h"

struct owner;
struct node { /* a key in the table */
    struct keyindex_entry e;
    struct node *same;                  /* of the same place */
    struct node *prev, *next;           /* of all */
    struct node *user_prev, *user_next; /* of the user */
    struct owner *owner;
};
struct owner {
    uint32_t uid, n;
    struct node *first, *last;
};
struct keyindex {
    uint32_t per_user, total;
    struct idmap places;  /* place of a digest -> struct node, a chain */
    struct idmap numbers; /* number -> struct node */
    struct idmap owners;  /* uid + 1 -> struct owner */
    struct node *first, *last;
    bool unsorted;
};

/* Neither 0 nor UINT64_MAX. */
static uint64_t place_of(const struct digest *key)
{
    return (digest_place(key) >> 1) + 1;
}

static bool is_older(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

int keyindex_new(uint32_t per_user, uint32_t total, struct keyindex **ret)
{
    struct keyindex *x = calloc(1, sizeof(*x));

    if (!x)
        return -ENOMEM;
    x->per_user = per_user;
    x->total = total;
    *ret = x;
    return 0;
}

struct keyindex *keyindex_free(struct keyindex *x)
{
    void *v;

    if (!x)
        return NULL;
    for (size_t pos = 0; (v = idmap_next(&x->numbers, &pos));)
        free(v);
    for (size_t pos = 0; (v = idmap_next(&x->owners, &pos));)
        free(v);
    idmap_done(&x->places);
    idmap_done(&x->numbers);
    idmap_done(&x->owners);
    free(x);
    return NULL;
}

/* ---- the lists ------------------------------------------------------------------------------- */

static void list_append(struct keyindex *x, struct node *n)
{
    struct owner *o = n->owner;

    n->next = n->user_next = NULL;
    n->prev = x->last;
    *(x->last ? &x->last->next : &x->first) = n;
    x->last = n;
    n->user_prev = o->last;
    *(o->last ? &o->last->user_next : &o->first) = n;
    o->last = n;
}

static void list_remove(struct keyindex *x, const struct node *n)
{
    struct owner *o = n->owner;

    *(n->prev ? &n->prev->next : &x->first) = n->next;
    *(n->next ? &n->next->prev : &x->last) = n->prev;
    *(n->user_prev ? &n->user_prev->user_next : &o->first) = n->user_next;
    *(n->user_next ? &n->user_next->user_prev : &o->last) = n->user_prev;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = (*(struct node *const *)a)->e.number, y = (*(struct node *const *)b)->e.number;

    return is_older(x, y) ? -1 : x != y;
}

static void put_in_order(struct keyindex *x)
{
    size_t n = 0;
    struct node **all;
    struct owner *o;

    if (!x->unsorted)
        return;
    x->unsorted = false;
    all = must(calloc(x->numbers.count + 1, sizeof(struct node *)));
    for (struct node *p = x->first; p; p = p->next)
        all[n++] = p;
    qsort(all, n, sizeof(struct node *), by_number);
    x->first = x->last = NULL;
    for (size_t pos = 0; (o = idmap_next(&x->owners, &pos));)
        o->first = o->last = NULL;
    for (size_t i = 0; i < n; i++)
        list_append(x, all[i]);
    free(all);
}

/* ---- changes --------------------------------------------------------------------------------- */

static struct owner *owner_of(struct keyindex *x, uint32_t uid)
{
    struct owner *o = idmap_get(&x->owners, (uint64_t)uid + 1);

    if (o)
        return o;
    o = must(calloc(1, sizeof(*o)));
    o->uid = uid;
    must_do(idmap_put(&x->owners, (uint64_t)uid + 1, o));
    return o;
}

void keyindex_put(struct keyindex *x, const struct keyindex_entry *e)
{
    struct node *n;

    keyindex_remove(x, e->number);
    n = must(calloc(1, sizeof(*n)));
    n->e = *e;
    n->owner = owner_of(x, e->uid);
    n->owner->n++;
    n->same = idmap_get(&x->places, place_of(&e->key));
    must_do(idmap_put(&x->places, place_of(&e->key), n));
    must_do(idmap_put(&x->numbers, e->number, n));
    x->unsorted = x->unsorted || (x->last && is_older(e->number, x->last->e.number));
    list_append(x, n);
}

static void leave_place(struct keyindex *x, const struct node *n)
{
    uint64_t place = place_of(&n->e.key);
    struct node *at = idmap_get(&x->places, place);

    if (at == n) {
        if (n->same)
            must_do(idmap_put(&x->places, place, n->same));
        else
            (void)idmap_remove(&x->places, place);
        return;
    }
    while (at->same != n)
        at = at->same;
    at->same = n->same;
}

void keyindex_remove(struct keyindex *x, uint32_t number)
{
    struct node *n = idmap_remove(&x->numbers, number);

    if (!n)
        return;
    leave_place(x, n);
    list_remove(x, n);
    if (--n->owner->n == 0)
        free(idmap_remove(&x->owners, (uint64_t)n->owner->uid + 1));
    free(n);
}

/* ---- questions ------------------------------------------------------------------------------- */

const struct keyindex_entry *keyindex_find(const struct keyindex *x, const struct digest *key)
{
    const struct node *n = idmap_get(&x->places, place_of(key));

    while (n && !digest_equal(&n->e.key, key))
        n = n->same;
    return n ? &n->e : NULL;
}

const struct keyindex_entry *keyindex_oldest(struct keyindex *x)
{
    put_in_order(x);
    return x->first ? &x->first->e : NULL;
}

const struct keyindex_entry *keyindex_in_the_way(struct keyindex *x, uint32_t uid)
{
    const struct owner *o = idmap_get(&x->owners, (uint64_t)uid + 1);

    put_in_order(x);
    if (o && o->n >= x->per_user)
        return &o->first->e;
    return x->numbers.count >= x->total ? &x->first->e : NULL;
}

uint32_t keyindex_next(struct keyindex *x)
{
    uint32_t next;

    put_in_order(x);
    next = x->last ? x->last->e.number + 1 : 1;
    return next ? next : 1;
}

size_t keyindex_count(const struct keyindex *x)
{
    return x->numbers.count;
}
