/* profile.h - what every node has free from now on, in slots of time; not for other folders
 *
 * Slot 0 begins now, the others at round multiples of the grain; slots far away are longer.  A span
 * of slots [from, until) is what a job would hold; until == prof_slots() means: to the end of all
 * planning. Whatever ends inside a slot is held for all of it, so that nothing planned is ever too
 * early. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/sched.h"

struct bitmap;
struct fit;
struct place;
struct sched_alloc_node;
struct job;
struct job_lics;
struct pick;
struct prof;

/* A node over a span: the most that is held at any instant of it.  Valid until the next prof_
 * call. */
struct prof_view {
    uint64_t *busy, *firm; /* CPUs somebody holds; holds alone */
    uint64_t mem;
    uint64_t *used;      /* by row of GRES */
    uint64_t *dev;       /* of every row with devices, one after the other */
    uint32_t *part_cpus; /* as node.parts */
    uint32_t free_cpus, free_cores, uid, label;
    bool held, any, mixed, owned,
        labels_mixed; /* CPUs held; any job; of several users; one that shares with its user
                       * alone; of several labels, or of one and of none */
};

/* s->prof, of what runs now.  Errors: -ENOMEM. */
int prof_make(struct sched *s, int64_t now_us);
void prof_drop(struct sched *s);

/* Time passes: another slot is now.  False when too few are left to plan well. */
bool prof_advance(struct sched *s, int64_t now_us);
uint32_t prof_now(const struct sched *s); /* the slot that is now; 0 at first */
bool prof_fixed(const struct sched *s);   /* holds something that prof_redo() cannot take back */
/* For each node the ids of jobs that hold it, some of them no more: to be cut to those left in
 * front. */
uint32_t *prof_holders(const struct sched *s, uint32_t id, uint32_t *ret_n);
void prof_holders_cut(struct sched *s, uint32_t id, uint32_t n);
int prof_note_holder(struct sched *s, uint32_t id, uint32_t job);
struct prof_holding {
    const struct job *job;
    struct place *place; /* NULL: it runs */
    const struct sched_alloc_node *an;
    bool no_room; /* out: not held, others hold what it needs */
};
/* The node holds exactly these from now on; places only where there is room.  -ENOMEM. */
int prof_redo(struct sched *s, uint32_t id, struct prof_holding *v, uint32_t n);
/* The first slot before `before` from which on the node has so many CPUs and so much memory free
 * for so many minutes; own: a place on it is as good as free.  UINT32_MAX when there is none. */
uint32_t prof_hole(const struct sched *s, uint32_t id, uint32_t cpus, uint64_t mem,
                   uint32_t minutes, uint32_t before, const struct place *own);

uint32_t prof_slots(const struct sched *s);
int64_t prof_time(const struct sched *s, uint32_t slot); /* when it begins */
/* What a start in the slot is promised for: the latest end of a running job that is rounded up to
 * it, or its beginning. */
int64_t prof_promise(const struct sched *s, uint32_t slot);
void prof_note_end(struct sched *s, uint32_t until, int64_t end_us);
uint32_t prof_slot_at(const struct sched *s, int64_t at_us); /* the first at or after */
uint32_t prof_until(const struct sched *s, uint32_t from, uint32_t minutes);
/* The first slot at or after this one at which something comes free; prof_slots() when none. */
uint32_t prof_release(const struct sched *s, uint32_t slot);

/* end_us: beyond what is promised for slot `until` nobody planned for it may be met; 0 = it is kept
 * anyway. */
const struct prof_view *prof_view(const struct sched *s, uint32_t id, uint32_t from, uint32_t until,
                                  int64_t end_us);
/* What node_fit() found before in this search, which stands while the same steps are in the span: 1
 * fits, 0 does not, -1 not known. */
int prof_recall_fit(const struct pick *p, uint32_t id, struct fit *ret);
void prof_note_fit(const struct pick *p, uint32_t id, const struct fit *fit, bool fits);
/* Tasks that at most max nodes are to hold together: are there enough nodes that are free
 * enough? */
bool prof_filter_sum(struct pick *p, const struct bitmap *mask, uint64_t cpus, uint32_t max);
/* Keep in mask the nodes with about so many free CPUs (or nothing held) throughout p's span. False,
 * with p->next, when fewer than need are left: no span from before that slot has enough. */
bool prof_filter(struct pick *p, struct bitmap *mask, bool idle, uint64_t cpus, uint32_t need);

/* Ask node_fit() about one span. */
void prof_span(struct pick *p, uint32_t from, uint32_t minutes);
/* The first job planned on the node to begin before until, and when; 0 when there is none. */
uint32_t prof_keeper(const struct sched *s, uint32_t id, uint32_t until, int64_t *ret_start_us);

bool prof_lics(const struct sched *s, const struct job_lics *want, uint32_t from, uint32_t until,
               uint32_t *ret_which);
void prof_hold_lics(struct sched *s, const struct job_lics *lics, uint32_t from, uint32_t until);
/* Hold what a job gets.  -ENOMEM: part of it may be held, the profile is to be dropped. */
int prof_hold(struct sched *s, const struct sched_alloc *a, const struct job_lics *lics,
              const struct job *j, uint32_t part, bool firm, uint32_t from, uint32_t until);
/* How far beyond until can a be held from `from` on?  At most most. */
uint32_t prof_stretch(const struct sched *s, const struct sched_alloc *a, uint32_t part,
                      uint32_t until, uint32_t most);

/* The first slot from `first` on where p's job fits, and what it would hold: 1, 0 when there is
 * none, -ENOMEM.  p->from and p->until say which.  only: no other slot than first. */
int prof_search(struct pick *p, const struct job_lics *want, uint32_t minutes, uint32_t first,
                bool only, struct sched_alloc *ret_alloc);
