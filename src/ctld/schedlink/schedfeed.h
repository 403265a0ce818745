/* schedfeed.h - what the core tells the scheduler's thread
 *
 * Changes of the cluster become changes of the scheduler's compact model; they are gathered
 * during a batch and handed over at its end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctld/ctld.h"
#include "feed/params.h"
#include "feed/records.h"
#include "sched/sched.h"

struct schedfeed; /* what waits for the end of the batch, and which jobs the scheduler knows */

int schedfeed_new(struct schedfeed **ret);                /* -ENOMEM */
struct schedfeed *schedfeed_free(struct schedfeed *feed); /* always NULL */

/* Core thread. */
/* whatever it is now: pending, running, gone */
void feed_job(struct ctld *ctld, struct job *j);
/* A task of j's array started or ended: its throttle is reached, or lets others go. */
void feed_array_turn(struct ctld *ctld, const struct job *j);
/* A task of an array has started and its next one is told: the pass goes on with that one. */
void feed_next_task(struct ctld *ctld);
/* proposed: the scheduler knows */
void feed_job_started(struct ctld *ctld, struct job *j, bool proposed);
void feed_job_gone(struct ctld *ctld, struct job *j);
void feed_refused(struct ctld *ctld, uint32_t job_id);
/* Was the job told anew after this batch of feeds?  Then the scheduler forgets, or has forgotten,
 * what it proposed for the job when it knew no more: it proposes again.  To take such a proposal
 * would start a job that the scheduler believes waiting, on CPUs that it believes free. */
bool feed_told_since(const struct ctld *ctld, uint32_t job_id, uint64_t batch);
/* Such a proposal was not taken. */
void feed_overtaken(struct ctld *ctld, uint32_t job_id);
void feed_end_time(struct ctld *ctld, const struct job *j);
void feed_rank(struct ctld *ctld, const struct job *j); /* what preemption goes by */
void feed_suspend(struct ctld *ctld, const struct job *j, bool suspended);
/* it ends: others may wait for what it holds */
void feed_leaving(struct ctld *ctld, const struct job *j);
void feed_yield(struct ctld *ctld, const struct job *j, bool yielded); /* suspended by preemption */
void feed_node(struct ctld *ctld, const struct node *n);
void feed_node_gone(struct ctld *ctld, uint32_t node_id);
void feed_part(struct ctld *ctld, const struct partition *p);
void feed_part_gone(struct ctld *ctld, const char *name);
void feed_qos(struct ctld *ctld); /* which QOS may preempt which: of all QOS */
void feed_params(struct ctld *ctld);
void feed_shares(struct ctld *ctld, struct feed *f); /* takes f, of feed_of_shares() */
/* plan: explain it too. */
void feed_when(struct ctld *ctld, const Pst__JobRecord *rec, bool plan, uint64_t ticket);
void feed_resv(struct ctld *ctld, const Pst__ReservationRecord *r);
void feed_resv_gone(struct ctld *ctld, uint32_t resv_id);
void feed_held_licenses(struct ctld *ctld, const struct job *j);  /* of a running job changed */
void feed_resources(struct ctld *ctld);                           /* those of resources.yaml */
void feed_licenses(struct ctld *ctld, const char *all);           /* Licenses= changed */
void feed_ask_now(struct ctld *ctld, const struct feed_ask *ask); /* any thread */
/* others: comma list of partitions. */
void feed_explain(struct ctld *ctld, const Pst__JobRecord *rec, const char *others,
                  uint64_t ticket);
void feed_add(struct ctld *ctld, struct feed *f); /* any other change; takes f */
/* Has the scheduler been told of the job, as pending or as holding resources? */
bool feed_knows(const struct ctld *ctld, uint32_t job_id);
void schedfeed_flush(struct ctld *ctld);
/* While it is on, jobs that only wait are noted and not told. */
void feed_put_off(struct ctld *ctld, bool on);
/* Tell of so many that were noted.  Gives false when none is left. */
bool feed_some_put_off(struct ctld *ctld, size_t n);
