/* nodeloss.h - jobs of a node that is lost: down, or rebooted.  Core thread. */
#pragma once

#include "ctld/ctld.h"

/* End or requeue the jobs that held the node.  A job that may lose nodes (--no-kill) goes on.  why:
 * for the log. */
void nodeloss_end_jobs(struct ctld *ctld, struct node *n, const char *why);
/* The same, ordered by an administrator.  The administrator answers for it that nothing runs on the
 * node any more, so external jobs give the node back, too. */
void nodeloss_by_hand(struct ctld *ctld, struct node *n, const char *why);
/* The node was powered up for jobs, and did not come: as above, and with
 * requeue_on_resume_failure also jobs with --no-requeue are queued again. */
void nodeloss_boot_failed(struct ctld *ctld, struct node *n);
