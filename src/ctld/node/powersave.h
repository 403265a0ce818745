/* powersave.h - nodes that are powered down when idle, and up for jobs
 *
 * Core thread.  SuspendProgram and ResumeProgram are effects of the log.  The record of a node says
 * that the node is on its way up or down (POWERING_UP, POWERING_DOWN) and how long that may take;
 * `power_done` says that the program has ended well.  A controller that is killed between the two
 * runs the program again after its restart, so programs must bear a second call.  Since the time
 * limit is in the record, every node ends up powered up, powered down, or DOWN. */
#pragma once

#include "ctld/ctld.h"

/* Are both programs set, so that nodes can be powered up and down? */
bool power_is_on(const struct ctld *ctld);
/* Nodes were made: those of a cloud are off. */
void power_made(struct ctld *ctld);
/* The slurmd that ran before the node was powered down has tried to register.  So SuspendProgram
 * did not power the node down, whatever its exit code was: it is called for the node once more, and
 * where that does not help, again after ever longer times. */
void power_still_on(struct ctld *ctld, const struct node *n);
