/* pamsession.h - UsePAM: a session of PAM's service "slurm" around the tasks of a step
 *
 * The step daemon opens the session as root before the first task starts, and closes it when the
 * step is over.  Limits that modules of the session set (pam_limits) are those of the tasks; the
 * user's own limits, as far as PropagateResourceLimits has them, come behind.  The modules are what
 * /etc/pam.d/slurm names, else /etc/pam.d/other. */
#pragma once

#include "base/err.h"

struct pamsession;

/* user: who the session is for.  host: the node's name, which modules see as the remote host.
 * Errors: -ENOENT, -ENOSYS no libpam here; -EACCES a module refuses; told in err. */
int pamsession_open(const char *user, const char *host, struct pamsession **ret, struct err *err);
struct pamsession *pamsession_close(struct pamsession *p); /* always NULL */
