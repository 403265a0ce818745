/* limit_count.h - what a job asks for, and what counts against the limits */
#pragma once

#include <stdint.h>

struct ask;
struct job;
struct level;
struct sched;

uint64_t ask_tres(struct ask *a, uint32_t slot);
uint64_t ask_tres_node(struct ask *a, uint32_t slot); /* the most on one node */
/* The QOS whose limits hold for a job in a partition, in order of precedence. */
uint32_t limit_qos(const struct sched *s, const struct job *j, uint32_t part, struct level *ret[2]);
int limit_charge(struct sched *s, struct job *j); /* it holds j->alloc until j->end_us */
void limit_release(struct sched *s, struct job *j);
void limit_end_time(struct job *j);  /* after its end changed */
void limits_settle(struct sched *s); /* after changes of the tree */
/* Of a job without an end UINT32_MAX minutes are to come, as Slurm counts. */
uint64_t level_run_minutes(const struct level *l, uint32_t slot, int64_t now_us);
