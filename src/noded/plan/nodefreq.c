/* nodefreq.c - see nodefreq.h */
#include "noded/plan/nodefreq.h"

#include "base/pb/pbutil.h"
#include "stepd/shared/spool.h"

/* What the step asks for itself; NULL: nothing. */
static const char *asked_frequency(const struct noded *d, const Pst__StepFile *sf)
{
    bool batch = sf->step_id == STEP_ID_BATCH, interactive = sf->step_id == STEP_ID_INTERACTIVE;
    const char *option = batch ? "batch_step_set_cpu_freq" : "interactive_step_set_cpu_freq",
               *value;
    size_t len;

    if ((batch || interactive) &&
        !conf_option(d->conf, CONF_LAUNCH_PARAMETERS, option, &value, &len))
        return NULL;
    return sf->launch ? sf->launch->cpu_freq : sf->job->job->cpu_freq;
}

int nodefreq_plan(const struct noded *d, Pst__StepFile *sf)
{
    const char *asked = asked_frequency(d, sf), *usual = conf_str(d->conf, CONF_CPU_FREQ_DEF);

    if (!asked && (!usual || sf->step_id == STEP_ID_BATCH || sf->step_id == STEP_ID_INTERACTIVE))
        return 0;
    sf->has_cpu_freq_default = sf->cpu_freq_default = !asked;
    return pb_set_str(&sf->cpu_freq, asked ? asked : usual) |
           pb_set_str(&sf->cpu_governors, conf_str(d->conf, CONF_CPU_FREQ_GOVERNORS));
}
