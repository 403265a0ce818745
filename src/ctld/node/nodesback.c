/* nodesback.c - which nodes the scheduler waits for after a restart; see nodesback.h
 *
 * Those whose record says that they worked.  A node is waited for until it has registered, or
 * nodewatch.c has marked it as not responding, or BACK_MAX_US are over, which the thread of the
 * scheduler sees by itself. */
#include "ctld/node/nodesback.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/timefmt.h"
#include "ctld/core/noderecord.h"
#include "ctld/core/service.h"
#include "ctld/link/nodelink.h"
#include "ctld/policy/bootwait.h"
#include "ctld/schedlink/schedfeed.h"
#include "feed/feedmem.h"
#include "feed/records.h"

#define BACK_MAX_US (10 * USEC_PER_SEC)

struct nodesback {
    struct bitmap *awaited; /* by node id; NULL: none any more */
    uint32_t n;
};

static bool is_awaited(const struct ctld *ctld, const struct node *n)
{
    return n->rec->state == PST__NODE_STATE__NODE_IDLE &&
           !(n->rec->state_flags & (NODE_BIT(NOT_RESPONDING) | NODE_BIT(REBOOT_ISSUED))) &&
           !(n->rec->state_flags & NODE_POWER_BITS) && !noderecord_is_external(n->rec) &&
           !node_is_linked(ctld, n);
}

static void hold_passes(struct ctld *ctld, int64_t until_mono_us)
{
    struct feed *f = feed_new(FEED_HOLD);

    f->start_us = until_mono_us;
    feed_add(ctld, f);
}

static void await_nodes(struct ctld *ctld)
{
    struct nodesback *b = ctld->nodesback;
    const struct cluster *c = ctld->cluster;

    if (bitmap_new(c->nnodes, &b->awaited) < 0) {
        hold_passes(ctld, 0); /* they begin at once */
        return;
    }
    for (uint32_t i = 0; i < c->nnodes; i++)
        if (c->nodes[i] && is_awaited(ctld, c->nodes[i])) {
            bitmap_set(b->awaited, i);
            b->n++;
        }
    if (!b->n)
        b->awaited = bitmap_free(b->awaited);
    hold_passes(ctld, b->n ? now_mono_us() + BACK_MAX_US : 0); /* the thread begins with a hold */
}

static void settle_node(struct ctld *ctld, const struct node *n, bool gone)
{
    struct nodesback *b = ctld->nodesback;
    uint32_t id = n->rec->node_id;

    if (!b->awaited || id >= b->awaited->nbits || !bitmap_test(b->awaited, id) ||
        (!gone && is_awaited(ctld, n)))
        return;
    bitmap_clear(b->awaited, id);
    if (--b->n)
        return;
    b->awaited = bitmap_free(b->awaited);
    hold_passes(ctld, 0);
}

/* ---- the service ----------------------------------------------------------------------------- */

static void follow_node(struct ctld *ctld, struct node *n, Pst__EventKind kind)
{
    (void)kind;
    settle_node(ctld, n, false);
}

static void follow_node_gone(struct ctld *ctld, struct node *n)
{
    settle_node(ctld, n, true);
}

static int start_waiting(struct ctld *ctld, struct err *err)
{
    (void)err;
    ctld->nodesback = calloc(1, sizeof(*ctld->nodesback));
    return ctld->nodesback ? 0 : -ENOMEM;
}

static void free_waiting(struct ctld *ctld)
{
    if (ctld->nodesback)
        bitmap_free(ctld->nodesback->awaited);
    free(ctld->nodesback);
    ctld->nodesback = NULL;
}

const struct ctld_service nodesback_service = {
    .name = "nodesback",
    .recovered = await_nodes,
    .on_node = follow_node,
    .on_node_gone = follow_node_gone,
    .start = start_waiting,
    .free = free_waiting,
};
