/* prof_holders.h - for each node of a profile the jobs that hold it; some of them are gone */
#pragma once

#include <stdint.h>

struct sched;

/* For each node the ids of jobs that hold it, some of them no more: to be cut to those left in
 * front. */
uint32_t *prof_holders(const struct sched *s, uint32_t id, uint32_t *ret_n);
void prof_holders_cut(struct sched *s, uint32_t id, uint32_t n);
int prof_note_holder(struct sched *s, uint32_t id, uint32_t job);
