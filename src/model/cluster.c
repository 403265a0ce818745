/* cluster.c - the tables of the model: making, finding, dumping, hashing.  See cluster.h;
 * changes are in apply.c. */
#include "model/cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "model/cluster_private.h"
#include "model/gresuse.h"
#include "model/sharing.h"
#include "model/recordhash.h"

int cluster_new(struct cluster **ret_cluster)
{
    struct cluster *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    c->rec = malloc(sizeof(*c->rec));
    if (!c->rec) {
        free(c);
        return -ENOMEM;
    }
    pst__cluster_record__init(c->rec);
    if (model_acct_init(c) < 0) {
        free(c->rec);
        free(c);
        return -ENOMEM;
    }
    *ret_cluster = c;
    return 0;
}

static void model_step_free(struct step *s)
{
    if (!s)
        return;
    if (s->rec)
        pst__step_record__free_unpacked(s->rec, NULL);
    bitmap_free(s->waiting);
    free(s);
}

void model_job_free(struct cluster *c, struct job *j)
{
    if (!j)
        return;
    while (j->steps) {
        struct step *s = j->steps;

        j->steps = s->next;
        model_step_free(s);
    }
    if (j->rec) {
        model_unshare(c, j->rec);
        pst__job_record__free_unpacked(j->rec, NULL);
    }
    free(j);
}

void model_node_free(struct node *n)
{
    if (!n)
        return;
    if (n->rec)
        pst__node_record__free_unpacked(n->rec, NULL);
    free(n->mcs_label);
    gresuse_free(n->gres_used);
    free(n);
}

void model_partition_free(struct partition *p)
{
    if (!p)
        return;
    if (p->rec)
        pst__partition_record__free_unpacked(p->rec, NULL);
    bitmap_free(p->nodes);
    free(p);
}

struct cluster *cluster_free(struct cluster *c)
{
    void *v;

    if (!c)
        return NULL;
    for (size_t pos = 0; (v = cluster_next_job(c, &pos));)
        model_job_free(c, v);
    for (size_t pos = 0; (v = idmap_next(&c->arrays, &pos));) {
        free(((struct idset *)v)->parts);
        free(v);
    }
    idmap_done(&c->jobs);
    texts_done(&c->texts);
    idmap_done(&c->arrays);
    idmap_done(&c->sluids);
    idmap_done(&c->tasks);
    model_names_free(c);
    model_blobs_free(c);
    idmap_done(&c->paid);
    model_kept_free(c);
    model_charge_free(c);
    for (uint32_t i = 0; i < c->nnodes; i++)
        model_node_free(c->nodes[i]);
    free(c->nodes);
    namemap_done(&c->node_names);
    for (size_t i = 0; i < c->nparts; i++)
        model_partition_free(c->parts[i]);
    free(c->parts);
    pst__cluster_record__free_unpacked(c->rec, NULL);
    free(c);
    return NULL;
}

/* Of a map that is walked, the job at place i; NULL: there is none. */
static struct job *job_at(const struct idmap *m, size_t i)
{
    return i < m->cap && m->keys[i] && m->keys[i] != UINT64_MAX ? m->values[i] : NULL;
}

static void fetch_ahead(const struct idmap *m, size_t i)
{
    enum { AHEAD = 12 }; /* places, of which a third to three quarters are taken */
    const struct job *near = job_at(m, i + AHEAD), *far = job_at(m, i + 2 * (size_t)AHEAD);

    if (near) {
        __builtin_prefetch(near->rec);
        __builtin_prefetch(&near->rec->state);
    }
    if (far)
        __builtin_prefetch(far);
}

struct job *cluster_next_job(const struct cluster *c, size_t *pos)
{
    struct job *j = NULL;

    while (!j && *pos < c->jobs.cap) {
        size_t i = (*pos)++;

        fetch_ahead(&c->jobs, i);
        j = job_at(&c->jobs, i);
    }
    return j;
}

struct step *cluster_step(const struct job *job, uint32_t step_id)
{
    for (struct step *s = job->steps; s; s = s->next)
        if (s->rec->step_id == step_id)
            return s;
    return NULL;
}

struct node *cluster_node(const struct cluster *c, uint32_t node_id)
{
    return node_id < c->nnodes ? c->nodes[node_id] : NULL;
}

struct node *cluster_node_named(const struct cluster *c, const char *name)
{
    return namemap_get(&c->node_names, name);
}

struct partition *cluster_partition(const struct cluster *c, const char *name)
{
    for (size_t i = 0; i < c->nparts; i++)
        if (strcmp(c->parts[i]->rec->name, name) == 0)
            return c->parts[i];
    return NULL;
}

