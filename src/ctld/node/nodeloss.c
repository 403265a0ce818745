/* nodeloss.c - a node is lost: what it held ends, is queued again, or goes on without it; see
 * nodeloss.h */
#include "ctld/node/nodeloss.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "ctld/core/noderecord.h"
#include "ctld/core/service.h"
#include "ctld/job/cleaning.h"
#include "ctld/job/expedite.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/lifecycle.h"
#include "ctld/job/prologs.h"
#include "ctld/job/resize.h"
#include "ctld/policy/scriptnode.h"
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

enum loss { LOSS_FAILED, LOSS_FOR_GOOD, LOSS_BOOT, LOSS_BY_HAND };

/* Nobody knows whether what an external job started there has ended. */
static bool stays_kept(const struct job *j, enum loss loss)
{
    return job_keeps_nodes(j->rec) && loss != LOSS_FOR_GOOD && loss != LOSS_BY_HAND;
}

/* The job ends; what it had on the node is not waited for.  With a component ends all of its
 * job. */
static void lose_job(struct ctld *ctld, struct job *j, uint32_t node_id, const struct job_end *end,
                     enum loss loss)
{
    uint32_t id = j->rec->job_id;
    struct job *leader = het_is_follower(j->rec) ? het_component(ctld->cluster, j->rec, 0) : NULL;

    if (leader && !job_is_ended(leader->rec))
        (void)lifecycle_end(ctld, leader, end); /* disk full: the node says so again */
    else
        (void)lifecycle_end(ctld, j, end);
    j = cluster_job(ctld->cluster, id);
    if (j && cleaning_is_on(ctld, j) && !stays_kept(j, loss))
        lifecycle_node_clean(ctld, j, node_id);
}

/* --no-kill: the rest goes on, in an allocation without the node. */
static void go_on_without(struct ctld *ctld, struct job *j, const struct node *n)
{
    uint32_t id = j->rec->job_id;

    lose_steps(ctld, j, n->rec->node_id);
    j = cluster_job(ctld->cluster, id);
    if (resize_drop_node(ctld, j, n->rec->node_id) != 0) /* suspended, or one of several parts */
        prologs_passed(ctld, j, n->rec->node_id);
}

/* requeue_on_resume_failure: jobs that were never launched are queued again whatever they say. */
static bool queued_again(const struct ctld *ctld, const Pst__JobRecord *r, enum loss loss)
{
    if (loss == LOSS_FOR_GOOD || !r->has_batch || !r->batch)
        return false;
    return (r->has_requeue && r->requeue) ||
           (loss == LOSS_BOOT && conf_option(ctld->conf, CONF_SCHEDULER_PARAMETERS,
                                             "requeue_on_resume_failure", NULL, NULL));
}

static void lose_node_of(struct ctld *ctld, struct job *j, const struct node *n, enum loss loss)
{
    const Pst__JobRecord *r = j->rec;
    struct job_end end = { .state = JOB_STATE(NODE_FAIL),
                           .reason = PST__JOB_REASON__REASON_NODE_DOWN,
                           .kill_text = CLEANING_NODE_FAILURE,
                           .failed_node = n->rec->name,
                           .has_exit = true, /* shown as 0:1: its real exit status is lost */
                           .exit_status = 1 };

    if (job_is_ended(r)) {
        expedite_note_failure(ctld, j);
        if (!stays_kept(j, loss))
            lifecycle_node_clean(ctld, j, n->rec->node_id);
    } else if (r->has_no_kill && r->no_kill && r->alloc->n_node_ids > 1 &&
               scriptnode_of(ctld->cluster, r) != n) {
        go_on_without(ctld, j, n);
    } else {
        end.requeue = queued_again(ctld, r, loss);
        lose_job(ctld, j, n->rec->node_id, &end, loss);
    }
}

static void end_jobs(struct ctld *ctld, struct node *n, enum loss loss)
{
    size_t count;
    _cleanup_free_ uint32_t *ids = node_jobs(ctld, n, &count);

    /* By id: with a component ends its whole job. */
    for (size_t i = 0; i < count; i++) {
        struct job *j = cluster_job(ctld->cluster, ids[i]);

        if (j && runs_on(j, n->rec->node_id) && job_holds_resources(j->rec))
            lose_node_of(ctld, j, n, loss);
    }
}

