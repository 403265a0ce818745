/* advlics.h - licences that advance reservations keep */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct entry;
struct job;
struct sched;

/* The next questions about licences are for e, which would start now; NULL = for no job. */
void adv_about(struct sched *s, const struct entry *e, int64_t now_us);
/* Does a reservation keep licences at all, at any time? */
bool adv_lics_any(const struct sched *s);
/* Licences that are reserved for other jobs while that job would run. */
uint64_t adv_lics_kept(const struct sched *s, uint32_t lic);
/* The same between from_us and to_us. */
uint64_t adv_lics_kept_in(const struct sched *s, uint32_t lic, int64_t from_us, int64_t to_us);
void adv_take(const struct sched *s, const struct job *j, bool take);
