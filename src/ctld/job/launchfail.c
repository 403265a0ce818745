/* launchfail.c - requeue and hold of jobs that could not be launched; see launchfail.h */
#include "ctld/job/launchfail.h"

#include "base/log.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/lifecycle.h"

/* --no-requeue does not count for a job that never ran. */
static bool always_requeue(const struct ctld *ctld)
{
    const char *v;
    size_t len;

    return conf_option(ctld->conf, CONF_PROLOG_FLAGS, "ForceRequeueOnFail", &v, &len);
}

static void give_back(struct ctld *ctld, struct job *j, bool hold, bool nodes_clean,
                      uint32_t held_reason)
{
    uint32_t max = (uint32_t)conf_num(ctld->conf, CONF_MAX_BATCH_REQUEUE);
    uint32_t failures = (j->rec->has_batch_failures ? j->rec->batch_failures : 0) + 1;
    struct job_end e = { .state = JOB_STATE(FAILED),
                         .reason = PST__JOB_REASON__REASON_LAUNCH_FAILURE,
                         .nodes_clean = nodes_clean,
                         .batch_failures = failures };

    if ((j->rec->has_requeue && j->rec->requeue) || always_requeue(ctld)) {
        e.requeue = true;
        e.requeue_hold = hold || failures > max;
        if (failures > max)
            e.reason = PST__JOB_REASON__REASON_JOB_HOLD_MAX_REQUEUE;
        else if (hold)
            e.reason = held_reason;
    }
    /* disk full: the report is not acknowledged and comes again */
    (void)lifecycle_end(ctld, j, &e);
}

void launchfail_requeue(struct ctld *ctld, struct job *j, bool hold)
{
    give_back(ctld, j, hold, false, PST__JOB_REASON__REASON_LAUNCH_FAILED_REQUEUED_HELD);
}

static bool no_hold(const struct ctld *ctld)
{
    const char *v;
    size_t len;

    return conf_option(ctld->conf, CONF_SCHEDULER_PARAMETERS, "nohold_on_prolog_fail", &v, &len);
}

void launchfail_report(struct ctld *ctld, struct job *j, const Pst__StepEnd *end)
{
    bool login = end->has_login_env_failed && end->login_env_failed;

    log_error("job %u: launch failed on node %s: %s", j->rec->job_id, j->rec->batch_host,
              end->error ? end->error : "no reason given");
    give_back(ctld, j, login || !no_hold(ctld), end->has_node_clean && end->node_clean,
              login ? PST__JOB_REASON__REASON_USER_ENV_REQUEUED_HELD
                    : PST__JOB_REASON__REASON_LAUNCH_FAILED_REQUEUED_HELD);
}

void launchfail_prolog(struct ctld *ctld, struct job *j)
{
    struct job *leader = het_component(ctld->cluster, j->rec, 0);

    log_error("job %u: the prolog failed", j->rec->job_id);
    if (leader)
        j = leader; /* components go together */
    if (j->rec->has_batch && j->rec->batch)
        give_back(ctld, j, !no_hold(ctld), false,
                  PST__JOB_REASON__REASON_LAUNCH_FAILED_REQUEUED_HELD);
    else
        (void)lifecycle_end(ctld, j, &(struct job_end){ .state = JOB_STATE(CANCELLED) });
}
