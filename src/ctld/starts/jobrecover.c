/* jobrecover.c - what the end of the last controller interrupted of jobs; see jobrecover.h */
#include "ctld/starts/jobrecover.h"
#include "ctld/core/observe.h"
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

/* A component whose leader has ended without it. */
static void end_component(struct ctld *ctld, struct job *j)
{
    const struct job *first =
        het_is_follower(j->rec) ? het_component(ctld->cluster, j->rec, 0) : NULL;
    const Pst__JobRecord *r = first ? first->rec : NULL;
    struct job_end end = { .state = JOB_STATE(CANCELLED) };

    if (!het_is_follower(j->rec) || job_is_ended(j->rec) || (r && !job_is_ended(r)))
        return;
    if (job_is_pending(j->rec) && r && job_has_flag(r, JOB_FLAG(REQUEUED)))
        return; /* back already; the leader follows */
    if (r) {
        end.state = job_state(r);
        end.requeue = job_has_flag(r, JOB_FLAG(REQUEUED));
        end.requeue_hold = job_has_flag(r, JOB_FLAG(REQUEUE_HOLD));
        end.special_exit = job_has_flag(r, JOB_FLAG(SPECIAL_EXIT));
        end.has_exit = r->has_exit_status;
        end.exit_status = r->exit_status;
        end.reason = r->has_reason ? r->reason : PST__JOB_REASON__REASON_NONE;
    }
    (void)lifecycle_end(ctld, j, &end);
}

/* What passes found about a job that has started is not journaled, but for its priority. */
static void restore_start(struct job *j)
{
    Pst__JobRecord *r = j->rec;

    if (job_is_pending(r) || !r->has_start_priority)
        return;
    SET(r, cur_priority, r->start_priority);
    SET(r, last_sched_eval_us, r->start_us);
}

void jobrecover_all(struct ctld *ctld)
{
    void *v;

    /* What is committed meanwhile changes jobs but makes none, so the walk goes on. */
    for (size_t pos = 0; (v = observe_next_special(ctld, &pos));) {
        struct job *j = v;

        mail_recover(ctld, j, core_now());
        owners_recover(ctld, j);
        if (job_is_pending(j->rec)) {
            depends_watch(ctld, j);
            if (j->rec->dependency)
                /* what it waits for may have happened just before the end */
                depends_later(ctld, j->rec->job_id, 0);
        }
        restore_start(j);
        steps_recover(ctld, j);
    }
    for (size_t pos = 0; (v = observe_next_special(ctld, &pos));)
        end_component(ctld, v);
    for (size_t pos = 0; (v = observe_next_special(ctld, &pos));) {
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
