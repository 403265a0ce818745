/* bootsteps.h - what happens when the nodes of a job are up
 *
 * Core thread.  What jobs wait for is policy/bootwait.h's to say. */
#pragma once

#include "ctld/ctld.h"

/* n is up, or is not a node of its jobs any more: jobs that waited for it alone go on.  Commits.
 * A script whose own node is n is launched by the caller. */
void bootsteps_node_up(struct ctld *ctld, const struct node *n);
/* The same of one job, whatever its nodes were. */
void bootsteps_recheck(struct ctld *ctld, struct job *j);
