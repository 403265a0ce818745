/* topokind.c - what the files of one kind of topology share; see topokind.h */
#include "sched/topo/topokind.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static void *grow_memory(void **mem, size_t *size, size_t bytes)
{
    if (*size < bytes) {
        void *grown = realloc(*mem, bytes);

        if (!grown)
            return NULL;
        *mem = grown;
        *size = bytes;
    }
    return *mem;
}

void *topo_space_get(struct topo_space *sp, size_t bytes)
{
    void *mem = grow_memory(&sp->mem, &sp->size, bytes);

    if (mem)
        memset(mem, 0, bytes);
    return mem;
}

uint64_t *topo_space_keep(struct topo_space *sp, size_t bytes)
{
    return grow_memory(&sp->kept, &sp->size_kept, bytes);
}

void topo_sum_unit(const struct topo_ask *a, uint32_t unit, struct topo_sum *s)
{
    const struct topo_bits *bits = topo_get_bits(a->topo);
    uint32_t n;
    const struct topo_span *sp;

    if (!a->ncaps || !a->caps) {
        topo_sum_alike(a, s, topo_unit_count(bits, unit, a->cand, a->nwords));
        return;
    }
    sp = topo_unit_spans(bits, unit, &n);
    for (uint32_t i = 0; i < n && sp[i].word < a->nwords; i++)
        for (uint64_t m = a->cand[sp[i].word] & sp[i].mask; m; m &= m - 1)
            topo_sum_add(a, s, sp[i].word * 64 + (uint32_t)__builtin_ctzll(m));
}

uint32_t topo_unit_weight(const struct topo_ask *a, uint32_t unit)
{
    const struct topo_bits *bits = topo_get_bits(a->topo);
    uint32_t n, best = UINT32_MAX;
    const struct topo_span *sp = topo_unit_spans(bits, unit, &n);

    for (uint32_t i = 0; i < n && sp[i].word < a->nwords; i++)
        for (uint64_t m = a->cand[sp[i].word] & sp[i].mask; m; m &= m - 1)
            best = MIN(best, topo_weight_of(a, sp[i].word * 64 + (uint32_t)__builtin_ctzll(m)));
    return best;
}

int topo_take(struct topo_ask *a, struct topo_space *sp, struct topo_sum *have, uint32_t id)
{
    if (sp->nchosen == sp->cap_chosen) {
        uint32_t cap = sp->cap_chosen ? sp->cap_chosen * 2 : 64;
        uint32_t *grown = realloc(sp->chosen, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        sp->chosen = grown;
        sp->cap_chosen = cap;
    }
    sp->chosen[sp->nchosen++] = id;
    a->cand[id >> 6] &= ~(UINT64_C(1) << (id & 63));
    topo_sum_add(a, have, id);
    return 0;
}

int topo_take_unit(struct topo_ask *a, struct topo_space *sp, struct topo_sum *have, uint32_t unit,
                   uint32_t weight, uint32_t nodes)
{
    uint32_t n;
    const struct topo_span *spans = topo_unit_spans(topo_get_bits(a->topo), unit, &n);

    for (uint32_t i = 0; i < n && spans[i].word < a->nwords; i++) {
        for (uint64_t m = a->cand[spans[i].word] & spans[i].mask; m; m &= m - 1) {
            uint32_t id = spans[i].word * 64 + (uint32_t)__builtin_ctzll(m);

            if ((have->n >= nodes && topo_has_caps(a, have)) || have->n >= a->max)
                return 0;
            if (topo_weight_of(a, id) <= weight && topo_take(a, sp, have, id) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}
