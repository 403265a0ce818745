/* defrag.h - which running jobs, queued again, would make room for one that waits
 *
 * Only jobs that may be requeued come into question.  A choice costs the work that is lost: for
 * each of its jobs, its nodes times how long it has run.  No job of a choice can be left out: with
 * all others gone, the waiting job does not start without that one gone too.  Choices are found by
 * asking the scheduler (sched_when()) with fewer and fewer jobs running: of all candidates, those
 * that cost least first, then those that ran shortest first, then those of each block or partition
 * of the machine alone.  Limits count as if all jobs still ran.
 *
 * Pure. */
#pragma once

#include "base/strbuf.h"
#include "sim/world.h"

#define DEFRAG_CHOICES_MAX 5u
#define DEFRAG_PROBES_MAX 2000u /* questions to the scheduler, for all choices together */

struct defrag_choice {
    uint32_t *jobs; /* of the world, in order; owned */
    size_t n;
    double lost_node_s;
    char *nodes; /* where the job would run; owned */
};
struct defrag {
    size_t job; /* that waits */
    int64_t now_us;
    int64_t expected_us; /* as things are, 0: never by what runs now */
    bool starts_now;     /* nothing needs to be done */
    size_t candidates;
    struct defrag_choice choices[DEFRAG_CHOICES_MAX]; /* the cheapest first */
    size_t nchoices;
};

/* config: as for world_run().  Errors: -EINVAL the job does not wait, -ENOMEM, what the scheduler
 * says. */
int defrag_find(const struct world *w, const struct sim_config *config, int64_t now_us, size_t job,
                struct defrag *ret, struct err *err);
void defrag_done(struct defrag *d);

void defrag_text(const struct defrag *d, const struct world *w, struct strbuf *out);
void defrag_json(const struct defrag *d, const struct world *w, struct strbuf *out);
