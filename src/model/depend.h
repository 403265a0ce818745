/* depend.h - job dependencies: grammar and evaluation
 *
 * TYPE:ID[_TASK][+MIN][:ID...] items joined all by ',' (and) or all by '?' (or); `singleton`; a
 * bare id is afterany.  The stored form is what is left, each item with its mark:
 * "afterok:12(unfulfilled)". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/cluster.h"

#define DEPEND_MAX_ITEMS 1024u

enum depend_type {
    DEPEND_AFTER,
    DEPEND_AFTERANY,
    DEPEND_AFTEROK,
    DEPEND_AFTERNOTOK,
    DEPEND_AFTERCORR,
    DEPEND_AFTERBURSTBUFFER,
    DEPEND_SINGLETON,
};

struct depend_item {
    enum depend_type type;
    uint32_t job_id;
    bool has_task;
    uint32_t task;
    bool whole_array;   /* "ID_*": how the stored form names an array */
    uint32_t delay_min; /* after:ID+MIN */
    bool failed;
};

struct depends {
    struct depend_item *items;
    size_t n;
    bool any; /* joined by '?' */
};

/* Errors: -EINVAL syntax or mixed joiners. */
int depends_parse(const char *text, struct depends *ret, struct err *err);
void depends_done(struct depends *d);
void depends_uniq(struct depends *d);                         /* items that are there twice go */
int depends_format(const struct depends *d, char **ret_text); /* stored form; caller frees */

enum depend_result {
    DEPEND_MET, /* nothing left to wait for */
    DEPEND_WAIT,
    DEPEND_NEVER, /* cannot be met any more */
};
/* Drop what is satisfied and mark what failed.  *ret_changed when d differs afterwards.
 * *ret_until_us: an instant at which to ask again (after:ID+MIN), INT64_MAX none. */
enum depend_result depends_eval(struct depends *d, const struct cluster *c, const struct job *job,
                                int64_t now_us, bool *ret_changed, int64_t *ret_until_us);
/* For submission: every target known (afterok and afternotok need it), none is the job itself,
 * no cycle of up to max_depth jobs.  0, -ENOENT unknown target, -EINVAL itself, -ELOOP, -ENOMEM. */
int depends_check(const struct depends *d, const struct cluster *c, uint32_t job_id,
                  unsigned max_depth);
