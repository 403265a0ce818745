/* links.c - the nodes' connections: registration, reports, reconciliation
 *
 * A node dials in and says what it has; the model says what it should have.  The differences
 * become launches, terminations and ends, so that a restart of either side at any moment changes
 * nothing for the jobs. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/logflags.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "base/safetext.h"
#include "base/sluid.h"
#include "base/timefmt.h"
#include "conf/cloud/conf_regmem.h"
#include "conf/tls/conf_tls.h"
#include "ctld/node/bootsteps.h"
#include "ctld/node/dynreg.h"
#include "ctld/node/nodekeys.h"
#include "ctld/link/nodelink.h"
#include "ctld/node/nodetopology.h"
#include "ctld/step/memupdate.h"
#include "ctld/step/async.h"
#include "ctld/core/effects.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/notify/hooks.h"
#include "ctld/policy/bootfeatures.h"
#include "ctld/policy/bootwait.h"
#include "ctld/job/cleaning.h"
#include "ctld/job/expedite.h"
#include "ctld/node/nodeloss.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/launchfail.h"
#include "ctld/job/lifecycle.h"
#include "ctld/job/prologs.h"
#include "ctld/node/powernode.h"
#include "ctld/node/powerorder.h"
#include "ctld/node/powersave.h"
#include "ctld/node/reboot.h"
#include "ctld/step/steps.h"
#include "ctld/front/confserve.h"
#include "ctld/front/view.h"
#include "model/words/nodespec.h"
#include "ctld/core/noderecord.h"
#include "ctld/topology/topoclaim.h"
#include "ctld/topology/topology.h"
#include "ctld/core/service.h"
#include "fields.h"

#define STEP_GRACE_US (30 * USEC_PER_SEC) /* a step may still be on its way to the node */

/* ---- registration ---------------------------------------------------------------------------- */

#define FLAG(x) (1u << PST__NODE_FLAG__NODE_FLAG_##x)

static bool same_topo(const Pst__NodeRecord *a, const Pst__NodeRecord *b)
{
    bool same = a->n_gres_topo == b->n_gres_topo;

    for (size_t i = 0; same && i < a->n_gres_topo; i++)
        same = pb_equal(&a->gres_topo[i]->base, &b->gres_topo[i]->base);
    return same;
}

static void copy_topo(Pst__NodeRecord *set, const Pst__NodeRecord *now)
{
    set->gres_topo = calloc(now->n_gres_topo, sizeof(Pst__GresTopo *));
    for (size_t i = 0; set->gres_topo && i < now->n_gres_topo; i++) {
        ProtobufCMessage *copy;

        if (pb_dup(&now->gres_topo[i]->base, &copy) < 0)
            return; /* it registers again */
        set->gres_topo[set->n_gres_topo++] = (Pst__GresTopo *)copy;
    }
}

static void copy_line(char **to, const char *old, const char *now)
{
    if (now && safetext_is_line(now) && (!old || strcmp(old, now) != 0))
        (void)pb_set_str(to, now);
}

/* What slurmd was started with: --extra, --instance-id, --instance-type. */
static void copy_given(Pst__NodeRecord *set, const Pst__NodeRecord *old, const Pst__NodeRecord *now)
{
    copy_line(&set->extra, old->extra, now->extra);
    copy_line(&set->instance_id, old->instance_id, now->instance_id);
    copy_line(&set->instance_type, old->instance_type, now->instance_type);
}

static void copy_facts(Pst__NodeRecord *set, const Pst__NodeRecord *old, const Pst__NodeRecord *now)
{
    copy_given(set, old, now);
    if (now->arch && (!old->arch || strcmp(old->arch, now->arch) != 0))
        (void)pb_set_str(&set->arch, now->arch);
    if (now->os && (!old->os || strcmp(old->os, now->os) != 0))
        (void)pb_set_str(&set->os, now->os);
    if (now->version && (!old->version || strcmp(old->version, now->version) != 0))
        (void)pb_set_str(&set->version, now->version);
    if (now->boot_id && (!old->boot_id || strcmp(old->boot_id, now->boot_id) != 0))
        (void)pb_set_str(&set->boot_id, now->boot_id);
    if (now->gres_devices &&
        (!old->gres_devices || strcmp(old->gres_devices, now->gres_devices) != 0))
        (void)pb_set_str(&set->gres_devices, now->gres_devices);
    if (now->n_gres_topo && !same_topo(old, now))
        copy_topo(set, now);
    if (now->launch_keys != old->launch_keys)
        SET(set, launch_keys, now->launch_keys);
    if (now->has_boot_us)
        SET(set, boot_us, now->boot_us);
    if (now->has_slurmd_start_us)
        SET(set, slurmd_start_us, now->slurmd_start_us);
}

