/* reboot.h - reboots of nodes asked for by an operator
 *
 * Core thread.  REBOOT_REQUESTED until the node is idle, then DOWN and REBOOT_ISSUED until it
 * registers with a later boot or ResumeTimeout is over. */
#pragma once

#include "ctld/ctld.h"

/* Time passes: issue what is due, give up what took too long. */
void reboot_tick(struct ctld *ctld, struct node *n, int64_t now_us);
/* Is reg what n says after the reboot it was sent to? */
bool reboot_over(const Pst__NodeRecord *n, const Pst__NodeRecord *reg);
/* State and flags then; true when reason, by whom and when are to be forgotten.  set gets the
 * rest. */
bool reboot_done(const struct ctld *ctld, const Pst__NodeRecord *n, Pst__NodeRecord *set,
                 uint32_t *flags);
