/* taskepilog.h - --task-epilog, then TaskEpilog, of a task that has ended
 *
 * The step daemon's thread.  Nothing here waits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct step;
struct task;

bool epilog_wanted(const struct step *s);
/* Keep the standard error of the task for them, until the last has ended. */
void epilog_keep(struct task *t, int err_fd);
/* Start the first, unless that was done. */
void epilog_begin(struct step *s, struct task *t);
/* The one that runs has ended: start the next. */
void epilog_ended(struct step *s, struct task *t, int status);
bool epilog_runs(const struct step *s);
/* Those that run are killed at this time at the latest. */
void epilog_limit(struct step *s, int64_t deadline_mono_us);
/* Kill those whose time is up: at epilog_next(), which step.h declares for the loop. */
void epilog_timers(struct step *s, int64_t now_mono_us);