/* May a node that is DOWN come back by itself? */
static bool may_return(const struct ctld *ctld, const Pst__NodeRecord *r)
{
    uint64_t rts = conf_num(ctld->conf, CONF_RETURN_TO_SERVICE);

    return rts == 2 || (rts == 1 && (!r->reason || strcmp(r->reason, "Not responding") == 0 ||
                                     strcmp(r->reason, "ResumeTimeout reached") == 0));
}

/* Did the node reboot although no operator had asked for that?  Then an operator should look at it;
 * with ReturnToService=2 that is not needed. */
static bool came_back_alone(const struct ctld *ctld, const Pst__NodeRecord *old,
                            const Pst__NodeRecord *reg)
{
    return old->state == PST__NODE_STATE__NODE_IDLE && old->boot_id && reg->boot_id &&
           strcmp(old->boot_id, reg->boot_id) != 0 &&
           conf_num(ctld->conf, CONF_RETURN_TO_SERVICE) != 2;
}

/* ResumeAfter= is over with the state that it was given for. */
static bool ends_resume(const Pst__NodeRecord *old, const Pst__NodeRecord *set)
{
    bool returns = set->has_state && !(set->state_flags & (FLAG(DRAIN) | FLAG(FAIL)));

    return old->has_resume_after_us && (returns || set->reason);
}

static uint64_t register_node(struct ctld *ctld, struct node *n, const Pst__NodeRecord *reg,
                              const char *addr, const uint8_t *bind)
{
    const Pst__NodeRecord *old = n->rec;
    Pst__Transaction *tx = tx_new(core_now());
    Pst__NodeRecord *set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_REGISTER, old->node_id);
    uint32_t flags = old->state_flags & ~FLAG(NOT_RESPONDING);
    char buf[160];
    double mem_pct = conf_reg_mem_pct(ctld->conf, old->state_flags & FLAG(CLOUD));
    const char *low = reg->gres_problem ? reg->gres_problem
                                        : nodespec_too_small(reg, old, mem_pct, buf, sizeof(buf));
    bool powered = power_reg_judge(old, reg) == POWER_REG_UP;
    bool forget = false, rebooted = false, lacks;
    enum topoclaim_reason place;
    uint64_t lsn;

    copy_facts(set, old, reg);
    bootfeatures_register(ctld, tx, old, reg, set, &lacks);
    if (lacks && !low) {
        (void)snprintf(buf, sizeof(buf), "booted without the features %.100s", old->boot_features);
        low = buf;
    }
    if (bind) {
        char text[IDKEY_TEXT];

        idkey_text(bind, text);
        (void)pb_set_str(&set->node_key, text); /* else with the next registration */
        log_info("node %s: the controller knows this node by its key %s from now on", old->name,
                 text);
    }
    if (!reg->n_gres_topo && old->n_gres_topo)
        tx_clear(tx, NODE_F_GRES_TOPO);
    if (powered)
        flags = power_reg_fill(ctld, tx, old, reg, addr, set);
    SET(set, registered_us, core_now());
    if (!old->reg_addr || strcmp(old->reg_addr, addr) != 0)
        (void)pb_set_str(&set->reg_addr, addr);
    if (old->state == PST__NODE_STATE__NODE_UNKNOWN || old->state == PST__NODE_STATE__NODE_FUTURE ||
        (old->state == PST__NODE_STATE__NODE_DOWN && !(flags & FLAG(REBOOT_ISSUED)) &&
         may_return(ctld, old))) {
        SET(set, state, PST__NODE_STATE__NODE_IDLE);
        forget = !(flags & FLAG(DRAIN)) && old->reason;
    }
    if (reboot_over(old, reg)) {
        forget = reboot_done(ctld, old, set, &flags);
        rebooted = true;
        log_info("node %s: is back from its reboot", old->name);
    } else if (!powered && came_back_alone(ctld, old, reg)) {
        SET(set, state, PST__NODE_STATE__NODE_DOWN);
        (void)pb_set_str(&set->reason, "Node unexpectedly rebooted");
        SET(set, reason_us, core_now());
        SET(set, reason_uid, conf_slurm_uid(ctld->conf));
        forget = false;
    }
    place = topoclaim_register(ctld, tx, old, reg->topology, set);
    forget = place == TOPOCLAIM_GOES || (forget && place != TOPOCLAIM_STAYS);
    if (low) {
        flags |= FLAG(INVALID_REG) | FLAG(DRAIN);
        (void)pb_set_str(&set->reason, low);
        SET(set, reason_us, core_now());
        SET(set, reason_uid, conf_slurm_uid(ctld->conf));
        log_error("Setting node %s state to INVAL with reason:%s", old->name, low);
    } else if (flags & FLAG(INVALID_REG)) {
        flags &= ~(FLAG(INVALID_REG) | FLAG(DRAIN));
        forget = place != TOPOCLAIM_STAYS;
    }
    if (forget && !low) {
        tx_clear(tx, NODE_F_REASON);
        tx_clear(tx, NODE_F_REASON_UID);
        tx_clear(tx, NODE_F_REASON_US);
    }
    if (rebooted) {
        tx_clear(tx, NODE_F_NEXT_STATE);
        tx_clear(tx, NODE_F_REBOOT_US);
        tx_clear(tx, NODE_F_REBOOT_ASAP);
        if (old->power_action && !powered)
            tx_clear(tx, NODE_F_POWER_ACTION);
    }
    SET(set, state_flags, flags);
    if (ends_resume(old, set))
        tx_clear(tx, NODE_F_RESUME_AFTER_US);
    lsn = core_commit(ctld, tx);
    if (!lsn)
        topology_forget(ctld);
    return lsn;
}

