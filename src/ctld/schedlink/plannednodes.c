/* plannednodes.c - nodes that the plan keeps for jobs that wait; see plannednodes.h */
#include "ctld/schedlink/plannednodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "ctld/core/service.h"
#include "ctld/front/view.h"
#include "model/tables/idmap.h"
#include "model/job.h"

struct plan {
    size_t n;
    uint32_t nodes[];
};

struct plannednodes {
    struct idmap plans; /* job id -> struct plan */
    uint32_t *jobs;     /* by node id: how many of these have the node */
    uint32_t n;
};

static void show_node(struct ctld *ctld, uint32_t id, bool planned)
{
    const uint32_t flag = 1u << PST__NODE_FLAG__NODE_FLAG_PLANNED;
    struct node *n = cluster_node(ctld->cluster, id);

    if (n)
        views_show_flags(ctld->views, n, flag, planned ? flag : 0);
}

/* One job more, or fewer, is to have each node of the plan. */
static void count_plan(struct ctld *ctld, const struct plan *plan, bool more)
{
    struct plannednodes *p = ctld->plannednodes;

    for (size_t i = 0; i < plan->n; i++) {
        uint32_t *jobs = &p->jobs[plan->nodes[i]];

        *jobs += more ? 1 : -1u;
        if (*jobs == (more ? 1 : 0))
            show_node(ctld, plan->nodes[i], more);
    }
}

static void drop_plan(struct ctld *ctld, uint32_t job_id)
{
    struct plan *plan = idmap_remove(&ctld->plannednodes->plans, job_id);

    if (!plan)
        return;
    count_plan(ctld, plan, false);
    free(plan);
}

static void make_room(struct plannednodes *p, uint32_t n)
{
    if (n <= p->n)
        return;
    p->jobs = must(realloc(p->jobs, n * sizeof(*p->jobs)));
    memset(p->jobs + p->n, 0, (n - p->n) * sizeof(*p->jobs));
    p->n = n;
}

void plannednodes_note(struct ctld *ctld, const struct job *j, const uint32_t *nodes, size_t n)
{
    struct plannednodes *p = ctld->plannednodes;
    struct plan *before = idmap_get(&p->plans, j->rec->job_id), *plan;

    if (before ? before->n == n && memcmp(before->nodes, nodes, n * sizeof(*nodes)) == 0 : !n)
        return;
    if (!n) {
        drop_plan(ctld, j->rec->job_id);
        return;
    }
    plan = must(malloc(sizeof(*plan) + n * sizeof(*nodes)));
    plan->n = n;
    memcpy(plan->nodes, nodes, n * sizeof(*nodes));
    for (size_t i = 0; i < n; i++)
        make_room(p, nodes[i] + 1);
    count_plan(ctld, plan, true); /* first, so that what stays planned does not change */
    drop_plan(ctld, j->rec->job_id);
    if (idmap_put(&p->plans, j->rec->job_id, plan) < 0)
        must(NULL);
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_plans(struct ctld *ctld, struct err *err)
{
    (void)err;
    ctld->plannednodes = calloc(1, sizeof(*ctld->plannednodes));
    return ctld->plannednodes ? 0 : -ENOMEM;
}

static void free_plans(struct ctld *ctld)
{
    struct plannednodes *p = ctld->plannednodes;
    struct plan *plan;
    size_t pos = 0;

    if (!p)
        return;
    while ((plan = idmap_next(&p->plans, &pos)))
        free(plan);
    idmap_done(&p->plans);
    free(p->jobs);
    free(p);
    ctld->plannednodes = NULL;
}

/* It starts, or is held: nothing is kept for it. */
static void see_job(struct ctld *ctld, struct job *j, Pst__EventKind kind)
{
    (void)kind;
    if (ctld->plannednodes->plans.count && (!job_is_pending(j->rec) || job_is_held(j->rec)))
        drop_plan(ctld, j->rec->job_id);
}

static void forget_job(struct ctld *ctld, struct job *j)
{
    drop_plan(ctld, j->rec->job_id);
}

const struct ctld_service plannednodes_service = {
    .name = "plannednodes",
    .start = start_plans,
    .free = free_plans,
    .on_job = see_job,
    .on_job_gone = forget_job,
};
