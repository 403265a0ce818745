/* nodecxi.c - see nodecxi.h */
#include "noded/plan/nodecxi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "model/words/slingshot.h"
#include "noded/hw/hw.h"
#include "stepd/env/env.h"

static void put_u32(protobuf_c_boolean *has, uint32_t *to, uint32_t value)
{
    *has = true;
    *to = value;
}

static int fill_limits(const struct slingshot *ss, uint32_t cpus, Pst__CxiPlan *plan)
{
    plan->reserved = calloc(SLINGSHOT_RESOURCES, sizeof(*plan->reserved));
    plan->most = calloc(SLINGSHOT_RESOURCES, sizeof(*plan->most));
    if (!plan->reserved || !plan->most)
        return -ENOMEM;
    for (unsigned i = 0; i < SLINGSHOT_RESOURCES; i++) {
        plan->reserved[i] = slingshot_reserved(ss, (enum slingshot_resource)i, cpus);
        plan->most[i] = ss->limits[i].max;
    }
    plan->n_reserved = plan->n_most = SLINGSHOT_RESOURCES;
    return 0;
}

static int copy_vnis(const Pst__StepRecord *step, Pst__CxiPlan *plan)
{
    plan->vnis = calloc(step->n_vnis, sizeof(*plan->vnis));
    if (!plan->vnis)
        return -ENOMEM;
    memcpy(plan->vnis, step->vnis, step->n_vnis * sizeof(*plan->vnis));
    plan->n_vnis = step->n_vnis;
    return 0;
}

static int fill_plan(const struct noded *d, const Pst__StepFile *sf, const struct slingshot *ss,
                     Pst__CxiPlan *plan)
{
    const Pst__AllocGroup *g = env_step_group(sf);

    put_u32(&plan->has_uid, &plan->uid, sf->job->job->uid);
    put_u32(&plan->has_tcs, &plan->tcs, ss->tcs);
    put_u32(&plan->has_tasks, &plan->tasks, g ? g->tasks : 1);
    put_u32(&plan->has_retries, &plan->retries, ss->destroy_retries);
    plan->has_adjust = true;
    plan->adjust = ss->adjust;
    plan->root = hw_root(d->conf);
    if (!plan->root || copy_vnis(sf->step, plan) < 0)
        return -ENOMEM;
    return fill_limits(ss, g ? g->cpus : sf->job->cpus, plan);
}

int nodecxi_plan(const struct noded *d, Pst__StepFile *sf)
{
    const char *type = conf_str(d->conf, CONF_SWITCH_TYPE);
    const char *network = sf->step && sf->step->network ? sf->step->network : sf->job->job->network;
    struct err err = { .text = "" };
    struct slingshot ss;

    if (!sf->step || !sf->step->n_vnis || !type || strcasecmp(type, "switch/hpe_slingshot") != 0)
        return 0;
    if (slingshot_read(conf_str(d->conf, CONF_SWITCH_PARAMETERS), network, &ss, &err) < 0) {
        log_error("no Slingshot for a step: %s job=%u", err.text, sf->job->job->job_id);
        return 0; /* the controller took these words: the files differ */
    }
    sf->cxi = malloc(sizeof(*sf->cxi));
    if (!sf->cxi)
        return -ENOMEM;
    pst__cxi_plan__init(sf->cxi);
    return fill_plan(d, sf, &ss, sf->cxi);
}
