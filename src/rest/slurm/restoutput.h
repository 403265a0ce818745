/* restoutput.h - GET /penstock/v1/job/{id}/output: the end of a batch script's output
 *
 * slurmctld gives the job's owner a credential, and slurmd of the node where the script runs or
 * ran reads the file as that user.  The caller names a job, never a file. */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_output_rows[];