/* ---- reports --------------------------------------------------------------------------------- */

/* The exit of the script of a job that was ended before (cancelled, timed out): for the record. */
static void late_exit(struct ctld *ctld, struct job *j, uint32_t status)
{
    Pst__Transaction *tx = tx_new(core_now());

    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, j->rec->job_id), exit_status, status);
    (void)core_commit(ctld, tx); /* disk full: the report comes again */
}

/* The job of a report, or NULL: a node speaks for runs that it has a part in, and for no other. */
static struct job *job_on(struct ctld *ctld, const struct node *n, uint32_t job_id, uint64_t run_id)
{
    struct job *j = cluster_job(ctld->cluster, job_id);

    if (!j || j->rec->db_id != run_id || !j->rec->alloc ||
        alloc_position(j->rec->alloc, n->rec->node_id) < 0)
        return NULL;
    return j;
}

/* The same for what the node of the job's script alone can know. */
static struct job *job_led_by(struct ctld *ctld, const struct node *n, uint32_t job_id,
                              uint64_t run_id)
{
    struct job *j = job_on(ctld, n, job_id, run_id);
    bool leads = j && (j->rec->batch_host ? strcmp(j->rec->batch_host, n->rec->name) == 0
                                          : alloc_position(j->rec->alloc, n->rec->node_id) == 0);

    return leads ? j : NULL;
}

static void step_end(struct ctld *ctld, struct node *n, const Pst__StepEnd *end)
{
    bool batch = end->step_id == STEP_BATCH;
    struct job *j = batch ? job_led_by(ctld, n, end->job_id, end->run_id)
                          : cluster_job(ctld->cluster, end->job_id);
    struct step *s;
    uint32_t id = end->job_id;

    if (!j || j->rec->db_id != end->run_id || !j->rec->alloc)
        return; /* of an earlier run */
    s = cluster_step(j, end->step_id);
    /* it looks whether the step has this node: a job may have shrunk meanwhile */
    if (s && !batch) {
        steps_ended(ctld, j, s, n->rec->node_id, end);
        return;
    }
    if (!batch)
        return;
    if (end->has_launch_failed && end->launch_failed && !job_is_ended(j->rec)) {
        launchfail_report(ctld, j, end);
        return;
    }
    if (s && s->rec->state == PST__STEP_STATE__STEP_RUNNING)
        steps_ended(ctld, j, s, n->rec->node_id, end);
    j = cluster_job(ctld->cluster, id);
    cleaning_script_told(ctld, j);
    if (!job_is_ended(j->rec))
        (void)lifecycle_finished(ctld, j, end->exit_status, end->has_node_clean && end->node_clean);
    else if (!j->rec->has_exit_status)
        late_exit(ctld, j, end->exit_status);
    j = cluster_job(ctld->cluster, id);
    if (j && end->has_node_clean && end->node_clean)
        lifecycle_node_clean(ctld, j, n->rec->node_id);
}

static void batch_launched(struct ctld *ctld, const struct node *n, const Pst__RunningStep *run)
{
    struct job *j = job_led_by(ctld, n, run->job_id, run->run_id);
    Pst__Transaction *tx;

    if (!j || !job_holds_resources(j->rec) || (j->rec->has_batch_started && j->rec->batch_started))
        return;
    tx = tx_new(core_now());
    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_LAUNCHED, run->job_id), batch_started, true);
    if (j->rec->has_batch_failures)
        tx_clear(tx, NODE_F_VERSION);
    (void)core_commit(ctld, tx); /* disk full: said again when the node registers */
}

