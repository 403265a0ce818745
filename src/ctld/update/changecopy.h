/* changecopy.h - the job as it would be, with what is set and what follows from that
 *
 * *ret_copy is the caller's to free, also behind a code; NULL when memory is short. */
#pragma once

#include "ctld/update/jobchange.h"

/* With the association, QOS and workload key: 0 or an ESLURM code. */
int change_reassociate(const struct job_change *c, const Pst__JobRecord *r,
                       const Pst__JobRecord *set, Pst__JobRecord **ret_copy);

/* With the MCS label: 0 or an ESLURM code. */
int change_relabel(const struct job_change *c, const Pst__JobRecord *r, const Pst__JobRecord *set,
                   Pst__JobRecord **ret_copy);

/* Does the request change the label?  A label that is the account goes with it. */
bool change_labels(const struct job_change *c, const Pst__JobRecord *set);

bool change_sizes_memory(const Pst__JobRecord *set);
/* What the job asked for of memory that the change says anew. */
void change_forget_memory(Pst__JobRecord *job, const Pst__JobRecord *set);
