/* observe.c - every change of the model is told to the services; see observe.h.  Core thread. */
#include "ctld/core/observe.h"

#include <stdlib.h>

#include "base/log.h"
#include "ctld/core/service.h"

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

static int by_id(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;

    return x->rec->job_id < y->rec->job_id ? -1 : x->rec->job_id > y->rec->job_id;
}

/* Jobs in the order of their ids: views list jobs in the order in which they are told of them. */
static struct job **sort_jobs(const struct cluster *c)
{
    struct job **jobs = malloc((c->jobs.count ? c->jobs.count : 1) * sizeof(*jobs));
    size_t n = 0;
    void *v;

    if (!jobs) {
        log_fatal("out of memory while recovering");
        abort();
    }
    for (size_t pos = 0; (v = cluster_next_job(c, &pos));)
        jobs[n++] = v;
    qsort(jobs, n, sizeof(*jobs), by_id);
    return jobs;
}

void observe_each(struct cluster *c)
{
    const struct cluster_observer *o = c->observer;
    struct job **jobs = sort_jobs(c);
    void *v;

    for (uint32_t i = 0; i < c->nnodes; i++)
        if (c->nodes[i])
            o->node(o->ctx, c->nodes[i], PST__EVENT_KIND__EV_NODE_CONFIG);
    for (size_t i = 0; i < c->nparts; i++)
        o->part(o->ctx, c->parts[i], PST__EVENT_KIND__EV_PART_CONFIG);
    for (size_t kind = 0; kind < KEPT_KINDS; kind++)
        for (size_t pos = 0; (v = idmap_next(&c->kept[kind], &pos));)
            o->kept(o->ctx, v);
    for (size_t i = 0; i < c->jobs.count; i++) {
        o->job(o->ctx, jobs[i], PST__EVENT_KIND__EV_UNSPECIFIED);
        for (struct step *s = jobs[i]->steps; s; s = s->next)
            o->step(o->ctx, jobs[i], s, PST__EVENT_KIND__EV_UNSPECIFIED);
    }
    free(jobs);
}

void observe_all(struct ctld *ctld)
{
    observe_each(ctld->cluster);
}