static void drain_node(struct ctld *ctld, struct node *n, const char *reason)
{
    Pst__Transaction *tx = tx_new(core_now());
    Pst__NodeRecord *set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_STATE, n->rec->node_id);

    SET(set, state_flags, n->rec->state_flags | FLAG(DRAIN));
    (void)pb_set_str(&set->reason, reason);
    SET(set, reason_us, core_now());
    SET(set, reason_uid, conf_slurm_uid(ctld->conf));
    (void)core_commit(ctld, tx);
    log_error("node %s: drained: %s", n->rec->name, reason);
}

/* What was known stays when there is no memory for what is new. */
static void set_energy(Pst__NodeRecord *rec, const Pst__NodeEnergy *now)
{
    ProtobufCMessage *copy = NULL;

    if (now && pb_dup(&now->base, &copy) < 0)
        return;
    if (rec->energy)
        pst__node_energy__free_unpacked(rec->energy, NULL);
    rec->energy = (Pst__NodeEnergy *)copy;
}

/* The node runs with a configuration that it got from us. */
static void take_conf_report(struct ctld *ctld, const struct node *n, const Pst__NodeReport *rep)
{
    const Pst__ConfBundle *now = confserve_bundle(ctld);

    node_link_set_files(ctld, n, &rep->conf_digest);
    if (now && confserve_is_current(ctld, true, &rep->conf_digest) &&
        node_links_stale(ctld, &now->digest) == 0)
        log_info("configless: all connected nodes run with the configuration in force");
}

/* A report that comes late is about the run that it names, not about the job's next one. */
static void note_prolog_failed(struct ctld *ctld, const struct node *n, const Pst__NodeReport *rep)
{
    const struct job *now = cluster_job(ctld->cluster, rep->prolog_failed_job);
    uint64_t run = rep->has_prolog_failed_run ? rep->prolog_failed_run : now ? now->rec->db_id : 0;
    struct job *j = job_on(ctld, n, rep->prolog_failed_job, run);

    if (j && job_holds_resources(j->rec) && !job_is_ended(j->rec))
        launchfail_prolog(ctld, j);
}

/* That jobs run, or that the node is done with them: commands have been told, and the node keeps it
 * until it is durable.  What ends a job is waited for. */
static bool may_wait(const Pst__NodeReport *rep)
{
    return !rep->n_ended && !rep->drain_reason && !rep->n_script_told && !rep->n_job_memory &&
           !rep->n_prolog_done && !rep->has_prolog_failed_job && !rep->has_conf_digest;
}

static void op_node_report(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__NodeReport *rep = PB_AS(node_report, cmd->msg);
    struct node *n = node_of_conn(ctld, cmd->conn);

    if (!n) {
        core_error(ctld, cmd, ESLURM_INVALID_NODE_NAME,
                   "the node has not registered on this connection");
        return;
    }
    node_link_heard(ctld, n);
    ctld->sync.may_wait = may_wait(rep);
    for (size_t i = 0; i < rep->n_launched; i++)
        async_launched(ctld, n, rep->launched[i]);
    for (size_t i = 0; i < rep->n_launched; i++)
        batch_launched(ctld, n, rep->launched[i]);
    for (size_t i = 0; i < rep->n_ended; i++)
        step_end(ctld, n, rep->ended[i]);
    if (rep->drain_reason) /* first: a job that is clean now is not to have the node again */
        drain_node(ctld, n, rep->drain_reason);
    for (size_t i = 0; i < rep->n_clean; i++) {
        struct job *j = job_on(ctld, n, rep->clean[i]->job_id, rep->clean[i]->run_id);

        if (j && rep->clean[i]->has_epilog_failed && rep->clean[i]->epilog_failed)
            expedite_note_failure(ctld, j);
        if (j)
            lifecycle_node_clean(ctld, j, n->rec->node_id);
    }
    for (size_t i = 0; i < rep->n_script_told; i++) {
        struct job *j =
            job_led_by(ctld, n, rep->script_told[i]->job_id, rep->script_told[i]->run_id);

        if (j)
            cleaning_script_told(ctld, j);
    }
    for (size_t i = 0; i < rep->n_job_memory; i++)
        memupdate_report(ctld, n, rep->job_memory[i]);
    for (size_t i = 0; i < rep->n_prolog_done; i++)
        prologs_done(ctld, n, rep->prolog_done[i]);
    if (rep->has_prolog_failed_job)
        note_prolog_failed(ctld, n, rep);
    if (rep->has_conf_digest)
        take_conf_report(ctld, n, rep);
    if (rep->has_cpu_load_centi || rep->has_free_mem_mib) {
        SET(n->rec, cpu_load_centi, rep->cpu_load_centi);
        SET(n->rec, free_mem_mib, rep->free_mem_mib);
        SET(n->rec, last_response_us, core_now());
        set_energy(n->rec, rep->energy);
        views_mark_node(ctld->views, n);
    }
    if (atomic_load(&ctld->disk_full))
        core_disk_full(ctld, cmd); /* the node keeps what it reported */
    else
        core_ok(ctld, cmd, ctld->applied_lsn);
}

