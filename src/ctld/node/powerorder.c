/* powerorder.c - see powerorder.h */
#include "ctld/node/powerorder.h"

#include "base/bitmap.h"
#include "base/log.h"
#include "ctld/core/effects.h"
#include "ctld/core/service.h"
#include "ctld/link/nodelink.h"
#include "ctld/notify/powerprog.h"
#include "ctld/policy/bootwait.h"
#include "wire/frame.h"

void powerorder_send(struct ctld *ctld, const char *action, const struct bitmap *nodes,
                     uint64_t lsn)
{
    Pst__NodeActionNow m = PST__NODE_ACTION_NOW__INIT;

    m.action = (char *)action; /* nobody writes to it */
    BITMAP_FOREACH (nodes, i) {
        const struct node *n = ctld->cluster->nodes[i];

        if (!node_send(ctld, n, lsn, OP_NODE_ACTION, &m.base))
            log_error("node %s: it has to run PowerAction=%s, and is not connected", n->rec->name,
                      action);
    }
}

void powerorder_again(struct ctld *ctld, const struct node *n, struct conn *conn)
{
    Pst__NodeActionNow m = PST__NODE_ACTION_NOW__INIT;
    struct power_program p;
    uint8_t *buf;
    size_t len;

    if (!(n->rec->state_flags & NODE_BIT(POWERING_DOWN)) ||
        !powerprog_of(ctld, CONF_SUSPEND_PROGRAM, n->rec, &p) || !p.at_node)
        return;
    m.action = (char *)p.action; /* nobody writes to it */
    if (frame_pack(OP_NODE_ACTION, FRAME_ONEWAY, 0, 0, &m.base, &buf, &len) == 0)
        effects_add(ctld->effects, 0, conn, buf, len);
}
