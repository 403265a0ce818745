/* powernode.c - see powernode.h */
#include "ctld/node/powernode.h"

#include <string.h>

#include "base/pb/pbutil.h"
#include "ctld/policy/bootwait.h"
#include "ctld/node/powersave.h"
#include "fields.h"

/* ---- operators ------------------------------------------------------------------------------- */

bool power_is_action(Pst__NodeAction a)
{
    return a == PST__NODE_ACTION__NODE_ACT_POWER_UP || a == PST__NODE_ACTION__NODE_ACT_POWER_DOWN ||
           a == PST__NODE_ACTION__NODE_ACT_POWER_DOWN_ASAP ||
           a == PST__NODE_ACTION__NODE_ACT_POWER_DOWN_FORCE;
}

static bool drains_node(Pst__NodeAction a)
{
    return a == PST__NODE_ACTION__NODE_ACT_POWER_DOWN_ASAP ||
           a == PST__NODE_ACTION__NODE_ACT_POWER_DOWN_FORCE;
}

int power_act(const struct ctld *ctld, Pst__NodeAction a, const struct node *n,
              Pst__NodeState *state, uint32_t *flags)
{
    const Pst__NodeRecord *r = n->rec;

    if (!power_is_on(ctld))
        return ESLURM_INVALID_POWER_ACTION;
    if (r->state == PST__NODE_STATE__NODE_FUTURE || *flags & NODE_BIT(EXTERNAL))
        return ESLURM_INVALID_NODE_STATE_TRANSITION;
    if (a == PST__NODE_ACTION__NODE_ACT_POWER_UP) {
        *flags &= ~NODE_BIT(POWER_DOWN);
        if (r->has_power_asap && r->power_asap)
            *flags &= ~NODE_BIT(DRAIN);
        if (*flags & (NODE_BIT(POWERED_DOWN) | NODE_BIT(POWERING_DOWN)))
            *flags |= NODE_BIT(POWER_UP);
        return 0;
    }
    *flags &= ~NODE_BIT(POWER_UP);
    *flags |= NODE_BIT(POWER_DOWN) | (drains_node(a) ? NODE_BIT(DRAIN) : 0);
    if (a == PST__NODE_ACTION__NODE_ACT_POWER_DOWN_FORCE && *state == PST__NODE_STATE__NODE_DOWN)
        *state = PST__NODE_STATE__NODE_IDLE;
    return 0;
}

/* It has power, or soon will; nodes without a slurmd are nobody's to switch. */
static bool has_power(const struct node *n)
{
    uint32_t flags = n->rec->state_flags;

    return !(flags & NODE_BIT(EXTERNAL)) && n->rec->state != PST__NODE_STATE__NODE_FUTURE &&
           (!(flags & NODE_BIT(POWERED_DOWN)) || flags & NODE_BIT(POWER_UP));
}

bool power_exceeds(const struct ctld *ctld, const struct hostlist *names)
{
    const struct cluster *c = ctld->cluster;
    uint64_t most = 0, count = 0, more = 0;

    (void)conf_option_u64(ctld->conf, CONF_SLURMCTLD_PARAMETERS, "max_powered_nodes", &most);
    for (size_t i = 0; most && i < hostlist_count(names); i++) {
        const struct node *n = cluster_node_named(c, hostlist_nth(names, i));

        more += n && n->rec->state_flags & NODE_BIT(POWERED_DOWN) && !has_power(n);
    }
    for (uint32_t i = 0; more && i < c->nnodes; i++)
        count += c->nodes[i] && has_power(c->nodes[i]);
    return more && count + more > most;
}

void power_act_fill(Pst__Transaction *tx, Pst__NodeAction a, const char *action,
                    const struct node *n, Pst__NodeRecord *set)
{
    if (power_is_action(a) && action && *action)
        (void)pb_set_str(&set->power_action, action); /* -ENOMEM: the usual program */
    else if (power_is_action(a) && n->rec->power_action)
        tx_clear(tx, NODE_F_POWER_ACTION);
    if (a == PST__NODE_ACTION__NODE_ACT_POWER_DOWN_ASAP && !set->reason && !n->rec->reason)
        (void)pb_set_str(&set->reason, "POWER_DOWN_ASAP"); /* -ENOMEM: none is told */
    if (drains_node(a) && !(n->rec->state_flags & NODE_BIT(DRAIN)))
        SET(set, power_asap, true);
    else if (a == PST__NODE_ACTION__NODE_ACT_POWER_UP && n->rec->has_power_asap)
        tx_clear(tx, NODE_F_POWER_ASAP);
}

/* ---- registrations --------------------------------------------------------------------------- */

/* Is this the slurmd that had registered before the node was powered down?  Its own times are
 * compared, so that clocks need not agree. */
static bool same_slurmd(const Pst__NodeRecord *old, const Pst__NodeRecord *reg)
{
    bool same_boot = !old->boot_id || !reg->boot_id || strcmp(old->boot_id, reg->boot_id) == 0;

    return same_boot && old->has_slurmd_start_us && reg->has_slurmd_start_us &&
           old->slurmd_start_us == reg->slurmd_start_us;
}

enum power_reg power_reg_judge(const Pst__NodeRecord *old, const Pst__NodeRecord *reg)
{
    bool resumed;

    if (!(old->state_flags & NODE_POWER_BITS))
        return POWER_REG_PLAIN;
    if (old->state_flags & NODE_BIT(POWERING_DOWN))
        return POWER_REG_REFUSED;
    /* Of a node that was never off ResumeProgram says at once that it is up, and so it is. */
    resumed = old->state_flags & NODE_BIT(POWERING_UP) && old->has_power_done && old->power_done;
    return same_slurmd(old, reg) && !resumed ? POWER_REG_REFUSED : POWER_REG_UP;
}

uint32_t power_reg_fill(const struct ctld *ctld, Pst__Transaction *tx, const Pst__NodeRecord *old,
                        const Pst__NodeRecord *reg, const char *addr, Pst__NodeRecord *set)
{
    bool dns = conf_option(ctld->conf, CONF_SLURMCTLD_PARAMETERS, "cloud_dns", NULL, NULL);

    if (old->state_flags & NODE_BIT(CLOUD) && !dns && addr && *addr)
        (void)pb_set_str(&set->addr, addr); /* -ENOMEM: as configured */
    if (old->state_flags & NODE_BIT(CLOUD) && reg->hostname && *reg->hostname)
        (void)pb_set_str(&set->hostname, reg->hostname);
    tx_clear(tx, NODE_F_POWER_UNTIL_US);
    tx_clear(tx, NODE_F_POWER_DONE);
    if (old->power_action)
        tx_clear(tx, NODE_F_POWER_ACTION);
    tx_clear(tx, NODE_F_REBOOT_US); /* of --reboot */
    return old->state_flags & ~(NODE_POWER_BITS | NODE_BIT(POWER_UP) | NODE_BIT(NOT_RESPONDING));
}
