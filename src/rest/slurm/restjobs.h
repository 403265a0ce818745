/* restjobs.h - jobs as they are: GET jobs/, job/{}, jobs/state/ */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_job_rows[];
