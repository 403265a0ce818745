/* keptplan.h - the reservation of the job that is first in line, from one backfill to the next */
#pragma once

#include <stdint.h>

struct pick;
struct sched;

void kept_drop(struct sched *s);
/* In a backfill, with the line made.  kept_again(): 1 the reservation kept for this job is
 * made again, 0 it has to be planned, -ENOMEM. */
int kept_again(struct pick *p, uint32_t job_id, int64_t now_us);
/* Keep the only reservation there is, just made for when the jobs that end at end_us have. */
void kept_note(const struct pick *p, uint32_t job_id, int64_t end_us);
