/* restjobs.h - jobs as they are: GET jobs/, job/{}, jobs/state/ */
#pragma once

#include "rest/restcall.h"

/* The job that a word of the caller's names ("7", "7_3", "7+1", a SLUID): the number of its record,
 * which of a task that waits is that of its array.  False: an error of `source` was noted. */
bool restjobs_find(struct rest_call *call, const char *word, const char *source,
                   uint32_t *ret_job_id);

extern const struct rest_row rest_job_rows[];
