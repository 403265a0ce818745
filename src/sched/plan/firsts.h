/* firsts.h - the slot before which a request has no place, known from requests that ask for less */
#pragma once

#include <stdint.h>

struct class;
struct sched;

/* Jobs of this class that run for so many minutes have no place before the slot returned; 0:
 * nothing is known. */
uint32_t firsts_find(const struct sched *s, const struct class *c, uint32_t minutes);
/* A search found no place before the slot.  Without memory nothing is noted. */
void firsts_note(struct sched *s, const struct class *c, uint32_t minutes, uint32_t slot);
