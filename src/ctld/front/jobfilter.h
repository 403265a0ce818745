/* jobfilter.h - a request's filter over jobs, made ready once
 *
 * Each list becomes a set, so that a job costs the same however long the lists are.  Pure data:
 * any thread, one at a time. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "api.pb-c.h"

struct jobfilter;

/* f is borrowed and must outlive it.  Errors: -EINVAL, -E2BIG its node list cannot be read (err
 * says why), -ENOMEM. */
int jobfilter_new(const Pst__JobFilter *f, struct jobfilter **ret, struct err *err);
struct jobfilter *jobfilter_free(struct jobfilter *f); /* always NULL */
/* NULL matches everything. */
bool jobfilter_match(const struct jobfilter *f, const Pst__JobRecord *r);
/* The parts of it, for what is known without the whole record. */
/* group 0 = none */
bool jobfilter_id(const struct jobfilter *f, uint32_t job_id, uint32_t group_id);
/* Can any job or group with an id of [low, high] match? */
bool jobfilter_range(const struct jobfilter *f, uint32_t low, uint32_t high);
/* So few ids are asked for that most of a long list is passed over. */
bool jobfilter_few(const struct jobfilter *f);
bool jobfilter_uid(const struct jobfilter *f, uint32_t uid);
bool jobfilter_state(const struct jobfilter *f, uint32_t state, uint32_t flags);
/* Anything but those three: the whole record is needed. */
bool jobfilter_by_record(const struct jobfilter *f);
/* Names of the list that is looked for first in a job's nodes; units of ctld/core/budget.h a
 * job. */
unsigned jobfilter_cost(const struct jobfilter *f);
