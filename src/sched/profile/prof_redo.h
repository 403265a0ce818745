/* prof_redo.h - taking back what a node held */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job;
struct place;
struct sched;
struct sched_alloc_node;

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
