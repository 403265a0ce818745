/* launchfail.h - batch jobs that could not be started on their nodes
 *
 * Core thread.  Failures in a row are counted in the record (batch_failures) and forgotten when
 * the script starts. */
#pragma once

#include "ctld/ctld.h"

/* j goes back to the queue, if it may: held when `hold`, and in any case after more than
 * MaxBatchRequeue failures (JobHoldMaxRequeue).  One that may not be requeued ends as FAILED. */
void launchfail_requeue(struct ctld *ctld, struct job *j, bool hold);
/* The same for a step's end that says so: nodes_clean as told. */
void launchfail_report(struct ctld *ctld, struct job *j, const Pst__StepEnd *end);
/* slurmd's prolog failed for j on a node. */
void launchfail_prolog(struct ctld *ctld, struct job *j);