/* ---- reconciliation -------------------------------------------------------------------------- */

/* A step that a registration tells of: running or ended. */
struct told_step {
    uint32_t job_id, step_id;
    uint64_t run_id;
};

/* All of them, sorted: a node that tells of many must not have each compared with each. */
struct told_steps {
    struct told_step *list;
    size_t n;
};

static int compare_told(const void *pa, const void *pb)
{
    const struct told_step *a = pa, *b = pb;

    if (a->job_id != b->job_id)
        return a->job_id > b->job_id ? 1 : -1;
    if (a->step_id != b->step_id)
        return a->step_id > b->step_id ? 1 : -1;
    return (a->run_id > b->run_id) - (a->run_id < b->run_id);
}

static void gather_told(const Pst__NodeRegister *reg, struct told_steps *ret)
{
    size_t n = 0;

    ret->list = must(calloc(reg->n_running + reg->n_ended + 1, sizeof(*ret->list)));
    for (size_t i = 0; i < reg->n_running; i++)
        ret->list[n++] = (struct told_step){ reg->running[i]->job_id, reg->running[i]->step_id,
                                             reg->running[i]->run_id };
    for (size_t i = 0; i < reg->n_ended; i++)
        ret->list[n++] = (struct told_step){ reg->ended[i]->job_id, reg->ended[i]->step_id,
                                             reg->ended[i]->run_id };
    qsort(ret->list, n, sizeof(*ret->list), compare_told);
    ret->n = n;
}

static bool reports_step(const struct told_steps *told, uint32_t job_id, uint32_t step_id,
                         uint64_t run_id)
{
    const struct told_step key = { job_id, step_id, run_id };

    return bsearch(&key, told->list, told->n, sizeof(key), compare_told) != NULL;
}

/* A job that the model has on this node. */
static void reconcile_job(struct ctld *ctld, struct node *n, const struct told_steps *told,
                          struct job *j)
{
    const Pst__JobRecord *r = j->rec;
    long pos = alloc_position(r->alloc, n->rec->node_id);
    bool batch_here = het_runs_script(r) && pos == 0;

    if (job_is_external(r))
        return; /* the node has no part in it */
    if (job_is_ended(r)) {
        if (cleaning_awaits(ctld, j, (size_t)pos))
            launch_terminate(ctld, j, n, (size_t)pos, ctld->applied_lsn, cleaning_text(r));
        return;
    }
    if (prologs_await(ctld, j, (size_t)pos) && !job_waits_for_prolog(r))
        launch_prepare_on(ctld, j, (size_t)pos, ctld->applied_lsn); /* asked, it answers again */
    if (batch_here && !reports_step(told, r->job_id, STEP_BATCH, r->db_id)) {
        if (r->has_batch_started && r->batch_started) {
            struct job_end end = { .state = JOB_STATE(NODE_FAIL),
                                   .reason = PST__JOB_REASON__REASON_NODE_DOWN,
                                   .failed_node = n->rec->name,
                                   .requeue = r->has_requeue && r->requeue };

            log_error("job %u: node %s does not know it any more", r->job_id, n->rec->name);
            (void)lifecycle_end(ctld, j, &end);
        } else {
            launch_batch(ctld, j, ctld->applied_lsn);
        }
        return;
    }
    if (job_is_suspended(r) || r->has_suspend_us) /* it may have missed the last change */
        launch_suspend_on(ctld, j, n, ctld->applied_lsn, job_is_suspended(r));
    for (struct step *s = j->steps, *next; s; s = next) {
        next = s->next;
        if (s->waiting && async_awaits(s, n->rec->node_id) &&
            !reports_step(told, r->job_id, s->rec->step_id, r->db_id)) {
            /* it has not said that it got this far */
            async_launch_on(ctld, j, s, n, ctld->applied_lsn);
            continue;
        }
        if (s->rec->step_id == STEP_EXTERN && s->waiting &&
            bitmap_test(s->waiting, (uint32_t)pos) &&
            !reports_step(told, r->job_id, STEP_EXTERN, r->db_id)) {
            launch_prepare_on(ctld, j, (size_t)pos, ctld->applied_lsn); /* as above */
            continue;
        }
        if (s->rec->step_id != STEP_BATCH && s->rec->step_id != STEP_EXTERN && s->waiting &&
            s->rec->start_us + STEP_GRACE_US < core_now() &&
            alloc_position(s->rec->alloc, n->rec->node_id) >= 0 &&
            !reports_step(told, r->job_id, s->rec->step_id, r->db_id)) {
            Pst__StepEnd lost = PST__STEP_END__INIT;

            SET(&lost, exit_status, SIGKILL);
            steps_ended(ctld, j, s, n->rec->node_id, &lost);
        }
    }
}

