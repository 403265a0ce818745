/* prof_view.h - what is held of a node throughout a span of slots */
#pragma once

#include <stdint.h>

struct prof_view;
struct sched;

/* The view of a span.  A job planned to begin with slot `until` counts too when it is promised a
 * start before end_us; end_us 0: no such job counts. */
const struct prof_view *prof_view(const struct sched *s, uint32_t id, uint32_t from, uint32_t until,
                                  int64_t end_us);
/* The first job planned on the node to begin before until, and when; 0 when there is none. */
uint32_t prof_keeper(const struct sched *s, uint32_t id, uint32_t until, int64_t *ret_start_us);
