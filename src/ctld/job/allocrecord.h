/* allocrecord.h - what the scheduler gave a job, as the record that the journal keeps
 *
 * Pure but for memory: without it the process ends. */
#pragma once

#include "ctld/ctld.h"
#include "sched/sched.h"

/* The allocation as a record, which the caller frees.  Its nodes must be there.  threads: of a core
 * that the job's tasks may use; 0: all.  most_tasks: the job has no more, whatever was laid out,
 * but one on each node; 0: as laid out. */
Pst__Alloc *allocrecord_make(const struct cluster *c, const struct sched_alloc *a, uint32_t threads,
                             uint32_t most_tasks);
/* "cpu=4,mem=400M,node=1,billing=4" and the GRES that `tracked` names; all when it names none.
 * Caller frees. */
char *alloc_tres_text(const Pst__Alloc *a, const char *licenses, uint64_t billing,
                      const char *tracked);
/* The same of a step, without licences and billing, sorted as accounting sorts it. */
char *alloc_step_tres(const Pst__Alloc *a, const char *tracked);
/* alloc_tres and billing of set from its alloc, as that partition bills. */
void alloc_bill(const struct ctld *ctld, const char *partition, const char *licenses,
                Pst__JobRecord *set);
