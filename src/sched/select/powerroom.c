/* powerroom.c - see powerroom.h */
#include "sched/select/powerroom.h"

#include "sched/sched.h"
#include "sched/state/nodes.h"
#include "sched/state/sched_obj.h"

static bool is_powered(const struct node *n)
{
    return n->exists && !n->external && (!n->off || n->njobs > 0);
}

static uint32_t count_powered(const struct sched *s)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < s->nnodes; i++)
        count += is_powered(&s->nodes[i]);
    return count;
}

bool powerroom_lacks(const struct sched *s, const struct sched_alloc *a, uint32_t *more)
{
    uint32_t most = s->params.max_powered, need = 0;

    if (!most)
        return false;
    for (size_t i = 0; i < a->nnodes; i++)
        need += !a->nodes[i].closed && s->nodes[a->nodes[i].node_id].off &&
                !is_powered(&s->nodes[a->nodes[i].node_id]);
    if (more)
        need = *more += need;
    return need && count_powered(s) + need > most;
}
