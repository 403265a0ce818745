/* nodeloss.c - a node is lost: what it held ends, is queued again, or goes on without it */
#include "ctld/job/nodeloss.h"

#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "ctld/job/cleaning.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/lifecycle.h"
#include "ctld/job/prologs.h"
#include "ctld/step/steps.h"

static bool runs_on(const struct job *j, uint32_t node_id)
{
    return j->rec->alloc && alloc_position(j->rec->alloc, node_id) >= 0;
}

/* What steps had on a lost node is over. */
static void lose_steps(struct ctld *ctld, struct job *j, uint32_t node_id)
{
    for (struct step *s = j->steps, *next; s; s = next) {
        Pst__StepEnd lost = PST__STEP_END__INIT;

        next = s->next;
        SET(&lost, exit_status, SIGKILL);
        if (s->waiting)
            (void)steps_ended(ctld, j, s, node_id, &lost);
    }
}

/* The job ends; what it had on the node is not waited for.  With a component ends all of its
 * job. */
static void lose_job(struct ctld *ctld, struct job *j, uint32_t node_id, const struct job_end *end)
{
    uint32_t id = j->rec->job_id;
    struct job *leader = het_is_follower(j->rec) ? het_component(ctld->cluster, j->rec, 0) : NULL;

    if (leader && !job_is_ended(leader->rec))
        (void)lifecycle_end(ctld, leader, end); /* disk full: the node says so again */
    else
        (void)lifecycle_end(ctld, j, end);
    j = cluster_job(ctld->cluster, id);
    if (j && cleaning_is_on(ctld, j))
        lifecycle_node_clean(ctld, j, node_id);
}

static void lose_node_of(struct ctld *ctld, struct job *j, const struct node *n)
{
    const Pst__JobRecord *r = j->rec;
    struct job_end end = { .state = JOB_STATE(NODE_FAIL),
                           .reason = PST__JOB_REASON__REASON_NODE_DOWN,
                           .kill_text = "DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS",
                           .failed_node = n->rec->name,
                           .has_exit = true, /* shown as 0:1: its real exit status is lost */
                           .exit_status = 1 };

    if (job_is_ended(r)) {
        lifecycle_node_clean(ctld, j, n->rec->node_id);
    } else if (r->has_no_kill && r->no_kill && r->alloc->n_node_ids > 1 &&
               r->alloc->node_ids[0] != n->rec->node_id) {
        lose_steps(ctld, j, n->rec->node_id); /* --no-kill: the rest goes on */
        prologs_passed(ctld, j, n->rec->node_id);
    } else {
        end.requeue = r->has_batch && r->batch && r->has_requeue && r->requeue;
        lose_job(ctld, j, n->rec->node_id, &end);
    }
}

void nodeloss_end_jobs(struct ctld *ctld, struct node *n, const char *why)
{
    _cleanup_free_ uint32_t *ids = malloc((n->jobs + 1) * sizeof(*ids));
    size_t count = 0;

    log_error("node %s: lost: %s", n->rec->name, why);
    /* By id: with a component ends its whole job. */
    for (const struct job *j = ctld->cluster->active; ids && j && count < n->jobs;
         j = j->next_active)
        if (runs_on(j, n->rec->node_id))
            ids[count++] = j->rec->job_id;
    for (size_t i = 0; i < count; i++) {
        struct job *j = cluster_job(ctld->cluster, ids[i]);

        if (j && runs_on(j, n->rec->node_id) && job_holds_resources(j->rec))
            lose_node_of(ctld, j, n);
    }
}
