/* ask.h - become a process of a job's extern step: for logins and for programs of the site, which
 * the step daemon did not start */
#pragma once

#include <stdbool.h>

/* Make the calling process a process of the extern step whose folder is step_dir.  script: the
 * process runs a prolog or epilog of the site, which is part of the job until that program ends.
 * *ret_ns gets the descriptor to enter by setns(2) with *ret_flags, or -1 when the job has no
 * namespaces of its own; the caller closes it.  Errors: -ENOENT, -ECONNREFUSED there is no extern
 * step; -ETIMEDOUT; -EREMOTEIO the extern step refuses. */
int ask_adopt(const char *step_dir, bool script, int *ret_ns, int *ret_flags);
/* slurmstepd in its mode "script": become a process of the extern step and run path in work_dir.
 * slurmd starts it in the extern step's folder.  Returns only when path could not be run: the exit
 * status for slurmstepd. */
int ask_script(const char *path, const char *work_dir);
