/* stepends.c - steps end: on one node after the other, with their job, or at their limit; see
 * steps.h */
#include "ctld/step/steps.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/bitmap.h"
#include "base/must.h"
#include "base/process/oomstatus.h"
#include "base/timefmt.h"
#include "ctld/core/service.h"
#include "daemon/credlife.h"
#include "ctld/job/lifecycle.h"
#include "ctld/step/async.h"
#include "model/words/stepuse.h"

#define ASK_AFTER_US (5 * USEC_PER_SEC) /* of clocks, and of a launch that is being read */

/* By the status alone, whatever became of the job: ended by a signal is cancelled. */
static Pst__StepState end_state(uint32_t status)
{
    if (status == STATUS_OOM)
        return PST__STEP_STATE__STEP_OUT_OF_MEMORY;
    if (status == 0)
        return PST__STEP_STATE__STEP_COMPLETED;
    return WIFSIGNALED((int)status) ? PST__STEP_STATE__STEP_CANCELLED
                                    : PST__STEP_STATE__STEP_FAILED;
}

/* Out of memory, then exit codes, then signals, higher first: what Slurm calls the highest. */
static uint32_t worse_status(uint32_t a, uint32_t b)
{
    if (a == STATUS_OOM || b == STATUS_OOM)
        return STATUS_OOM;
    return a > b ? a : b;
}

/* The node's word, as far as it can be: not before the start, not after now. */
static int64_t end_of(const Pst__StepRecord *rec, const Pst__StepEnd *end)
{
    return end->has_end_us ? MIN(MAX(end->end_us, rec->start_us), core_now()) : core_now();
}

uint64_t steps_ended(struct ctld *ctld, struct job *j, struct step *s, uint32_t node_id,
                     const Pst__StepEnd *end)
{
    uint32_t status =
        worse_status(s->rec->has_exit_status ? s->rec->exit_status : 0, end->exit_status);
    uint32_t waited = s->waiting ? bitmap_count(s->waiting) : 0;
    long pos = alloc_position(s->rec->alloc, node_id);
    Pst__Transaction *tx;
    Pst__StepRecord *set;
    bool last;
    uint64_t lsn;

    if (s->rec->state != PST__STEP_STATE__STEP_RUNNING || pos < 0)
        return ctld->applied_lsn; /* said before */
    if (s->waiting && !bitmap_test(s->waiting, (uint32_t)pos))
        return ctld->applied_lsn;
    last = waited <= 1;
    tx = tx_new(core_now());
    set = tx_step_patch(tx, last ? PST__EVENT_KIND__EV_STEP_END : PST__EVENT_KIND__EV_UNSPECIFIED,
                        s->rec->job_id, s->rec->step_id);
    SET(set, exit_status, status);
    if (end->usage)
        set->usage = must(stepuse_sum(s->rec->usage, end->usage));
    if (last) {
        SET(set, state, end_state(status));
        SET(set, end_us, end_of(s->rec, end));
        if (s->rec->step_id < STEP_INTERACTIVE &&
            (!j->rec->has_derived_exit_status || status > j->rec->derived_exit_status))
            SET(tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, j->rec->job_id),
                derived_exit_status, status);
    }
    lsn = core_commit(ctld, tx);
    if (!lsn)
        return 0; /* the node says it again */
    if (last)
        s->waiting = bitmap_free(s->waiting);
    else
        bitmap_clear(s->waiting, (uint32_t)pos);
    if (last && s->rec->step_id != STEP_EXTERN) {
        services_step_ended(ctld, j, status);
        steps_retry(ctld, j);
    }
    return lsn;
}

uint64_t steps_unlaunched(struct ctld *ctld, struct job *j, uint32_t step_id, uint32_t status)
{
    const struct step *first = cluster_step(j, step_id);
    size_t n = first && first->rec->alloc ? first->rec->alloc->n_node_ids : 0;
    uint32_t *nodes = must(calloc(n + 1, sizeof(*nodes)));
    uint64_t lsn = ctld->applied_lsn;
    Pst__StepEnd end = PST__STEP_END__INIT;

    SET(&end, exit_status, status);
    for (size_t i = 0; i < n; i++)
        nodes[i] = first->rec->alloc->node_ids[i];
    for (size_t i = 0; i < n && lsn; i++) {
        struct step *s = cluster_step(j, step_id); /* the end on the last node may remove it */

        if (s)
            lsn = steps_ended(ctld, j, s, nodes[i], &end);
    }
    free(nodes);
    return lsn;
}

