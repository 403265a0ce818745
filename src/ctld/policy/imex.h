/* imex.h - channels of NVIDIA's IMEX service (SwitchType=switch/nvidia_imex)
 *
 * A job holds channels from its start until its nodes are clean: one, or one for each of its
 * segments.  The start event says which; what is free follows from the jobs that hold resources,
 * so nothing else is journaled.  The scheduler counts channels (sched_params.channels), and the
 * numbers are chosen here.  Core thread. */
#pragma once

#include "ctld/ctld.h"

struct imex; /* which channels are held, by which jobs */

/* Give the job that starts the lowest free channels: into set, the record or patch of its start,
 * which has alloc.  old: the record so far; id: of the job that starts.  They are held from now on;
 * when the start is not committed, imex_forget(). */
void imex_fill(struct ctld *ctld, Pst__JobRecord *set, const Pst__JobRecord *old, uint32_t id);
void imex_forget(struct ctld *ctld, uint32_t id);
/* Are there as many as a job with this record takes? */
bool imex_has_room(const struct ctld *ctld, const Pst__JobRecord *r);
