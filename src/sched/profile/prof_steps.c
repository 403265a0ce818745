/* prof_steps.c - the steps of every node's future; see profile.h.
 *
 * A node's steps are kept latest first: step i lasts until step i - 1 begins, step 0 for ever; the
 * last one begins at slot 0. */
#include "sched/profile/prof_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/profile/prof_data.h"
#include "sched/sched.h"
#include "sched/state/gresrow.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"

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

/* ---- holding --------------------------------------------------------------------------------- */

bool step_holds(struct sched *s, const struct step *st, const struct sched_alloc_node *an,
                uint32_t part)
{
    struct node *n = &s->nodes[an->node_id];
    struct layout l = step_layout(n);
    const struct part *p = s->parts[part];
    uint32_t at = node_part_index(n, part);

    for (uint32_t w = 0; w < MIN(an->ncpu_words, n->nwords); w++)
        if (st->w[w] & an->cpu_bits[w] & ~(n->spec ? n->spec[w] : 0)) /* but see kept_too */
            return false;
    if (p->select_memory && st->mem + an->mem_mib > n->mem_mib)
        return false;
    if (p->node_cpus && at < n->nparts &&
        ((const uint32_t *)(st->w + l.parts))[at] + an->cpus > p->max_cpus_per_node)
        return false;
    return true;
}
