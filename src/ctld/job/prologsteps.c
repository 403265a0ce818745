/* prologsteps.c - what happens when prologs of nodes are done; see prologs.h */
#include "base/log.h"
#include "ctld/core/service.h"
#include "ctld/policy/bootwait.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/lifecycle.h"
#include "ctld/job/prologs.h"
#include "fields.h"

/* All nodes are ready. */
static void end_configuring(struct ctld *ctld, struct job *j)
{
    Pst__Transaction *tx = tx_new(core_now());
    struct job *leader;
    uint64_t lsn;

    /* A job that an older release started is CONFIGURING until now. */
    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, j->rec->job_id), state_flags,
        j->rec->state_flags &
            ~(job_waits_for_boot(j->rec) ? 0 : JOB_FLAG(CONFIGURING) | JOB_FLAG(EXPEDITING)));
    tx_clear(tx, JOB_F_NODE_PROLOGS);
    lsn = core_commit(ctld, tx);
    if (!lsn) {
        log_error("job %u: its nodes are ready, but the journal is full", j->rec->job_id);
        return; /* their report is not acknowledged and comes again */
    }
    leader = het_component(ctld->cluster, j->rec, 0);
    leader = leader ? leader : j;
    if (prologs_defer_batch(ctld))
        launch_batch(ctld, leader, lsn); /* unless another component is not ready */
    services_job_progress(ctld, j, lsn);
    if (leader != j)
        services_job_progress(ctld, leader, lsn);
}

void prologs_passed(struct ctld *ctld, struct job *j, uint32_t node_id)
{
    const Pst__Alloc *a = j->rec->alloc;
    long pos = a ? alloc_position(a, node_id) : -1;

    if (pos < 0 || !job_awaits_node_prologs(j->rec) || job_is_ended(j->rec))
        return;
    if (prologs_note_passed(ctld, j, (size_t)pos))
        end_configuring(ctld, j);
}

void prologs_done(struct ctld *ctld, const struct node *n, const Pst__RunningStep *run)
{
    struct job *j = cluster_job(ctld->cluster, run->job_id);

    if (j && j->rec->db_id == run->run_id)
        prologs_passed(ctld, j, n->rec->node_id);
}

void prologs_resized(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    if (!job_awaits_node_prologs(j->rec))
        return;
    prologs_forget(ctld, j);
    launch_prepare(ctld, j, lsn);
}
