/* steplife.h - the life of one step: set up, start, serve, end */
#pragma once

#include "stepd/step.h"

/* Run the step to its end.  ns_fd: the job's mount namespace with its private folders; ns_pid_fd:
 * the first process of its other namespaces; each -1 when the job has none. */
int step_run(const Pst__StepFile *sf, int ctl_fd, int srun_fd, int ns_fd, int ns_pid_fd,
             const struct plug_ops *plug_ops);

extern const struct step_events step_events; /* those of the whole step daemon */
