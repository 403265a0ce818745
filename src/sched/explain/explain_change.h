/* explain_change.h - the smallest change of each kind with which a job would start now */
#pragma once

#include <stddef.h>

struct ex;
struct sched_explanation;
struct sched_job;

/* The changes with which job would start. */
int ex_changes(struct ex *x, const struct sched_job *job, const char *const *others, size_t nothers,
               struct sched_explanation *out);
