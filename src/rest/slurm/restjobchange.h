/* restjobchange.h - changes of jobs: POST and DELETE job/{}, DELETE jobs/, requeue */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_job_change_rows[];
