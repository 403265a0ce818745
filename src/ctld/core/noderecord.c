/* noderecord.c - from a NodeName line to the record of a node; see noderecord.h */
#include "ctld/core/noderecord.h"

#include <string.h>
#include <strings.h>

#include "base/gres/grestext.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "ctld/core/commit.h"

static char *gres_in_order(const char *types, const char *gres)
{
    return gres ? must(gres_text_order(gres, types)) : NULL;
}

void noderecord_fill(Pst__NodeRecord *r, const struct conf_node *n, const char *types)
{
    r->hostname = tx_strdup(n->hostname);
    r->addr = tx_strdup(n->addr);
    SET(r, port, n->port);
    SET(r, boards, n->boards);
    SET(r, sockets, n->sockets);
    SET(r, cores_per_socket, n->cores_per_socket);
    SET(r, threads_per_core, n->threads_per_core);
    SET(r, cpus, n->cpus);
    SET(r, real_memory_mib, n->real_memory_mib);
    SET(r, tmp_disk_mib, n->tmp_disk_mib);
    SET(r, weight, n->weight);
    r->features = tx_strdup(n->features);
    r->gres = gres_in_order(types, n->gres);
    if (n->has_suspend_time && n->suspend_time_s == CONF_UNLIMITED)
        SET(r, suspend_never, true);
    else if (n->has_suspend_time)
        SET(r, suspend_time_s, n->suspend_time_s);
    if (n->core_spec)
        SET(r, core_spec, n->core_spec);
    if (n->restricted_cores_per_gpu)
        SET(r, restricted_cores_per_gpu, n->restricted_cores_per_gpu);
    if (n->mem_spec_mib)
        SET(r, mem_spec_mib, n->mem_spec_mib);
    r->cpu_spec_list = tx_strdup(n->cpu_spec_list);
}

void noderecord_begin(Pst__NodeRecord *r, const struct conf_node *n)
{
    const char *s = n->state ? n->state : "UNKNOWN";
    uint32_t flags = 0;

    SET(r, state, PST__NODE_STATE__NODE_UNKNOWN);
    if (strcasecmp(s, "DOWN") == 0)
        r->state = PST__NODE_STATE__NODE_DOWN;
    else if (strcasecmp(s, "FUTURE") == 0)
        r->state = PST__NODE_STATE__NODE_FUTURE;
    else if (strcasecmp(s, "DRAIN") == 0)
        flags = NODE_FLAG_BIT(DRAIN);
    else if (strncasecmp(s, "FAIL", 4) == 0)
        flags = NODE_FLAG_BIT(FAIL);
    else if (strcasecmp(s, "CLOUD") == 0)
        flags = NODE_FLAG_BIT(CLOUD);     /* powersave.c: it is powered down */
    if (strcasecmp(s, "EXTERNAL") == 0) { /* nobody will ever register it */
        r->state = PST__NODE_STATE__NODE_IDLE;
        flags = NODE_FLAG_BIT(EXTERNAL);
    }
    SET(r, state_flags, flags);
    if (n->reason) {
        r->reason = tx_strdup(n->reason);
        SET(r, reason_us, core_now());
    }
}

bool noderecord_changes(const Pst__NodeRecord *have, const Pst__NodeRecord *set)
{
    ProtobufCMessage *merged;
    bool differs = true;

    if (pb_dup(&have->base, &merged) < 0)
        return true;
    if (pb_merge(merged, &set->base) == 0)
        differs = !pb_equal(&have->base, merged);
    protobuf_c_message_free_unpacked(merged, NULL);
    return differs;
}

bool noderecord_is_dynamic(const Pst__NodeRecord *r)
{
    return r->state_flags & NODE_FLAG_BIT(DYNAMIC_NORM);
}

bool noderecord_is_external(const Pst__NodeRecord *r)
{
    return r->state_flags & NODE_FLAG_BIT(EXTERNAL);
}

size_t noderecord_most(const struct ctld *ctld)
{
    return MAX((size_t)conf_num(ctld->conf, CONF_MAX_NODE_COUNT), conf_nodes(ctld->conf));
}

size_t noderecord_room(const struct ctld *ctld)
{
    size_t most = noderecord_most(ctld), n = 0;

    for (uint32_t i = 0; i < ctld->cluster->nnodes; i++)
        n += ctld->cluster->nodes[i] != NULL;
    return n < most ? most - n : 0;
}
