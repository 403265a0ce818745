/* joblaunch.c - what the nodes are told about jobs: launch, signal, terminate
 *
 * Every message is an effect of a committed event.  One that is lost with its connection is made
 * again when the node registers: the model says what the node should know (links.c). */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "ctld/policy/bootwait.h"
#include "ctld/notify/powerprog.h"
#include "ctld/job/hetgroup.h"
#include "ctld/notify/hooks.h"
#include "ctld/notify/programs.h"
#include "ctld/job/lifecycle.h"
#include "ctld/job/prologs.h"
#include "ctld/policy/scriptnode.h"
#include "ctld/core/rlimits.h"

/* CPUs of a node's share that the script may use: whole cores are allocated, and who asked for
 * fewer threads of each leaves the rest idle. */
static uint32_t usable_cpus(struct ctld *ctld, const Pst__JobRecord *r, size_t position,
                            const Pst__AllocGroup *g)
{
    const struct node *n = cluster_node(ctld->cluster, r->alloc->node_ids[position]);
    uint32_t threads = n ? MAX(n->rec->threads_per_core, 1u) : 1,
             wanted = r->has_threads_per_core ? r->threads_per_core : threads;

    if (wordlist_has(r->hint, "nomultithread"))
        wanted = 1;
    return wanted && wanted < threads ? MAX(g->cpus / threads * wanted, 1u) : g->cpus;
}

/* "16(x4),8": tasks or usable CPUs, one number per group of equal neighbours.  The nodes of a group
 * are taken to be built alike. */
static char *per_node_text(struct ctld *ctld, const Pst__JobRecord *r, bool tasks)
{
    const Pst__Alloc *a = r->alloc;
    struct strbuf sb = STRBUF_INIT;
    char *text = NULL;
    uint32_t v = 0, nodes = 0;

    for (size_t g = 0, at = 0; g <= a->n_groups; g++) {
        bool more = g < a->n_groups;
        uint32_t next = !more   ? 0
                        : tasks ? a->groups[g]->tasks
                                : usable_cpus(ctld, r, at, a->groups[g]);

        if (nodes && (!more || next != v)) {
            strbuf_addf(&sb, nodes > 1 ? "%s%u(x%u)" : "%s%u", sb.len ? "," : "", v, nodes);
            nodes = 0;
        }
        v = next;
        nodes += more ? a->groups[g]->nodes : 0;
        at += more ? a->groups[g]->nodes : 0;
    }
    must_do(strbuf_detach(&sb, &text));
    return text;
}

/* Borrows from the job; job_on_node_done() frees the texts made here. */
static void job_on_node(struct ctld *ctld, const struct job *j, size_t position,
                        Pst__JobOnNode *out)
{
    const Pst__Alloc *a = j->rec->alloc;
    const Pst__AllocGroup *g = alloc_group(a, position);
    const struct node *n = cluster_node(ctld->cluster, a->node_ids[position]);

    pst__job_on_node__init(out);
    out->job = j->rec;
    SET(out, run_id, j->rec->db_id);
    out->node_name = n ? n->rec->name : NULL;
    SET(out, node_index, (uint32_t)position);
    out->cpus_per_node = per_node_text(ctld, j->rec, false);
    SET(out, usable_cpus, usable_cpus(ctld, j->rec, position, g));
    /* When the user gave no number of tasks, there are as many tasks as CPUs. */
    out->tasks_per_node =
        per_node_text(ctld, j->rec, j->rec->has_num_tasks || j->rec->has_ntasks_per_node);
    out->cluster_name = ctld->cluster->rec->name;
    SET(out, cpus, g->cpus);
    out->cpu_ids = g->cpu_ids;
    SET(out, mem_mib, g->mem_mib);
    out->gres = g->gres;
    out->n_gres = g->n_gres;
    if (cluster_step(j, STEP_EXTERN))
        SET(out, contain, true);
}

static void job_on_node_done(Pst__JobOnNode *on)
{
    free(on->cpus_per_node);
    free(on->tasks_per_node);
}

