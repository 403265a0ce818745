/* view.h - immutable views of the cluster for queries
 *
 * Every job, step, node and partition has an encoded record (counted bytes).  It is made anew only
 * when it changed and a query comes.  A view is a tree of two levels over those: publishing copies
 * the chunks that changed and the root, so it costs the core O(changed + chunks), whatever is
 * asked afterwards.
 *
 * views_mark_*() and views_publish(): core thread.  Everything else: any thread. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/cluster.h"

#define VIEW_CHUNK 256u

struct vrec {
    _Atomic uint32_t refs;
    uint32_t id, array_id;      /* job id (steps: of their job), node id */
    uint32_t state, flags, uid; /* triggers and crontabs: state is their kept_kind */
    /* nodes, partitions: view_name_hash(); a look-up by hash must compare the name too */
    uint64_t name_hash;
    const char *account, *label; /* jobs, steps: of the job, behind data; NULL = none */
    struct blob *script, *env;   /* jobs: held */
    uint32_t len;
    uint32_t shown_len; /* of data: what queries tell; secret fields stand behind */
    uint8_t data[];     /* encoded record with volatile fields */
};

struct view_chunk {
    _Atomic uint32_t refs;
    uint32_t used;
    /* No id or array_id of its records lies outside (an array_id of 0 is none). */
    uint32_t low_id, high_id;
    struct vrec *slots[VIEW_CHUNK]; /* NULL = free */
};

struct view_table {
    size_t nchunks;
    struct view_chunk **chunks; /* in a published view: none is NULL */
};

enum view_kind { VIEW_JOBS, VIEW_STEPS, VIEW_NODES, VIEW_PARTS, VIEW_KEPT, VIEW_KINDS };

struct view {
    _Atomic uint32_t refs;
    uint64_t lsn;
    int64_t made_us;
    /* When records of each kind last came, went or changed, in microseconds since 1970; no two
     * publishings have the same.  It is told late: a change between two views has the time of the
     * second one. */
    uint64_t version[VIEW_KINDS];
    struct view_table tables[VIEW_KINDS];
    uint8_t *cluster; /* encoded ClusterRecord */
    size_t cluster_len;
    bool has_hidden; /* a partition is not shown to everybody: hidden, or for groups */
};

/* The next record of a table of a published view, NULL at the end; start with *pos = 0. */
static inline const struct vrec *view_next(const struct view_table *t, size_t *pos)
{
    while (*pos < t->nchunks * VIEW_CHUNK) {
        const struct vrec *r = t->chunks[*pos / VIEW_CHUNK]->slots[*pos % VIEW_CHUNK];

        ++*pos;
        if (r)
            return r;
    }
    return NULL;
}

struct views;

uint64_t view_name_hash(const char *name); /* finds, identifies nothing; a key of an idmap */
int views_new(struct views **ret);
struct views *views_free(struct views *v);

void views_mark_job(struct views *v, struct job *j);
void views_mark_step(struct views *v, struct job *j, struct step *s);
/* Of the flags `which`, n shows these beside those of its state: of the reservation it is in, or of
 * the plan. */
void views_show_flags(struct views *v, struct node *n, uint32_t which, uint32_t flags);
uint32_t views_shown_flags(const struct views *v, const struct node *n);
void views_mark_node(struct views *v, struct node *n);
void views_mark_part(struct views *v, struct partition *p);
void views_mark_kept(struct views *v, struct kept *k);
void views_drop_job(struct views *v, struct job *j); /* and its steps; before it is freed */
void views_drop_node(struct views *v, struct node *n);
void views_drop_part(struct views *v, struct partition *p);
void views_drop_kept(struct views *v, struct kept *k);
/* Forget every record: the cluster is about to be another object.  What was published stays. */
void views_forget(struct views *v);
/* Encode what was marked and make it the current view. */
void views_publish(struct views *v, const struct cluster *c, uint64_t lsn);
/* Encode some of what was marked when much of it has gathered, so that the next publish is
 * short. */
void views_work_off(struct views *v, const struct cluster *c);
uint64_t views_published(const struct views *v); /* how often */

/* When the scheduler last made its plan (backfill), in microseconds since 1970; 0: not yet.  Any
 * thread. */
void views_note_plan(struct views *v, int64_t now_us);
int64_t views_planned_us(const struct views *v);

/* The current view, held; NULL when something changed since it was made: ask the core
 * (CMD_PUBLISH). */
struct view *views_get_fresh(struct views *v);
struct view *views_get(struct views *v);    /* the current one, fresh or not */
struct view *view_unref(struct view *view); /* always NULL */
uint64_t views_shown_lsn(struct views *v);  /* what the current one shows */
