/* advtime.h - the windows of advance reservations: when they begin and end */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sched;

/* windows begin and end; before anything is tried */
int advs_refresh(struct sched *s, int64_t now_us);
int64_t advs_wake(const struct sched *s); /* the next time that happens and matters */
bool advs_any(const struct sched *s);
/* Call fn with each beginning and end of a window that has not ended. */
void advs_each_edge(struct sched *s, void (*fn)(struct sched *s, int64_t at_us));
/* the next beginning or end of a window, INT64_MAX */
int64_t adv_edge(const struct sched *s, int64_t after_us);
