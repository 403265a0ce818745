/* plan.h - a conservative plan that is kept from one backfill to the next; not for other folders
 *
 * A plan is the profile of what nodes hold (profile/) and the place of every job planned.  What
 * happens between two backfills is noted (state/planlog.h and plan_note_*() here), without
 * touching the profile; the next backfill settles it and repairs the plan (planrepair.c), or
 * begins a new one where a repair would not do.
 *
 * What a repair holds to:
 * - No place moves to a later time, and no job starts or is placed where that would make a place
 *   later.  A place that cannot be kept (its node went down, a pass started a job on it, a job did
 *   not end in time) moves to other nodes at the same or an earlier time, or the plan is made anew.
 * - What came free goes to the jobs planned, in the order of the plan, as far as they start earlier
 *   with it; then to jobs without a place that can start now.
 * - A job that came gets the first place beside all others, its own rank notwithstanding.
 * A plan that a new one could differ from is stale: it is made anew once it is bf_interval old, in
 * pieces, and pieces go on where they stood although things happen in between.
 *
 * Plans of few places (plan_keep) and what the profile cannot take back - shared CPUs, nodes
 * shared by user, reserved licences, claims of preemption - and all while there are advance
 * reservations, whose windows are no part of it, or with assoc_limit_stop, are made anew at every
 * change. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct entry;
struct job;
struct place;
struct sched;
struct sched_alloc;

struct plan {
    struct place **v; /* by order; NULL: it is gone */
    uint32_t n, cap, nplaces;
    int64_t made_us, prio_us; /* prio_us: of the priorities it goes by */
    bool whole;               /* every job of the queue was looked at */
    bool stale;               /* a new plan could differ */
    bool limited;             /* some job waits for something that is not in the profile */
    struct {                  /* the entry looked at last */
        bool set, first, ahead;
        uint32_t tier, place, id, rank;
        int64_t submit_us;
    } cursor;
};

int plan_new(struct sched *s, int64_t now_us); /* s->plan, with an empty profile of what runs */
void place_free(struct place *p);
void plan_drop(struct sched *s);
bool plan_may_be_kept(const struct sched *s);
int64_t plan_renew_us(const struct sched *s); /* when a stale plan is to be made anew */
void plan_note_look(struct sched *s, const struct entry *e);       /* it is the next in order */
bool plan_looked_at(const struct sched *s, const struct entry *e); /* that or one behind it was */
/* Hold a on e's behalf; takes a on success.  -ENOMEM: the plan is lost. */
int place_add(struct sched *s, struct entry *e, struct sched_alloc *a, uint32_t from,
              uint32_t until, struct place **ret);
/* Out of the plan; its nodes are dirty and, with freed, free for others.  The caller owns it. */
struct place *place_take_out(struct sched *s, struct place *p, bool freed);
int place_put_back(struct sched *s, struct place *p); /* takes p */
/* Make dirty nodes right.  *ret_broken: how many places there was no room for; they are marked, and
 * not held where there is none. */
int plan_settle(struct sched *s, uint32_t *ret_broken);
/* What happens between; none of them fails. */
void plan_note_leave(struct sched *s,
                     struct job *j); /* it is about to hold nothing, be planned nowhere */
void plan_note_park(struct sched *s, struct entry *e);     /* it cannot start as things are */
void plan_note_hold(struct sched *s, const struct job *j); /* it holds something from now on */
void plan_note_late(struct sched *s, const struct job *j); /* it has not ended when it should */
void plan_note_end(struct sched *s, const struct job *j,
                   int64_t old_us); /* it ends at another time */
