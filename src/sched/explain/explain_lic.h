/* explain_lic.h - which licences a job waits for, and which jobs hold them */
#pragma once

#include <stdint.h>

struct ex;
struct explain_holder;
struct job;
struct sched_explanation;

/* One more of those that hold something, the first to end first. */
void ex_add_holder(struct explain_holder *list, uint32_t *n, uint32_t *all,
                   const struct explain_holder *h);
/* Which jobs hold the licences that the job asks for. */
void ex_licenses(const struct ex *x, const struct job *j, struct sched_explanation *out);
