/* changecheck.h - who may change which field in which state, and to what
 *
 * The rows of proto/fields.def say it by field; what a row cannot say is here. */
#pragma once

#include "ctld/update/jobchange.h"

/* 0, or the ESLURM code of the refusal.  Changes nothing. */
int change_check(const struct job_change *c, const struct job *j);
