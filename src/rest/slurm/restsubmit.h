/* restsubmit.h - new jobs: POST job/submit, job/allocate */
#pragma once

#include "rest/restcall.h"

/* The script stands beside the job, in it, or in the first component; borrowed, NULL: none. */
const char *rest_find_script(const struct rest_call *call);

extern const struct rest_row rest_submit_rows[];
