/* observe.c - every change of the model is told to the services; see observe.h.  Core thread. */
#include "ctld/core/observe.h"

#include <stdlib.h>

#include "base/must.h"
#include "ctld/core/service.h"

#define OBSERVE_PIECE 512u /* jobs: what is passed on at once */

static void on_job(void *ctx, struct job *j, Pst__EventKind kind)
{
    services_on_job(ctx, j, kind);
}

static void on_job_gone(void *ctx, struct job *j)
{
    services_on_job_gone(ctx, j);
}

static void on_step(void *ctx, struct job *j, struct step *s, Pst__EventKind kind)
{
    services_on_step(ctx, j, s, kind);
}

static void on_node(void *ctx, struct node *n, Pst__EventKind kind)
{
    services_on_node(ctx, n, kind);
}

static void on_node_gone(void *ctx, struct node *n)
{
    services_on_node_gone(ctx, n);
}

static void on_part(void *ctx, struct partition *p, Pst__EventKind kind)
{
    services_on_part(ctx, p, kind);
}

static void on_part_gone(void *ctx, struct partition *p)
{
    services_on_part_gone(ctx, p);
}

static void on_kept(void *ctx, struct kept *k)
{
    services_on_kept(ctx, k);
}

static void on_kept_gone(void *ctx, struct kept *k)
{
    services_on_kept_gone(ctx, k);
}

void observe_init(struct ctld *ctld)
{
    ctld->observer = (struct cluster_observer){ .job = on_job,
                                                .job_gone = on_job_gone,
                                                .step = on_step,
                                                .node = on_node,
                                                .node_gone = on_node_gone,
                                                .part = on_part,
                                                .part_gone = on_part_gone,
                                                .kept = on_kept,
                                                .kept_gone = on_kept_gone,
                                                .ctx = ctld };
    ctld->cluster->observer = &ctld->observer;
}

/* A job and its id, which the map has: to sort jobs, their records are not fetched. */
struct told {
    uint32_t id;
    struct job *job;
};

/* By the byte of the id at `shift`; from one array to the other.  Order is kept where it is
 * equal. */
static void sort_byte(const struct told *from, struct told *to, size_t n, unsigned shift)
{
    size_t at[256] = { 0 }, sum = 0;

    for (size_t i = 0; i < n; i++)
        at[from[i].id >> shift & 0xff]++;
    for (size_t b = 0; b < ARRAY_SIZE(at); b++) {
        size_t count = at[b];

        at[b] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[at[from[i].id >> shift & 0xff]++] = from[i];
}

/* Jobs in the order of their ids: views list jobs in the order in which they are told of them. */
static struct told *sort_jobs(const struct cluster *c)
{
    const struct idmap *m = &c->jobs;
    struct told *jobs = must(malloc((m->count + 1) * sizeof(*jobs)));
    struct told *other = must(malloc((m->count + 1) * sizeof(*other)));
    size_t n = 0;

    for (size_t i = 0; i < m->cap; i++)
        if (m->keys[i] && m->keys[i] != UINT64_MAX)
            jobs[n++] = (struct told){ (uint32_t)m->keys[i], m->values[i] };
    for (unsigned shift = 0; shift < 32; shift += 16) { /* two passes: it comes back to `jobs` */
        sort_byte(jobs, other, n, shift);
        sort_byte(other, jobs, n, shift + 8);
    }
    free(other);
    return jobs;
}

/* Records come from memory, which takes longer than what is done with one: those ahead are
 * asked for meanwhile. */
static void fetch_job(const struct told *jobs, size_t i, size_t n)
{
    enum { AHEAD = 8 };

    if (i + 2 * AHEAD < n)
        __builtin_prefetch(jobs[i + 2 * AHEAD].job);
    if (i + AHEAD < n) {
        const char *rec = (const char *)jobs[i + AHEAD].job->rec;

        for (size_t at = 0; at < sizeof(Pst__JobRecord); at += 64)
            __builtin_prefetch(rec + at);
    }
}

void observe_each(struct cluster *c, void (*pause)(void *ctx), void *ctx)
{
    const struct cluster_observer *o = c->observer;
    struct told *jobs = sort_jobs(c);
    size_t n = c->jobs.count;

    for (uint32_t i = 0; i < c->nnodes; i++)
        if (c->nodes[i])
            o->node(o->ctx, c->nodes[i], PST__EVENT_KIND__EV_NODE_CONFIG);
    for (size_t i = 0; i < c->nparts; i++)
        o->part(o->ctx, c->parts[i], PST__EVENT_KIND__EV_PART_CONFIG);
    for (size_t kind = 0; kind < KEPT_KINDS; kind++) {
        void *v;

        for (size_t pos = 0; (v = idmap_next(&c->kept[kind], &pos));)
            o->kept(o->ctx, v);
    }
    for (size_t i = 0; i < n; i++) {
        struct job *j = jobs[i].job;

        if (pause && i % OBSERVE_PIECE == 0)
            pause(ctx);
        fetch_job(jobs, i, n);
        o->job(o->ctx, j, PST__EVENT_KIND__EV_UNSPECIFIED);
        for (struct step *s = j->steps; s; s = s->next)
            o->step(o->ctx, j, s, PST__EVENT_KIND__EV_UNSPECIFIED);
    }
    free(jobs);
    if (pause)
        pause(ctx);
}

static void pass_on(void *arg)
{
    services_observed(arg);
}

static void note_special(void *ctx, struct job *j, Pst__EventKind kind)
{
    struct ctld *ctld = ctx;

    if (j->steps || !job_only_waits(j->rec))
        idlist_push(&ctld->special, j->rec->job_id);
    services_on_job(ctld, j, kind);
}

void observe_all(struct ctld *ctld)
{
    ctld->special = (struct idlist){ .ids = must(calloc(1, sizeof(uint32_t))), .cap = 1 };
    ctld->observer.job = note_special;
    observe_each(ctld->cluster, pass_on, ctld);
    ctld->observer.job = on_job;
}

struct job *observe_next_special(const struct ctld *ctld, size_t *pos)
{
    struct job *j = NULL;

    if (!ctld->special.ids)
        return cluster_next_job(ctld->cluster, pos);
    while (!j && *pos < ctld->special.n)
        j = cluster_job(ctld->cluster, ctld->special.ids[(*pos)++]);
    return j;
}

void observe_forget_special(struct ctld *ctld)
{
    free(ctld->special.ids);
    ctld->special = (struct idlist){ 0 };
}
