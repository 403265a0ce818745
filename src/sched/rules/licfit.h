/* licfit.h - are a job's licences there, beside what is reserved for others? */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job_lics;
struct sched;

/* Are they there, beside what is reserved before end_us?  *ret_which: of `any`, the one. */
bool lics_fit(const struct sched *s, const struct job_lics *l, int64_t end_us, uint32_t *ret_which);
