/* masks.c - the nodes that could ever hold a part of a job of a class.
 *
 * The masks of a class are made when it is first tested and made anew when the configuration
 * changed.  At most MASKED_MAX classes keep theirs. */
#include "sched/select/masks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/select/fit.h"
#include "sched/select/nodeview.h"
#include "sched/state/classes.h"
#include "sched/base/constraint.h"
#include "sched/base/extra.h"
#include "sched/state/kinds.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"

#define MASKED_MAX 4096u

/* Take from mask the nodes that the shape cannot run on.  Gives the most tasks that one of the
 * others can ever hold. */
static uint32_t kinds_admitted(const struct pick *p, struct bitmap *mask)
{
    struct sched *s = p->s;
    uint32_t most = 0;

    bitmap_zero(s->dup);
    if (p->k->nlisted) /* each node has tasks of its own */
        BITMAP_FOREACH (mask, id)
            if (node_admits(p, id, &most))
                bitmap_set(s->dup, id);
    for (uint32_t i = 0; !p->k->nlisted && i < s->nkinds; i++)
        if (node_admits(p, s->kinds[i].like, &most))
            bitmap_or(s->dup, s->kinds[i].nodes);
    BITMAP_FOREACH (s->odd, id)
        if (bitmap_test(mask, id) && node_admits(p, id, &most))
            bitmap_set(s->dup, id);
    bitmap_and(mask, s->dup);
    return most;
}

/* Take from mask the nodes whose extra the shape does not want. */
static void mask_extra(const struct sched *s, const struct shape *sh, struct bitmap *mask)
{
    if (!sh->extra)
        return;
    BITMAP_FOREACH (mask, id)
        if (!extra_admits(sh->extra, s->nodes[id].extra))
            bitmap_clear(mask, id);
}

/* ---- classes --------------------------------------------------------------------------------- */

static constraint_lookup_fn *lookup_of(const struct calt *a)
{
    return a->boot ? feature_boot_nodes : feature_nodes;
}

static int make_counts(struct sched *s, const struct constraint *f, uint32_t alt, struct calt *a)
{
    uint32_t n = f ? constraint_counts(f, alt) : 0;
    int r = 0;

    if (!n)
        return 0;
    a->counted = calloc(n, sizeof(struct bitmap *));
    a->counts = calloc(n, sizeof(*a->counts));
    if (!a->counted || !a->counts)
        return -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        a->ncounts = i + 1;
        r = bitmap_new(s->nbits, &a->counted[i]);
        if (r == 0)
            r = constraint_count_mask(f, alt, i, lookup_of(a), s, a->counted[i], &a->counts[i]);
        if (r == 0)
            bitmap_and(a->counted[i], a->elig);
    }
    return r;
}

/* Alternatives of what is preferred, which takes the constraint's place, then the constraint's, and
 * those again with what nodes have after a boot. */
static int make_alt(struct sched *s, const struct class *c, uint32_t at, struct calt *a,
                    uint32_t *most)
{
    const struct shape *sh = c->shape;
    uint32_t liked = sh->prefer ? constraint_alts(sh->prefer) : 0;
    const struct constraint *f = at < liked ? sh->prefer : sh->features;
    uint32_t own = sh->features ? constraint_alts(sh->features) : 1;
    uint32_t alt = at < liked ? at : (at - liked) % own;
    struct pick p = { .s = s, .cls = (struct class *)c, .part = s->parts[c->part], .idle = true };
    int r = bitmap_dup(s->parts[c->part]->nodes, &a->elig);

    a->boot = at >= liked + own;
    a->liked = at < liked;
    if (r == 0 && f)
        r = constraint_mask(f, alt, lookup_of(a), s, a->elig);
    if (r < 0)
        return r;
    mask_extra(s, sh, a->elig);
    if (!(sh->key.flags & SHAPE_EXTERNAL))
        bitmap_andnot(a->elig, s->external);
    if (sh->key.nreq != shape_must(sh)) {
        bitmap_zero(s->dup);
        for (uint32_t i = 0; i < sh->key.nreq; i++)
            if (sh->nodes[i] < s->nbits)
                bitmap_set(s->dup, sh->nodes[i]);
        bitmap_and(a->elig, s->dup);
    }
    for (uint32_t i = 0; i < sh->key.nexc; i++)
        if (sh->nodes[sh->key.nreq + i] < s->nbits)
            bitmap_clear(a->elig, sh->nodes[sh->key.nreq + i]);
    pick_init(&p);
    *most = MAX(*most, kinds_admitted(&p, a->elig));
    return make_counts(s, f, alt, a);
}

/* So many classes at once are rare; forgetting all is simple and costs each one rebuild. */
static void forget_masks(struct sched *s)
{
    for (uint32_t i = 0; i < s->nclass_slots; i++)
        for (struct class *c = s->class_slots[i]; c; c = c->hash_next)
            class_drop_masks(s, c);
}

int class_masks(struct sched *s, struct class *c)
{
    uint32_t n = c->shape->features ? constraint_alts(c->shape->features) : 1;
    int r = 0;

    n *= c->shape->key.flags & SHAPE_BOOT ? 2 : 1;
    n += c->shape->prefer ? constraint_alts(c->shape->prefer) : 0;
    if (c->alts && c->mask_gen == s->config_gen + 1 &&
        (!c->shape->extra || c->extra_gen == s->extra_gen))
        return 0;
    class_drop_masks(s, c);
    if (s->nmasked >= MASKED_MAX)
        forget_masks(s);
    c->alts = calloc(n, sizeof(*c->alts));
    if (!c->alts)
        return -ENOMEM;
    s->nmasked++;
    c->nalts = n;
    c->most_tasks = 0;
    r = kinds_make(s);
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = make_alt(s, c, i, &c->alts[i], &c->most_tasks);
    if (r < 0)
        class_drop_masks(s, c);
    else
        c->mask_gen = s->config_gen + 1;
    c->extra_gen = s->extra_gen;
    c->cursor_grow = c->fail_grow = 0; /* they speak of the nodes and weights before */
    return r;
}
