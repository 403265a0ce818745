/* restjobs.h - jobs as they are: GET jobs/, job/{}, jobs/state/ */
#pragma once

#include "rest/restcall.h"

/* The number of the record of the job that a word names ("7", "7_3", "7+1", a SLUID).  A task of an
 * array that has not started has no record of its own: the number of the array's record.  False:
 * there is no such job, and an error of `source` was noted. */
bool restjobs_find(struct rest_call *call, const char *word, const char *source,
                   uint32_t *ret_job_id);

extern const struct rest_row rest_job_rows[];