void launch_prepare_on(struct ctld *ctld, struct job *j, size_t position, uint64_t lsn)
{
    const struct node *n = cluster_node(ctld->cluster, j->rec->alloc->node_ids[position]);
    Pst__JobOnNode on;
    Pst__PrepareJob msg = PST__PREPARE_JOB__INIT;

    if (!n)
        return;
    job_on_node(ctld, j, position, &on);
    msg.job = &on;
    (void)node_send(ctld, n, lsn, OP_PREPARE_JOB, &msg.base); /* lost: the first step does it */
    job_on_node_done(&on);
}

#define NO_POSITION SIZE_MAX

/* PrologFlags=Alloc: every node but the one at `skip` runs its prolog now rather than with its
 * first step. */
static void prepare_others(struct ctld *ctld, struct job *j, uint64_t lsn, size_t skip)
{
    for (size_t i = 0; i < j->rec->alloc->n_node_ids; i++)
        if (i != skip)
            launch_prepare_on(ctld, j, i, lsn);
}

void launch_prepare(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    if (launch_prepares(ctld) && !job_is_external(j->rec))
        prepare_others(ctld, j, lsn, NO_POSITION);
}

void launch_batch(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    size_t position = scriptnode_position(ctld->cluster, j->rec);
    const struct node *n = cluster_node(ctld->cluster, j->rec->alloc->node_ids[position]);
    Pst__LaunchBatch msg = PST__LAUNCH_BATCH__INIT;
    const struct blob *script, *env;
    Pst__JobRecord rec = *j->rec; /* shallow: gets its limits back */
    Pst__JobRecord *parts[HET_COMPONENTS_MAX];
    Pst__JobOnNode on;

    if (!n || !het_runs_script(j->rec) || job_waits_for_prolog(j->rec))
        return; /* hooks.c comes back */
    if (bootwait_holds_batch(ctld, j))
        return; /* bootsteps.c comes back, or the node of the script when it registers */
    if (prologs_hold_batch(ctld, j)) {
        prepare_others(ctld, j, lsn, NO_POSITION); /* prologs.c comes back */
        return;
    }
    script = cluster_script(ctld->cluster, j->rec);
    env = cluster_env(ctld->cluster, j->rec);
    job_on_node(ctld, j, position, &on);
    on.job = &rec;
    on.het_jobs = parts;
    for (uint32_t k = 0; het_is_leader(&rec) && k < rec.het_count && k < HET_COMPONENTS_MAX; k++) {
        struct job *part = het_component(ctld->cluster, &rec, k);

        if (part && part->rec->alloc)
            parts[on.n_het_jobs++] = part->rec;
    }
    msg.job = &on;
    if (script) {
        msg.has_script = 1;
        msg.script = (ProtobufCBinaryData){ .len = script->len, .data = (uint8_t *)script->data };
    }
    if (env) {
        msg.has_environment = 1;
        limits_split(env->data, env->len, &rec, &msg.environment);
    }
    (void)node_send(ctld, n, lsn, OP_LAUNCH_BATCH, &msg.base); /* lost: sent when it registers */
    limits_done(&rec);
    job_on_node_done(&on);
    if (job_is_suspended(j->rec)) /* stopped while it was on its way, or while its prolog ran */
        launch_suspend_on(ctld, j, n, lsn, true);
    if (launch_prepares(ctld) && !prologs_over(ctld, j))
        prepare_others(ctld, j, lsn, job_awaits_node_prologs(j->rec) ? NO_POSITION : position);
}

void launch_terminate(struct ctld *ctld, struct job *j, const struct node *n, size_t position,
                      uint64_t lsn, const char *text)
{
    Pst__TerminateJob msg = PST__TERMINATE_JOB__INIT;
    Pst__JobOnNode on;

    job_on_node(ctld, j, position, &on);
    SET(&msg, job_id, j->rec->job_id);
    SET(&msg, run_id, j->rec->db_id);
    SET(&msg, kill_wait_s, (uint32_t)conf_num(ctld->conf, CONF_KILL_WAIT));
    msg.reason = (char *)text; /* not changed by packing */
    msg.job = &on;
    (void)node_send(ctld, n, lsn, OP_TERMINATE_JOB, &msg.base); /* lost: sent when it registers */
    job_on_node_done(&on);
}

