/* jobwalk.h - the jobs that a request's list of id texts names, one at a time
 *
 * "12", "12_3", "12_[1-3]", "12_*", "12+1", "12.0" and SLUIDs, as jobfacts.h describes.  The walk
 * holds no pointer to a job between two calls, so whatever happens to the jobs meanwhile is
 * allowed, and it may rest between turns of the core.  A text that the list holds twice is
 * walked twice, and counts twice against what one request may name. */
#pragma once

#include "ctld/core/budget.h"
#include "ctld/job/jobfacts.h"

#define JOBWALK_JOBS_MAX 100000u /* jobs of one request: as many as a reply has room for */

/* What "12+0" and "12+" name of a job without components. */
enum jobwalk_plain {
    JOBWALK_PLAIN_REFUSED, /* that it has none is told */
    JOBWALK_PLAIN_FIRST,   /* the job */
    JOBWALK_PLAIN_NONE,    /* no job */
};

struct jobwalk {
    struct cluster *cluster;
    char *const *texts; /* borrowed */
    size_t n, next;
    struct budget budget;
    enum jobwalk_plain plain;
    const char *id; /* the text at hand */
    size_t jobs;    /* given so far, of all texts, and texts that name none */

    /* the text at hand */
    uint32_t *ids; /* jobs to look at, or NULL: tasks by number */
    size_t n_ids, at;
    struct walk_range {
        uint32_t lo, hi, step;
    } * ranges; /* tasks wanted; NULL: every job of ids */
    size_t n_ranges;
    uint64_t task; /* by number: the next of ranges[range] */
    size_t range;
    uint32_t array;
    char *tasks; /* of the job given last, still inside an array record */
    struct job_ref ref;
    size_t given;
    enum { WALK_NEW, WALK_TASKS, WALK_PARTS, WALK_JOBS, WALK_END } phase;
    int code;
};

enum jobwalk_event {
    JOBWALK_JOB,     /* *ret is one */
    JOBWALK_NONE,    /* the text at hand names no job; code says why */
    JOBWALK_PAUSE,   /* the turn is spent: call budget_next_turn() and come again */
    JOBWALK_REFUSED, /* the request names too much; it is over */
    JOBWALK_END,
};

/* texts are borrowed until jobwalk_done(). */
void jobwalk_init(struct jobwalk *w, struct cluster *c, char *const *texts, size_t n);
/* ret->job and ret->tasks are good until the cluster changes or the next call. */
enum jobwalk_event jobwalk_next(struct jobwalk *w, struct job_ref *ret);
void jobwalk_done(struct jobwalk *w);

extern const char jobwalk_refusal[]; /* for JOBWALK_REFUSED */
