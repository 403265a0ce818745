/* profkeep.h - samples of running steps, kept until each step is over and then written into
 * ProfileHDF5Dir (acct_gather_profile/hdf5, docs/design/0066-profiles-in-files.md)
 *
 * Step daemons leave lines at a socket in the spool; the main loop appends them to a file of the
 * spool for each step:
 *
 *     <spool>/profile.d/<ID>.<RUN>.<STEP>         its samples (h5/h5head.h)
 *     <spool>/profile.d/<ID>.<RUN>.<STEP>.over    the step is over: to be written
 *
 * slurmstepd-profile writes those that are over, PROFKEEP_WRITERS at a time.  slurmd never touches
 * ProfileHDF5Dir, and neither it nor a step waits for who does: a file system that is away costs
 * samples, once the spool has PROFKEEP_ALL_MAX bytes of them.  What cannot be written is lost, and
 * the log says so. */
#pragma once

#include "noded/noded.h"

#define PROFKEEP_FOLDER "profile.d"
#define PROFKEEP_STEP_MAX (256u << 20) /* bytes of a step's lines */
#define PROFKEEP_ALL_MAX (1024u << 20) /* ... of all steps' */
#define PROFKEEP_WRITERS 4u

struct profkeep;

/* As d->conf says, at the start and when it was read again; jobs and steps are known.  A failure is
 * logged. */
void profkeep_configure(struct noded *d);
/* The step has ended. */
void profkeep_step_over(struct noded *d, const struct nstep *step);
/* The child pid was collected: was it a writer? */
bool profkeep_child_exited(struct noded *d, pid_t pid, int status);
/* What steps have left is kept for the next slurmd; writers go on.  Always NULL. */
struct profkeep *profkeep_close(struct profkeep *k);