void launch_signal(struct ctld *ctld, struct job *j, uint64_t lsn, const Pst__SignalSteps *sig)
{
    Pst__SignalSteps msg = *sig;

    if (job_is_external(j->rec))
        return; /* nothing of it is here */
    SET(&msg, job_id, j->rec->job_id);
    SET(&msg, run_id, j->rec->db_id);
    for (size_t i = 0; i < j->rec->alloc->n_node_ids; i++) {
        const struct node *n = cluster_node(ctld->cluster, j->rec->alloc->node_ids[i]);

        if (n)
            /* best effort, as a signal is */
            (void)node_send(ctld, n, lsn, OP_SIGNAL_STEPS, &msg.base);
    }
}

static void suspend_order(const struct job *j, bool suspend, Pst__SignalSteps *ret)
{
    pst__signal_steps__init(ret);
    SET(ret, job_id, j->rec->job_id);
    SET(ret, run_id, j->rec->db_id);
    SET(ret, suspend, suspend);
    SET(ret, resume, !suspend);
    SET(ret, include_batch, true);
}

void launch_suspend(struct ctld *ctld, struct job *j, uint64_t lsn, bool suspend)
{
    Pst__SignalSteps sig;

    suspend_order(j, suspend, &sig);
    launch_signal(ctld, j, lsn, &sig);
}

void launch_suspend_on(struct ctld *ctld, const struct job *j, const struct node *n, uint64_t lsn,
                       bool suspend)
{
    Pst__SignalSteps sig;

    suspend_order(j, suspend, &sig);
    (void)node_send(ctld, n, lsn, OP_SIGNAL_STEPS, &sig.base); /* lost: sent when it registers */
}

/* ---- reboots --------------------------------------------------------------------------------- */

/* RebootProgram on the controller's host: for nodes whose power is in other hands than slurmd's. */
static void reboot_here(struct ctld *ctld, const struct power_program *program,
                        const struct node *n, uint64_t lsn, const char *features)
{
    struct program *p = program_new(ctld, "RebootProgram");

    p->lsn = lsn;
    p->run_id = (uint64_t)core_now();
    p->limit_us = (int64_t)conf_num(ctld->conf, CONF_RESUME_TIMEOUT) * USEC_PER_SEC;
    powerprog_fill(p, program);
    program_arg(p, n->rec->name);
    if (features && *features)
        program_arg(p, features);
    program_env(p, "SLURM_CLUSTER_NAME", ctld->cluster->rec->name);
    program_env(p, "SLURM_CONF", ctld->conf_path);
    program_env(p, "PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    programs_add_take(ctld->programs, p);
}

void launch_reboot(struct ctld *ctld, const struct node *n, uint64_t lsn, const char *features)
{
    bool controller =
        conf_option(ctld->conf, CONF_SLURMCTLD_PARAMETERS, "reboot_from_controller", NULL, NULL);
    Pst__NodeRebootNow m = PST__NODE_REBOOT_NOW__INIT;
    Pst__NodeActionNow a = PST__NODE_ACTION_NOW__INIT;
    struct power_program program;

    if (!powerprog_of(ctld, CONF_REBOOT_PROGRAM, n->rec, &program))
        return; /* not configured any more: it is given up in time */
    if (program.action ? !program.at_node : controller) {
        reboot_here(ctld, &program, n, lsn, features);
        return;
    }
    if (program.action && n->rec->power_action) {
        a.action = (char *)program.action; /* nobody writes to it */
        (void)node_send(ctld, n, lsn, OP_NODE_ACTION, &a.base);
        return;
    }
    m.features = (char *)features; /* nobody writes to it */
    (void)node_send(ctld, n, lsn, OP_NODE_REBOOT_NOW, &m.base);
}
