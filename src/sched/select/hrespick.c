/* hrespick.c - see hrespick.h
 *
 * A question costs one look at each layer of the resources asked for, and at the words of the
 * bitmap that it covers; a node that is counted costs its path of at most SCHED_MAX_LEVELS layers.
 * The layers of mode 3 are a tree, so nodes may be taken in any order: whoever takes all that the
 * tallies allow has as many as any other choice would give. */
#include "sched/select/hrespick.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/profile/prof_slots.h"
#include "sched/rules/advlics.h"
#include "sched/rules/licfit.h"
#include "sched/sched.h"
#include "sched/state/bounds.h"
#include "sched/state/classes.h"
#include "sched/state/lics.h"
#include "sched/state/shape.h"

void hres_room_free(struct hres_room *room)
{
    if (!room)
        return;
    for (int i = 0; i < HRES_TALLIES; i++)
        free(room->left[i]);
    free(room->most);
    free(room->ok);
    free(room->bad);
    free(room);
}

static int grow_list(void **list, size_t n, size_t size)
{
    void *grown = reallocarray(*list, n, size);

    if (!grown)
        return -ENOMEM;
    *list = grown;
    return 0;
}

static int make_room(struct sched *s, const struct hres *h, uint32_t nwords)
{
    struct hres_room *room = s->room ? s->room : calloc(1, sizeof(*room));
    int r = 0;

    if (!room)
        return -ENOMEM;
    s->room = room;
    for (int i = 0; r == 0 && room->cap < h->n && i < HRES_TALLIES; i++)
        r = grow_list((void **)&room->left[i], h->n, sizeof(*room->left[i]));
    if (r == 0 && room->cap < h->n)
        r = grow_list((void **)&room->most, h->n, sizeof(*room->most));
    if (r == 0)
        room->cap = MAX(room->cap, h->n);
    if (r == 0 && room->nwords < nwords)
        r = grow_list((void **)&room->ok, nwords, sizeof(*room->ok));
    if (r == 0 && room->nwords < nwords)
        r = grow_list((void **)&room->bad, nwords, sizeof(*room->bad));
    if (r == 0)
        room->nwords = MAX(room->nwords, nwords);
    return r;
}

/* ---- what is left ---------------------------------------------------------------------------- */

/* Is the question about a time that has not come? */
static bool asks_later(const struct pick *p)
{
    return p->plan && p->from > prof_now(p->s);
}

/* Do layers count for this question?  On an idle machine those of modes 1 and 2 do not: a job that
 * asks for more than all of them have waits. */
static bool layers_count(const struct pick *p, const struct hres *h)
{
    if (p->no_layers)
        return false;
    if (p->idle)
        return h->mode == 3;
    return !asks_later(p) || prof_fixed(p->s);
}

