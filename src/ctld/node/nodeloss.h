/* nodeloss.h - jobs of a node that is lost: down, or rebooted.  Core thread. */
#pragma once

#include "ctld/ctld.h"

/* What the node held ends or is requeued; a job that may lose nodes (--no-kill) goes on.  why: for
 * the log. */
void nodeloss_end_jobs(struct ctld *ctld, struct node *n, const char *why);
/* The same by an administrator, who answers for it that nothing runs there any more: external jobs
 * keep the node no longer. */
void nodeloss_by_hand(struct ctld *ctld, struct node *n, const char *why);
/* The node was powered up for jobs, and did not come: as above, and with
 * requeue_on_resume_failure also jobs with --no-requeue are queued again. */
void nodeloss_boot_failed(struct ctld *ctld, struct node *n);
