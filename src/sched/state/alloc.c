/* alloc.c - allocations: copies and comparison.
 *
 * An allocation made here is one block of memory that starts at alloc.nodes. */
#include "sched/state/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sametext.h"
#include "sched/sched.h"
#include "sched/state/sched_obj.h"
#include "sched/base/strtab.h"

struct blocks {
    struct sched_alloc_gres *gres;
    uint64_t *words;
};

static int make_block(const struct sched_alloc *from, struct sched_alloc *ret, struct blocks *b)
{
    size_t ngres = 0, nwords = 0;
    char *mem;

    for (size_t i = 0; i < from->nnodes; i++) {
        ngres += from->nodes[i].ngres;
        nwords += from->nodes[i].ncpu_words;
        for (size_t k = 0; k < from->nodes[i].ngres; k++)
            nwords += from->nodes[i].gres[k].devices ? from->nodes[i].gres[k].ndevice_words : 0;
    }
    mem = malloc(from->nnodes * sizeof(*ret->nodes) + ngres * sizeof(*b->gres) +
                 (nwords + 1) * sizeof(*b->words));
    if (!mem)
        return -ENOMEM;
    ret->nodes = (struct sched_alloc_node *)(void *)mem;
    ret->nnodes = from->nnodes;
    b->gres = (struct sched_alloc_gres *)(void *)(mem + from->nnodes * sizeof(*ret->nodes));
    b->words = (uint64_t *)(void *)(b->gres + ngres);
    return 0;
}

static uint64_t *copy_words(struct blocks *b, const uint64_t *from, uint32_t n)
{
    uint64_t *to = b->words;

    memcpy(to, from, n * sizeof(*to));
    b->words += n;
    return to;
}

static int by_id(const void *a, const void *b)
{
    const struct sched_alloc_node *x = a, *y = b;

    return (x->node_id > y->node_id) - (x->node_id < y->node_id);
}

int alloc_dup(struct sched *s, const struct sched_alloc *from, struct sched_alloc *ret)
{
    struct blocks b;
    int r = make_block(from, ret, &b);

    for (size_t i = 0; r == 0 && i < from->nnodes; i++) {
        const struct sched_alloc_node *f = &from->nodes[i];
        struct sched_alloc_node *t = &ret->nodes[i];

        *t = *f;
        t->cpu_bits = copy_words(&b, f->cpu_bits, f->ncpu_words);
        t->gres = b.gres;
        b.gres += f->ngres;
        for (size_t k = 0; r == 0 && k < f->ngres; k++) {
            uint32_t name, type;

            t->gres[k] = f->gres[k];
            if (f->gres[k].devices)
                t->gres[k].devices = copy_words(&b, f->gres[k].devices, f->gres[k].ndevice_words);
            r = strtab_intern(&s->gres_tab, f->gres[k].name, &name);
            if (r == 0)
                t->gres[k].name = s->gres_tab.names[name];
            if (r == 0 && f->gres[k].type)
                r = strtab_intern(&s->gres_tab, f->gres[k].type, &type);
            if (r == 0 && f->gres[k].type)
                t->gres[k].type = s->gres_tab.names[type];
        }
    }
    if (r < 0) {
        alloc_done(ret);
        return r;
    }
    ret->preferred = from->preferred;
    for (size_t i = 1; i < ret->nnodes; i++) {
        if (ret->nodes[i - 1].node_id >= ret->nodes[i].node_id) {
            qsort(ret->nodes, ret->nnodes, sizeof(*ret->nodes), by_id);
            break;
        }
    }
    return 0;
}

void alloc_drop_closed(struct sched_alloc *a)
{
    size_t kept = 0;

    for (size_t i = 0; i < a->nnodes; i++)
        if (!a->nodes[i].closed)
            a->nodes[kept++] = a->nodes[i];
    a->nnodes = kept;
}

int alloc_dup_used(struct sched *s, const struct sched_alloc *from, struct sched_alloc *ret)
{
    int r = alloc_dup(s, from, ret);

    if (r == 0)
        alloc_drop_closed(ret);
    return r;
}

bool alloc_has_closed(const struct sched_alloc *a)
{
    for (size_t i = 0; i < a->nnodes; i++)
        if (a->nodes[i].closed)
            return true;
    return false;
}

void alloc_done(struct sched_alloc *a)
{
    free(a->nodes);
    *a = (struct sched_alloc){ 0 };
}

static bool same_gres(const struct sched_alloc_gres *x, const struct sched_alloc_gres *y)
{
    return same_or_missing(x->name, y->name) && same_or_missing(x->type, y->type) &&
           x->count == y->count && !x->devices == !y->devices &&
           (!x->devices || (x->ndevice_words == y->ndevice_words &&
                            !memcmp(x->devices, y->devices, x->ndevice_words * sizeof(uint64_t))));
}

bool alloc_equal(const struct sched_alloc *a, const struct sched_alloc *b)
{
    size_t k = 0;

    for (size_t i = 0; i < a->nnodes; i++) {
        const struct sched_alloc_node *x = &a->nodes[i], *y;

        if (x->closed)
            continue;
        while (k < b->nnodes && b->nodes[k].closed)
            k++;
        if (k == b->nnodes)
            return false;
        y = &b->nodes[k++];
        if (x->node_id != y->node_id || x->cpus != y->cpus || x->ncpu_words != y->ncpu_words ||
            x->mem_mib != y->mem_mib || x->ngres != y->ngres ||
            memcmp(x->cpu_bits, y->cpu_bits, x->ncpu_words * sizeof(uint64_t)) != 0)
            return false;
        for (size_t g = 0; g < x->ngres; g++)
            if (!same_gres(&x->gres[g], &y->gres[g]))
                return false;
    }
    while (k < b->nnodes && b->nodes[k].closed)
        k++;
    return k == b->nnodes;
}
