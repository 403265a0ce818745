/* jobbuild.h - a job's record from what is fed: one entry for each partition and reservation */
#pragma once

#include <stdint.h>

struct job;
struct sched;
struct sched_job;

int label_id(struct sched *s, const char *label, uint32_t *ret_id); /* 0 for NULL; -ENOMEM */
int job_build(struct sched *s, const struct sched_job *in,
              struct job **ret); /* in no table or queue yet */
