/* topobits.c - the nodes of units as words of bitmaps; see topobits.h */
#include "sched/topo/topobits.h"

#include <errno.h>
#include <stdlib.h>

#include "sched/topo/topo.h"

struct topo_bits {
    struct topo_span *spans;
    uint32_t *first;   /* of a unit's spans, by unit; one more at the end */
    uint64_t *members; /* nodes in any unit */
    uint32_t nwords;
};

struct topo_bits *topo_bits_free(struct topo_bits *b)
{
    if (!b)
        return NULL;
    free(b->spans);
    free(b->first);
    free(b->members);
    free(b);
    return NULL;
}

static int by_word(const void *a, const void *b)
{
    const struct topo_span *x = a, *y = b;

    return (x->word > y->word) - (x->word < y->word);
}

/* A span for each node of the unit, then those of one word together. */
static uint32_t fill_spans(const struct topo_unit_spec *u, uint32_t unit, const uint32_t *unit_of,
                           struct topo_span *spans)
{
    uint32_t n = 0, kept = 0;

    for (size_t k = 0; k < u->nnodes; k++) {
        uint32_t node = u->nodes[k];

        if (node != TOPO_NONE && unit_of[node] == unit)
            spans[n++] =
                (struct topo_span){ .word = node >> 6, .mask = UINT64_C(1) << (node & 63) };
    }
    if (n)
        qsort(spans, n, sizeof(*spans), by_word);
    for (uint32_t i = 0; i < n; i++) {
        if (kept && spans[kept - 1].word == spans[i].word)
            spans[kept - 1].mask |= spans[i].mask;
        else
            spans[kept++] = spans[i];
    }
    return kept;
}

int topo_bits_new(const struct topo_spec *spec, const uint32_t *unit_of, uint32_t limit,
                  struct topo_bits **ret)
{
    _cleanup_(topo_bits_free) struct topo_bits *b = calloc(1, sizeof(*b));
    size_t total = 1;
    uint32_t n = 0;

    if (!b)
        return -ENOMEM;
    for (size_t i = 0; i < spec->nunits; i++)
        total += spec->units[i].nnodes;
    b->nwords = (limit + 63) / 64;
    b->spans = calloc(total, sizeof(*b->spans));
    b->first = calloc(spec->nunits + 1, sizeof(*b->first));
    b->members = calloc(b->nwords + 1, sizeof(*b->members));
    if (!b->spans || !b->first || !b->members)
        return -ENOMEM;
    for (uint32_t i = 0; i < spec->nunits; i++) {
        b->first[i] = n;
        n += fill_spans(&spec->units[i], i, unit_of, b->spans + n);
    }
    b->first[spec->nunits] = n;
    for (uint32_t i = 0; i < n; i++)
        b->members[b->spans[i].word] |= b->spans[i].mask;
    *ret = TAKE_PTR(b);
    return 0;
}

const struct topo_span *topo_unit_spans(const struct topo_bits *b, uint32_t unit, uint32_t *ret_n)
{
    *ret_n = b->first[unit + 1] - b->first[unit];
    return &b->spans[b->first[unit]];
}

void topo_keep_members(const struct topo_bits *b, uint64_t *words, uint32_t nwords)
{
    for (uint32_t w = 0; w < nwords; w++)
        words[w] &= w < b->nwords ? b->members[w] : 0;
}

uint32_t topo_unit_count(const struct topo_bits *b, uint32_t unit, const uint64_t *words,
                         uint32_t nwords)
{
    uint32_t sum = 0;

    for (uint32_t i = b->first[unit]; i < b->first[unit + 1] && b->spans[i].word < nwords; i++)
        sum += (uint32_t)__builtin_popcountll(words[b->spans[i].word] & b->spans[i].mask);
    return sum;
}
