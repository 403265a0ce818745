/* prof_view.c - what is held of a node throughout a span of slots */
#include "sched/profile/prof_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/profile/prof_data.h"
#include "sched/profile/prof_slots.h"
#include "sched/profile/prof_steps.h"
#include "sched/state/nodes.h"
#include "sched/state/sched_obj.h"

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
static bool meets_step(const struct step *st, uint32_t until, int64_t end_us)
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
    for (uint32_t i = step_find(pn, from) + 1;
         i-- > 0 && meets_step(step_at(pn, i), until, end_us);)
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
