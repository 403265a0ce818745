/* powernode.h - what registrations of nodes and requests of operators mean for their power
 *
 * Core thread; nothing commits. */
#pragma once

#include "base/hostlist.h"
#include "ctld/ctld.h"

/* What the registration of a node means for its power. */
enum power_reg {
    POWER_REG_PLAIN,   /* nothing: it was up */
    POWER_REG_UP,      /* it was off, or on its way up, and is up now */
    POWER_REG_REFUSED, /* slurmd of before it was powered down, which still runs */
};
enum power_reg power_reg_judge(const Pst__NodeRecord *old, const Pst__NodeRecord *reg);
/* POWER_REG_UP: what changes in the record beside its flags, which are given back.  addr: of its
 * connection. */
uint32_t power_reg_fill(const struct ctld *ctld, Pst__Transaction *tx, const Pst__NodeRecord *old,
                        const Pst__NodeRecord *reg, const char *addr, Pst__NodeRecord *set);

/* What an operator asks for.  Sets state, flags and what else changes in set; 0 or an
 * ESLURM code. */
bool power_is_action(Pst__NodeAction a);
int power_act(const struct ctld *ctld, Pst__NodeAction a, const struct node *n,
              Pst__NodeState *state, uint32_t *flags);
/* Would powering up these nodes give power to more than max_powered_nodes allows? */
bool power_exceeds(const struct ctld *ctld, const struct hostlist *names);
/* The rest of its patch: who drained it, and the PowerAction that is named (NULL: none). */
void power_act_fill(Pst__Transaction *tx, Pst__NodeAction a, const char *action,
                    const struct node *n, Pst__NodeRecord *set);