void nodeloss_end_jobs(struct ctld *ctld, struct node *n, const char *why)
{
    log_error("node %s: lost: %s", n->rec->name, why);
    end_jobs(ctld, n, LOSS_FAILED);
}

void nodeloss_by_hand(struct ctld *ctld, struct node *n, const char *why)
{
    log_error("node %s: lost: %s", n->rec->name, why);
    end_jobs(ctld, n, LOSS_BY_HAND);
}

void nodeloss_boot_failed(struct ctld *ctld, struct node *n)
{
    end_jobs(ctld, n, LOSS_BOOT);
}

/* ---- what leaves the configuration -----------------------------------------------------------
 *
 * A job in a partition that is gone could never start or be limited again; one on a node that is
 * gone runs where nobody looks.  Both end as if the node had failed, and are not queued again. */

static bool is_partition(const struct cluster *c, const char *name, size_t len)
{
    for (size_t i = 0; i < c->nparts; i++)
        if (strncmp(c->parts[i]->rec->name, name, len) == 0 && !c->parts[i]->rec->name[len])
            return true;
    return false;
}

/* Is any partition of the list "a,b" there?  NULL: none was asked for, so it stays. */
static bool has_partition(const struct ctld *ctld, const char *list)
{
    while (list && *list) {
        size_t len = strcspn(list, ",");

        if (is_partition(ctld->cluster, list, len))
            return true;
        list += len + (list[len] == ',');
    }
    return !list;
}

static void end_without_partition(struct ctld *ctld)
{
    const struct job_end end = { .state = JOB_STATE(NODE_FAIL),
                                 .reason = PST__JOB_REASON__REASON_PARTITION_DOWN,
                                 .kill_text = CLEANING_NODE_FAILURE };
    size_t n = 0, room = ctld->cluster->jobs.count;
    _cleanup_free_ uint32_t *ids = malloc((room + 1) * sizeof(*ids));
    void *v;

    ctld->parts_gone = !ids;
    for (size_t pos = 0; ids && (v = cluster_next_job(ctld->cluster, &pos));) {
        const struct job *j = v;

        if (!job_is_ended(j->rec) && !has_partition(ctld, j->rec->partition) && n < room)
            ids[n++] = j->rec->job_id;
    }
    for (size_t i = 0; i < n; i++) {
        struct job *j = cluster_job(ctld->cluster, ids[i]); /* with one may have ended another */

        if (!j || job_is_ended(j->rec))
            continue;
        log_error("job %u: its partition %s is gone", ids[i], j->rec->partition);
        if (!lifecycle_end(ctld, j, &end))
            ctld->parts_gone = true; /* disk full: at the next reconfiguration */
    }
}

static void end_removed(struct ctld *ctld, struct node *n)
{
    log_error("node %s: not in the configuration any more", n->rec->name);
    end_jobs(ctld, n, LOSS_FOR_GOOD);
}

static void follow_configuration(struct ctld *ctld)
{
    if (ctld->parts_gone) /* else a walk over all jobs would find none */
        end_without_partition(ctld);
    for (uint32_t i = 0; i < ctld->cluster->nnodes; i++) {
        struct node *n = ctld->cluster->nodes[i];

        if (n && n->jobs && !noderecord_is_dynamic(n->rec) &&
            !conf_find_node(ctld->conf, n->rec->name))
            end_removed(ctld, n);
    }
}

static void recover_losses(struct ctld *ctld)
{
    ctld->parts_gone = true; /* the last controller may have ended in between */
    follow_configuration(ctld);
}

static void note_part_gone(struct ctld *ctld, struct partition *p)
{
    (void)p;
    ctld->parts_gone = true;
}

const struct ctld_service nodeloss_service = {
    .name = "nodeloss",
    .recovered = recover_losses,
    .reconfigured = follow_configuration,
    .on_part_gone = note_part_gone,
};
