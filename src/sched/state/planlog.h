/* planlog.h - what happened since a conservative plan was made; not for other folders
 *
 * The log is how the state tells the plan about changes without a call upwards: nodes, partitions,
 * licences and reservations write into the log, and the next backfill reads it (plan/plan.h).  A
 * plan is "lost" when something happened that a repair cannot follow. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bitmap;
struct job;
struct sched;
struct sched_alloc;

struct planlog {
    bool on;   /* there is a plan; without one nothing is noted */
    bool lost; /* the plan is of no use any more */
    struct bitmap *dirty,
        *freed; /* nodes whose steps are wrong; nodes with more free than before */
    uint32_t *dirty_ids, ndirty, *freed_ids, nfreed;
    uint32_t *came, ncame, cap_came; /* ids of the jobs that entered the queues */
};

int planlog_start(struct sched *s); /* -ENOMEM; planlog_end() releases what was made */
void planlog_end(struct sched *s);
/* The nodes of a hold something else now; freed: they may have more free than before. */
void planlog_nodes(struct sched *s, const struct sched_alloc *a, bool freed);
/* None of these fails, and none does anything when there is no plan. */
void planlog_node(struct sched *s, uint32_t id);         /* the node went up or down */
void planlog_came(struct sched *s, const struct job *j); /* the job entered the queues */
void planlog_other(struct sched *s);                     /* any other change: the plan is lost */
