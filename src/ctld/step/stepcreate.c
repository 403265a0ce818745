/* stepcreate.c - a step gets its part of the job, and its record; see stepcreate.h */
#include "ctld/step/stepcreate.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/bitmap.h"
#include "base/log.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "ctld/job/allocrecord.h"
#include "ctld/policy/bootwait.h"
#include "ctld/job/hetgroup.h"
#include "ctld/notify/hooks.h"
#include "ctld/step/async.h"
#include "ctld/step/stepgres.h"
#include "ctld/step/steplayout.h"
#include "ctld/step/stepports.h"
#include "ctld/step/stepvnis.h"
#include "ctld/step/steps.h"
#include "ctld/topology/topoexpand.h"

void steps_fill(Pst__StepRecord *rec, const struct job *j, const Pst__StepSpec *spec,
                const struct peer *peer)
{
    rec->name = tx_strdup(spec->name ? spec->name : j->rec->name);
    SET(rec, state, PST__STEP_STATE__STEP_RUNNING);
    SET(rec, uid, j->rec->uid);
    SET(rec, start_us, core_now());
    if (spec->has_cpus_per_task)
        SET(rec, cpus_per_task, spec->cpus_per_task);
    SET(rec, job_db_id, j->rec->db_id);
    SET(rec, overlap,
        (spec->has_overlap && spec->overlap) || (spec->has_zero_resource && spec->zero_resource));
    if (spec->has_time_limit_min)
        SET(rec, time_limit_min, spec->time_limit_min);
    if (stepgres_asks(spec))
        SET(rec, own_gres, true);
    if (steplayout_asks_memory(spec))
        SET(rec, own_mem, true);
    rec->partition = tx_strdup(j->rec->partition);
    rec->distribution = tx_strdup(spec->distribution);
    rec->submit_line = tx_strdup(spec->submit_line);
    rec->work_dir = tx_strdup(spec->work_dir);
    rec->std_out = tx_strdup(spec->std_out);
    rec->std_err = tx_strdup(spec->std_err);
    rec->std_in = tx_strdup(spec->std_in);
    rec->container = tx_strdup(spec->container);
    rec->container_id = tx_strdup(spec->container_id);
    rec->network = tx_strdup(spec->network);
    if (het_is(j->rec)) {
        SET(rec, het_job_id, j->rec->het_job_id);
        SET(rec, het_offset, j->rec->het_offset);
    }
    if (!peer)
        return;
    rec->client_host = tx_strdup(peer->host[0] ? peer->host : NULL);
    SET(rec, client_pid, peer->pid);
}

/* Names of units in a list of the step's nodes become those of their nodes that the job holds.
 * *ret stays NULL when the list names no unit. */
static int expand_held(struct ctld *ctld, const struct job *j, const char *list, char **ret)
{
    _cleanup_(hostlist_free) struct hostlist *all = NULL, *held = NULL;
    _cleanup_free_ char *expanded = NULL;

    if (!list || !strchr(list, '{'))
        return 0;
    if (topology_expand(ctld, list, &expanded) < 0 ||
        hostlist_parse_most(expanded, HOSTLIST_MAX_NODES, &all, NULL) < 0 ||
        hostlist_new(&held) < 0)
        return ESLURM_INVALID_NODE_NAME;
    for (size_t i = 0; i < hostlist_count(all); i++) {
        const struct node *n = cluster_node_named(ctld->cluster, hostlist_nth(all, i));

        if (n && alloc_position(j->rec->alloc, n->rec->node_id) >= 0 &&
            hostlist_push(held, n->rec->name) < 0)
            return SLURM_ERROR;
    }
    return hostlist_fold(held, ret) < 0 ? SLURM_ERROR : 0;
}

static int lay_out_part(struct ctld *ctld, struct step_part *p)
{
    _cleanup_free_ char *nodes = NULL, *exclude = NULL;
    Pst__StepSpec spec = *p->spec; /* its members are borrowed */
    int r = expand_held(ctld, p->job, spec.nodelist, &nodes);

    if (r == 0)
        r = expand_held(ctld, p->job, spec.exclude, &exclude);
    if (r != 0)
        return r;
    spec.nodelist = nodes ? nodes : spec.nodelist;
    spec.exclude = exclude ? exclude : spec.exclude;
    r = steplayout_make(ctld->cluster, p->job, &spec, &p->alloc, &p->ntasks, &p->dist, p->err);
    return r ? r : steplayout_check(p->alloc, conf_num(ctld->conf, CONF_MAX_TASKS_PER_NODE));
}

static int layout_part(struct ctld *ctld, struct step_part *p)
{
    uint32_t lo = 0, hi = 0;
    const char *range;
    size_t len;
    int r;

    if (!p->job)
        return ESLURM_INVALID_JOB_ID;
    if (job_is_external(p->job->rec))
        return ESLURM_NOT_SUPPORTED;
    if (!job_is_running(p->job->rec) || job_waits_for_prolog(p->job->rec) ||
        job_waits_for_boot(p->job->rec))
        return job_is_ended(p->job->rec) ? ESLURM_ALREADY_DONE : ESLURM_JOB_PENDING;
    r = lay_out_part(ctld, p);
    if (r == 0 && p->spec->has_resv_ports) {
        if (conf_option(ctld->conf, CONF_MPI_PARAMS, "ports", &range, &len) &&
            stepports_range(range, len, &lo, &hi) < 0)
            lo = 0;
        r = stepports_pick(ctld->cluster, lo, hi, p->alloc, p->spec->resv_ports, &p->ports);
    }
    return r;
}

