/* restdbjobs.h - jobs of the accounting store: GET and POST of jobs/ and job/{job_id} */
#pragma once

#include "acctop.pb-c.h"
#include "rest/restcall.h"

extern const struct rest_row rest_dbjobs_rows[];