struct partition *cluster_default_partition(const struct cluster *c)
{
    for (size_t i = 0; i < c->nparts; i++)
        if (c->parts[i]->rec->has_is_default && c->parts[i]->rec->is_default)
            return c->parts[i];
    return NULL;
}

size_t cluster_array_jobs(const struct cluster *c, uint32_t array_job_id, const uint32_t **ret_ids)
{
    struct idset *set = array_job_id ? idmap_get(&c->arrays, array_job_id) : NULL;

    *ret_ids = set ? set->ids + set->head : NULL;
    return set ? set->n : 0;
}

uint32_t cluster_count(const struct cluster *c, Pst__JobState state)
{
    return (size_t)state < ARRAY_SIZE(c->njobs_state) ? c->njobs_state[state] : 0;
}

uint64_t cluster_count_tasks(const struct cluster *c)
{
    return c->jobs.count + c->tasks_beyond;
}

const Pst__AllocGroup *alloc_group(const Pst__Alloc *alloc, size_t position)
{
    for (size_t g = 0; g < alloc->n_groups; g++) {
        if (position < alloc->groups[g]->nodes)
            return alloc->groups[g];
        position -= alloc->groups[g]->nodes;
    }
    return NULL;
}

long alloc_position(const Pst__Alloc *alloc, uint32_t node_id)
{
    for (size_t i = 0; i < alloc->n_node_ids; i++)
        if (alloc->node_ids[i] == node_id)
            return (long)i;
    return -1;
}

uint64_t cluster_hash(const struct cluster *c)
{
    uint64_t h = model_record_hash(&c->rec->base, 1);
    void *v;

    for (size_t pos = 0; (v = cluster_next_job(c, &pos));) {
        struct job *j = v;

        h += model_record_hash(&j->rec->base, 2);
        for (struct step *s = j->steps; s; s = s->next)
            h += model_record_hash(&s->rec->base, 3);
    }
    for (uint32_t i = 0; i < c->nnodes; i++)
        if (c->nodes[i])
            h += model_record_hash(&c->nodes[i]->rec->base, 4);
    for (size_t i = 0; i < c->nparts; i++)
        h += model_record_hash(&c->parts[i]->rec->base, 5);
    return h + model_blobs_hash(c) + model_kept_hash(c);
}

static int dump_event(Pst__Event *ev, cluster_dump_fn *fn, void *ctx)
{
    Pst__Transaction tx = PST__TRANSACTION__INIT;

    tx.events = &ev;
    tx.n_events = 1;
    return fn(ctx, &tx);
}

static int dump_job(const struct job *j, cluster_dump_fn *fn, void *ctx)
{
    Pst__Event ev = PST__EVENT__INIT;
    size_t n = 0, i;
    int r;

    ev.body_case = PST__EVENT__BODY_JOB_PUT;
    ev.job_put = j->rec;
    r = dump_event(&ev, fn, ctx);
    for (struct step *s = j->steps; s; s = s->next)
        n++;
    /* Oldest first, so that the list comes out in the same order. */
    for (; r >= 0 && n > 0; n--) {
        struct step *s = j->steps;
        Pst__Event step = PST__EVENT__INIT;

        for (i = 1; i < n; i++)
            s = s->next;
        step.body_case = PST__EVENT__BODY_STEP_PUT;
        step.step_put = s->rec;
        r = dump_event(&step, fn, ctx);
    }
    return r < 0 ? r : 0;
}

int cluster_dump(const struct cluster *c, cluster_dump_fn *fn, void *ctx)
{
    Pst__Event ev = PST__EVENT__INIT;
    void *v;
    int r;

    ev.body_case = PST__EVENT__BODY_CLUSTER_SET;
    ev.cluster_set = c->rec;
    r = dump_event(&ev, fn, ctx);
    if (r >= 0)
        r = model_blobs_dump(c, fn, ctx);
    for (uint32_t i = 0; r >= 0 && i < c->nnodes; i++) {
        if (!c->nodes[i])
            continue;
        ev.body_case = PST__EVENT__BODY_NODE_PUT;
        ev.node_put = c->nodes[i]->rec;
        r = dump_event(&ev, fn, ctx);
    }
    for (size_t i = 0; r >= 0 && i < c->nparts; i++) {
        ev.body_case = PST__EVENT__BODY_PART_PUT;
        ev.part_put = c->parts[i]->rec;
        r = dump_event(&ev, fn, ctx);
    }
    for (size_t pos = 0; r >= 0 && (v = cluster_next_job(c, &pos));)
        r = dump_job(v, fn, ctx);
    if (r >= 0)
        r = model_kept_dump(c, fn, ctx);
    return r < 0 ? r : 0;
}
