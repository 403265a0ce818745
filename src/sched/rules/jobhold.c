/* jobhold.c - a job takes and releases all that it holds: nodes, licences, reserved licences */
#include "sched/rules/jobhold.h"

#include <errno.h>

#include "sched/rules/advlics.h"
#include "sched/sched.h"
#include "sched/state/alloc.h"
#include "sched/state/holders.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"
#include "sched/state/topoclose.h"

void job_take(struct sched *s, struct job *j)
{
    s->run_gen += !s->travelling;
    if (!s->travelling)
        j->taken = (uint32_t)s->run_gen;
    lics_take(s, &j->held);
    adv_take(s, j, true);
    for (size_t i = 0; i < j->alloc.nnodes; i++)
        job_node_take(s, j, i);
}

void job_release(struct sched *s, const struct job *j)
{
    s->run_gen += !s->travelling;
    lics_release(s, &j->held);
    adv_take(s, j, false);
    for (size_t i = 0; i < j->alloc.nnodes; i++) {
        node_own(s, j->alloc.nodes[i].node_id, j, false);
        node_release(s, &j->alloc.nodes[i], j->part, j->firm, j->state != JOB_SUSPENDED, true);
    }
}

int job_close_units(struct sched *s, struct job *j, bool closes)
{
    struct sched_alloc all;
    int r = holders_room(s, j->part, j->qos);

    if (r == 0)
        r = alloc_dup_used(s, &j->alloc, &all);
    if (r < 0)
        return r;
    if (closes && topo_close_units(s, s->parts[j->part]->topo, &all) < 0) {
        alloc_done(&all);
        return -ENOMEM;
    }
    job_release(s, j);
    holders_remove(s, j);
    alloc_done(&j->alloc);
    j->alloc = all;
    j->closes = closes;
    holders_add(s, j);
    job_take(s, j);
    return 0;
}
