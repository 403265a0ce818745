/* jobverbs.h - what a verb (cancel, hold, requeue ...) does to one job
 *
 * op_action.c finds the jobs that a request means, and whether its sender may; here one of them is
 * acted on.  Codes are those of `wire/errors.h`, 0 = done.  Core thread. */
#pragma once

#include "ctld/ctld.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/jobwalk.h"

struct jobfilter;

struct action {
    struct ctld *ctld;
    struct cmd *cmd; /* owned */
    const Pst__JobActionRequest *req;
    struct jobwalk walk;      /* over the ids asked for */
    struct jobfilter *filter; /* NULL: everything */
    const char *id;           /* as asked, NULL with a filter only */
    char *tasks;              /* owned: of the array, of the job at hand */
    Pst__JobActionResult **results;
    size_t n;
    uint64_t lsn;     /* newest of what was committed */
    bool private;     /* PrivateData hides the jobs of others from the caller */
    int64_t top_nice; /* of the job that VERB_TOP put first */
    int64_t topped;   /* jobs that it moved */
    size_t first;     /* result of the id at hand */
    bool left_out;    /* by the filter: a live job of the id at hand */
    bool others;      /* of the array of the id at hand, which is to mean one job */
    /* all jobs when there is a filter alone, and how far the walk is */
    uint32_t *ids;
    size_t n_ids, next;
};

/* Does the verb end the job itself, not only steps of it? */
bool jobverb_kills(const struct action *a, const struct job_ref *ref);
/* Do it to the job, or to a component of a heterogeneous job and what goes with it. */
int jobverb_do(struct action *a, const struct job_ref *ref);
