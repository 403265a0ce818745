/* powersave.h - nodes that are powered down when idle, and up for jobs
 *
 * Core thread.  SuspendProgram and ResumeProgram are effects of the log: a node's record says that
 * it is on its way up or down (POWERING_UP, POWERING_DOWN) and until when, and power_done that the
 * program has ended well.  A controller that is killed meanwhile runs the program again when it is
 * back: programs must bear that.  The time that a node has is kept by the record too, so every node
 * ends up, down, or DOWN. */
#pragma once

#include "ctld/ctld.h"

/* Both programs are set: nodes can be powered up and down. */
bool power_is_on(const struct ctld *ctld);
/* The slurmd that ran before the node was powered down has tried to register: SuspendProgram did
 * not do what it should, whatever it said.  It is called for the node once more. */
void power_still_on(struct ctld *ctld, const struct node *n);
