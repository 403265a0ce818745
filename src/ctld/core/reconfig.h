/* reconfig.h - from slurm.conf to the model, at start and on `scontrol reconfigure` */
#pragma once

#include "ctld/ctld.h"

/* Make nodes and partitions what the configuration in force says: one transaction with the
 * differences only; asked: somebody asked for it, so that states of partitions are the file's too.
 * Gives 0 or -ENOSPC. */
int reconfig_sync(struct ctld *ctld, bool asked);
/* Read the file anew; a bad one changes nothing.  0, or negative with err. */
int reconfig_run(struct ctld *ctld, struct err *err);