static uint64_t left_of(const struct pick *p, uint32_t lic)
{
    const struct sched *s = p->s;
    uint64_t left = UINT64_MAX;

    if (p->idle)
        return s->lics[lic].total;
    if (!asks_later(p))
        left = lic_left(s, lic, p->overlay || p->plan ? p->end_us : 0);
    if (p->plan && prof_fixed(s))
        left = MIN(left, prof_lic_left(s, lic, p->from, p->until));
    return left;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void put_words(uint64_t *to, uint32_t nwords, const struct hres_layer *l)
{
    for (uint32_t w = 0; w < l->nwords && l->from + w < nwords; w++)
        to[l->from + w] |= l->words[w];
}

/* Nodes of the mask in the layer. */
static uint32_t count_words(const struct bitmap *mask, const struct hres_layer *l)
{
    uint32_t n = 0;

    for (uint32_t w = 0; w < l->nwords && l->from + w < mask->nwords; w++)
        n += (uint32_t)__builtin_popcountll(mask->words[l->from + w] & l->words[w]);
    return n;
}

/* Keep the nodes of layers with enough left; but in mode 1 none that is in another too. */
static int filter_nodes(struct pick *p, const struct hres *h, uint64_t each, struct bitmap *mask)
{
    struct hres_room *room = p->s->room;

    memset(room->ok, 0, mask->nwords * sizeof(*room->ok));
    memset(room->bad, 0, mask->nwords * sizeof(*room->bad));
    for (uint32_t i = 0; i < h->n; i++) {
        uint64_t left = left_of(p, h->layers[i].lic);

        put_words(left >= each ? room->ok : room->bad, mask->nwords, &h->layers[i]);
    }
    for (uint32_t w = 0; w < mask->nwords; w++)
        mask->words[w] &= h->mode == 1 ? room->ok[w] : room->ok[w] & ~room->bad[w];
    return 1;
}

/* Is what nobody holds all that counts?  Then nodes are known from the last question. */
static bool asks_plainly(const struct pick *p)
{
    const struct sched *s = p->s;

    return !p->idle && !(p->plan && prof_fixed(s)) && !adv_lics_any(s) &&
           !(s->params.bf_licenses && s->nresvs);
}

static int keep_nodes(struct pick *p, struct hres *h, uint64_t each, struct bitmap *mask)
{
    const uint64_t *words;

    if (!asks_plainly(p))
        return filter_nodes(p, h, each, mask);
    words = hres_nodes_with(p->s, h, each, mask->nwords);
    for (uint32_t w = 0; words && w < mask->nwords; w++)
        mask->words[w] &= words[w];
    return words ? 1 : -ENOMEM;
}

/* Nodes of the mask that the job may take at most: of a layer no more than it allows, nor than its
 * layers below and its other nodes give. */
static uint32_t most_nodes(const struct hres_room *room, const uint32_t *left,
                           const struct bitmap *mask)
{
    const struct hres *h = room->h;

    memset(room->most, 0, h->n * sizeof(*room->most));
    for (uint32_t i = 0; i < h->n; i++) { /* children before their parents */
        /* So far most[i] is what the layers below give, less their nodes in the mask. */
        uint32_t nodes = count_words(mask, &h->layers[i]), parent = h->layers[i].parent;

        room->most[i] = MIN(room->most[i] + nodes, left[i]);
        if (parent != HRES_NONE)
            room->most[parent] += room->most[i] - nodes;
    }
    return room->most[h->n - 1];
}

void hres_copy(const struct pick *p, enum hres_tally to, enum hres_tally from)
{
    const struct hres_room *room = p->s->room;

    if (p->counted)
        memcpy(room->left[to], room->left[from], room->h->n * sizeof(*room->left[to]));
}

static int count_layers(struct pick *p, const struct hres *h, uint64_t each,
                        const struct bitmap *mask)
{
    struct hres_room *room = p->s->room;
    uint32_t most;

    room->h = h;
    for (uint32_t i = 0; i < h->n; i++)
        room->left[HRES_ALL][i] =
            (uint32_t)MIN(left_of(p, h->layers[i].lic) / each, (uint64_t)UINT32_MAX);
    p->counted = true;
    hres_copy(p, HRES_CHOSEN, HRES_ALL);
    most = most_nodes(room, room->left[HRES_CHOSEN], mask);
    p->max = MIN(p->max, most);
    p->prefer = MIN(p->prefer, p->max);
    return p->max >= MAX(p->min, 1u) && (uint64_t)p->max * p->cls->most_tasks >= p->tasks;
}

/* Can any layer allow fewer nodes of the mask than the job may take?  Most do not, and then nothing
 * need be counted.  Counts are rounded up to powers of two, so that few masks are kept. */
static bool tallies_may_bind(const struct pick *p, struct hres *h, uint64_t each,
                             const struct bitmap *mask)
{
    uint64_t most = MIN(p->max, mask->nbits), all = 1;
    const uint64_t *words;

    if (!asks_plainly(p) || each > HRES_ENDLESS / MAX(most, (uint64_t)1))
        return true;
    while (all < each * most)
        all *= 2;
    words = hres_nodes_with(p->s, h, all, mask->nwords);
    for (uint32_t w = 0; words && w < mask->nwords; w++)
        if (mask->words[w] & ~words[w])
            return true;
    return !words;
}

static int admit_one(struct pick *p, struct hres *h, uint64_t count, struct bitmap *mask)
{
    int r;

    if (!count || !layers_count(p, h))
        return 1;
    r = make_room(p->s, h, mask->nwords);
    if (r == 0)
        r = keep_nodes(p, h, count, mask);
    if (r == 1 && (bitmap_empty(mask) || (p->min > 1 && bitmap_count(mask) < p->min)))
        r = 0;
    /* Of a single node the mask has said all. */
    return r == 1 && p->max > 1 && h->mode == 3 && !h->pooled && tallies_may_bind(p, h, count, mask)
               ? count_layers(p, h, count, mask)
               : r;
}

static struct hres *hres_at(struct sched *s, uint32_t lic)
{
    return lic < s->nlics && s->lics[lic].hres ? &s->hres[s->lics[lic].hres - 1] : NULL;
}

/* The first alternative that leaves enough nodes. */
static int admit_any(struct pick *p, struct bitmap *mask)
{
    const struct shape *sh = p->cls->shape;
    uint32_t max = p->max, prefer = p->prefer;
    _cleanup_(bitmap_free) struct bitmap *all = NULL;
    int r = bitmap_dup(mask, &all);

    for (uint32_t i = 0; r == 0 && i < sh->key.nlics; i++) {
        struct job_lic l = shape_lic(sh, i);
        struct hres *h = hres_at(p->s, l.id);

        bitmap_copy(mask, all);
        p->max = max;
        p->prefer = prefer;
        p->counted = false;
        if (!h && (p->idle || p->no_layers || left_of(p, l.id) >= l.count))
            return 1;
        if (!h)
            continue;
        r = admit_one(p, h, l.count, mask);
    }
    return r;
}

int hres_admit(struct pick *p, struct bitmap *mask)
{
    const struct shape *sh = p->cls->shape;
    int r = 1;

    p->counted = false;
    if (bitmap_empty(mask))
        return 0; /* whatever the layers say */
    if (sh->key.lics_any)
        return admit_any(p, mask);
    for (uint32_t i = 0; r == 1 && i < sh->key.nlics; i++) {
        struct job_lic l = shape_lic(sh, i);
        struct hres *h = hres_at(p->s, l.id);

        if (h)
            r = admit_one(p, h, l.count, mask);
    }
    return r;
}

bool hres_may_bind(const struct pick *p, const struct bitmap *nodes)
{
    const struct shape *sh = p->cls->shape;

    if (sh->key.lics_any || sh->key.max_nodes != 1 || !asks_plainly(p))
        return true;
    for (uint32_t i = 0; i < sh->key.nlics; i++) {
        struct job_lic l = shape_lic(sh, i);
        struct hres *h = hres_at(p->s, l.id);
        const uint64_t *words = h ? hres_nodes_with(p->s, h, l.count, nodes->nwords) : NULL;

        if (!words)
            return true;
        for (uint32_t w = 0; w < nodes->nwords; w++)
            if (nodes->words[w] & ~words[w])
                return true;
    }
    return false;
}

static bool is_must(const uint32_t *must, uint32_t n, uint32_t id)
{
    for (uint32_t i = 0; i < n; i++)
        if (must[i] == id)
            return true;
    return false;
}

/* Of all layers but the root, which p->max stands for. */
static bool take_below_root(const struct pick *p, uint32_t id)
{
    uint32_t *root = &p->s->room->left[HRES_TRIAL][p->s->room->h->n - 1];

    *root = UINT32_MAX;
    return hres_take(p, HRES_TRIAL, id);
}

/* Take one of what the deepest layer of the node allows. */
static bool take_leaf(const struct pick *p, uint32_t id)
{
    const struct hres_room *room = p->s->room;
    uint32_t l = id < room->h->ndeepest ? room->h->deepest[id] : HRES_NONE;

    if (l == HRES_NONE || !room->left[HRES_TRIAL][l])
        return false;
    room->left[HRES_TRIAL][l]--;
    return true;
}

bool hres_thin(const struct pick *p, struct bitmap *mask, const uint32_t *must, uint32_t nmust,
               bool whole_paths)
{
    hres_copy(p, HRES_TRIAL, HRES_ALL);
    for (uint32_t i = 0; i < nmust; i++)
        if (!hres_take(p, HRES_TRIAL, must[i]))
            return false;
    for (uint32_t w = 0; w < mask->nwords; w++)
        for (uint64_t m = mask->words[w]; m; m &= m - 1) {
            uint32_t id = w * 64 + (uint32_t)__builtin_ctzll(m);

            if (!is_must(must, nmust, id) &&
                !(whole_paths ? take_below_root(p, id) : take_leaf(p, id)))
                bitmap_clear(mask, id);
        }
    return true;
}

bool hres_allows(const struct pick *p, const uint32_t *nodes, uint32_t n)
{
    bool ok = true;

    hres_copy(p, HRES_TRIAL, HRES_ALL);
    for (uint32_t i = 0; ok && i < n; i++)
        ok = hres_take(p, HRES_TRIAL, nodes[i]);
    return ok;
}
