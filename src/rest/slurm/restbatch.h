/* restbatch.h - POST /penstock/v1/jobs/submit: many jobs in one request
 *
 * {"jobs": [job, ...]}, each as "job" of job/submit with "script" in it.  They are sent to
 * slurmctld one behind another without waiting, a window at a time, and each is accepted or refused
 * for itself: one that fails leaves the others.  The answer has a member for each, in their
 * order. */
#pragma once

#include "rest/restcall.h"

#define RESTBATCH_MAX 10000u /* jobs of a request */

extern const struct rest_row rest_batch_rows[];
