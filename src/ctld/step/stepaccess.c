/* stepaccess.c - credentials for what is already there: sattach's and sstat's to a running step,
 * sbcast's to a job's nodes, those of --x11 to a job's extern steps, and the end of a script's
 * output
 *
 * Each is good for its purpose alone, on the nodes named in it, once, and for two minutes.  Core
 * thread. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "ctld/ctld.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/prologs.h"
#include "ctld/step/steps.h"
#include "ctld/core/service.h"

/* A step that nobody can attach to is none for whoever asks, also when the job is not his. */
static bool step_has_streams(const struct job_ref *ref)
{
    const struct step *s = ref->has_step ? cluster_step(ref->job, ref->step) : NULL;

    return s && (s->rec->state == PST__STEP_STATE__STEP_RUNNING ||
                 s->rec->state == PST__STEP_STATE__STEP_PENDING);
}

/* 0 or an ESLURM code; *ret_step may stay NULL for a job. */
static int find_target(struct ctld *ctld, const struct cmd *cmd, const char *id,
                       Pst__CredPurpose purpose, struct job **ret_job, struct step **ret_step)
{
    bool looks = purpose == PST__CRED_PURPOSE__CRED_STAT;
    bool needs_step = looks || purpose == PST__CRED_PURPOSE__CRED_ATTACH;
    struct job_ref ref = { 0 };
    int r = id ? jobs_find(ctld, id, &ref) : ESLURM_INVALID_JOB_ID;

    *ret_step = NULL;
    if (r != 0)
        return r;
    if (purpose == PST__CRED_PURPOSE__CRED_ATTACH && !job_is_pending(ref.job->rec) &&
        !step_has_streams(&ref))
        return ESLURM_INVALID_JOB_ID;
    /* Figures are for administrators too; input of a step and files are the owner's. */
    if (!cmd_may_act_as(ctld, cmd, ref.job->rec->uid) && !(looks && cmd_is_admin(ctld, cmd)))
        return ESLURM_ACCESS_DENIED;
    if (!job_holds_resources(ref.job->rec) || job_is_ended(ref.job->rec))
        return job_is_pending(ref.job->rec) ? ESLURM_JOB_PENDING : ESLURM_ALREADY_DONE;
    if (purpose == PST__CRED_PURPOSE__CRED_BCAST && job_is_external(ref.job->rec))
        return ESLURM_NOT_SUPPORTED; /* its nodes may have no slurmd */
    if (needs_step && !ref.has_step)
        return ESLURM_INVALID_JOB_ID;
    if (ref.has_step) {
        *ret_step = cluster_step(ref.job, ref.step);
        if (!*ret_step)
            return ESLURM_INVALID_JOB_ID;
        if ((*ret_step)->rec->state != PST__STEP_STATE__STEP_RUNNING)
            return (*ret_step)->rec->state == PST__STEP_STATE__STEP_PENDING ? ESLURM_JOB_PENDING
                                                                            : ESLURM_ALREADY_DONE;
    }
    *ret_job = ref.job;
    return 0;
}

/* A batch job whose script has begun, also one that is over.  0 or an ESLURM code. */
static int find_output(struct ctld *ctld, const struct cmd *cmd, const char *id,
                       struct job **ret_job)
{
    struct job_ref ref = { 0 };
    int r = id ? jobs_find(ctld, id, &ref) : ESLURM_INVALID_JOB_ID;
    const Pst__JobRecord *rec;

    if (r != 0)
        return r;
    rec = ref.job->rec;
    /* Administrators of accounting may not: they can change the name of the file in the record. */
    if (!cmd_may_act_as(ctld, cmd, rec->uid))
        return ESLURM_ACCESS_DENIED;
    if (ref.has_step || !rec->batch)
        return ESLURM_NOT_SUPPORTED;
    if (!rec->alloc || !rec->batch_host)
        return job_is_pending(rec) ? ESLURM_JOB_PENDING : ESLURM_ALREADY_DONE;
    *ret_job = ref.job;
    return 0;
}

/* Broadcasts go where BcastAddr says. */
static void use_bcast_addrs(const struct ctld *ctld, Pst__StepReply *reply)
{
    for (size_t i = 0; i < reply->n_nodes; i++) {
        Pst__NodeAddr *a = reply->nodes[i];
        const struct conf_node *n = a->name ? conf_find_node(ctld->conf, a->name) : NULL;

        if (!n || !n->bcast_addr)
            continue;
        free(a->addr);
        a->addr = tx_strdup(n->bcast_addr);
    }
}

/* With the credential of reply, which is freed. */
static void answer_access(struct ctld *ctld, struct cmd *cmd, const Pst__Alloc *alloc,
                          Pst__StepReply *reply, bool bcast)
{
    if (!reply->credential) {
        core_error(ctld, cmd, SLURM_ERROR,
                   "the controller cannot sign credentials: libsodium is missing");
        return;
    }
    steps_add_key(ctld, reply);
    reply->n_nodes = steps_node_addrs(ctld, alloc, reply->credential, &reply->nodes);
    if (bcast)
        use_bcast_addrs(ctld, reply);
    core_reply(ctld, cmd, ctld->applied_lsn, 0, &reply->base);
    pst__signed_credential__free_unpacked(reply->credential, NULL);
    free(reply->launch_key.data);
    for (size_t i = 0; i < reply->n_nodes; i++)
        pst__node_addr__free_unpacked(reply->nodes[i], NULL);
    free(reply->nodes);
}

