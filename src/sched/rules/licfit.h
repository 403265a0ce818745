/* licfit.h - are a job's licences there, beside what is reserved for others? */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job_lics;
struct sched;
struct sched_alloc;

/* How much of a licence, or layer, a job may take that runs until end_us: what is not in use, less
 * what reservations keep from the job of adv_about() and what is planned before end_us. */
uint64_t lic_left(const struct sched *s, uint32_t lic, int64_t end_us);

/* Are they there, beside what is reserved before end_us?  *ret_which: of `any`, the one. */
bool lics_fit(const struct sched *s, const struct job_lics *l, int64_t end_us, uint32_t *ret_which);

/* In this walk a job waits for these: those behind it leave them to backfill. */
void lics_await(struct sched *s, const struct job_lics *l);
bool lics_awaited(const struct sched *s, const struct job_lics *l);
