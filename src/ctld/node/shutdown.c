/* shutdown.c - the end of controller and nodes; see shutdown.h */
#include "ctld/node/shutdown.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "ctld/core/service.h"
#include "ctld/link/nodelink.h"

struct shutdown {
    struct cmd asked; /* conn (held), op and id to answer with; conn NULL: nobody asked */
    int64_t until_mono_us;
    struct bitmap *told; /* by node id: told on its present or last connection */
};

/* Does a slurmd run for the node, as far as anybody knows? */
static bool may_run(const Pst__NodeRecord *r)
{
    const uint32_t silent = 1u << PST__NODE_FLAG__NODE_FLAG_NOT_RESPONDING;

    return (r->state == PST__NODE_STATE__NODE_IDLE || r->state == PST__NODE_STATE__NODE_UNKNOWN) &&
           !(r->state_flags & silent);
}

/* Tell nodes that are connected.  Gives whether there is still a node to wait for: one that was
 * told and has not left, or one that may dial. */
static bool tell_nodes(struct ctld *ctld)
{
    struct bitmap *told = ctld->shutdown->told;
    bool some = false;

    for (uint32_t i = 0; i < ctld->cluster->nnodes; i++) {
        const struct node *n = ctld->cluster->nodes[i];

        if (!n || i >= told->nbits)
            continue;
        if (!bitmap_test(told, i) && node_send(ctld, n, ctld->applied_lsn, OP_NODE_SHUTDOWN, NULL))
            bitmap_set(told, i);
        some |= bitmap_test(told, i) ? node_is_linked(ctld, n) : may_run(n->rec);
    }
    return some;
}

/* The nodes that were not told and could run, as a list; NULL: none. */
static char *list_untold(const struct ctld *ctld)
{
    _cleanup_(hostlist_free) struct hostlist *names = NULL;
    char *text = NULL;

    if (hostlist_new(&names) < 0)
        return NULL;
    for (uint32_t i = 0; i < ctld->cluster->nnodes; i++) {
        const struct node *n = ctld->cluster->nodes[i];

        if (n && i < ctld->shutdown->told->nbits && !bitmap_test(ctld->shutdown->told, i) &&
            (n->rec->state == PST__NODE_STATE__NODE_IDLE ||
             n->rec->state == PST__NODE_STATE__NODE_UNKNOWN))
            (void)hostlist_push(names, n->rec->name); /* no memory: it is not named */
    }
    hostlist_sort(names);
    if (hostlist_count(names) && hostlist_fold(names, &text) < 0)
        text = NULL;
    return text;
}

static void end_controller(struct ctld *ctld)
{
    struct shutdown *s = ctld->shutdown;
    Pst__ShutdownReply reply = PST__SHUTDOWN_REPLY__INIT;

    reply.untold = list_untold(ctld);
    if (reply.untold)
        log_error("shutdown: nodes that are not connected go on: %s", reply.untold);
    core_reply(ctld, &s->asked, ctld->applied_lsn, 0, &reply.base);
    free(reply.untold);
    s->asked.conn = conn_unref(s->asked.conn);
    ctld_stop(ctld);
}

static void op_shutdown(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__ShutdownRequest *req = PB_AS(shutdown_request, cmd->msg);
    struct shutdown *s = ctld->shutdown;

    log_info("shutdown asked for by uid %u", conn_peer(cmd->conn)->uid);
    if (s->asked.conn) {
        core_ok(ctld, cmd, ctld->applied_lsn); /* it is on its way */
        return;
    }
    if (!(req->has_controller_only && req->controller_only) &&
        bitmap_new(ctld->cluster->nnodes, &s->told) == 0) {
        s->until_mono_us = now_mono_us() + SHUTDOWN_PATIENCE_US;
        s->asked = (struct cmd){ .conn = conn_ref(cmd->conn), .op = cmd->op, .id = cmd->id };
        return; /* the end of this batch begins with it */
    }
    core_ok(ctld, cmd, ctld->applied_lsn);
    ctld_stop(ctld);
}

static void look_on(struct ctld *ctld)
{
    const struct shutdown *s = ctld->shutdown;

    if (s && s->asked.conn && (!tell_nodes(ctld) || now_mono_us() >= s->until_mono_us))
        end_controller(ctld);
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_shutdown(struct ctld *ctld, struct err *err)
{
    ctld->shutdown = calloc(1, sizeof(*ctld->shutdown));
    return ctld->shutdown ? 0 : err_nomem(err);
}

static void stop_shutdown(struct ctld *ctld)
{
    if (ctld->shutdown && ctld->shutdown->asked.conn)
        ctld->shutdown->asked.conn = conn_unref(ctld->shutdown->asked.conn);
}

static void free_shutdown(struct ctld *ctld)
{
    if (ctld->shutdown)
        bitmap_free(ctld->shutdown->told);
    free(ctld->shutdown);
    ctld->shutdown = NULL;
}

static const struct ctld_op shutdown_ops[] = { { OP_SHUTDOWN, .fn = op_shutdown }, { 0 } };

const struct ctld_service shutdown_service = {
    .name = "shutdown",
    .ops = shutdown_ops,
    .start = start_shutdown,
    .stop = stop_shutdown,
    .free = free_shutdown,
    .batch_end = look_on,
};
