/* decisions.h - the list of decisions that a pass or a backfill returns */
#pragma once

struct sched_decision;
struct sched_decisions;

int decisions_add(struct sched_decisions *out, const struct sched_decision *d);
