/* profile.h - making a profile of what runs */
#pragma once

#include <stdint.h>

struct sched;

/* s->prof, of what runs now.  Errors: -ENOMEM. */
int prof_make(struct sched *s, int64_t now_us);
void prof_drop(struct sched *s);
