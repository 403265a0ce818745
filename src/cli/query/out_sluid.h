/* out_sluid.h - job ids given as SLUIDs, found out from the controller */
#pragma once

#include "cli/query/out_filter.h"
#include "wire/client.h"

/* Put the job's number (and array task) beside each SLUID of ids; one the controller does not
 * know becomes a number that no job has.  Asks nothing when there is none.  Returns 0 or as
 * query_run(). */
int sluids_find(struct client *client, struct filter_ids *ids);
