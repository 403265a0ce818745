/* prologs.c - see prologs.h */
#include "ctld/job/prologs.h"

#include <stdlib.h>

#include "base/bitmap.h"
#include "base/log.h"
#include "ctld/job/hetgroup.h"
#include "ctld/notify/hooks.h"
#include "ctld/job/lifecycle.h"
#include "ctld/core/wait.h"

#define F_NODE_PROLOGS 540 /* in JobRecord */

static bool has_flag(const struct ctld *ctld, const char *flag)
{
    const char *v;
    size_t len;

    return conf_option(ctld->conf, CONF_PROLOG_FLAGS, flag, &v, &len);
}

bool prologs_wanted(const struct ctld *ctld)
{
    const char *first = conf_str_nth(ctld->conf, CONF_PROLOG, 0);

    return first && *first && launch_prepares(ctld);
}

/* A component of a heterogeneous job counts for its leader. */
static bool any_awaits(const struct ctld *ctld, const struct job *j)
{
    for (uint32_t k = 0; het_is_leader(j->rec) && k < j->rec->het_count; k++) {
        const struct job *part = het_component(ctld->cluster, j->rec, k);

        if (part && job_awaits_node_prologs(part->rec))
            return true;
    }
    return job_awaits_node_prologs(j->rec);
}

bool prologs_hold_grant(const struct ctld *ctld, const struct job *j)
{
    return any_awaits(ctld, j) && !has_flag(ctld, "NoHold");
}

bool prologs_hold_batch(const struct ctld *ctld, const struct job *j)
{
    return any_awaits(ctld, j) && has_flag(ctld, "DeferBatch");
}

bool prologs_over(const struct job *j)
{
    return j->prologs && bitmap_empty(j->prologs);
}

bool prologs_await(const struct job *j, size_t position)
{
    return job_awaits_node_prologs(j->rec) &&
           (!j->prologs || bitmap_test(j->prologs, (uint32_t)position));
}

/* All nodes are ready. */
static void ready(struct ctld *ctld, struct job *j)
{
    Pst__Transaction *tx = tx_new(core_now());
    struct job *leader;
    uint64_t lsn;

    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, j->rec->job_id), state_flags,
        j->rec->state_flags & ~JOB_FLAG(CONFIGURING));
    tx_clear(tx, F_NODE_PROLOGS);
    lsn = core_commit(ctld, tx);
    if (!lsn) {
        log_error("job %u: its nodes are ready, but the journal is full", j->rec->job_id);
        return; /* their report is not acknowledged and comes again */
    }
    leader = het_component(ctld->cluster, j->rec, 0);
    leader = leader ? leader : j;
    if (has_flag(ctld, "DeferBatch"))
        launch_batch(ctld, leader, lsn); /* unless another component is not ready */
    wait_notify(ctld, j, lsn);
    if (leader != j)
        wait_notify(ctld, leader, lsn);
}

void prologs_passed(struct ctld *ctld, struct job *j, uint32_t node_id)
{
    const Pst__Alloc *a = j->rec->alloc;
    long pos = a ? alloc_position(a, node_id) : -1;

    if (pos < 0 || !job_awaits_node_prologs(j->rec) || job_is_ended(j->rec))
        return;
    if (!j->prologs) {
        if (bitmap_new((uint32_t)a->n_node_ids, &j->prologs) < 0) {
            log_fatal("out of memory for the nodes of a job");
            abort();
        }
        bitmap_set_range(j->prologs, 0, (uint32_t)a->n_node_ids);
    }
    bitmap_clear(j->prologs, (uint32_t)pos);
    if (bitmap_empty(j->prologs))
        ready(ctld, j);
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
    j->prologs = bitmap_free(j->prologs);
    launch_prepare(ctld, j, lsn);
}
