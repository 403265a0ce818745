/* powernode.h - what registrations of nodes and requests of operators mean for their power
 *
 * Core thread; nothing commits. */
#pragma once

#include "base/hostlist.h"
#include "ctld/ctld.h"

/* What the registration of a node means for its power. */
enum power_reg {
    POWER_REG_PLAIN,   /* nothing: the node was up */
    POWER_REG_UP,      /* the node was off, or on its way up, and is up now */
    POWER_REG_REFUSED, /* the slurmd from before the node was powered down still runs */
};
enum power_reg power_reg_judge(const Pst__NodeRecord *old, const Pst__NodeRecord *reg);
/* For POWER_REG_UP: put what changes in the node's record into set.  Gives the new flags of the
 * record.  addr: the address of the node's connection. */
uint32_t power_reg_fill(const struct ctld *ctld, Pst__Transaction *tx, const Pst__NodeRecord *old,
                        const Pst__NodeRecord *reg, const char *addr, Pst__NodeRecord *set);

bool power_is_action(Pst__NodeAction a); /* is the action about power? */
/* What the action of an operator makes of state and flags of node n.  0 or an ESLURM code. */
int power_act(const struct ctld *ctld, Pst__NodeAction a, const struct node *n,
              Pst__NodeState *state, uint32_t *flags);
/* Would powering up these nodes give power to more than max_powered_nodes allows? */
bool power_exceeds(const struct ctld *ctld, const struct hostlist *names);
/* The rest of the patch after power_act(): the PowerAction that was named (NULL: the usual program
 * runs), whether the node is drained for the action (power_asap), and why, if no one said. */
void power_act_fill(Pst__Transaction *tx, Pst__NodeAction a, const char *action,
                    const struct node *n, Pst__NodeRecord *set);
