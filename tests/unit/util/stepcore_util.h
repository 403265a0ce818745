/* stepcore_util.h - jobs that run in the core of coreask_util.h, and their steps */
#pragma once

#include "coreask_util.h"

#include "base/bitmap.h"
#include "ctld/step/async.h"
#include "ctld/step/stepcreate.h"
#include "ctld/step/steps.h"

extern const struct ctld_service async_service, stepends_service, stepops_service, steps_service;

static const struct ctld_service *const step_services[] = {
    &topology_service, /* what the scheduler is fed with */
    &asking_service,   &schedfeed_service, &feasible_service, &views_service,
    &hooks_service,    &prologs_service,   &owners_service,   &cleaning_service,
    &imex_service,     &stepvnis_service,  &wait_service,     &steps_service,
    &stepends_service, &stepops_service,   &async_service,    NULL
};

static struct core core;

/* `nodes` nodes of four CPUs each. */
UTIL void stepcore_begin(const char *lines, uint32_t nodes)
{
    coreask_begin(&core, lines, step_services);
    core_nodes(&core, nodes, 4);
}

UTIL void by_stepmgr(Pst__JobRecord *r)
{
    SET(r, stepmgr, true);
}

/* A job of user 1000 that runs on the first `nodes` nodes, with all their CPUs. */
UTIL struct job *stepcore_job(uint32_t id, uint32_t nodes, void (*with)(Pst__JobRecord *r))
{
    struct job *j = core_job(&core, id, with);
    Pst__Transaction *tx;

    (void)core_start(id, nodes, &tx); /* nothing to add */
    apply_ok(core.ctld.cluster, tx);
    return j;
}

/* Step `id` of the job runs with so many tasks on each of its nodes. */
UTIL struct step *stepcore_step(struct job *j, uint32_t id, uint32_t nodes, uint32_t tasks)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__StepRecord *r = tx_step_put(tx, EV(STEP_START), j->rec->job_id, id);
    struct step *s;

    SET(r, state, PST__STEP_STATE__STEP_RUNNING);
    SET(r, start_us, T0);
    SET(r, num_tasks, nodes * tasks);
    r->alloc = make_alloc(0, nodes, 4, 0);
    SET(r->alloc->groups[0], tasks, tasks);
    apply_ok(core.ctld.cluster, tx);
    s = cluster_step(j, id);
    steps_await(s);
    return s;
}

UTIL const Pst__StepRecord *stepcore_record(const struct job *j, uint32_t id)
{
    const struct step *s = cluster_step(j, id);

    assert_non_null(s);
    return s->rec;
}
