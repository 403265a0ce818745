/* advset.h - the set of advance reservations as they are fed */
#pragma once

#include <stdint.h>

struct advres;
struct sched;

void advs_done(struct sched *s);
struct advres *adv_find(const struct sched *s, uint32_t id);
/* What was known may not hold any more. */
void advs_stir(struct sched *s);
