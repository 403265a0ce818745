/* jobrecover.c - what the end of the last controller interrupted of jobs; see jobrecover.h */
#include "ctld/job/jobrecover.h"
#include "ctld/core/service.h"
#include "ctld/job/cleaning.h"
#include "ctld/job/depends.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/lifecycle.h"
#include "ctld/job/owners.h"
#include "ctld/notify/hooks.h"
#include "ctld/notify/mail.h"
#include "ctld/schedlink/gangturns.h"
#include "ctld/step/steps.h"

/* An end whose cleaning was under way. */
static void recover_cleaning(struct ctld *ctld, struct job *j)
{
    cleaning_recover(ctld, j);
    if (hooks_epilog_wanted(ctld))
        hooks_epilog(ctld, j, ctld->applied_lsn);
    if (!hooks_epilog_runs(ctld, j) && !cleaning_awaits_any(ctld, j))
        lifecycle_cleaned(ctld, j);
}

void jobrecover_all(struct ctld *ctld)
{
    void *v;

    /* What is committed meanwhile changes jobs but makes none, so the walk goes on. */
    for (size_t pos = 0; (v = idmap_next(&ctld->cluster->jobs, &pos));) {
        struct job *j = v;

        mail_recover(ctld, j, core_now());
        owners_recover(ctld, j);
        if (job_is_pending(j->rec)) {
            depends_watch(ctld, j);
            if (j->rec->dependency)
                /* what it waits for may have happened just before the end */
                depends_later(j->rec->job_id, 0);
        }
        steps_recover(ctld, j);
    }
    for (size_t pos = 0; (v = idmap_next(&ctld->cluster->jobs, &pos));)
        het_recover(ctld, v);
    for (size_t pos = 0; (v = idmap_next(&ctld->cluster->jobs, &pos));) {
        struct job *j = v;

        if (job_holds_resources(j->rec) && job_is_ended(j->rec))
            recover_cleaning(ctld, j);
        else if (job_holds_resources(j->rec) && job_waits_for_prolog(j->rec))
            hooks_prolog(ctld, j, ctld->applied_lsn);
        else if (job_is_ended(j->rec) && job_has_flag(j->rec, JOB_FLAG(REQUEUED)))
            lifecycle_cleaned(ctld,
                              j); /* it ended, and the controller before it was queued again */
    }
    gang_recheck(ctld);
}

/* ---- the service ----------------------------------------------------------------------------- */

const struct ctld_service jobrecover_service = { .name = "jobrecover",
                                                 .recovered = jobrecover_all };