/* Ids of the nodes of a list, which the caller frees.  0 or an ESLURM code. */
static int list_nodes(struct ctld *ctld, const char *text, uint32_t **ret_ids, size_t *ret_n)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    _cleanup_free_ uint32_t *ids = NULL;
    size_t n;

    if (hostlist_parse_most(text, HOSTLIST_MAX_NODES, &hl, NULL) < 0 || hostlist_count(hl) == 0 ||
        hostlist_count(hl) > ctld->cluster->nnodes)
        return ESLURM_INVALID_NODE_NAME;
    n = hostlist_count(hl);
    ids = calloc(n, sizeof(*ids));
    if (!ids)
        return SLURM_ERROR;
    for (size_t i = 0; i < n; i++) {
        const struct node *node = cluster_node_named(ctld->cluster, hostlist_nth(hl, i));

        if (!node)
            return ESLURM_INVALID_NODE_NAME;
        ids[i] = node->rec->node_id;
    }
    *ret_ids = TAKE_PTR(ids);
    *ret_n = n;
    return 0;
}

/* Files to nodes without a job, which only root and SlurmUser may send.  The files are written as
 * the user that asks. */
static void access_nodes(struct ctld *ctld, struct cmd *cmd, char *nodes)
{
    const struct peer *peer = conn_peer(cmd->conn);
    bool may = peer->uid == 0 || peer->uid == conf_slurm_uid(ctld->conf);
    Pst__AllocGroup group = PST__ALLOC_GROUP__INIT, *groups[] = { &group };
    Pst__Alloc alloc = PST__ALLOC__INIT;
    Pst__JobRecord rec = PST__JOB_RECORD__INIT;
    Pst__StepReply reply = PST__STEP_REPLY__INIT;
    struct job nobody = { .rec = &rec };
    _cleanup_free_ uint32_t *ids = NULL;
    int r = may ? list_nodes(ctld, nodes, &ids, &alloc.n_node_ids) : ESLURM_ACCESS_DENIED;

    if (r != 0) {
        core_error(ctld, cmd, r, NULL);
        return;
    }
    alloc.nodes = nodes;
    alloc.node_ids = ids;
    SET(&group, nodes, (uint32_t)alloc.n_node_ids);
    alloc.groups = groups;
    alloc.n_groups = 1;
    SET(&rec, uid, peer->uid);
    SET(&rec, gid, peer->gid);
    rec.alloc = &alloc;
    reply.credential = steps_sign(ctld, &nobody, NULL, PST__CRED_PURPOSE__CRED_BCAST);
    answer_access(ctld, cmd, &alloc, &reply, true);
}

static void access_output(struct ctld *ctld, struct cmd *cmd, const char *id)
{
    Pst__AllocGroup group = PST__ALLOC_GROUP__INIT, *groups[] = { &group };
    Pst__StepReply reply = PST__STEP_REPLY__INIT;
    Pst__Alloc alloc = PST__ALLOC__INIT;
    const struct node *node = NULL;
    struct job *j = NULL;
    int r = find_output(ctld, cmd, id, &j);

    if (r == 0)
        node = cluster_node_named(ctld->cluster, j->rec->batch_host);
    if (r == 0 && !node)
        r = ESLURM_INVALID_NODE_NAME;
    if (r != 0) {
        core_error(ctld, cmd, r, NULL);
        return;
    }
    alloc.nodes = node->rec->name;
    alloc.node_ids = &node->rec->node_id;
    alloc.n_node_ids = 1;
    SET(&group, nodes, 1);
    alloc.groups = groups;
    alloc.n_groups = 1;
    reply.credential = steps_sign(ctld, j, NULL, PST__CRED_PURPOSE__CRED_OUTPUT);
    answer_access(ctld, cmd, &alloc, &reply, false); /* where the script runs or ran */
}

void op_access(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__AccessRequest *req = PB_AS(access_request, cmd->msg);
    bool attach = req->purpose == PST__CRED_PURPOSE__CRED_ATTACH;
    bool step = attach || req->purpose == PST__CRED_PURPOSE__CRED_STAT;
    bool x11 = req->purpose == PST__CRED_PURPOSE__CRED_X11;
    Pst__StepReply reply = PST__STEP_REPLY__INIT;
    const Pst__Alloc *alloc;
    struct job *j = NULL;
    struct step *s;
    int r;

    if (req->nodes && req->purpose == PST__CRED_PURPOSE__CRED_BCAST) {
        access_nodes(ctld, cmd, req->nodes);
        return;
    }
    if (req->purpose == PST__CRED_PURPOSE__CRED_OUTPUT) {
        access_output(ctld, cmd, req->id);
        return;
    }
    r = step || x11 || req->purpose == PST__CRED_PURPOSE__CRED_BCAST
            ? find_target(ctld, cmd, req->id, req->purpose, &j, &s)
            : EPST_BAD_REQUEST;

    if (r == 0 && x11 && (s || !j->rec->x11 || !launch_forwards_x11(ctld)))
        r = ESLURM_X11_NOT_AVAIL;
    if (r == 0 && attach && s->rec->step_id == STEP_EXTERN) {
        core_error(ctld, cmd, ESLURM_NOT_SUPPORTED, "the extern step has no tasks");
        return;
    }
    if (r != 0) {
        core_error(ctld, cmd, r, NULL);
        return;
    }
    alloc = s ? s->rec->alloc : j->rec->alloc;
    reply.credential = steps_sign(ctld, j, s, req->purpose);
    reply.step = s ? s->rec : NULL;
    answer_access(ctld, cmd, alloc, &reply, req->purpose == PST__CRED_PURPOSE__CRED_BCAST);
}

/* ---- the service ----------------------------------------------------------------------------- */

static const struct ctld_op access_ops[] = { { OP_ACCESS, .fn = op_access }, { 0 } };

const struct ctld_service stepaccess_service = { .name = "stepaccess", .ops = access_ops };
