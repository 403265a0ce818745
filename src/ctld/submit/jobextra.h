/* jobextra.h - a job's --extra as a request about nodes */
#pragma once

struct conf;
struct err;

/* With SchedulerParameters=extra_constraints the text (NULL, empty: none) must be a request, see
 * sched/base/extra.h.  Gives an ESLURM code, or 0. */
int jobextra_check(const struct conf *conf, const char *extra, struct err *err);
