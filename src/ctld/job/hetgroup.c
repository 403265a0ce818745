/* hetgroup.c - what makes a group of components one job; see hetgroup.h. */
#include "ctld/job/hetgroup.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "ctld/schedlink/schedfeed.h"

uint32_t het_ids(struct ctld *ctld, uint32_t from, uint32_t n)
{
    uint32_t first = (uint32_t)conf_num(ctld->conf, CONF_FIRST_JOB_ID);
    uint32_t max = (uint32_t)conf_num(ctld->conf, CONF_MAX_JOB_ID), run = 0, id = from;
    bool wrapped = false;

    while (run < n) {
        if (id + run > max) {
            if (wrapped)
                return 0;
            wrapped = true;
            id = first;
            run = 0;
        } else if (cluster_job(ctld->cluster, id + run)) {
            id += run + 1;
            run = 0;
        } else {
            run++;
        }
    }
    return id;
}

void het_fill(Pst__JobRecord *rec, uint32_t leader, uint32_t k, uint32_t n)
{
    char set[32];

    (void)snprintf(set, sizeof(set), "%u-%u", leader, leader + n - 1); /* fits */
    SET(rec, het_job_id, leader);
    SET(rec, het_offset, k);
    SET(rec, het_count, n);
    rec->het_id_set = tx_strdup(set);
}

/* ---- scheduling ------------------------------------------------------------------------------ */

void het_feed_others(struct ctld *ctld, const struct job *j)
{
    bool eligible = het_eligible_at(ctld->cluster, j->rec) != INT64_MAX;

    for (uint32_t k = 0; k < j->rec->het_count; k++) {
        struct job *other = het_component(ctld->cluster, j->rec, k);

        if (other && other != j && job_is_pending(other->rec) &&
            feed_knows(ctld, other->rec->job_id) != eligible)
            feed_job(ctld, other);
    }
}

size_t het_decisions(const struct ctld *ctld, const struct sched_decision *d, size_t n)
{
    const struct job *first = cluster_job(ctld->cluster, d->job_id);
    size_t i = 1;

    if (!first || !het_is(first->rec))
        return 1;
    for (; i < n && i < first->rec->het_count && d[i].kind == SCHED_START; i++) {
        const struct job *j = cluster_job(ctld->cluster, d[i].job_id);

        if (!j || !het_is(j->rec) || j->rec->het_job_id != first->rec->het_job_id)
            break;
    }
    return i;
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* A component that ended before the others comes back with them. */
static void back_to_queue(struct ctld *ctld, struct job *j, const struct job_end *end)
{
    const uint32_t held = (end->requeue_hold ? JOB_FLAG(REQUEUE_HOLD) : 0) |
                          (end->special_exit ? JOB_FLAG(SPECIAL_EXIT) : 0);
    Pst__Transaction *tx;

    if (job_has_flag(j->rec, JOB_FLAG(REQUEUED)))
        return;
    if (!job_has_flag(j->rec, JOB_FLAG(COMPLETING))) {
        (void)lifecycle_requeue(ctld, j, end->requeue_hold, end->special_exit, NULL);
        return;
    }
    tx = tx_new(core_now());
    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, j->rec->job_id), state_flags,
        j->rec->state_flags | JOB_FLAG(REQUEUED) | held);
    /* disk full: it stays ended, and the others wait for it to be requeued */
    (void)core_commit(ctld, tx);
}

void het_ended(struct ctld *ctld, uint32_t leader, const struct job_end *end)
{
    const struct job *first = cluster_job(ctld->cluster, leader);
    uint32_t n = first && het_is_leader(first->rec) ? first->rec->het_count : 0;
    struct job_end with = *end;

    with.nodes_clean = false; /* that was said of the leader's node */
    for (uint32_t k = 1; k < n; k++) {
        struct job *j;

        first = cluster_job(ctld->cluster, leader);
        j = first ? het_component(ctld->cluster, first->rec, k) : NULL;
        if (j && !job_is_ended(j->rec))
            (void)lifecycle_end(ctld, j, &with); /* disk full: when the controller starts again */
        else if (j && end->requeue)
            back_to_queue(ctld, j, end);
    }
}

bool het_all_ended(const struct ctld *ctld, const Pst__JobRecord *r)
{
    for (uint32_t k = 0; k < r->het_count; k++) {
        const struct job *j = het_component(ctld->cluster, r, k);

        if (j && !job_is_ended(j->rec))
            return false;
    }
    return true;
}

void het_recover(struct ctld *ctld, struct job *j)
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
