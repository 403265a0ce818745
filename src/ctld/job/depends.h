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
/* Have the components behind this leader show its dependency, in the transaction that changes it;
 * NULL: it waits for no job any more.  Theirs is a copy that is never evaluated.  The patches of
 * theirs come last in tx. */
void depends_tell_components(struct ctld *ctld, Pst__Transaction *tx, const struct job *leader,
                             const char *text);
/* Something happened to a job: started, ended.  Refreshes those that wait for it, and those that
 * wait for a job that this ends, and so on: before it returns, unless it is called while it
 * works already or that is more than a turn's work, which goes on in later turns of the core. */
void depends_changed(struct ctld *ctld, const struct job *target);
/* Does a job wait for the end of this array, which goes on? */
bool depends_array_awaited(struct ctld *ctld, uint32_t array_job_id);
/* How many jobs after each other are looked through for a circle: max_depend_depth of
 * DependencyParameters. */
unsigned depends_depth(const struct ctld *ctld);
/* Evaluate this job at when_us; 0 = at the next tick. */
void depends_later(struct ctld *ctld, uint32_t job_id, int64_t when_us);
void depends_tick(struct ctld *ctld, int64_t now_us); /* after:ID+MIN */