void steps_recover(struct ctld *ctld, struct job *j)
{
    async_recover(ctld, j);
    for (struct step *s = j->steps; s; s = s->next)
        if (s->rec->state == PST__STEP_STATE__STEP_RUNNING && !s->waiting)
            steps_await(s);
}

/* srun may have died before it started its step anywhere.  Once its credential is worth nothing,
 * nodes are asked; those that do not have the step say that it is over.  Once is enough: a node
 * that is not connected tells all that it has when it comes back. */
static void ask_for(struct ctld *ctld, struct job *j, struct step *s, int64_t now_us)
{
    Pst__SignalSteps sig = PST__SIGNAL_STEPS__INIT;
    uint32_t id = s->rec->step_id;

    if (s->asked || id == STEP_BATCH || id == STEP_EXTERN || s->rec->has_async_launch ||
        s->rec->start_us + credlife_us(ctld->conf) + ASK_AFTER_US > now_us)
        return;
    s->asked = true;
    sig.step_ids = &id;
    sig.n_step_ids = 1;
    SET(&sig, ask, true);
    SET(&sig, job_id, j->rec->job_id);
    SET(&sig, run_id, j->rec->db_id);
    for (size_t i = 0; i < s->rec->alloc->n_node_ids; i++) {
        const struct node *n = cluster_node(ctld->cluster, s->rec->alloc->node_ids[i]);

        if (n && bitmap_test(s->waiting, (uint32_t)i))
            (void)node_send(ctld, n, ctld->applied_lsn, OP_SIGNAL_STEPS,
                            &sig.base); /* not connected: it registers */
    }
}

/* A running step that is to end: by its limit, or by a cancel that may have come before its
 * launch. */
static void step_tick(struct ctld *ctld, struct job *j, struct step *s, int64_t now_us)
{
    bool late = s->rec->has_time_limit_min &&
                s->rec->start_us + (int64_t)s->rec->time_limit_min * 60 * USEC_PER_SEC <= now_us;
    Pst__SignalSteps sig = PST__SIGNAL_STEPS__INIT;
    uint32_t id = s->rec->step_id;

    ask_for(ctld, j, s, now_us);
    if (!late && !s->killed)
        return;
    sig.step_ids = &id;
    sig.n_step_ids = 1;
    if (s->killed) {
        SET(&sig, signal, SIGKILL);
        if (s->rec->has_cancel_uid)
            sig.reason = (char *)STEP_CANCEL_TEXT; /* not changed by packing */
    } else {
        SET(&sig, terminate, true);
        SET(&sig, kill_wait_s, (uint32_t)conf_num(ctld->conf, CONF_KILL_WAIT));
        sig.reason = (char *)JOB_TEXT_TIME_LIMIT; /* not changed by packing */
    }
    launch_signal(ctld, j, ctld->applied_lsn, &sig);
}

static void end_late_steps(struct ctld *ctld, int64_t now_us)
{
    for (struct job *j = ctld->cluster->active, *next; j; j = next) {
        next = j->next_active;
        for (struct step *s = j->steps; s; s = s->next)
            if (s->waiting)
                step_tick(ctld, j, s, now_us);
    }
}

/* ---- the service ----------------------------------------------------------------------------- */

/* All steps of j that still run: their node or job is gone. */
static void close_steps(struct ctld *ctld, Pst__Transaction *tx, struct job *j, uint32_t job_status)
{
    (void)ctld;
    for (struct step *s = j->steps; s; s = s->next) {
        /* An extern step has nothing of its own that could fail. */
        uint32_t exit_status = s->rec->step_id == STEP_EXTERN ? 0 : job_status;
        Pst__StepRecord *set;

        if (s->rec->state == PST__STEP_STATE__STEP_PENDING)
            async_close(tx, s, NULL);
        if (s->rec->state != PST__STEP_STATE__STEP_RUNNING)
            continue;
        set = tx_step_patch(tx, PST__EVENT_KIND__EV_STEP_END, s->rec->job_id, s->rec->step_id);
        if (!s->rec->has_exit_status)
            SET(set, exit_status, exit_status);
        SET(set, state, end_state(s->rec->has_exit_status ? s->rec->exit_status : exit_status));
        SET(set, end_us, core_now());
        s->waiting = bitmap_free(s->waiting);
    }
}

const struct ctld_service stepends_service = {
    .name = "stepends",
    .tick_writing = end_late_steps,
    .job_closing = close_steps,
};
