/* prof_steps.c - the steps of every node's future; see profile.h.
 *
 * A node's steps are kept latest first: step i lasts until step i - 1 begins, step 0 for ever; the
 * last one begins at slot 0. */
#include "sched/plan/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/plan/profile_int.h"

struct layout step_layout(const struct node *n)
{
    struct layout l = { .firm = n->nwords, .used = n->nwords * 2 };

    l.dev = l.used + n->ngres;
    l.parts = l.dev;
    for (uint32_t i = 0; i < n->ngres; i++)
        l.parts += n->gres[i].dev.nwords;
    l.words = l.parts + (n->nparts + 1) / 2;
    return l;
}

int prof_steps_room(struct pnode *pn, uint32_t n)
{
    uint32_t cap = pn->cap ? pn->cap : 2;
    char *grown;

    if (n <= pn->cap)
        return 0;
    while (cap < n)
        cap *= 2;
    grown = realloc(pn->mem, (size_t)cap * pn->stride);
    if (!grown)
        return -ENOMEM;
    pn->mem = grown;
    pn->cap = cap;
    return 0;
}

/* The step that slot lies in. */
uint32_t step_find(const struct pnode *pn, uint32_t slot)
{
    uint32_t lo = 0, hi = pn->n - 1;

    while (lo < hi) { /* the lowest index that begins at or before it */
        uint32_t mid = (lo + hi) / 2;

        if (step_at(pn, mid)->from <= slot)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* ---- what a step holds ----------------------------------------------------------------------- */

static void step_own(struct step *st, const struct hold *h)
{
    st->mixed |= st->any && st->uid != h->uid;
    st->labels_mixed |= st->any && st->label != h->label;
    st->any = true;
    st->uid = h->uid;
    st->label = h->label;
    st->owned |= h->owned;
}

void step_add(struct sched *s, uint32_t id, struct step *st, const struct hold *h)
{
    struct node *n = &s->nodes[id];
    const struct sched_alloc_node *an = h->an;
    struct layout l = step_layout(n);
    uint32_t words = MIN(an->ncpu_words, n->nwords), at = node_part_index(n, h->part);

    for (uint32_t w = 0; h->cpus && w < words; w++) {
        st->w[w] |= an->cpu_bits[w];
        if (h->firm)
            st->w[l.firm + w] |= an->cpu_bits[w];
    }
    st->held |= h->cpus;
    if (h->keeper)
        st->keeper = h->keeper;
    if (h->cpus && at < n->nparts)
        ((uint32_t *)(st->w + l.parts))[at] += an->cpus;
    st->mem += an->mem_mib;
    for (size_t i = 0; i < an->ngres; i++) {
        const struct gres_row *row = node_gres_row(s, n, &an->gres[i]);
        uint64_t *dev = st->w + l.dev;

        if (!row)
            continue;
        st->w[l.used + (row - n->gres)] += an->gres[i].count;
        for (const struct gres_row *r = n->gres; r < row; r++)
            dev += r->dev.nwords;
        for (uint32_t d = 0; row->indexed && an->gres[i].devices && d < row->dev.n; d++) {
            uint32_t bit = row->first + d;

            if (bit / 64 < an->gres[i].ndevice_words &&
                (an->gres[i].devices[bit >> 6] >> (bit & 63) & 1))
                dev[d >> 6] |= UINT64_C(1) << (d & 63);
        }
    }
    step_own(st, h);
}

uint32_t step_free(const struct node *n, const struct step *st)
{
    uint32_t held = 0;

    for (uint32_t w = 0; w < n->nwords; w++)
        held += (uint32_t)__builtin_popcountll(st->w[w]);
    return n->cpus > held ? n->cpus - held : 0;
}

int prof_steps_clear(struct sched *s, uint32_t id)
{
    const struct node *n = &s->nodes[id];
    struct pnode *pn = &s->prof->nodes[id];
    struct step *st;

    pn->stride = (uint32_t)(sizeof(struct step) + step_layout(n).words * sizeof(uint64_t));
    if (prof_steps_room(pn, 2) < 0)
        return -ENOMEM;
    st = step_at(pn, 0);
    memset(st, 0, pn->stride);
    if (n->spec) {
        memcpy(st->w, n->spec, n->nwords * sizeof(*st->w));
        memcpy(st->w + n->nwords, n->spec, n->nwords * sizeof(*st->w));
    }
    pn->n = 1;
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The first step of the span makes the view, later ones add to it. */
static void view_add(struct prof_view *v, const struct step *st, const struct node *n,
                     const struct layout *l, uint64_t *w)
{
    for (uint32_t i = 0; i < l->used; i++)
        w[i] |= st->w[i];
    for (uint32_t i = l->used; i < l->dev; i++)
        w[i] = MAX(w[i], st->w[i]);
    for (uint32_t i = l->dev; i < l->parts; i++)
        w[i] |= st->w[i];
    for (uint32_t i = 0; i < n->nparts; i++)
        v->part_cpus[i] = MAX(v->part_cpus[i], ((const uint32_t *)(st->w + l->parts))[i]);
    v->mem = MAX(v->mem, st->mem);
    v->held |= st->held;
    v->owned |= st->owned;
    v->mixed |= st->mixed || (v->any && st->any && v->uid != st->uid);
    v->labels_mixed |= st->labels_mixed || (v->any && st->any && v->label != st->label);
    if (st->any) {
        v->uid = st->uid;
        v->label = st->label;
    }
    v->any |= st->any;
}

/* Does a job that ends then meet the step? */
static bool meets(const struct step *st, uint32_t until, int64_t end_us)
{
    return st->from < until || (st->from == until && st->starts_us && st->starts_us < end_us);
}

const struct prof_view *prof_view(const struct sched *s, uint32_t id, uint32_t from, uint32_t until,
                                  int64_t end_us)
{
    struct prof *pf = s->prof;
    const struct node *n = &s->nodes[id];
    const struct pnode *pn = &pf->nodes[id];
    struct layout l = step_layout(n);
    struct prof_view *v = &pf->view;
    uint64_t *w;

    if (pf->view_made == pf->holds + 1 && pf->view_id == id && pf->view_from == from &&
        pf->view_until == until && pf->view_end_us == end_us)
        return v;
    if (l.words > pf->nscratch) {
        free(pf->scratch);
        pf->scratch = calloc(l.words * 2 + n->nwords, sizeof(*pf->scratch));
        pf->nscratch = pf->scratch ? l.words : 0;
        if (!pf->scratch)
            return NULL;
    }
    w = pf->scratch;
    memset(w, 0, l.words * sizeof(*w));
    *v = (struct prof_view){ .busy = w,
                             .firm = w + l.firm,
                             .used = w + l.used,
                             .dev = w + l.dev,
                             .part_cpus = (uint32_t *)(w + l.parts) };
    for (uint32_t i = step_find(pn, from) + 1; i-- > 0 && meets(step_at(pn, i), until, end_us);)
        view_add(v, step_at(pn, i), n, &l, w);
    v->free_cpus = n->cpus;
    for (uint32_t i = 0; i < n->nwords; i++)
        v->free_cpus -= (uint32_t)__builtin_popcountll(w[i]);
    v->free_cores = v->free_cpus;
    if (n->threads > 1) {
        uint64_t *avail = pf->scratch + l.words;

        for (uint32_t i = 0; i < n->nwords; i++)
            avail[i] = ~w[i];
        v->free_cores = count_free_cores(n, avail);
    }
    pf->view_made = pf->holds + 1;
    pf->view_id = id;
    pf->view_from = from;
    pf->view_until = until;
    pf->view_end_us = end_us;
    return v;
}

uint32_t prof_keeper(const struct sched *s, uint32_t id, uint32_t until, int64_t *ret_start_us)
{
    const struct pnode *pn = &s->prof->nodes[id];

    for (uint32_t i = pn->n; i-- > 0 && step_at(pn, i)->from < until;) {
        if (!step_at(pn, i)->keeper)
            continue;
        *ret_start_us = prof_promise(s, step_at(pn, i)->from);
        return step_at(pn, i)->keeper;
    }
    return 0;
}

/* ---- holding --------------------------------------------------------------------------------- */

/* A step begins at slot, a copy of the one it lay in.  Gives its index. */
static int split(struct pnode *pn, uint32_t slot)
{
    uint32_t i = step_find(pn, slot);

    if (step_at(pn, i)->from == slot)
        return (int)i;
    if (prof_steps_room(pn, pn->n + 1) < 0)
        return -ENOMEM;
    memmove(step_at(pn, i + 1), step_at(pn, i), (size_t)(pn->n - i) * pn->stride);
    pn->n++;
    step_at(pn, i)->from = slot;
    step_at(pn, i)->starts_us = 0;
    return (int)i;
}

/* Steps begin where the span does and where it ends.  *ret_i: the one that begins with it. */
static int open_span(struct sched *s, const struct hold *h, uint32_t from, uint32_t until,
                     uint32_t *ret_i)
{
    struct prof *pf = s->prof;
    struct pnode *pn = &pf->nodes[h->an->node_id];
    int i = until < pf->nslots ? split(pn, until) : 0;

    if (i >= 0)
        i = split(pn, from);
    if (i < 0)
        return i;
    *ret_i = (uint32_t)i;
    if (h->keeper) {
        struct step *st = step_at(pn, (uint32_t)i);

        st->starts_us = st->starts_us ? MIN(st->starts_us, h->start_us) : h->start_us;
    }
    return 0;
}

int prof_steps_hold(struct sched *s, const struct hold *h, uint32_t from, uint32_t until)
{
    struct pnode *pn = &s->prof->nodes[h->an->node_id];
    uint32_t i;
    int r = open_span(s, h, from, until, &i);

    for (uint32_t k = i + 1; r == 0 && k-- > 0 && step_at(pn, k)->from < until;)
        step_add(s, h->an->node_id, step_at(pn, k), h);
    return r;
}

static int hold_node(struct sched *s, const struct hold *h, uint32_t from, uint32_t until)
{
    struct prof *pf = s->prof;
    uint32_t id = h->an->node_id, i;
    struct pnode *pn = &pf->nodes[id];
    int r = open_span(s, h, from, until, &i);

    for (uint32_t k = i + 1; r == 0 && k-- > 0;) {
        struct step *st = step_at(pn, k);
        uint32_t before = levels_of(pf, step_free(&s->nodes[id], st));
        bool held = st->held;

        if (st->from >= until)
            break;
        step_add(s, id, st, h);
        prof_bits_refresh(s, id, st, k ? step_at(pn, k - 1)->from : pf->nslots, before, held);
    }
    return r;
}

int prof_hold(struct sched *s, const struct sched_alloc *a, const struct job_lics *lics,
              const struct job *j, uint32_t part, bool firm, uint32_t from, uint32_t until)
{
    struct prof *pf = s->prof;
    int r = 0;

    until = MIN(until, pf->nslots);
    pf->holds++;
    for (size_t i = 0; r == 0 && i < a->nnodes; i++) {
        struct hold h = { .an = &a->nodes[i],
                          .part = part,
                          .uid = j->uid,
                          .label = j->label,
                          .firm = firm,
                          .cpus = true,
                          .owned = j->owned,
                          .keeper = from > pf->now ? j->id : 0,
                          .start_us = prof_promise(s, from) };

        r = hold_node(s, &h, from, until);
        if (r == 0)
            r = prof_note_holder(s, h.an->node_id, j->id);
    }
    prof_bits_flush(pf);
    prof_lics_add(pf, lics, from, until);
    if (until < pf->nslots)
        pf->release[until] = true;
    return r;
}

bool step_holds(struct sched *s, const struct step *st, const struct sched_alloc_node *an,
                uint32_t part)
{
    struct node *n = &s->nodes[an->node_id];
    struct layout l = step_layout(n);
    const struct part *p = s->parts[part];
    uint32_t at = node_part_index(n, part);

    for (uint32_t w = 0; w < MIN(an->ncpu_words, n->nwords); w++)
        if (st->w[w] & an->cpu_bits[w])
            return false;
    if (s->params.select_memory && st->mem + an->mem_mib > n->mem_mib)
        return false;
    if (p->node_cpus && at < n->nparts &&
        ((const uint32_t *)(st->w + l.parts))[at] + an->cpus > p->max_cpus_per_node)
        return false;
    return true;
}

uint32_t prof_stretch(const struct sched *s, const struct sched_alloc *a, uint32_t part,
                      uint32_t until, uint32_t most)
{
    for (size_t i = 0; i < a->nnodes; i++) {
        const struct pnode *pn = &s->prof->nodes[a->nodes[i].node_id];

        for (uint32_t k = step_find(pn, until) + 1; k-- > 0 && step_at(pn, k)->from < most;) {
            const struct step *st = step_at(pn, k);

            if (a->nodes[i].ngres || !step_holds((struct sched *)s, st, &a->nodes[i], part))
                most = MAX(st->from, until);
        }
    }
    return most;
}
