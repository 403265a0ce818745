/* topoclose.c - jobs with --exclusive=topo hold whole units; see topoclose.h */
#include "sched/state/topoclose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/state/alloc.h"
#include "sched/state/nodes.h"
#include "sched/state/sched_obj.h"
#include "sched/topo/topo.h"

bool topo_can_close(const struct topo *t)
{
    enum topo_kind kind = t ? topo_get_spec(t)->kind : TOPO_FLAT;

    return kind == TOPO_BLOCK || kind == TOPO_RING;
}

static bool is_there(const struct sched *s, uint32_t id)
{
    return id < s->nnodes && s->nodes[id].exists;
}

static bool holds_node(const struct sched_alloc *a, size_t n, uint32_t id)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (a->nodes[mid].node_id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && a->nodes[lo].node_id == id;
}

/* All CPUs of a node but those that are kept from jobs anyway. */
static void fill_closed(const struct node *n, uint32_t id, uint64_t *words,
                        struct sched_alloc_node *ret)
{
    memset(words, 0xff, n->nwords * sizeof(*words));
    if (n->cpus % 64)
        words[n->nwords - 1] = (UINT64_C(1) << n->cpus % 64) - 1;
    for (uint32_t w = 0; n->spec && w < n->nwords; w++)
        words[w] &= ~n->spec[w];
    *ret = (struct sched_alloc_node){
        .node_id = id, .cpu_bits = words, .ncpu_words = n->nwords, .closed = true
    };
}

/* How many nodes the units have, and words for the CPUs of each. */
static void measure_units(const struct sched *s, const struct topo_spec *spec, const bool *used,
                          size_t *ret_nodes, size_t *ret_words)
{
    *ret_nodes = *ret_words = 0;
    for (size_t i = 0; i < spec->nunits; i++) {
        for (size_t k = 0; used[i] && k < spec->units[i].nnodes; k++) {
            uint32_t id = spec->units[i].nodes[k];

            if (id == TOPO_NONE || !is_there(s, id))
                continue;
            ++*ret_nodes;
            *ret_words += s->nodes[id].nwords;
        }
    }
}

int topo_close_units(struct sched *s, const struct topo *t, struct sched_alloc *a)
{
    const struct topo_spec *spec = topo_get_spec(t);
    _cleanup_free_ bool *used = calloc(spec->nunits + 1, sizeof(*used));
    _cleanup_free_ struct sched_alloc_node *nodes = NULL;
    _cleanup_free_ uint64_t *words = NULL;
    struct sched_alloc all = { .nnodes = a->nnodes }, copy;
    size_t most, nwords;

    if (!used)
        return -ENOMEM;
    for (size_t i = 0; i < a->nnodes; i++) {
        uint32_t unit = topo_unit_of(t, a->nodes[i].node_id);

        if (unit != TOPO_NONE)
            used[unit] = true;
    }
    measure_units(s, spec, used, &most, &nwords);
    nodes = calloc(a->nnodes + most + 1, sizeof(*nodes));
    words = malloc((nwords + 1) * sizeof(*words));
    if (!nodes || !words)
        return -ENOMEM;
    if (a->nnodes)
        memcpy(nodes, a->nodes, a->nnodes * sizeof(*nodes));
    nwords = 0;
    for (size_t i = 0; i < spec->nunits; i++) {
        for (size_t k = 0; used[i] && k < spec->units[i].nnodes; k++) {
            uint32_t id = spec->units[i].nodes[k];

            if (id == TOPO_NONE || !is_there(s, id) || topo_unit_of(t, id) != i ||
                holds_node(a, a->nnodes, id))
                continue;
            fill_closed(&s->nodes[id], id, words + nwords, &nodes[all.nnodes++]);
            nwords += s->nodes[id].nwords;
        }
    }
    all.nodes = nodes;
    if (alloc_dup(s, &all, &copy) < 0) /* sorted, in one piece */
        return -ENOMEM;
    alloc_done(a);
    *a = copy;
    return 0;
}
