/* ask.h - becoming a process of a job's extern step, for whoever has come to its node from
 * outside */
#pragma once

#include <stdbool.h>

/* Make the calling process one of the extern step whose folder is step_dir.  script: it is one of
 * the site's, which runs in the job until that is over.  *ret_ns gets what to enter by setns(2)
 * with *ret_flags, -1 when the job has nothing of its own; the caller closes it.  Errors: -ENOENT,
 * -ECONNREFUSED no extern step; -ETIMEDOUT; -EREMOTEIO it does not want to. */
int ask_adopt(const char *step_dir, bool script, int *ret_ns, int *ret_flags);
/* What slurmstepd is in its mode "script": become one and run path in work_dir.  Started in the
 * extern step's folder.  Returns its exit status when it could not. */
int ask_script(const char *path, const char *work_dir);
