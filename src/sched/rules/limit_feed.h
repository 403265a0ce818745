/* limit_feed.h - limits, TRES and usage as they are fed; see limit.h */
#pragma once

#include <stdint.h>

struct sched;

int tres_slot(struct sched *s, uint32_t id, uint32_t *ret);