/* What the node has that the model does not (any more). */
static void reconcile_stray(struct ctld *ctld, struct node *n, const struct told_steps *told,
                            const Pst__RunningStep *run)
{
    const struct job *j = cluster_job(ctld->cluster, run->job_id);
    Pst__TerminateJob msg = PST__TERMINATE_JOB__INIT;

    if (run->job_id >= JOB_ID_NO_JOB_MIN && reports_step(told, run->job_id, 0, run->run_id))
        return; /* --no-allocate: the node ends it with its step */
    if (j && j->rec->db_id == run->run_id && job_holds_resources(j->rec) &&
        alloc_position(j->rec->alloc, n->rec->node_id) >= 0)
        return;
    SET(&msg, job_id, run->job_id);
    SET(&msg, run_id, run->run_id);
    SET(&msg, kill_wait_s, 0);
    SET(&msg, now, true);
    (void)node_send(ctld, n, ctld->applied_lsn, OP_TERMINATE_JOB, &msg.base);
}

static void reconcile_jobs(struct ctld *ctld, struct node *n, const struct told_steps *told)
{
    size_t count;
    _cleanup_free_ uint32_t *ids = node_jobs(ctld, n, &count);

    for (size_t i = 0; i < count; i++) {
        struct job *j = cluster_job(ctld->cluster, ids[i]); /* one before may have ended it */

        if (j && job_holds_resources(j->rec) && alloc_position(j->rec->alloc, n->rec->node_id) >= 0)
            reconcile_job(ctld, n, told, j);
    }
}

/* What the node says that it has, against the model. */
static void reconcile_told(struct ctld *ctld, struct node *n, const Pst__NodeRegister *reg)
{
    struct told_steps told;

    gather_told(reg, &told);
    reconcile_jobs(ctld, n, &told);
    for (size_t i = 0; i < reg->n_running; i++) {
        if (reg->running[i]->step_id == STEP_BATCH)
            batch_launched(ctld, n, reg->running[i]);
        reconcile_stray(ctld, n, &told, reg->running[i]);
    }
    for (size_t i = 0; i < reg->n_ended; i++)
        step_end(ctld, n, reg->ended[i]);
    for (size_t i = 0; i < reg->n_jobs; i++)
        reconcile_stray(ctld, n, &told, reg->jobs[i]);
    free(told.list);
}

/* Where nodes have certificates of an authority: it is no node that shows none. */
static bool lacks_certificate(const struct ctld *ctld, const struct peer *peer)
{
    return peer->tls && !peer->certified && conf_tls_has_files(ctld->conf);
}

/* Nodes that describe themselves: whose key it is is asked before anything is made or changed. */
static struct node *described_node(struct ctld *ctld, const struct cmd *cmd,
                                   const Pst__NodeRegister *reg, int *ret_code,
                                   char text[DYNREG_TEXT])
{
    const char *name = reg->node && reg->node->name ? reg->node->name : "";
    const struct node *n = cluster_node_named(ctld->cluster, name);
    const uint8_t *bind;
    char why[NODEKEYS_TEXT];
    int r = n ? nodekeys_judge(ctld, n, conn_peer(cmd->conn), reg, &bind, why)
              : nodekeys_judge_new(ctld, name, conn_peer(cmd->conn), reg, why);

    if (r == 0)
        return dynreg_node(ctld, reg, conn_peer(cmd->conn)->addr, ret_code, text);
    *ret_code = ESLURM_ACCESS_DENIED;
    (void)snprintf(text, DYNREG_TEXT, "%s", why);
    return NULL;
}

/* The node that registers; NULL: refused, and answered. */
static struct node *registering_node(struct ctld *ctld, struct cmd *cmd,
                                     const Pst__NodeRegister *reg)
{
    const struct node *before = node_of_conn(ctld, cmd->conn);
    char text[DYNREG_TEXT] = "";
    int code = ESLURM_INVALID_NODE_NAME;
    struct node *n = NULL;

    if (lacks_certificate(ctld, conn_peer(cmd->conn))) {
        (void)snprintf(text, sizeof(text),
                       "this node shows no certificate of our authority (TLSType)");
        code = ESLURM_ACCESS_DENIED;
    } else if (before && reg->node && reg->node->name &&
               strcmp(before->rec->name, reg->node->name) != 0)
        n = cluster_node_named(ctld->cluster, reg->node->name); /* refused by the caller */
    else if (reg->node_line)
        n = described_node(ctld, cmd, reg, &code, text);
    else if (reg->node && reg->node->name)
        n = cluster_node_named(ctld->cluster, reg->node->name);
    if (n && noderecord_is_external(n->rec)) {
        (void)snprintf(text, sizeof(text), "this node is external: no slurmd runs for it");
        n = NULL;
    }
    if (!n) {
        log_limited(code == ESLURM_ACCESS_DENIED ? LOG_ERROR : LOG_VERBOSE,
                    "a registration from %s is refused: %s", conn_peer(cmd->conn)->addr,
                    text[0] ? text : slurm_err_text(code));
        core_error(ctld, cmd, code, text[0] ? text : NULL);
    }
    return n;
}

