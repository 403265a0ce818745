/* fedleave.h - the state DRAIN+REMOVE: the cluster leaves the federation when it is empty
 *
 * Core thread. */
#pragma once

#include "ctld/fed/fedbook.h"

/* Is nothing of the federation left here: every job of it is over, and every member was told so? */
bool fedleave_is_empty(struct fed *f, const struct fedset *all);
/* Look whether this cluster is to leave and may, and have slurmdbd asked.  Every second. */
void fedleave_tick(struct fed *f, int64_t now_us);
/* May slurmdbd be about to take this cluster out?  Then no other one is given a job to start. */
bool fedleave_is_near(const struct fed *f);
