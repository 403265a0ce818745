/* simfeed.c - see simfeed.h; the scheduler knows a job as its index + 1 */
#include "sim/simfeed.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

#define MINUTE_US (60 * USEC_PER_SEC)

int simfeed_machine(struct sched *s, const struct sim_machine *m)
{
    _cleanup_free_ const struct topo_spec **specs = calloc(m->ntopos + 1, sizeof(*specs));
    int r = specs ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < m->ntopos; i++)
        specs[i] = topo_get_spec(m->topos[i]);
    if (r == 0 && m->ntopos)
        r = sched_topologies_put(s, specs, m->ntopos);

    for (uint32_t i = 0; r == 0 && i < m->nnodes; i++)
        if (m->nodes[i].cpus) /* else a number without a node */
            r = sched_node_put(s, &m->nodes[i]);
    for (uint32_t i = 0; r == 0 && i < m->nparts; i++)
        r = sched_partition_put(s, &m->parts[i]);
    return r;
}

int simfeed_running(struct sched *s, const struct workload *w, const struct sim_running *x)
{
    const struct sim_job *j = &w->jobs[x->job];
    int64_t end_us = j->limit_min == SCHED_UNLIMITED
                         ? INT64_MAX
                         : x->start_us + (int64_t)j->limit_min * MINUTE_US;
    int r =
        sched_job_running(s, x->job + 1, x->partition, x->alloc, x->start_us, end_us, x->exclusive);

    return r < 0 ? r
                 : sched_job_owner(s, x->job + 1, j->given ? j->given->uid : j->user + 1,
                                   j->given ? j->given->exclusive_user : false,
                                   j->given ? j->given->label : NULL);
}