/* A node that runs with another configuration than the one in force gets that first, on the same
 * connection, and registers again.  False: it was sent away so. */
static bool give_configuration(struct ctld *ctld, const struct cmd *cmd, const struct node *n,
                               const Pst__NodeRegister *reg)
{
    Pst__NodeConfigure msg = PST__NODE_CONFIGURE__INIT;
    uint8_t *buf;
    size_t len;

    if (reg->conf_problem)
        log_error("node %s: cannot take the configuration: %s", n->rec->name, reg->conf_problem);
    if (confserve_is_current(ctld, reg->has_conf_digest, &reg->conf_digest))
        return true;
    msg.bundle = (Pst__ConfBundle *)confserve_bundle(ctld); /* only read */
    if (frame_pack(OP_NODE_CONFIGURE, FRAME_ONEWAY, 0, 0, &msg.base, &buf, &len) == 0)
        effects_add(ctld->effects, 0, cmd->conn, buf, len);
    log_verbose("node %s: gets the configuration in force", n->rec->name);
    core_error(ctld, cmd, EPST_STALE_CONFIGURATION, NULL);
    return false;
}

/* Nodes with files of their own: jobs there may do otherwise than the controller thinks. */
static void compare_configuration(const struct ctld *ctld, const struct node *n,
                                  const Pst__NodeRegister *reg)
{
    if (reg->has_conf_hash && !reg->has_conf_digest &&
        reg->conf_hash != conf_says_hash(ctld->conf) && !log_has_flag(LOG_SUBJECT_NO_CONF_HASH))
        log_error("node %s runs with another slurm.conf than slurmctld: make the files alike and "
                  "reconfigure, or set DebugFlags=NO_CONF_HASH where that is meant",
                  n->rec->name);
}

/* The answer tells who the controllers are. */
static void tell_controller(const struct ctld *ctld, Pst__NodeRegisterReply *reply)
{
    if (ctld->identity) {
        reply->has_controller_key = true; /* only read */
        reply->controller_key =
            (ProtobufCBinaryData){ IDKEY_SIZE, (uint8_t *)(uintptr_t)idkey_public(ctld->identity) };
    }
    if (ctld->term)
        SET(reply, term, ctld->term);
}

/* A node that does not know our key learns it, and registers again on the same connection.  False:
 * it was sent away so. */
static bool knows_controller(struct ctld *ctld, const struct cmd *cmd, const Pst__NodeRegister *reg)
{
    Pst__NodeRegisterReply reply = PST__NODE_REGISTER_REPLY__INIT;

    if (!nodekeys_must_teach(ctld, reg))
        return true;
    tell_controller(ctld, &reply);
    SET(&reply, learn_first, true);
    core_reply(ctld, cmd, ctld->applied_lsn, 0, &reply.base);
    return false;
}

