/* idlemodel.c - the cluster as the scheduler would see it if it were idle; see idlemodel.h. */
#include "ctld/policy/bootfeatures.h"
#include "ctld/schedlink/idlemodel.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/must.h"
#include "ctld/topology/topology.h"
#include "feed/feedmem.h"
#include "feed/params.h"
#include "feed/records.h"
#include "feed/resourcefeed.h"

struct idlemodel {
    struct sched *sched;    /* NULL until the first question */
    struct bitmap *changed; /* nodes to be handed over again */
    bool all;               /* all of them */
    bool parts;             /* the partitions too */
    bool lacks_topology;    /* the last answer: it is the topology */
};

int idlemodel_new(struct idlemodel **ret)
{
    struct idlemodel *m = calloc(1, sizeof(*m));

    if (!m || bitmap_new(0, &m->changed) < 0) {
        free(m);
        return -ENOMEM;
    }
    m->all = m->parts = true;
    *ret = m;
    return 0;
}

struct idlemodel *idlemodel_free(struct idlemodel *m)
{
    if (m) {
        sched_free(m->sched);
        bitmap_free(m->changed);
        free(m);
    }
    return NULL;
}

void idlemodel_node(struct idlemodel *m, uint32_t node_id)
{
    if (node_id < m->changed->nbits)
        bitmap_set(m->changed, node_id);
    else
        m->all = true;
}

void idlemodel_parts(struct idlemodel *m)
{
    m->parts = true;
}

void idlemodel_forget(struct idlemodel *m)
{
    m->sched = sched_free(m->sched);
    m->all = m->parts = true;
}

static int hand_over(struct idlemodel *m, struct feed *f)
{
    int r = feed_apply(m->sched, f);

    feed_release(f);
    return r;
}

static int bring_nodes(struct idlemodel *m, const struct cluster *c)
{
    int r = 0;

    if (m->all && m->changed->nbits < c->nnodes)
        r = bitmap_resize(&m->changed, c->nnodes);
    if (r < 0)
        return r;
    if (m->all)
        bitmap_fill(m->changed);
    BITMAP_FOREACH (m->changed, id) {
        const struct node *n = id < c->nnodes ? c->nodes[id] : NULL;

        if (!n)
            sched_node_remove(m->sched, id);
        else if (hand_over(m, feed_of_node(n->rec, true)) == -ENOMEM)
            return -ENOMEM;
    }
    bitmap_zero(m->changed);
    m->all = false;
    return 0;
}

static int bring_parts(struct idlemodel *m, const struct ctld *ctld)
{
    const struct cluster *c = ctld->cluster;
    const struct topologies *topologies = topology_now(ctld);

    if (topologies && feed_apply_topologies(m->sched, topologies) == -ENOMEM)
        return -ENOMEM;
    for (size_t i = 0; i < c->nparts; i++)
        if (hand_over(m, feed_of_part(c, ctld->conf, c->parts[i])) == -ENOMEM)
            return -ENOMEM;
    m->parts = false;
    return 0;
}

static int bring_up_to_date(struct idlemodel *m, const struct ctld *ctld)
{
    bool fresh = !m->sched;
    int r = 0;

    if (fresh) {
        struct sched_params params;

        feed_fill_params(ctld->conf, &params);
        r = sched_new(&params, &m->sched);
    }
    if (r == 0)
        r = bring_nodes(m, ctld->cluster);
    if (r == 0 && m->parts)
        r = bring_parts(m, ctld);
    if (r == 0 && fresh)
        r = hand_over(m, feed_of_resources(ctld->cluster, ctld->resources));
    return r;
}

bool idlemodel_lacks_topology(const struct idlemodel *m)
{
    return m->lacks_topology;
}

bool idlemodel_places(struct idlemodel *m, const struct ctld *ctld, const struct partition *p,
                      const Pst__JobRecord *r)
{
    const char *name = p->rec->name;
    enum sched_why why;
    struct feed *f;
    bool ok;

    m->lacks_topology = false;
    if (bring_up_to_date(m, ctld) < 0) {
        idlemodel_forget(m);
        return true;
    }
    f = feed_new(FEED_JOB);
    feed_fill_job(f, ctld->conf, ctld->cluster, r);
    f->job.may_boot = bootfeatures_may(ctld, r);
    f->job.partitions = &name;
    f->job.npartitions = 1;
    f->job.nresvs = 0;
    f->job.resv_only = false;
    f->job.label = NULL;
    f->job.extra = NULL; /* what nodes tell may be otherwise by then */
    ok = sched_feasible(m->sched, &f->job, &why);
    m->lacks_topology = !ok && why == SCHED_WHY_TOPOLOGY;
    feed_release(f);
    return ok;
}
