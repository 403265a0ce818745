/* expedite.h - expedited requeue: jobs of --requeue=expedite that failed with their hardware
 *
 * A batch job that lost a node, or whose script failed on a node whose Epilog then fails, goes back
 * to the queue before all other jobs and without a delay.  The state flag EXPEDITING says so from
 * the end of the run until the script of the next run is launched.  docs/design/0013-expedite.md
 * says why no credential of the old run can harm the new one.  Core thread. */
#pragma once

#include "ctld/ctld.h"

struct job_end;

/* Did the job ask for it, and does the site allow it (SlurmctldParameters)? */
bool expedite_is_asked(const struct ctld *ctld, const Pst__JobRecord *r);
/* Does the site allow it? */
bool expedite_is_enabled(const struct ctld *ctld);
/* Does a run that ends so begin an expedited requeue?  Whether the job starts again or is held is
 * known when all its nodes have cleaned up. */
bool expedite_begins(const struct ctld *ctld, const Pst__JobRecord *r, const struct job_end *end);
/* All nodes of the run are clean: does the job go on, as its hardware had failed?  False where no
 * expedited requeue is under way, too. */
bool expedite_goes_on(const Pst__JobRecord *r);
/* ... or is it held, because the program failed and the hardware did not? */
bool expedite_is_over(const Pst__JobRecord *r);
/* A node of j is lost, or an Epilog of j failed: journal that.  Nothing for other jobs. */
void expedite_note_failure(struct ctld *ctld, struct job *j);
/* The nodes of the run that may be used again, as a host list; NULL: there are none.  The
 * caller's. */
char *expedite_healthy_nodes(struct ctld *ctld, const Pst__JobRecord *r);
