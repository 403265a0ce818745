/* prof_slots.h - the slots of time of a profile, and the licences held in each; see prof_data.h */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job_lics;
struct prof;
struct sched;

uint32_t prof_slots(const struct sched *s);
int64_t prof_time(const struct sched *s, uint32_t slot); /* when it begins */
/* What a start in the slot is promised for: the latest end of a running job that is rounded up to
 * it, or its beginning. */
int64_t prof_promise(const struct sched *s, uint32_t slot);
void prof_note_end(struct sched *s, uint32_t until, int64_t end_us);
uint32_t prof_slot_from(const struct prof *pf, int64_t at_us);
uint32_t prof_slot_at(const struct sched *s, int64_t at_us); /* the first at or after */
uint32_t prof_until(const struct sched *s, uint32_t from, uint32_t minutes);
/* The first slot at or after this one at which something comes free; prof_slots() when none. */
uint32_t prof_release(const struct sched *s, uint32_t slot);
uint32_t prof_now(const struct sched *s); /* the slot that is now; 0 at first */
/* Time passes: another slot is now.  False when too few are left to plan well. */
bool prof_advance(struct sched *s, int64_t now_us);
bool prof_fixed(const struct sched *s); /* holds something that prof_redo() cannot take back */
void prof_lics_add(struct prof *pf, const struct job_lics *l, uint32_t from, uint32_t until);
void prof_hold_lics(struct sched *s, const struct job_lics *lics, uint32_t from, uint32_t until);
/* What of a licence or layer nothing holds in any slot of the span; UINT64_MAX where licences are
 * not planned. */
uint64_t prof_lic_left(const struct sched *s, uint32_t lic, uint32_t from, uint32_t until);
bool prof_lics(const struct sched *s, const struct job_lics *want, uint32_t from, uint32_t until,
               uint32_t *ret_which);
