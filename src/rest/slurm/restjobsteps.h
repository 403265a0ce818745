/* restjobsteps.h - what a body asks of the steps of its script
 *
 * cpu_binding is kept with the job, and counts for its steps that say nothing themselves.
 * memory_binding and reserve_ports become variables that srun in the script reads, as it reads what
 * sbatch passes on. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"
#include "rest/restcall.h"

/* Of cpu_binding: as --cpu-bind takes it; empty: nothing was asked for.  False: a mistake was noted
 * as an error.  place: the pointer of the job, "#/job". */
bool restjobsteps_binding(struct rest_call *call, const json_t *desc, const char *place,
                          struct strbuf *text);

/* Add the variables of the others to an environment of NUL-separated NAME=value; one that is there
 * stays, as it is the caller's own word.  False: as above. */
bool restjobsteps_add(struct rest_call *call, const json_t *desc, const char *place,
                      struct strbuf *env);
