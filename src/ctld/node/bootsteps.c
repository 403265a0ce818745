/* bootsteps.c - see bootsteps.h */
#include "ctld/node/bootsteps.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "ctld/core/service.h"
#include "ctld/policy/bootwait.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/lifecycle.h"
#include "ctld/job/prologs.h"
#include "ctld/notify/hooks.h"
#include "ctld/policy/scriptnode.h"
#include "fields.h"

/* Its time counts from now. */
static uint64_t end_wait(struct ctld *ctld, const struct job *j)
{
    const Pst__JobRecord *r = j->rec;
    int64_t now = core_now();
    Pst__Transaction *tx = tx_new(now);
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_BOOTED, r->job_id);
    uint32_t flags = r->state_flags & ~JOB_FLAG(POWER_UP_NODE);

    if (!job_waits_for_prolog(r))
        flags &= ~(JOB_FLAG(CONFIGURING) | JOB_FLAG(EXPEDITING));
    SET(set, state_flags, flags);
    SET(set, start_us, now);
    if (r->has_end_us && r->has_time_limit_min)
        SET(set, end_us, now + (int64_t)r->time_limit_min * 60 * USEC_PER_SEC);
    tx_clear(tx, JOB_F_POWER_PENDING);
    return core_commit(ctld, tx);
}

/* The node of its script launches the script when it registers: links.c. */
static bool launched_by(const struct cluster *c, const struct job *leader, const struct node *up)
{
    return up && leader->rec->alloc && scriptnode_of(c, leader->rec) == up;
}

/* up: the node that came up just now, NULL: none. */
static void recheck_job(struct ctld *ctld, struct job *j, const struct node *up)
{
    const Pst__Alloc *a = j->rec->alloc;
    struct job *leader = het_is_follower(j->rec) ? het_component(ctld->cluster, j->rec, 0) : j;
    bool held = bootwait_holds_batch(ctld, j);
    uint64_t lsn;

    if (!job_waits_for_boot(j->rec) || job_is_ended(j->rec) ||
        bootwait_any_awaited(ctld->cluster, a))
        return;
    lsn = end_wait(ctld, j);
    if (!lsn) {
        log_error("job %u: its nodes are up, but the journal is full", j->rec->job_id);
        return; /* tried again by the next tick of powersave.c */
    }
    log_info("job %u: its nodes are up", j->rec->job_id);
    if (job_waits_for_prolog(j->rec))
        return; /* siteprologs.c comes back */
    if (leader && held && !launched_by(ctld->cluster, leader, up) &&
        !bootwait_awaits(ctld, leader) && het_runs_script(leader->rec))
        launch_batch(ctld, leader, lsn);
    services_job_ready(ctld, j, lsn);
    if (leader && leader != j)
        services_job_progress(ctld, leader, lsn);
}

void bootsteps_recheck(struct ctld *ctld, struct job *j)
{
    recheck_job(ctld, j, NULL);
}

void bootsteps_node_up(struct ctld *ctld, const struct node *n)
{
    size_t count;
    _cleanup_free_ uint32_t *ids = node_jobs(ctld, n, &count);

    /* By id: what is told of one may end another. */
    for (size_t i = 0; i < count; i++) {
        struct job *j = cluster_job(ctld->cluster, ids[i]);

        if (j && job_waits_for_boot(j->rec) && j->rec->alloc)
            recheck_job(ctld, j, n);
    }
}
