/* changeimply.h - what follows from the fields that were set, in the same patch */
#pragma once

#include "ctld/update/jobchange.h"

/* `set` is the patch of `j` in `tx`; change_check() let it pass.  Short of memory, a field stays as
 * it was asked for. */
void change_imply(const struct job_change *c, Pst__Transaction *tx, const struct job *j,
                  Pst__JobRecord *set);

/* More nodes of a job that waits, and more CPUs on each, are more CPUs in all: into set. */
void change_more_cpus(const struct job *j, Pst__JobRecord *set);
