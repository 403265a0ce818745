/* cleaning.c - the end of a job on its nodes; see cleaning.h */
#include "ctld/job/cleaning.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/must.h"
#include "base/timefmt.h"
#include "ctld/policy/bootwait.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/lifecycle.h"
#include "ctld/core/service.h"
#include "ctld/policy/scriptnode.h"

#define SCRIPT_FIRST_US (5 * USEC_PER_SEC) /* what a hung node of the script may cost the others */

struct cleaning { /* of one job */
    uint32_t job_id;
    struct bitmap *nodes; /* positions of the allocation that are awaited */
    /* nodes but the script's learn of the end then at the latest; 0 = they know ... */
    int64_t others_us;
    const char *others_text; /* ... with this; static */
    bool keeps;              /* until somebody says that the nodes are free */
};

struct cleanings {
    struct idmap by_job; /* job id -> struct cleaning */
};

static struct cleaning *cleaning_free(struct cleaning *c)
{
    if (c)
        bitmap_free(c->nodes);
    free(c);
    return NULL;
}

int cleanings_new(struct cleanings **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

struct cleanings *cleanings_free(struct cleanings *c)
{
    void *v;

    if (!c)
        return NULL;
    for (size_t pos = 0; (v = idmap_next(&c->by_job, &pos));)
        cleaning_free(v);
    idmap_done(&c->by_job);
    free(c);
    return NULL;
}

static struct cleaning *cleaning_of(const struct ctld *ctld, const struct job *j)
{
    return idmap_get(&ctld->cleanings->by_job, j->rec->job_id);
}

void cleaning_forget(struct ctld *ctld, const struct job *j)
{
    cleaning_free(idmap_remove(&ctld->cleanings->by_job, j->rec->job_id));
}

bool cleaning_is_on(const struct ctld *ctld, const struct job *j)
{
    return cleaning_of(ctld, j) != NULL;
}

bool cleaning_awaits(const struct ctld *ctld, const struct job *j, size_t position)
{
    const struct cleaning *c = cleaning_of(ctld, j);

    return c && bitmap_test(c->nodes, (uint32_t)position);
}

bool cleaning_awaits_any(const struct ctld *ctld, const struct job *j)
{
    const struct cleaning *c = cleaning_of(ctld, j);

    return c && !bitmap_empty(c->nodes);
}

bool cleaning_passed(struct ctld *ctld, const struct job *j, uint32_t node_id)
{
    struct cleaning *c = cleaning_of(ctld, j);
    long pos = c ? alloc_position(j->rec->alloc, node_id) : -1;

    if (pos >= 0)
        bitmap_clear(c->nodes, (uint32_t)pos);
    return pos >= 0;
}

/* Await all nodes but those that are down or without power: nothing would tell.  One that was set
 * down by hand is told, not awaited.  Of a job that keeps its nodes no node tells anything. */
static struct cleaning *cleaning_make(struct ctld *ctld, const struct job *j)
{
    const Pst__Alloc *a = j->rec->alloc;
    struct cleaning *c = must(calloc(1, sizeof(*c)));

    cleaning_forget(ctld, j);
    c->job_id = j->rec->job_id;
    c->keeps = job_keeps_nodes(j->rec);
    if (bitmap_new((uint32_t)a->n_node_ids, &c->nodes) < 0 ||
        idmap_put(&ctld->cleanings->by_job, c->job_id, c) < 0)
        must(NULL);
    for (size_t i = 0; i < a->n_node_ids; i++) {
        const struct node *n = cluster_node(ctld->cluster, a->node_ids[i]);

        if (n &&
            (c->keeps || (n->rec->state != PST__NODE_STATE__NODE_DOWN && !job_is_external(j->rec) &&
                          !(n->rec->state_flags & NODE_POWER_BITS))))
            bitmap_set(c->nodes, (uint32_t)i);
    }
    return c;
}

/* Is there a script to be told before the nodes beside its own?  It would see their steps fail,
 * and go on. */
static bool script_is_first(struct ctld *ctld, struct job *j)
{
    const struct node *n = scriptnode_of(ctld->cluster, j->rec);
    const struct step *batch = het_runs_script(j->rec) ? cluster_step(j, STEP_BATCH) : NULL;

    return batch && batch->rec->state == PST__STEP_STATE__STEP_RUNNING && n &&
           node_is_linked(ctld, n);
}

static void terminate_on(struct ctld *ctld, struct job *j, size_t from, size_t to, uint64_t lsn,
                         const char *text)
{
    for (size_t i = from; i < to && !job_is_external(j->rec); i++) {
        const struct node *n = cluster_node(ctld->cluster, j->rec->alloc->node_ids[i]);

        if (n)
            launch_terminate(ctld, j, n, i, lsn, text);
    }
}

const char *cleaning_text(const Pst__JobRecord *r)
{
    switch ((int)job_state(r)) {
    case JOB_STATE(TIMEOUT):
        return JOB_TEXT_TIME_LIMIT;
    case JOB_STATE(PREEMPTED):
        return CLEANING_PREEMPTION;
    case JOB_STATE(NODE_FAIL):
        return CLEANING_NODE_FAILURE;
    default:
        return NULL;
    }
}

void cleaning_begin(struct ctld *ctld, struct job *j, uint64_t lsn, const char *text)
{
    const Pst__Alloc *a = j->rec->alloc;
    struct cleaning *c = cleaning_make(ctld, j);

    if (a->n_node_ids > 1 && script_is_first(ctld, j) &&
        scriptnode_position(ctld->cluster, j->rec) == 0)
        c->others_us = core_now() + SCRIPT_FIRST_US;
    c->others_text = text;
    terminate_on(ctld, j, 0, c->others_us ? 1 : a->n_node_ids, lsn, text);
}

void cleaning_recover(struct ctld *ctld, struct job *j)
{
    (void)cleaning_make(ctld, j);
}

static void tell_others(struct ctld *ctld, struct job *j, struct cleaning *c)
{
    if (c->others_us && j->rec->alloc)
        terminate_on(ctld, j, 1, j->rec->alloc->n_node_ids, ctld->applied_lsn, c->others_text);
    c->others_us = 0;
}

void cleaning_script_told(struct ctld *ctld, struct job *j)
{
    struct cleaning *c = cleaning_of(ctld, j);

    if (c)
        tell_others(ctld, j, c);
}

void cleaning_pass_all(struct ctld *ctld, const struct job *j)
{
    struct cleaning *c = cleaning_of(ctld, j);

    for (uint32_t i = 0; c && i < c->nodes->nbits; i++)
        bitmap_clear(c->nodes, i);
}

struct job *cleaning_kept_since(struct ctld *ctld, int64_t end_us)
{
    struct cleaning *c;

    for (size_t pos = 0; (c = idmap_next(&ctld->cleanings->by_job, &pos));) {
        struct job *j = c->keeps ? cluster_job(ctld->cluster, c->job_id) : NULL;

        if (j && j->rec->alloc && j->rec->end_us <= end_us && !bitmap_empty(c->nodes))
            return j;
    }
    return NULL;
}

void cleaning_tick(struct ctld *ctld, int64_t now_us)
{
    struct cleaning *c;

    for (size_t pos = 0; (c = idmap_next(&ctld->cleanings->by_job, &pos));) {
        struct job *j =
            c->others_us && now_us >= c->others_us ? cluster_job(ctld->cluster, c->job_id) : NULL;

        if (j)
            tell_others(ctld, j, c);
    }
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_cleaning(struct ctld *ctld, struct err *err)
{
    (void)err;
    return cleanings_new(&ctld->cleanings);
}

static void free_cleaning(struct ctld *ctld)
{
    ctld->cleanings = cleanings_free(ctld->cleanings);
}

static void forget_job(struct ctld *ctld, struct job *j)
{
    cleaning_forget(ctld, j);
}

const struct ctld_service cleaning_service = {
    .name = "cleaning",
    .start = start_cleaning,
    .free = free_cleaning,
    .tick_writing = cleaning_tick,
    .on_job_gone = forget_job,
};
