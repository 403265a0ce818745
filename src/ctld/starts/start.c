/* start.c - jobs start as the scheduler proposed; see start.h.  The records are startrecord.c's. */
#include "ctld/starts/start.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/must.h"
#include "ctld/core/noderecord.h"
#include "ctld/core/service.h"
#include "ctld/policy/bootwait.h"
#include "ctld/job/hetgroup.h"
#include "ctld/policy/imex.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/lifecycle.h"
#include "ctld/job/prologs.h"
#include "ctld/notify/hooks.h"
#include "ctld/policy/policy.h"
#include "ctld/resv/resv.h"
#include "ctld/policy/bootfeatures.h"
#include "ctld/schedlink/passnotes.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/step/steps.h"
#include "feed/records.h"

/* Reservations may be others than the scheduler knew. */
static bool keeps_reservations(struct ctld *ctld, const struct job *j,
                               const struct sched_decision *d)
{
    const Pst__JobRecord *r = j->rec;
    uint32_t limit = d->time_limit_min                  ? d->time_limit_min
                     : feed_time_is_soft(ctld->conf, r) ? r->time_min_min
                     : r->has_time_limit_min            ? r->time_limit_min
                                                        : UINT32_MAX;
    _cleanup_free_ uint32_t *ids = NULL;

    if (!d->resv_id && !ctld->cluster->kept[KEPT_RESV].count)
        return true;
    ids = must(calloc(d->alloc.nnodes + 1, sizeof(*ids)));
    for (size_t i = 0; i < d->alloc.nnodes; i++)
        ids[i] = d->alloc.nodes[i].node_id;
    return resv_start_holds(ctld, j, d->resv_id, ids, d->alloc.nnodes, core_now(), limit);
}

/* Nodes that would have to boot may have got another job, or other features. */
static bool keeps_features(const struct ctld *ctld, const struct job *j,
                           const struct sched_decision *d)
{
    _cleanup_free_ uint32_t *ids = NULL;

    if (!bootfeatures_may(ctld, j->rec))
        return true;
    ids = must(calloc(d->alloc.nnodes + 1, sizeof(*ids)));
    for (size_t i = 0; i < d->alloc.nnodes; i++)
        ids[i] = d->alloc.nodes[i].node_id;
    return bootwait_possible(ctld, j->rec, ids, d->alloc.nnodes);
}

/* Does what the proposal needs still hold? */
bool start_holds(struct ctld *ctld, const struct job *j, const struct sched_decision *d)
{
    /* Proposals overtake changes: an array whose throttle was reached meanwhile must wait, too. */
    if (!j || !job_is_pending(j->rec) || feed_eligible_at(ctld->cluster, j->rec) == INT64_MAX ||
        policy_qos_lost(ctld, j->rec) || !jobs_in_partition(j->rec, d->partition) ||
        !cluster_partition(ctld->cluster, d->partition))
        return false;
    for (size_t i = 0; i < d->alloc.nnodes; i++) {
        const struct node *n = cluster_node(ctld->cluster, d->alloc.nodes[i].node_id);

        if (!n || (noderecord_is_external(n->rec) && !job_is_external(j->rec)) ||
            !feed_node_serves(n->rec, node_is_linked(ctld, n)))
            return false;
    }
    return d->alloc.nnodes > 0 && imex_has_room(ctld, j->rec) && keeps_reservations(ctld, j, d) &&
           keeps_features(ctld, j, d);
}

/* Its nodes that are to boot again are told, with the features that they are to have then. */
static void tell_reboots(struct ctld *ctld, const struct job *j, uint64_t lsn)
{
    for (size_t i = 0; i < j->rec->alloc->n_node_ids; i++) {
        const struct node *n = cluster_node(ctld->cluster, j->rec->alloc->node_ids[i]);

        if (!n || !(n->rec->state_flags & NODE_BIT(POWERING_UP)) || !n->rec->has_reboot_us)
            continue;
        launch_reboot(ctld, n, lsn, n->rec->boot_features);
    }
}

static void after_start(struct ctld *ctld, const struct started *st, uint32_t priority,
                        uint64_t lsn)
{
    struct job *j = cluster_job(ctld->cluster, st->id);

    SET(j->rec, cur_priority, priority);
    SET(j->rec, last_sched_eval_us, core_now());
    prologs_forget(ctld, j);
    if (cluster_step(j, STEP_EXTERN))
        steps_await(cluster_step(j, STEP_EXTERN));
    if (st->id != st->proposed) { /* told before the task counted: the throttle may be reached */
        struct job *rest = cluster_job(ctld->cluster, st->proposed);

        SET(rest->rec, cur_priority, priority); /* theirs too, whether the scheduler sees them */
        feed_job(ctld, rest);
    }
    if (feed_throttled(ctld->cluster, j->rec)) /* the others wait from now on */
        feed_array_turn(ctld, j);
    else if (st->id != st->proposed)
        feed_next_task(ctld);
    if (job_waits_for_boot(j->rec)) {
        feed_end_time(ctld, j); /* the scheduler knows of its time limit alone */
        tell_reboots(ctld, j, lsn);
    }
    if (job_waits_for_prolog(j->rec))
        hooks_prolog(ctld, j, lsn);
    else if (het_runs_script(j->rec))
        launch_batch(ctld, j, lsn);
    else
        launch_prepare(ctld, j, lsn);
    services_job_started(ctld, j, lsn);
}

/* Start the n jobs of these decisions, all of them in one transaction. */
bool start_jobs(struct ctld *ctld, const struct start_pass *pass, const struct sched_decision *d,
                size_t n)
{
    int64_t now = core_now();
    Pst__Transaction *tx = tx_new(now);
    struct started *list = must(calloc(n, sizeof(*list)));
    uint64_t lsn;

    passnotes_put(ctld, tx, pass->number);
    for (size_t i = 0; i < n; i++)
        list[i] = startrecord_put(ctld, tx, pass, &d[i], now);
    SET(tx_cluster(tx), jobs_started, ctld->cluster->rec->jobs_started + n);
    lsn = core_commit(ctld, tx);
    /* last: its script and its owner find the others */
    for (int leader = 0; lsn && leader < 2; leader++)
        for (size_t i = 0; i < n; i++)
            if (!het_is_follower(cluster_job(ctld->cluster, list[i].id)->rec) == leader)
                after_start(ctld, &list[i], d[i].priority, lsn);
    for (size_t i = 0; !lsn && i < n; i++)
        imex_forget(ctld, list[i].id);
    free(list);
    return lsn != 0;
}
