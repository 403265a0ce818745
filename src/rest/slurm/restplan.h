/* restplan.h - why a job waits, and when one would start: GET /penstock/v1/job/{id}/explain, POST
 * /penstock/v1/job/plan
 *
 * Both are questions to the scheduler, which says the same to `scontrol explain` and `sbatch
 * --test-only`.  A plan is a submission that is checked as any other and then not made. */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_plan_rows[];
