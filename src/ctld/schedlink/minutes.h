/* minutes.h - limits by minutes: GrpTRESMins and GrpWall; core thread
 *
 * How much of them is used up follows from the log (model/use/usage.h).  The scheduler is
 * told now and then, and unless AccountingStorageEnforce says safe, what runs is ended when
 * nothing is left. */
#pragma once

#include "ctld/ctld.h"

void minutes_tick(struct ctld *ctld, int64_t now); /* every ten seconds */
