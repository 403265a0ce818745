/* steps.c - steps of srun; see steps.h.  The layout of a step within its job is in steplayout.c. */
#include "ctld/step/steps.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"
#include "base/oomstatus.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/step/async.h"
#include "ctld/job/hetgroup.h"
#include "ctld/notify/hooks.h"
#include "ctld/job/lifecycle.h"
#include "ctld/job/owners.h"
#include "ctld/step/stepgres.h"
#include "ctld/step/steplayout.h"
#include "ctld/step/stepports.h"
#include "ctld/core/wait.h"
#include "ctld/core/service.h"
#include "model/words/stepuse.h"

#define CREDENTIAL_LIFE_S 120u

struct step_wait { /* a request that waits until the job has room */
    struct step_wait *next;
    bool async; /* nobody waits for the answer: step async_id is launched from here */
    uint32_t async_id;
    struct cmd reply;
    Pst__StepSpec *spec;
    Pst__HetStepRequest *het; /* over components; spec is NULL */
    int64_t give_up_us;       /* 0 = none */
};

struct step_queue { /* of one job, first come first served */
    uint32_t job_id;
    struct step_wait *head;
};

/* ---- addresses and credentials --------------------------------------------------------------- */

size_t steps_node_addrs(struct ctld *ctld, const Pst__Alloc *alloc, Pst__NodeAddr ***ret)
{
    Pst__NodeAddr **list = must(calloc(alloc->n_node_ids ? alloc->n_node_ids : 1, sizeof(*list)));

    for (size_t i = 0; i < alloc->n_node_ids; i++) {
        const struct node *n = cluster_node(ctld->cluster, alloc->node_ids[i]);
        Pst__NodeAddr *a = must(malloc(sizeof(*a)));

        pst__node_addr__init(a);
        SET(a, node_id, alloc->node_ids[i]);
        SET(a, cpus, alloc_group(alloc, i)->cpus);
        if (n) {
            a->name = tx_strdup(n->rec->name);
            a->addr = tx_strdup(n->rec->addr ? n->rec->addr : n->rec->hostname);
            SET(a, port, n->rec->port);
        }
        list[i] = a;
    }
    *ret = list;
    return alloc->n_node_ids;
}

Pst__SignedCredential *steps_sign(struct ctld *ctld, const struct job *j, const struct step *s,
                                  Pst__CredPurpose purpose)
{
    Pst__StepCredential cred = PST__STEP_CREDENTIAL__INIT;
    Pst__StepRecord plain; /* shallow: nodes need no second copy of what they launch */
    Pst__SignedCredential *out = must(malloc(sizeof(*out)));
    uint8_t mac[AUTH_MAC_SIZE];
    uint64_t life_s = CREDENTIAL_LIFE_S;
    const char *kid;

    pst__signed_credential__init(out);
    SET(&cred, job_id, j->rec->job_id);
    SET(&cred, run_id, j->rec->db_id);
    SET(&cred, uid, j->rec->uid);
    SET(&cred, gid, j->rec->gid);
    cred.user_name = j->rec->user_name;
    if (s) {
        plain = *s->rec;
        plain.has_async_launch = plain.has_async_spec = 0;
        cred.step = &plain;
        SET(&cred, step_id, s->rec->step_id);
    }
    if (purpose != PST__CRED_PURPOSE__CRED_LAUNCH)
        SET(&cred, purpose, purpose);
    cred.job = j->rec;
    (void)conf_option_u64(ctld->conf, CONF_AUTH_INFO, "cred_expire", &life_s); /* else as it is */
    SET(&cred, expires_us, core_now() + (int64_t)life_s * USEC_PER_SEC);
    if (cluster_step(j, STEP_EXTERN))
        SET(&cred, contain, true);
    cred.cluster_name = ctld->cluster->rec->name;
    out->has_credential = 1;
    out->credential.len = pst__step_credential__get_packed_size(&cred);
    out->credential.data = must(malloc(out->credential.len));
    pst__step_credential__pack(&cred, out->credential.data);
    if (auth_sign(ctld->keys, out->credential.data, out->credential.len, mac, &kid) < 0) {
        pst__signed_credential__free_unpacked(out, NULL);
        return NULL;
    }
    out->key_id = tx_strdup(kid);
    out->has_mac = 1;
    out->mac.len = sizeof(mac);
    out->mac.data = must(malloc(sizeof(mac)));
    memcpy(out->mac.data, mac, sizeof(mac));
    return out;
}

