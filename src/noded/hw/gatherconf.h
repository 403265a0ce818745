/* gatherconf.h - how the use of tasks is measured */
#pragma once

#include "noded/noded.h"

/* NULL: it is not measured, or out of memory.  The caller frees the result.  spool: where
 * profsend.h takes samples. */
Pst__Gather *gather_of(const struct conf *conf, const Pst__JobRecord *job, const char *spool);
bool gather_gpus(const struct conf *conf); /* is what GPUs are used for to be recorded? */
enum energy_kind gather_energy(const struct conf *conf); /* AcctGatherEnergyType */
/* Seconds of "30" (tasks only) or "task=30,energy=10" for a kind of data; -1: not in it. */
int64_t gather_interval(const char *text, const char *kind);