static void op_node_register(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__NodeRegister *reg = PB_AS(node_register, cmd->msg);
    const struct node *before = node_of_conn(ctld, cmd->conn);
    Pst__NodeRegisterReply reply = PST__NODE_REGISTER_REPLY__INIT;
    struct node *n = registering_node(ctld, cmd, reg);
    Pst__NodeTopology place = PST__NODE_TOPOLOGY__INIT;
    const uint8_t *bind;
    char why[NODEKEYS_TEXT];
    enum power_reg power;
    bool rebooted, behind;
    uint64_t lsn;

    if (!n)
        return;                  /* answered */
    if (before && before != n) { /* its name is what its reports count for */
        log_error("node %s: its connection from %s calls itself %s, and is refused",
                  before->rec->name, conn_peer(cmd->conn)->addr, n->rec->name);
        core_error(ctld, cmd, ESLURM_INVALID_NODE_NAME, "this connection is another node's");
        return;
    }
    if (nodekeys_judge(ctld, n, conn_peer(cmd->conn), reg, &bind, why) < 0) {
        log_limited(LOG_ERROR, "node %s: a registration from %s is refused: %s", n->rec->name,
                    conn_peer(cmd->conn)->addr, why);
        core_error(ctld, cmd, ESLURM_ACCESS_DENIED, why);
        return;
    }
    power = power_reg_judge(n->rec, reg->node);
    if (power == POWER_REG_REFUSED) {
        power_still_on(ctld, n);
        powerorder_again(ctld, n, cmd->conn);
        core_error(ctld, cmd, ESLURM_INVALID_NODE_STATE, "the node is powered down");
        return;
    }
    rebooted = power == POWER_REG_PLAIN && n->rec->boot_id && reg->node->boot_id &&
               strcmp(n->rec->boot_id, reg->node->boot_id) != 0;
    if (!knows_controller(ctld, cmd, reg) || !give_configuration(ctld, cmd, n, reg))
        return;
    compare_configuration(ctld, n, reg);
    node_link_set(ctld, n, cmd->conn);
    node_link_set_files(ctld, n, reg->has_conf_digest ? &reg->conf_digest : NULL);
    if (reg->node_line && n->rec->node_line && strcmp(reg->node_line, n->rec->node_line) != 0)
        node_link_defer(ctld, n); /* what it says of itself waits for the end of its jobs */
    if (rebooted)
        nodeloss_end_jobs(ctld, n, "rebooted");
    lsn = register_node(ctld, n, reg->node, conn_peer(cmd->conn)->addr, bind);
    if (!lsn) {
        core_disk_full(ctld, cmd);
        return;
    }
    if (power == POWER_REG_UP && n->rec->state_flags & FLAG(INVALID_REG))
        nodeloss_boot_failed(ctld, n); /* not what was configured: its jobs go elsewhere */
    else if (!node_is_awaited(n->rec))
        bootsteps_node_up(ctld, n);
    SET(&reply, node_id, n->rec->node_id);
    behind = node_link_is_behind(ctld, n);
    SET(&reply, heartbeat_s, node_link_expect(ctld, n));
    tell_controller(ctld, &reply);
    SET(&reply, now_us, core_now());
    if (ctld->silence_ms)
        SET(&reply, silence_ms, ctld->silence_ms);
    nodetopology_fill(ctld, n->rec->node_id, &place);
    reply.topology = &place;
    reconcile_told(ctld, n, reg);
    /* Last: it acknowledges what was reported as ended. */
    core_reply(ctld, cmd, ctld->applied_lsn, 0, &reply.base);
    pb_done(&place.base);
    if (behind && !node_link_has_files(ctld, n))
        (void)node_send(ctld, n, ctld->applied_lsn, OP_NODE_RECONFIGURE, NULL); /* just linked */
    log_verbose("node %s: registered from %s", n->rec->name, conn_peer(cmd->conn)->addr);
}

/* ---- the service ----------------------------------------------------------------------------- */

/* A node that is connected reads its files anew, or gets them.  What is sent to it later comes
 * behind this, so no job that starts from now on meets what was before. */
static void tell_node_reconfigured(struct ctld *ctld, const struct node *n)
{
    Pst__NodeConfigure msg = PST__NODE_CONFIGURE__INIT;

    msg.bundle = (Pst__ConfBundle *)confserve_bundle(ctld); /* only read */
    if (msg.bundle && node_link_has_files(ctld, n))
        (void)node_send(ctld, n, ctld->applied_lsn, OP_NODE_CONFIGURE, &msg.base);
    else
        node_link_reread(ctld, n);
}

static void tell_reconfigured(struct ctld *ctld)
{
    for (uint32_t i = 0; i < ctld->cluster->nnodes; i++)
        if (ctld->cluster->nodes[i]) /* not connected: it is told when it registers */
            tell_node_reconfigured(ctld, ctld->cluster->nodes[i]);
}

static int start_links(struct ctld *ctld, struct err *err)
{
    (void)err;
    return nodelinks_new(&ctld->links);
}

static int check_links(struct ctld *ctld, const struct conf *conf, struct err *err)
{
    (void)ctld;
    return conf_reg_mem_check(conf, err);
}

static void give_back_links(struct ctld *ctld)
{
    ctld->links = nodelinks_free(ctld->links);
}

static const struct ctld_op link_ops[] = {
    { OP_NODE_REGISTER, .fn = op_node_register, .flags = OPF_WRITES | OPF_CLOSES },
    { OP_NODE_REPORT, .fn = op_node_report, .flags = OPF_WRITES },
    { 0 }
};

const struct ctld_service links_service = {
    .name = "links",
    .ops = link_ops,
    .check = check_links,
    .reconfigured = tell_reconfigured,
    .start = start_links,
    .stop = give_back_links,
    .on_node_gone = node_link_drop,
    .on_conn_closed = node_link_closed,
};