void steps_add_key(const struct ctld *ctld, Pst__StepReply *reply)
{
    const Pst__SignedCredential *cred = reply->credential;
    uint8_t *key = must(malloc(AUTH_MAC_SIZE));

    if (auth_derive(ctld->keys, cred->key_id, AUTH_FOR_LAUNCH, cred->mac.data, cred->mac.len, key,
                    NULL) < 0) {
        free(key); /* slurmd will say what is missing */
        return;
    }
    reply->has_launch_key = true;
    reply->launch_key = (ProtobufCBinaryData){ AUTH_MAC_SIZE, key };
}

static Pst__StepReply *reply_new(struct ctld *ctld, const struct job *j, const struct step *s)
{
    Pst__StepReply *r = must(malloc(sizeof(*r)));
    ProtobufCMessage *copy;

    pst__step_reply__init(r);
    r->credential = steps_sign(ctld, j, s, PST__CRED_PURPOSE__CRED_LAUNCH);
    if (!r->credential) {
        steps_reply_free(r);
        return NULL;
    }
    steps_add_key(ctld, r);
    if (pb_dup(&s->rec->base, &copy) < 0)
        must(NULL);
    r->step = (Pst__StepRecord *)copy;
    if (pb_dup(&j->rec->base, &copy) < 0)
        must(NULL);
    r->job = (Pst__JobRecord *)copy;
    r->n_nodes = steps_node_addrs(ctld, s->rec->alloc, &r->nodes);
    return r;
}

void steps_reply_free(Pst__StepReply *reply)
{
    if (reply)
        pst__step_reply__free_unpacked(reply, NULL);
}

/* ---- creation -------------------------------------------------------------------------------- */

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
    rec->partition = tx_strdup(j->rec->partition);
    rec->distribution = tx_strdup(spec->distribution);
    rec->submit_line = tx_strdup(spec->submit_line);
    rec->work_dir = tx_strdup(spec->work_dir);
    rec->std_out = tx_strdup(spec->std_out);
    rec->std_err = tx_strdup(spec->std_err);
    rec->std_in = tx_strdup(spec->std_in);
    rec->container = tx_strdup(spec->container);
    rec->container_id = tx_strdup(spec->container_id);
    if (het_is(j->rec)) {
        SET(rec, het_job_id, j->rec->het_job_id);
        SET(rec, het_offset, j->rec->het_offset);
    }
    if (!peer)
        return;
    rec->client_host = tx_strdup(peer->host[0] ? peer->host : NULL);
    SET(rec, client_pid, peer->pid);
}

struct part { /* of a step: all of it, or what one component has */
    struct job *job;
    const Pst__StepSpec *spec;
    Pst__Alloc *alloc;
    uint32_t ntasks;
    char *ports; /* kept for it, owned; NULL: none */
    char *dist;  /* how tasks go over the nodes, owned; NULL: as the request says */
    struct step *step;
};

static int layout_part(struct ctld *ctld, struct part *p)
{
    uint32_t lo = 0, hi = 0;
    const char *range;
    size_t len;
    int r;

    if (!p->job)
        return ESLURM_INVALID_JOB_ID;
    if (!job_is_running(p->job->rec) || job_waits_for_prolog(p->job->rec))
        return job_is_ended(p->job->rec) ? ESLURM_ALREADY_DONE : ESLURM_JOB_PENDING;
    r = steplayout_make(ctld->cluster, p->job, p->spec, &p->alloc, &p->ntasks, &p->dist);
    if (r == 0 && p->spec->has_resv_ports) {
        if (conf_option(ctld->conf, CONF_MPI_PARAMS, "ports", &range, &len) &&
            stepports_range(range, len, &lo, &hi) < 0)
            lo = 0;
        r = stepports_pick(ctld->cluster, lo, hi, p->alloc, p->spec->resv_ports, &p->ports);
    }
    return r;
}

void steps_await(struct step *s)
{
    s->waiting = bitmap_free(s->waiting);
    if (bitmap_new((uint32_t)s->rec->alloc->n_node_ids, &s->waiting) < 0)
        must(NULL);
    bitmap_fill(s->waiting);
}

static void step_made(struct ctld *ctld, struct part *p, uint32_t id)
{
    p->job = cluster_job(ctld->cluster, p->job->rec->job_id);
    p->step = cluster_step(p->job, id);
    steps_await(p->step);
}

