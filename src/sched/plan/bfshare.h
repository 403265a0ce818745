/* bfshare.h - what both plan engines share */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/sched.h"

struct entry;
struct job;
struct sched;

struct bf {
    struct sched *s;
    int64_t now_us;
    struct sched_decisions *out;
};

/* What keeps e from any start, whatever nodes are free; NONE: nothing.  *ret_no_lics: then only
 * licences are missing. */
enum sched_why bf_refusal(struct bf *b, struct entry *e, bool *ret_no_lics);
/* Is a start then within bf_window? */
bool bf_within(const struct sched *s, int64_t now_us, int64_t start_us);
/* Note a planned start, unless another partition has a sooner one in this run.  -ENOMEM. */
int bf_set_expected(struct sched *s, struct job *j, int64_t start_us, const struct sched_alloc *a);
/* May e get a planned place?  Not when its job waits for too short a time, its priority is too low,
 * or the job has a place in another partition already and one is all that it may have. */
bool bf_may_reserve(const struct bf *b, const struct entry *e);
void easy_drop(struct sched *s);      /* forget the plan of the EASY engine */
void backfill_drop(struct sched *s);  /* forget every plan; the next backfill begins anew */
void backfill_pause(struct sched *s); /* something else changes the state: keep what stays true */
void bf_count_anew(struct sched *s);  /* a backfill begins: nothing is looked at or planned yet */
/* The entry is the next to be looked at: 1 the limits on jobs looked at let it in, 0 it is passed
 * over, -ENOMEM. */
int bf_admit(struct bf *b, struct entry *e);
