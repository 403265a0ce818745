/* jobhold.c - a job takes and releases all that it holds: nodes, licences, reserved licences */
#include "sched/rules/jobhold.h"

#include "sched/rules/advlics.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
#include "sched/state/nodes.h"
#include "sched/state/sched_obj.h"

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
