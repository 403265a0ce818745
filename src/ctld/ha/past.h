/* past.h - slurmctld --past: the cluster as it was at a record of a log, for one user's look
 *
 * Reads the log of another folder and never writes there.  Only root and SlurmUser are let in. */
#pragma once

#include "ctld/ctld.h"

/* Apply the log in `state` (a StateSaveLocation) up to record lsn, and show that.
 * ctld->past_us is the time that is shown.  Behind boot_prepare(). */
int past_load(struct ctld *ctld, const char *state, uint64_t lsn, struct err *err);
/* Answer until the controller is told to end. */
void past_serve(struct ctld *ctld);
/* A request that shows nothing: ping, or one that is refused.  On an I/O thread. */
void past_answer(struct ctld *ctld, struct conn *c, const struct frame *frame);
