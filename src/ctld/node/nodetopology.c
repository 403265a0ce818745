/* nodetopology.c - nodes that are connected hear when their place changes; see nodetopology.h
 *
 * A node hears its place when it registers.  `told` is the set of which all connected nodes know;
 * at the end of a batch that made another one, those whose place differs are told. */
#include "ctld/node/nodetopology.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/pb/pbutil.h"
#include "ctld/core/service.h"
#include "ctld/link/nodelink.h"
#include "ctld/topology/topology.h"

static void fill_from(const struct topologies *t, uint32_t id, Pst__NodeTopology *to)
{
    struct strbuf address = STRBUF_INIT, pattern = STRBUF_INIT;

    topologies_address(t, id, &address, &pattern);
    if (strbuf_detach(&address, &to->address) < 0 || strbuf_detach(&pattern, &to->pattern) < 0)
        must(NULL);
}

void nodetopology_fill(const struct ctld *ctld, uint32_t node_id, Pst__NodeTopology *t)
{
    fill_from(topology_now(ctld), node_id, t);
}

static void tell_node(struct ctld *ctld, struct node *n, const struct topologies *before,
                      const struct topologies *now)
{
    Pst__NodeTopology old = PST__NODE_TOPOLOGY__INIT, fresh = PST__NODE_TOPOLOGY__INIT;

    fill_from(before, n->rec->node_id, &old);
    fill_from(now, n->rec->node_id, &fresh);
    if (strcmp(old.address, fresh.address) != 0 || strcmp(old.pattern, fresh.pattern) != 0)
        (void)node_send(ctld, n, ctld->applied_lsn, OP_NODE_TOPOLOGY, &fresh.base);
    pb_done(&old.base);
    pb_done(&fresh.base);
}

static void tell_moved(struct ctld *ctld)
{
    struct topologies *now = topology_get(ctld), *before = ctld->topology_told;
    const struct cluster *c = ctld->cluster;

    if (now == before) {
        topologies_unref(now);
        return;
    }
    for (uint32_t i = 0; before && i < c->nnodes; i++)
        if (c->nodes[i] && node_is_linked(ctld, c->nodes[i]))
            tell_node(ctld, c->nodes[i], before, now);
    topologies_unref(before);
    ctld->topology_told = now;
}

static void forget_told(struct ctld *ctld)
{
    ctld->topology_told = topologies_unref(ctld->topology_told);
}

const struct ctld_service nodetopology_service = {
    .name = "nodetopology",
    .batch_end = tell_moved,
    .free = forget_told,
};
