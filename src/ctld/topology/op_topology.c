/* op_topology.c - op query-topology: units of a topology, and the YAML of all
 *
 * On I/O threads, from the set that is in force. */
#include <errno.h>
#include <stdlib.h>

#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/core/service.h"
#include "ctld/topology/topology.h"
#include "feed/toposhow.h"
#include "wire/frame.h"

static void answer_topology(struct ctld *ctld, struct conn *c, const struct frame *frame)
{
    Pst__TopologyRequest *req = NULL;
    struct topologies *now;
    int64_t began = now_mono_us();
    Pst__TopologyReply *reply = NULL;
    struct err err = { .text = "" };
    int r = FRAME_UNPACK(topology_request, frame, &req, &err);

    if (r < 0) {
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST, err.text);
        return;
    }
    now = topology_get(ctld);
    r = toposhow_reply(now, req->name, &reply);
    topologies_unref(now);
    pst__topology_request__free_unpacked(req, NULL);
    if (r == -ENOENT)
        (void)conn_error(c, frame->op, frame->id, ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE, NULL);
    else
        (void)conn_reply(c, frame->op, frame->id, 0, &reply->base); /* fails: the client went */
    if (reply)
        pst__topology_reply__free_unpacked(reply, NULL);
    services_answered(ctld, OP_QUERY_TOPOLOGY, now_mono_us() - began);
}

static const struct ctld_op topoops_ops[] = {
    { OP_QUERY_TOPOLOGY, .front = answer_topology },
    { 0 },
};

const struct ctld_service topoops_service = { .name = "topoops", .ops = topoops_ops };
