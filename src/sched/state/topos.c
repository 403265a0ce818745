/* topos.c - the topologies of the cluster, and which one a partition uses.
 */
#include "sched/state/topos.h"

#include <stdlib.h>
#include <string.h>

#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"
#include "sched/topo/topo.h"
#include "sched/topo/topofrag.h"

void topo_of_part(struct sched *s, struct part *p)
{
    p->topo = s->ntopos ? s->topos[0] : NULL;
    for (uint32_t i = 0; p->topology && i < s->ntopos; i++)
        if (strcmp(topo_get_spec(s->topos[i])->name, p->topology) == 0)
            p->topo = s->topos[i];
    if (p->topo && !topo_get_spec(p->topo)->nunits)
        p->topo = NULL; /* flat, or as good as that */
}

bool topos_blocks(const struct sched *s, uint64_t *ret_score, uint32_t *ret_blocks,
                  uint32_t *ret_whole)
{
    const struct topo_spec *spec = s->ntopos ? topo_get_spec(s->topos[0]) : NULL;
    _cleanup_(topofrag_free) struct topofrag *f = NULL;
    uint32_t whole = 0;

    if (!spec || spec->kind != TOPO_BLOCK || topofrag_new(s->topos[0], &f) < 0)
        return false;
    for (uint32_t i = 0; i < topo_node_limit(s->topos[0]); i++)
        if (i >= s->nnodes || !s->nodes[i].exists || !bitmap_test(s->up, i) ||
            !bitmap_test(s->idle, i))
            topofrag_set(f, i, false);
    for (uint32_t i = 0; i < spec->nunits; i++)
        whole += topofrag_free_nodes(f, i) >= spec->block_sizes[0];
    *ret_score = topofrag_score(f);
    *ret_blocks = (uint32_t)spec->nunits;
    *ret_whole = whole;
    return true;
}

void topos_done(struct sched *s)
{
    for (uint32_t i = 0; i < s->ntopos; i++)
        topo_free(s->topos[i]);
    free(s->topos);
    s->topos = NULL;
    s->ntopos = 0;
}
