/* cronjobs.h - scrontab: crontabs as journaled records, and the jobs made from them
 *
 * Each entry of a crontab has one job.  When a run of it is over and nothing is left on its nodes,
 * the same job is queued again for the next time, as a run of its own.  An entry whose job is
 * cancelled is commented out, in the transaction that cancels it; a job that no crontab names any
 * more runs to its end and is not queued again.  Core thread. */
#pragma once

#include "ctld/job/lifecycle.h"

/* j ends: if that is for good, its entry goes with the same transaction. */
void cron_ends(struct ctld *ctld, Pst__Transaction *tx, const struct job *j,
               const struct job_end *end);
/* j has ended and is clean: queued again if its entry still wants it. */
void cron_again(struct ctld *ctld, struct job *j);
/* explicit_scancel: may this request not cancel it? */
bool cron_is_protected(const struct ctld *ctld, const Pst__JobRecord *r,
                       const Pst__JobActionRequest *req);
/* After recovery: what a killed controller did not come to. */
void cron_recover(struct ctld *ctld);
