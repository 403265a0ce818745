/* reading.c - a controller that does not lead shows the cluster that it knows; see reading.h
 *
 * Owns the observer of the cluster meanwhile: the views alone hear of changes.  No other service
 * knows anything, so only operations that need the cluster, the views and the configuration carry
 * OPF_SHOWS. */
#include "ctld/ha/reading.h"

#include "base/timefmt.h"
#include "ctld/core/effects.h"
#include "ctld/core/loop.h"
#include "ctld/core/observe.h"
#include "ctld/front/front.h"
#include "ctld/front/view.h"
#include "ctld/policy/policy.h"

static void show_job(void *ctx, struct job *j, Pst__EventKind kind)
{
    (void)kind;
    views_mark_job(((struct ctld *)ctx)->views, j);
}

static void hide_job(void *ctx, struct job *j)
{
    views_drop_job(((struct ctld *)ctx)->views, j);
}

static void show_step(void *ctx, struct job *j, struct step *s, Pst__EventKind kind)
{
    (void)kind;
    views_mark_step(((struct ctld *)ctx)->views, j, s);
}

static void show_node(void *ctx, struct node *n, Pst__EventKind kind)
{
    (void)kind;
    views_mark_node(((struct ctld *)ctx)->views, n);
}

static void hide_node(void *ctx, struct node *n)
{
    views_drop_node(((struct ctld *)ctx)->views, n);
}

static void show_part(void *ctx, struct partition *p, Pst__EventKind kind)
{
    (void)kind;
    views_mark_part(((struct ctld *)ctx)->views, p);
}

static void hide_part(void *ctx, struct partition *p)
{
    views_drop_part(((struct ctld *)ctx)->views, p);
}

static void show_kept(void *ctx, struct kept *k)
{
    views_mark_kept(((struct ctld *)ctx)->views, k);
}

static void hide_kept(void *ctx, struct kept *k)
{
    views_drop_kept(((struct ctld *)ctx)->views, k);
}

void reading_show(struct ctld *ctld)
{
    views_forget(ctld->views);
    ctld->observer = (struct cluster_observer){ .job = show_job,
                                                .job_gone = hide_job,
                                                .step = show_step,
                                                .node = show_node,
                                                .node_gone = hide_node,
                                                .part = show_part,
                                                .part_gone = hide_part,
                                                .kept = show_kept,
                                                .kept_gone = hide_kept,
                                                .ctx = ctld };
    ctld->cluster->observer = &ctld->observer;
    observe_each(ctld->cluster, NULL, NULL);
    atomic_store(&ctld->private_data, policy_private(ctld->conf));
}

void reading_moved(struct ctld *ctld, uint64_t lsn)
{
    ctld->applied_lsn = lsn;
    effects_release(ctld->effects, lsn);
    atomic_store(&ctld->reading, true);
}

bool reading_serve(struct ctld *ctld, int64_t until_mono_us)
{
    bool go = core_run_reading(ctld, until_mono_us);

    query_gate_tick(ctld->front);
    views_work_off(ctld->views, ctld->cluster);
    return go;
}

void reading_end(struct ctld *ctld)
{
    atomic_store(&ctld->reading, false);
    if (ctld->cluster)
        ctld->cluster->observer = NULL;
    views_forget(ctld->views);
}
