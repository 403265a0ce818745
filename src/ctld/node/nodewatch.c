/* nodewatch.c - nodes that are silent: not responding, then down */
#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/core/noderecord.h"
#include "ctld/core/service.h"
#include "ctld/policy/bootwait.h"
#include "ctld/node/nodeloss.h"
#include "ctld/job/lifecycle.h"
#include "ctld/link/nodelink.h"
#include "ctld/node/reboot.h"
#include "fields.h"

#define FLAG(x) (1u << PST__NODE_FLAG__NODE_FLAG_##x)

/* ResumeAfter= of an operator is over. */
static void resume_node(struct ctld *ctld, struct node *n)
{
    Pst__Transaction *tx = tx_new(core_now());
    Pst__NodeRecord *set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_STATE, n->rec->node_id);

    if (n->rec->state == PST__NODE_STATE__NODE_DOWN)
        SET(set, state,
            node_is_linked(ctld, n) || noderecord_is_external(n->rec)
                ? PST__NODE_STATE__NODE_IDLE
                : PST__NODE_STATE__NODE_UNKNOWN);
    SET(set, state_flags, n->rec->state_flags & ~(FLAG(DRAIN) | FLAG(FAIL)));
    tx_clear(tx, NODE_F_RESUME_AFTER_US);
    tx_clear(tx, NODE_F_REASON);
    tx_clear(tx, NODE_F_REASON_UID);
    tx_clear(tx, NODE_F_REASON_US);
    (void)core_commit(ctld, tx); /* disk full: tried again by the next tick */
}

/* Its connection holds: an operator's NoResp is over. */
static void heard_again(struct ctld *ctld, struct node *n)
{
    Pst__Transaction *tx = tx_new(core_now());

    SET(tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_STATE, n->rec->node_id), state_flags,
        n->rec->state_flags & ~FLAG(NOT_RESPONDING));
    (void)core_commit(ctld, tx); /* as above */
}

/* Power saving has the node, or takes it at once: its silence is no news.  A node that is to be
 * powered down when its jobs are over may be lost before. */
static bool has_power_owner(const struct node *n)
{
    const uint32_t wanted = 1u << PST__NODE_FLAG__NODE_FLAG_POWER_DOWN;

    return n->rec->state_flags & NODE_POWER_BITS || (n->rec->state_flags & wanted && n->jobs == 0);
}

/* It should be there: it was, or is configured to be and has not come.  A node of a cloud may have
 * nobody who starts it. */
static bool is_expected(const struct node *n)
{
    return n->rec->state == PST__NODE_STATE__NODE_IDLE ||
           (n->rec->state == PST__NODE_STATE__NODE_UNKNOWN && !(n->rec->state_flags & FLAG(CLOUD)));
}

static void check_nodes(struct ctld *ctld, int64_t now)
{
    const uint32_t reboot = 1u << PST__NODE_FLAG__NODE_FLAG_REBOOT_REQUESTED |
                            1u << PST__NODE_FLAG__NODE_FLAG_REBOOT_ISSUED;
    const uint32_t silent = 1u << PST__NODE_FLAG__NODE_FLAG_NOT_RESPONDING;
    int64_t timeout = (int64_t)conf_num(ctld->conf, CONF_SLURMD_TIMEOUT) * USEC_PER_SEC;
    int64_t soft = (int64_t)conf_num(ctld->conf, CONF_MESSAGE_TIMEOUT) * USEC_PER_SEC;

    if (timeout)
        soft = MIN(soft, timeout / 2); /* nodes are seen to be silent before they are down */

    node_links_wake(ctld);
    for (uint32_t i = 0; i < ctld->cluster->nnodes; i++) {
        struct node *n = ctld->cluster->nodes[i];
        Pst__Transaction *tx;
        Pst__NodeRecord *set;
        int64_t away, unknown_us = n ? node_link_unknown_us(ctld, n, now) : 0;

        if (n && n->rec->state_flags & reboot)
            reboot_tick(ctld, n, now);
        if (n && n->rec->has_resume_after_us && n->rec->resume_after_us <= now)
            resume_node(ctld, n);
        if (n && node_is_linked(ctld, n))
            node_link_redial(ctld, n);
        if (n)
            node_link_judge(ctld, n);
        if (n && node_is_linked(ctld, n) && n->rec->state_flags & silent &&
            !(n->rec->state_flags & NODE_POWER_BITS))
            heard_again(ctld, n);
        if (!n || noderecord_is_external(n->rec) || node_is_linked(ctld, n) || !is_expected(n) ||
            has_power_owner(n))
            continue;
        away = now - (unknown_us ? unknown_us : MAX(node_link_lost_us(ctld, n), ctld->boot_us));
        if (away < soft)
            continue;
        if (timeout && away >= timeout) {
            tx = tx_new(now);
            set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_STATE, i);
            SET(set, state, PST__NODE_STATE__NODE_DOWN);
            SET(set, state_flags, n->rec->state_flags | silent);
            (void)pb_set_str(&set->reason, "Not responding");
            SET(set, reason_us, now);
            SET(set, reason_uid, conf_slurm_uid(ctld->conf));
            if (core_commit(ctld, tx))
                nodeloss_end_jobs(ctld, n, "not responding");
        } else if (!(n->rec->state_flags & silent)) {
            tx = tx_new(now);
            SET(tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_STATE, i), state_flags,
                n->rec->state_flags | silent);
            (void)core_commit(ctld, tx);
        }
    }
}

const struct ctld_service nodewatch_service = { .name = "nodewatch", .tick_writing = check_nodes };
