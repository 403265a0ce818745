/* depends.h - keeping dependencies true: which job waits for which, and what happens when one of
 * them changes */
#pragma once

#include "ctld/ctld.h"

/* Enter a pending job with a dependency (submission, update, recovery). */
void depends_watch(struct ctld *ctld, const struct job *j);
/* A new job was accepted: enter it, evaluate it, and send the mail that its dependency is never
 * met, if that was known already. */
void depends_submitted(struct ctld *ctld, uint32_t job_id);
/* Evaluate one job now; commits a change of its text when there is one. */
void depends_refresh(struct ctld *ctld, uint32_t job_id);
/* Copy the dependency of this leader of a heterogeneous job into the records of the other
 * components, in the transaction that changes it.  Only the leader's dependency is evaluated; the
 * copies are shown.  text NULL: the leader waits for no job any more.  The patches of the other
 * components come last in tx. */
void depends_tell_components(struct ctld *ctld, Pst__Transaction *tx, const struct job *leader,
                             const char *text);
/* The job `target` started or ended: refresh the jobs that wait for it.  When this ends one of
 * them, the jobs that wait for that one are refreshed too, and so on.  All is done before the
 * return, with two exceptions: a call from within a refresh only queues, and work that is more than
 * one turn of the core may take goes on in later turns. */
void depends_changed(struct ctld *ctld, const struct job *target);
/* Does a job wait for the end of this array, of which tasks still wait or run? */
bool depends_array_awaited(struct ctld *ctld, uint32_t array_job_id);
/* How long a chain of dependencies may be that is searched for a circle: max_depend_depth of
 * DependencyParameters. */
unsigned depends_depth(const struct ctld *ctld);
/* Evaluate this job at when_us; 0 = at the next tick. */
void depends_later(struct ctld *ctld, uint32_t job_id, int64_t when_us);
void depends_tick(struct ctld *ctld, int64_t now_us); /* after:ID+MIN */
