/* topokeep.c - see topokeep.h */
#include "sched/topo/topokeep.h"

#include "base/cleanup.h"
#include "sched/topo/topo.h"
#include "sched/topo/topobits.h"

uint32_t topokeep_lost(uint32_t free, uint32_t nodes, uint32_t keep)
{
    return keep ? free / keep - (free - MIN(nodes, free)) / keep : 0;
}

uint32_t topokeep_unit(const struct topo *t, const uint64_t *words, uint32_t nwords, uint32_t keep)
{
    const struct topo_spec *spec = topo_get_spec(t);
    uint32_t most = spec->nblock_sizes ? MIN(keep, spec->block_sizes[0]) : keep;
    uint32_t best = TOPO_NONE, best_lost = 0, best_free = 0;

    for (uint32_t i = 0; i < spec->nunits; i++) {
        uint32_t free = topo_unit_count(topo_get_bits(t), i, words, nwords);
        uint32_t lost = topokeep_lost(free, 1, most);

        if (!free || (best != TOPO_NONE && lost > best_lost) ||
            (best != TOPO_NONE && lost == best_lost && free >= best_free))
            continue;
        best = i;
        best_lost = lost;
        best_free = free;
    }
    return best;
}
