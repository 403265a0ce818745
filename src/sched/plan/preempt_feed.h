/* preempt_feed.h - what is fed of preemption: QOS, ranks, jobs that leave or yield */
#pragma once

struct sched;

void preempt_done(struct sched *s);
