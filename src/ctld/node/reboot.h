/* reboot.h - reboots of nodes asked for by an operator
 *
 * Core thread.  REBOOT_REQUESTED until the node is idle, then DOWN and REBOOT_ISSUED until it
 * registers with a later boot or ResumeTimeout is over. */
#pragma once

#include "base/hostlist.h"
#include "ctld/ctld.h"

/* Issue the reboot of n when it is due, and give up a reboot that took too long. */
void reboot_tick(struct ctld *ctld, struct node *n, int64_t now_us);
/* Is reg the registration of n after the reboot that was asked for? */
bool reboot_over(const Pst__NodeRecord *n, const Pst__NodeRecord *reg);
/* The reboot of n is over: change *flags, and put the other fields that change into set.  True: the
 * caller clears the reason of n, with its user and time. */
bool reboot_done(const struct ctld *ctld, const Pst__NodeRecord *n, Pst__NodeRecord *set,
                 uint32_t *flags);

/* Take back what was asked for and not issued; answers the command. */
void reboot_cancel(struct ctld *ctld, struct cmd *cmd, const char *nodes);
/* The nodes of a list, of a NodeSet's name or of ALL.  Errors: -EINVAL, -E2BIG, -ENOMEM. */
int nodenames_parse(const struct ctld *ctld, const char *text, struct hostlist **ret_hl);
