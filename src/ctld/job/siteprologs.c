/* siteprologs.c - what follows the end of PrologSlurmctld and EpilogSlurmctld of a job */
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "ctld/core/service.h"
#include "ctld/policy/bootwait.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/launchfail.h"
#include "ctld/job/lifecycle.h"
#include "ctld/job/prologs.h"
#include "ctld/notify/hooks.h"
#include "fields.h"

static void end_or_requeue(struct ctld *ctld, struct job *j)
{
    log_error("job %u: PrologSlurmctld failed", j->rec->job_id);
    if (j->rec->has_batch && j->rec->batch) {
        launchfail_requeue(ctld, j, false);
        return;
    }
    (void)lifecycle_end(ctld, j,
                        &(struct job_end){ .state = JOB_STATE(CANCELLED) }); /* disk full: kept */
}

static void launch_after_prolog(struct ctld *ctld, struct job *j, bool well)
{
    Pst__Transaction *tx;
    Pst__JobRecord *set;
    uint64_t lsn;

    if (!well) {
        end_or_requeue(ctld, j);
        return;
    }
    tx = tx_new(core_now());
    set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, j->rec->job_id);
    if (!job_waits_for_boot(j->rec))
        SET(set, state_flags,
            j->rec->state_flags & ~(JOB_FLAG(CONFIGURING) | JOB_FLAG(EXPEDITING)));
    tx_clear(tx, JOB_F_PROLOG_PENDING);
    lsn = core_commit(ctld, tx);
    if (!lsn) {
        log_error("job %u: its PrologSlurmctld is done, but the journal is full: it runs again",
                  j->rec->job_id);
        hooks_prolog(ctld, j, ctld->applied_lsn);
        return;
    }
    if (het_runs_script(j->rec))
        launch_batch(ctld, j, lsn);
    else
        launch_prepare(ctld, j, lsn);
    services_job_ready(ctld, j, lsn);
}

/* How the program ended is in the log, and changes nothing. */
static void clean_after_epilog(struct ctld *ctld, struct job *j)
{
    lifecycle_node_clean(ctld, j, UINT32_MAX);
}

const struct ctld_service siteprologs_service = {
    .name = "siteprologs",
    .site_prolog_over = launch_after_prolog,
    .site_epilog_over = clean_after_epilog,
};
