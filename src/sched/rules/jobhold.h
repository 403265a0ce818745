/* jobhold.h - a job takes and releases all that it holds: nodes, licences, reserved licences */
#pragma once

struct job;
struct sched;

void job_take(struct sched *s, struct job *j);
void job_release(struct sched *s, const struct job *j);
