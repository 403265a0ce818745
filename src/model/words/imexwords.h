/* imexwords.h - channels of NVIDIA's IMEX service in the record of a job; pure */
#pragma once

#include <stdint.h>

#include "job.pb-c.h"

/* The channel that the job uses on this node; 0 = none. */
uint32_t job_imex_channel(const Pst__JobRecord *r, const char *node);
