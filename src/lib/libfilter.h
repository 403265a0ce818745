/* libfilter.h - which jobs a list or stream is about: names and values as requests hold them */
#pragma once

#include <stdbool.h>

#include "api.pb-c.h"
#include "cli/query/out_filter.h"

struct penstock;

/* Zero but for the message's init; done with libfilter_done(). */
struct libfilter {
    Pst__JobFilter jobs; /* what the controller applies */
    struct filter_ids ids;
    struct filter_states states;
    bool have_ids, have_states;
};

void libfilter_init(struct libfilter *f);
void libfilter_done(struct libfilter *f);
/* "user", "ann,bob".  Errors, told: -ENOENT no such filter, -EINVAL. */
int libfilter_set(struct libfilter *f, struct penstock *p, const char *name, const char *value);
/* Does what the request cannot say let the record through? */
bool libfilter_match(const struct libfilter *f, const Pst__JobRecord *job);
/* The same for a change, whose record may be in any state. */
bool libfilter_match_task(const struct libfilter *f, uint32_t job_id, uint32_t array_job_id,
                          bool has_task, uint32_t task);
/* Fields that libfilter_match() looks at, blanks between. */
#define LIBFILTER_NEEDS "job_id array_job_id array_task_id array_tasks state state_flags"
