/* resttopology.c - which nodes are near each other; see resttopology.h */
#include "rest/slurm/resttopology.h"

#include <string.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/hostlist.h"
#include "wire/errors.h"
#include "wire/ops.h"

static const char source[] = "slurm_load_topo()";

/* A unit that nodes stand in themselves: a leaf switch, a block, a ring, a torus. */
static bool holds_nodes(const Pst__TopologyReply *reply, const Pst__TopologyUnit *u)
{
    if (!u->nodes || !u->nodes[0])
        return false;
    return strcmp(reply->kind, "tree") == 0 ? u->level == 0 : !u->aggregated;
}

/* Names are told one by one: a caller need not know how lists are folded. */
static void put_unit(struct json *js, const Pst__TopologyUnit *u)
{
    _cleanup_(hostlist_free) struct hostlist *names = NULL;

    if (hostlist_parse(u->nodes, &names, NULL) < 0)
        return; /* out of memory, which the writer of the answer notes as well */
    json_map(js, NULL);
    json_str(js, "name", u->name);
    json_str(js, "node_list", u->nodes);
    json_list(js, "nodes");
    for (size_t i = 0; i < hostlist_count(names); i++)
        json_str(js, NULL, hostlist_nth(names, i));
    json_list_end(js);
    json_map_end(js);
}

static void put_reply(struct json *js, const Pst__TopologyReply *reply)
{
    json_map(js, "topology");
    json_str(js, "name", reply->name);
    json_str(js, "kind", reply->kind);
    json_list(js, "names");
    for (size_t i = 0; i < reply->n_topologies; i++)
        json_str(js, NULL, reply->topologies[i]);
    json_list_end(js);
    json_list(js, "units");
    for (size_t i = 0; i < reply->n_units; i++)
        if (holds_nodes(reply, reply->units[i]))
            put_unit(js, reply->units[i]);
    json_list_end(js);
    json_map_end(js);
}

static void get_topology(struct rest_call *call)
{
    Pst__TopologyRequest request = PST__TOPOLOGY_REQUEST__INIT;
    Pst__TopologyReply *reply = NULL;
    struct client *c = rest_ctld(call, source);
    int r;

    if (!c)
        return;
    request.name = (char *)(uintptr_t)rest_query(call, "name"); /* only read */
    r = client_call(c, OP_QUERY_TOPOLOGY, &request.base, (ProtobufCMessage **)&reply);
    if (r < 0) {
        rest_failed(call, c, r, source, "Unable to query the topology");
        return;
    }
    if (reply->kind)
        put_reply(&call->js, reply);
    pst__topology_reply__free_unpacked(reply, NULL);
}

const struct rest_row rest_topology_rows[] = {
    { "GET", REST_PENSTOCK, "topology", 0, get_topology, false },
    { 0 },
};
