/* restsubmit.h - new jobs: POST job/submit, job/allocate */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_submit_rows[];
