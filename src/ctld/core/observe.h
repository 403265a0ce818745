/* observe.h - every change of the model is told to the services */
#pragma once

#include "ctld/ctld.h"

void observe_init(struct ctld *ctld); /* from now on */
/* Tell the observer of c about everything there is: nodes and partitions first, jobs last and by
 * id.  `pause` (NULL: none) is called before the first job, now and then, and after the last. */
void observe_each(struct cluster *c, void (*pause)(void *ctx), void *ctx);
/* Tell the services about everything there is, as if it were new (after recovery). */
void observe_all(struct ctld *ctld);

/* Walk over the jobs of which more than the record was interrupted by the end of the last
 * controller: all but those of which job_only_waits() holds, by id.  For recovered() hooks: a
 * million jobs that wait cost them nothing.  Without an observe_all() before: over all jobs.
 * Those may go meanwhile. */
struct job *observe_next_special(const struct ctld *ctld, size_t *pos);
void observe_forget_special(struct ctld *ctld); /* the recovery is over */