/* All parts or none, under one id; components take their ids from the leader.  0 or an ESLURM code.
 * queued_id: a step of srun --async, whose turn it is. */
static int create_parts(struct ctld *ctld, struct part *parts, size_t n, const struct peer *peer,
                        const uint32_t *queued_id, uint64_t *ret_lsn)
{
    const Pst__StepSpec *spec = parts[0].spec;
    struct job *owner = parts[0].job;
    const struct step *queued = queued_id && owner ? cluster_step(owner, *queued_id) : NULL;
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
    for (size_t i = 0; i < n; i++) {
        Pst__StepRecord *rec =
            tx_step_put(tx, PST__EVENT_KIND__EV_STEP_START, parts[i].job->rec->job_id, id);

        steps_fill(rec, parts[i].job, parts[i].spec, peer);
        rec->alloc = parts[i].alloc;
        SET(rec, num_tasks, parts[i].ntasks);
        rec->resv_ports = parts[i].ports;
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
static int create(struct ctld *ctld, struct job *j, const Pst__StepSpec *spec,
                  const struct peer *peer, const uint32_t *queued_id, struct step **ret_step,
                  uint64_t *ret_lsn)
{
    struct part all = { .job = j, .spec = spec };
    int r = create_parts(ctld, &all, 1, peer, queued_id, ret_lsn);

    if (r == 0)
        *ret_step = all.step;
    return r;
}

uint64_t steps_create_granted(struct ctld *ctld, struct job *j, const Pst__StepSpec *spec,
                              struct conn *conn, Pst__StepReply **ret_reply)
{
    struct step *s;
    uint64_t lsn = 0;
    int r = create(ctld, j, spec, conn_peer(conn), NULL, &s, &lsn);

    *ret_reply = NULL;
    if (r == 0)
        *ret_reply = reply_new(ctld, j, s);
    else
        log_error("job %u: its first step could not be made: %s", j->rec->job_id,
                  slurm_err_text(r));
    return lsn;
}

static struct step_queue *queue_of(struct ctld *ctld, uint32_t job_id, bool make)
{
    struct step_queue *q = idmap_get(&ctld->step_queue, job_id);

    if (!q && make) {
        q = must(calloc(1, sizeof(*q)));
        q->job_id = job_id;
        if (idmap_put(&ctld->step_queue, job_id, q) < 0)
            must(NULL);
    }
    return q;
}

/* cmd NULL: step async_id. */
static void queue_add(struct ctld *ctld, uint32_t job_id, const struct cmd *cmd, uint32_t async_id,
                      const Pst__StepSpec *spec, const Pst__HetStepRequest *het)
{
    struct step_queue *q = queue_of(ctld, job_id, true);
    struct step_wait *w = must(calloc(1, sizeof(*w))), **at = &q->head;
    ProtobufCMessage *copy;

    if (pb_dup(het ? &het->base : &spec->base, &copy) < 0)
        must(NULL);
    if (het)
        w->het = (Pst__HetStepRequest *)copy;
    else
        w->spec = (Pst__StepSpec *)copy;
    if (cmd) {
        w->reply.conn = conn_ref(cmd->conn);
        w->reply.op = cmd->op;
        w->reply.id = cmd->id;
    } else {
        w->async = true;
        w->async_id = async_id;
    }
    if (het)
        spec = het->components[0]->spec; /* checked: there is one */
    if (cmd && spec && spec->has_immediate_s)
        w->give_up_us = core_now() + (int64_t)spec->immediate_s * USEC_PER_SEC;
    while (*at)
        at = &(*at)->next;
    *at = w;
}

void steps_queue_async(struct ctld *ctld, struct job *j, uint32_t step_id,
                       const Pst__StepSpec *spec)
{
    queue_add(ctld, j->rec->job_id, NULL, step_id, spec, NULL);
}

static void wait_free(struct step_wait *w)
{
    if (w->reply.conn)
        conn_unref(w->reply.conn);
    if (w->spec)
        pst__step_spec__free_unpacked(w->spec, NULL);
    if (w->het)
        pst__het_step_request__free_unpacked(w->het, NULL);
    free(w);
}

static void answer(struct ctld *ctld, struct job *j, const struct cmd *cmd, struct step *s,
                   uint64_t lsn)
{
    Pst__StepReply *reply = reply_new(ctld, j, s);

    if (reply)
        core_reply(ctld, cmd, lsn, 0, &reply->base);
    else
        core_error(ctld, cmd, SLURM_ERROR,
                   "the controller cannot sign credentials: libsodium is missing");
    steps_reply_free(reply);
}

void op_step_create(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__StepCreateRequest *req = PB_AS(step_create_request, cmd->msg);
    static const Pst__StepSpec none = PST__STEP_SPEC__INIT;
    const Pst__StepSpec *spec = req->spec ? req->spec : &none;
    struct job *j = cluster_job(ctld->cluster, req->job_id);
    struct step *s;
    uint64_t lsn;
    int r;

    if (!j) {
        core_error(ctld, cmd, ESLURM_INVALID_JOB_ID, NULL);
        return;
    }
    if (!cmd_may_act_as(ctld, cmd, j->rec->uid)) {
        core_error(ctld, cmd, ESLURM_ACCESS_DENIED, NULL);
        return;
    }
    if (req->async) {
        async_submit(ctld, cmd, j, req);
        return;
    }
    r = queue_of(ctld, req->job_id, false)
            ? ESLURM_NODES_BUSY
            : create(ctld, j, spec, conn_peer(cmd->conn), NULL, &s, &lsn);
    if (r == 0)
        answer(ctld, j, cmd, s, lsn);
    else if ((r == ESLURM_NODES_BUSY || r == ESLURM_JOB_PENDING) && req->has_wait && req->wait)
        queue_add(ctld, req->job_id, cmd, 0, spec, NULL);
    else
        core_error(ctld, cmd, r, NULL);
}

/* ---- steps over components ------------------------------------------------------------------- */

static int create_het(struct ctld *ctld, const Pst__HetStepRequest *req, struct conn *conn,
                      struct part **ret_parts, uint64_t *ret_lsn)
{
    static const Pst__StepSpec none = PST__STEP_SPEC__INIT;
    const struct job *leader = cluster_job(ctld->cluster, req->job_id);
    struct part *parts;
    int r;

    if (!leader || !het_is_leader(leader->rec))
        return leader ? ESLURM_NOT_HET_JOB_LEADER : ESLURM_INVALID_JOB_ID;
    if (!req->n_components || req->n_components > leader->rec->het_count)
        return ESLURM_INVALID_JOB_ID;
    parts = must(calloc(req->n_components, sizeof(*parts)));
    for (size_t i = 0; i < req->n_components; i++) {
        const Pst__HetStepSpec *c = req->components[i];

        parts[i].job = het_component(ctld->cluster, leader->rec, c->offset);
        parts[i].spec = c->spec ? c->spec : &none;
        for (size_t k = 0; k < i; k++)
            if (parts[k].job == parts[i].job)
                parts[i].job = NULL; /* a component has one part of a step */
    }
    r = create_parts(ctld, parts, req->n_components, conn_peer(conn), NULL, ret_lsn);
    if (r == 0)
        *ret_parts = parts;
    else
        free(parts);
    return r;
}

static void answer_het(struct ctld *ctld, const Pst__HetStepRequest *req, const struct cmd *cmd,
                       struct part *parts, uint64_t lsn)
{
    const struct job *leader = cluster_job(ctld->cluster, req->job_id);
    Pst__HetStepReply reply = PST__HET_STEP_REPLY__INIT;
    Pst__JobRecord *jobs[HET_COMPONENTS_MAX];
    bool signed_all = true;

    reply.steps = must(calloc(req->n_components, sizeof(*reply.steps)));
    for (size_t i = 0; i < req->n_components; i++) {
        Pst__StepReply *one = reply_new(ctld, parts[i].job, parts[i].step);

        signed_all = signed_all && one;
        if (one)
            reply.steps[reply.n_steps++] = one;
    }
    reply.het_jobs = jobs;
    for (uint32_t k = 0; k < MIN(leader->rec->het_count, HET_COMPONENTS_MAX); k++) {
        const struct job *j = het_component(ctld->cluster, leader->rec, k);

        if (j)
            jobs[reply.n_het_jobs++] = j->rec;
    }
    if (signed_all)
        core_reply(ctld, cmd, lsn, 0, &reply.base);
    else
        core_error(ctld, cmd, SLURM_ERROR,
                   "the controller cannot sign credentials: libsodium is missing");
    for (size_t i = 0; i < reply.n_steps; i++)
        steps_reply_free(reply.steps[i]);
    free(reply.steps);
    free(parts);
}

void op_het_step_create(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__HetStepRequest *req = PB_AS(het_step_request, cmd->msg);
    const struct job *leader = cluster_job(ctld->cluster, req->job_id);
    struct part *parts = NULL;
    uint64_t lsn = 0;
    int r;

    if (!leader) {
        core_error(ctld, cmd, ESLURM_INVALID_JOB_ID, NULL);
        return;
    }
    if (!cmd_may_act_as(ctld, cmd, leader->rec->uid)) {
        core_error(ctld, cmd, ESLURM_ACCESS_DENIED, NULL);
        return;
    }
    r = queue_of(ctld, req->job_id, false) ? ESLURM_NODES_BUSY
                                           : create_het(ctld, req, cmd->conn, &parts, &lsn);
    if (r == 0)
        answer_het(ctld, req, cmd, parts, lsn);
    else if ((r == ESLURM_NODES_BUSY || r == ESLURM_JOB_PENDING) && req->has_wait && req->wait)
        queue_add(ctld, req->job_id, cmd, 0, NULL, req);
    else
        core_error(ctld, cmd, r, NULL);
}

/* False: it must wait longer. */
static bool serve_het(struct ctld *ctld, const struct step_wait *w)
{
    struct part *parts = NULL;
    uint64_t lsn = 0;
    int r = create_het(ctld, w->het, w->reply.conn, &parts, &lsn);

    if (r == ESLURM_NODES_BUSY || r == ESLURM_JOB_PENDING)
        return false;
    if (r == 0)
        answer_het(ctld, w->het, &w->reply, parts, lsn);
    else
        core_error(ctld, &w->reply, r, NULL);
    return true;
}

/* ---- those who wait -------------------------------------------------------------------------- */

/* One who waits gets his step, or learns why not.  False: it must wait longer. */
static bool serve(struct ctld *ctld, struct job *j, const struct step_wait *w)
{
    const struct step *queued = w->async ? cluster_step(j, w->async_id) : NULL;
    struct step *s = NULL;
    uint64_t lsn = 0;
    int r;

    if (w->het)
        return serve_het(ctld, w);
    if (w->async && (!queued || queued->rec->state != PST__STEP_STATE__STEP_PENDING))
        return true; /* cancelled meanwhile */
    r = create(ctld, j, w->spec, w->async ? NULL : conn_peer(w->reply.conn),
               w->async ? &w->async_id : NULL, &s, &lsn);
    if (r == ESLURM_NODES_BUSY || r == ESLURM_JOB_PENDING || (w->async && r == EPST_DISK_FULL))
        return false;
    if (r == 0 && w->async)
        async_launch(ctld, j, s, lsn);
    else if (r == 0)
        answer(ctld, j, &w->reply, s, lsn);
    else if (w->async)
        async_end_pending(ctld, j, w->async_id, NULL);
    else
        core_error(ctld, &w->reply, r, NULL);
    return true;
}

/* Serve those who wait, in order, as far as it goes. */
static void serve_queue(struct ctld *ctld, struct job *j)
{
    struct step_queue *q = queue_of(ctld, j->rec->job_id, false);

    while (q && q->head) {
        struct step_wait *w = q->head;

        if (!serve(ctld, j, w))
            break;
        q->head = w->next;
        wait_free(w);
    }
    if (q && !q->head) {
        (void)idmap_remove(&ctld->step_queue, q->job_id);
        free(q);
    }
    if (het_is_follower(j->rec) && (j = het_component(ctld->cluster, j->rec, 0)))
        steps_retry(ctld, j); /* steps over components wait at the leader */
}

void steps_retry(struct ctld *ctld, struct job *j)
{
    serve_queue(ctld, j);
    async_drained(ctld, j);
}

/* Remove the waiting requests for which gone() holds. */
static void queue_filter(struct ctld *ctld, bool (*gone)(const struct step_wait *w, int64_t arg),
                         int64_t arg, int code)
{
    struct step_queue *q;
    size_t pos = 0;

    while ((q = idmap_next(&ctld->step_queue, &pos))) {
        for (struct step_wait **at = &q->head; *at;) {
            struct step_wait *w = *at;

            if (!gone(w, arg)) {
                at = &w->next;
                continue;
            }
            if (code && !w->async)
                core_error(ctld, &w->reply, code, NULL);
            *at = w->next;
            wait_free(w);
        }
        if (!q->head) {
            (void)idmap_remove(&ctld->step_queue, q->job_id);
            free(q);
        }
    }
}

static bool on_conn(const struct step_wait *w, int64_t conn)
{
    return !w->async && (int64_t)conn_id(w->reply.conn) == conn;
}

static bool expired(const struct step_wait *w, int64_t now_us)
{
    return w->give_up_us && now_us >= w->give_up_us;
}

void steps_conn_closed(struct ctld *ctld, uint64_t conn)
{
    queue_filter(ctld, on_conn, (int64_t)conn, 0);
    async_conn_closed(conn);
}

static bool always(const struct step_wait *w, int64_t arg)
{
    (void)w;
    (void)arg;
    return true;
}

void steps_clear(struct ctld *ctld)
{
    queue_filter(ctld, always, 0, 0);
    async_clear();
    idmap_done(&ctld->step_queue);
}

/* ---- ends ------------------------------------------------------------------------------------ */

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
static uint32_t worse(uint32_t a, uint32_t b)
{
    if (a == STATUS_OOM || b == STATUS_OOM)
        return STATUS_OOM;
    return a > b ? a : b;
}

uint64_t steps_ended(struct ctld *ctld, struct job *j, struct step *s, uint32_t node_id,
                     const Pst__StepEnd *end)
{
    uint32_t status = worse(s->rec->has_exit_status ? s->rec->exit_status : 0, end->exit_status);
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
        SET(set, end_us, end->has_end_us ? end->end_us : core_now());
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

void steps_close(struct ctld *ctld, struct job *j, Pst__Transaction *tx, uint32_t job_status)
{
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
    (void)ctld;
}

void steps_recover(struct ctld *ctld, struct job *j)
{
    async_recover(ctld, j);
    for (struct step *s = j->steps; s; s = s->next)
        if (s->rec->state == PST__STEP_STATE__STEP_RUNNING && !s->waiting)
            steps_await(s);
}

/* A running step that is to end: by its limit, or by a cancel that may have come before its
 * launch. */
static void step_tick(struct ctld *ctld, struct job *j, struct step *s, int64_t now_us)
{
    bool late = s->rec->has_time_limit_min &&
                s->rec->start_us + (int64_t)s->rec->time_limit_min * 60 * USEC_PER_SEC <= now_us;
    Pst__SignalSteps sig = PST__SIGNAL_STEPS__INIT;
    uint32_t id = s->rec->step_id;

    if (!late && !s->killed)
        return;
    sig.step_ids = &id;
    sig.n_step_ids = 1;
    if (s->killed) {
        SET(&sig, signal, SIGKILL);
    } else {
        SET(&sig, terminate, true);
        SET(&sig, kill_wait_s, (uint32_t)conf_num(ctld->conf, CONF_KILL_WAIT));
        sig.reason = (char *)"DUE TO TIME LIMIT"; /* not changed by packing */
    }
    launch_signal(ctld, j, ctld->applied_lsn, &sig);
}

/* Limits of steps, and --immediate. */
void steps_tick(struct ctld *ctld, int64_t now_us)
{
    queue_filter(ctld, expired, now_us, ESLURM_NODES_BUSY);
    for (struct job *j = ctld->cluster->active, *next; j; j = next) {
        next = j->next_active;
        for (struct step *s = j->steps; s; s = s->next)
            if (s->waiting)
                step_tick(ctld, j, s, now_us);
    }
}

/* ---- the service ----------------------------------------------------------------------------- */

static void forget_conn(struct ctld *ctld, struct conn *conn)
{
    steps_conn_closed(ctld, conn_id(conn));
}

static void retry_after(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    (void)lsn;
    steps_retry(ctld, j);
}

static const struct ctld_op step_ops[] = {
    { OP_STEP_CREATE, .fn = op_step_create, .flags = OPF_WRITES | OPF_CLOSES },
    { OP_HET_STEP_CREATE, .fn = op_het_step_create, .flags = OPF_WRITES | OPF_CLOSES },
    { 0 }
};

const struct ctld_service steps_service = {
    .name = "steps",
    .ops = step_ops,
    .stop = steps_clear,
    .tick_writing = steps_tick,
    .on_conn_closed = forget_conn,
    .job_started = retry_after,
    .job_ready = retry_after,
    .job_resumed = steps_retry,
    .job_ended = retry_after,
};
