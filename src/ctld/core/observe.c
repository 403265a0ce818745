/* observe.c - what every change of the model sets in motion; see observe.h.  Core thread. */
#include "ctld/core/observe.h"

#include <stdlib.h>

#include "base/log.h"
#include "ctld/schedlink/feasible.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/schedlink/feedlimits.h"
#include "ctld/schedlink/gangturns.h"
#include "ctld/job/lifecycle.h"
#include "ctld/notify/mail.h"
#include "ctld/resv/resv.h"
#include "ctld/notify/triggers.h"
#include "ctld/front/view.h"

static void on_job(void *ctx, struct job *j, Pst__EventKind kind)
{
    struct ctld *ctld = ctx;

    views_mark_job(ctld->views, j);
    feed_job(ctld, j);
    mail_job(ctld, j, kind);
    gang_job(ctld, j, kind);
}

static void on_job_gone(void *ctx, struct job *j)
{
    struct ctld *ctld = ctx;

    views_drop_job(ctld->views, j);
    feed_job_gone(ctld, j);
}

static void on_step(void *ctx, struct job *j, struct step *s, Pst__EventKind kind)
{
    struct ctld *ctld = ctx;

    (void)kind;
    views_mark_step(ctld->views, j, s);
}

static void on_node(void *ctx, struct node *n, Pst__EventKind kind)
{
    struct ctld *ctld = ctx;

    views_mark_node(ctld->views, n);
    triggers_node(ctld, n, kind == PST__EVENT_KIND__EV_UNSPECIFIED);
    if (kind == PST__EVENT_KIND__EV_UNSPECIFIED && n->resv_flags)
        resvs_ground_moved(ctld);
    if (kind == PST__EVENT_KIND__EV_UNSPECIFIED)
        return; /* only what jobs hold on it changed */
    feasible_invalidate(ctld->feasible);
    if (kind == PST__EVENT_KIND__EV_NODE_CONFIG)
        resvs_nodes_renamed(ctld);
    else
        resvs_ground_moved(ctld);
    feed_node(ctld, n);
}

static void on_node_gone(void *ctx, struct node *n)
{
    struct ctld *ctld = ctx;

    node_link_drop(ctld, n);
    views_drop_node(ctld->views, n);
    triggers_node_gone(n->rec->node_id);
    feasible_invalidate(ctld->feasible);
    resvs_nodes_renamed(ctld);
    feed_node_gone(ctld, n->rec->node_id);
}

static void on_part(void *ctx, struct partition *p, Pst__EventKind kind)
{
    struct ctld *ctld = ctx;

    (void)kind;
    views_mark_part(ctld->views, p);
    resvs_ground_moved(ctld);
    feed_part(ctld, p);
}

static void on_part_gone(void *ctx, struct partition *p)
{
    struct ctld *ctld = ctx;

    views_drop_part(ctld->views, p);
    feed_part_gone(ctld, p->rec->name);
}

static void on_kept(void *ctx, struct kept *k)
{
    struct ctld *ctld = ctx;

    views_mark_kept(ctld->views, k);
    if (k->kind == KEPT_ACCT)
        feedlimits_changed(ctld, (const Pst__AcctChange *)k->rec);
    resvs_put(ctld, k);
}

static void on_kept_gone(void *ctx, struct kept *k)
{
    struct ctld *ctld = ctx;

    views_drop_kept(ctld->views, k);
    if (k->kind == KEPT_ACCT)
        feedlimits_gone(ctld, (const Pst__AcctChange *)k->rec);
    resvs_gone(ctld, k);
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

/* Jobs in order of id: views keep the order in which they meet them. */
void observe_all(struct ctld *ctld)
{
    struct cluster *c = ctld->cluster;
    struct job **jobs = malloc((c->jobs.count ? c->jobs.count : 1) * sizeof(*jobs));
    size_t n = 0;
    void *v;

    if (!jobs) {
        log_fatal("out of memory while recovering");
        abort();
    }
    feedlimits_enforce(ctld);
    for (uint32_t i = 0; i < c->nnodes; i++) {
        if (!c->nodes[i])
            continue;
        on_node(ctld, c->nodes[i], PST__EVENT_KIND__EV_NODE_CONFIG);
    }
    for (size_t i = 0; i < c->nparts; i++)
        on_part(ctld, c->parts[i], PST__EVENT_KIND__EV_PART_CONFIG);
    for (size_t pos = 0; (v = idmap_next(&c->jobs, &pos));)
        jobs[n++] = v;
    for (size_t kind = 0; kind < KEPT_KINDS; kind++)
        for (size_t pos = 0; (v = idmap_next(&c->kept[kind], &pos));)
            on_kept(ctld, v);
    qsort(jobs, n, sizeof(*jobs), by_id);
    for (size_t i = 0; i < n; i++) {
        on_job(ctld, jobs[i], PST__EVENT_KIND__EV_UNSPECIFIED);
        for (struct step *s = jobs[i]->steps; s; s = s->next)
            on_step(ctld, jobs[i], s, PST__EVENT_KIND__EV_UNSPECIFIED);
    }
    free(jobs);
}