/* Numbers of virtual networks for all parts together. */
static int choose_vnis(struct ctld *ctld, const struct job *owner, const struct step_part *parts,
                       size_t n, struct stepvnis_pick *ret)
{
    const Pst__StepSpec *spec = parts[0].spec;
    uint32_t nodes = 0;

    for (size_t i = 0; i < n; i++)
        nodes += (uint32_t)parts[i].alloc->n_node_ids;
    if (spec->has_interactive && spec->interactive)
        return 0; /* a shell: its sruns have theirs */
    return stepvnis_choose(ctld, owner, spec->network ? spec->network : owner->rec->network, nodes,
                           ret, parts[0].err);
}

static void put_vnis(Pst__StepRecord *rec, const struct stepvnis_pick *vnis)
{
    if (!vnis->n)
        return;
    rec->vnis = must(calloc(vnis->n, sizeof(*rec->vnis)));
    memcpy(rec->vnis, vnis->vnis, vnis->n * sizeof(*rec->vnis));
    rec->n_vnis = vnis->n;
}

void steps_await(struct step *s)
{
    s->waiting = bitmap_free(s->waiting);
    if (bitmap_new((uint32_t)s->rec->alloc->n_node_ids, &s->waiting) < 0)
        must(NULL);
    bitmap_fill(s->waiting);
}

static void step_made(struct ctld *ctld, struct step_part *p, uint32_t id)
{
    p->job = cluster_job(ctld->cluster, p->job->rec->job_id);
    p->step = cluster_step(p->job, id);
    steps_await(p->step);
}

/* All parts or none, under one id; components take their ids from the leader.  0 or an ESLURM code.
 * queued_id: a step of srun --async, whose turn it is. */
int steps_create_parts(struct ctld *ctld, struct step_part *parts, size_t n,
                       const struct peer *peer, const uint32_t *queued_id, uint64_t *ret_lsn)
{
    const Pst__StepSpec *spec = parts[0].spec;
    struct job *owner = parts[0].job;
    const struct step *queued = queued_id && owner ? cluster_step(owner, *queued_id) : NULL;
    struct stepvnis_pick vnis = { .n = 0 };
    Pst__Transaction *tx;
    uint32_t id;
    int r = 0;

    if (owner && het_component(ctld->cluster, owner->rec, 0))
        owner = het_component(ctld->cluster, owner->rec, 0);
    if (owner && !queued &&
        (owner->rec->has_next_step_id ? owner->rec->next_step_id : 0) >=
            conf_num(ctld->conf, CONF_MAX_STEP_COUNT))
        return ESLURM_STEP_LIMIT;
    for (size_t i = 0; i < n && r == 0; i++)
        r = layout_part(ctld, &parts[i]);
    if (r == 0)
        r = choose_vnis(ctld, owner, parts, n, &vnis);
    if (r != 0) {
        for (size_t i = 0; i < n; i++) {
            free(parts[i].dist);
            free(parts[i].ports);
            if (parts[i].alloc)
                pst__alloc__free_unpacked(parts[i].alloc, NULL);
        }
        return r;
    }
    id = queued                                       ? *queued_id
         : spec->has_interactive && spec->interactive ? STEP_INTERACTIVE
                                                      : owner->rec->next_step_id;
    tx = tx_new(core_now());
    if (id != STEP_INTERACTIVE && !queued)
        SET(tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, owner->rec->job_id), next_step_id,
            id + 1);
    if (vnis.fresh_job)
        SET(tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, owner->rec->job_id), vni,
            vnis.vnis[1]);
    for (size_t i = 0; i < n; i++) {
        Pst__StepRecord *rec =
            tx_step_put(tx, PST__EVENT_KIND__EV_STEP_START, parts[i].job->rec->job_id, id);

        steps_fill(rec, parts[i].job, parts[i].spec, peer);
        rec->alloc = parts[i].alloc;
        rec->alloc_tres =
            alloc_step_tres(rec->alloc, conf_str(ctld->conf, CONF_ACCOUNTING_STORAGE_TRES));
        rec->tres_per_step = stepgres_request(parts[i].spec, rec->alloc->total_cpus);
        SET(rec, num_tasks, parts[i].ntasks);
        rec->resv_ports = parts[i].ports;
        put_vnis(rec, &vnis);
        if (parts[i].dist) {
            free(rec->distribution);
            rec->distribution = parts[i].dist;
        }
        if (queued)
            async_keep(rec, queued->rec);
    }
    *ret_lsn = core_commit(ctld, tx);
    for (size_t i = 0; *ret_lsn && i < n; i++)
        step_made(ctld, &parts[i], id);
    return *ret_lsn ? 0 : EPST_DISK_FULL;
}

/* 0 with *ret_step, or an ESLURM code. */
int steps_create_one(struct ctld *ctld, struct job *j, const Pst__StepSpec *spec,
                     const struct peer *peer, const uint32_t *queued_id, struct step **ret_step,
                     uint64_t *ret_lsn, struct err *err)
{
    struct step_part all = { .job = j, .spec = spec, .err = err };
    int r = steps_create_parts(ctld, &all, 1, peer, queued_id, ret_lsn);

    if (r == 0)
        *ret_step = all.step;
    return r;
}

uint64_t steps_create_granted(struct ctld *ctld, struct job *j, const Pst__StepSpec *spec,
                              struct conn *conn, Pst__StepReply **ret_reply)
{
    struct step *s;
    uint64_t lsn = 0;
    int r = steps_create_one(ctld, j, spec, conn_peer(conn), NULL, &s, &lsn, NULL);

    *ret_reply = NULL;
    if (r == 0)
        *ret_reply = steps_reply_new(ctld, j, s);
    else
        log_error("job %u: its first step could not be made: %s", j->rec->job_id,
                  slurm_err_text(r));
    return lsn;
}
