/* op_script.c - op query-script: the script of a job, for its owner and administrators */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "ctld/core/service.h"
#include "ctld/policy/policy.h"

/* A script on its way to a client. */
struct script_answer {
    struct blob *script; /* held */
    uint32_t id;
};

static bool send_script(struct conn *c, void *arg)
{
    const struct script_answer *a = arg;
    Pst__ScriptReply r = PST__SCRIPT_REPLY__INIT;

    r.has_script = 1;
    r.script = (ProtobufCBinaryData){ .len = a->script->len, .data = a->script->data };
    (void)conn_reply(c, OP_QUERY_SCRIPT, a->id, 0, &r.base); /* fails when the client has gone */
    return false;
}

static void script_answer_free(void *arg)
{
    struct script_answer *a = arg;

    (void)blob_drop(a->script); /* always NULL */
    free(a);
}

/* The bytes are copied when the connection has room for them, not here: others wait for this
 * thread. */
static void op_query_script(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__JobIdRequest *req = PB_AS(job_id_request, cmd->msg);
    const struct job *j = cluster_job(ctld->cluster, req->job_id);
    struct script_answer *a;
    struct blob *b;

    if (!j) {
        core_error(ctld, cmd, ESLURM_INVALID_JOB_ID, NULL);
        return;
    }
    if (conn_peer(cmd->conn)->uid != j->rec->uid && !policy_is_operator(ctld, cmd)) {
        core_error(ctld, cmd, ESLURM_USER_ID_MISSING, NULL);
        return;
    }
    b = cluster_script(ctld->cluster, j->rec);
    if (!b) {
        core_error(ctld, cmd, ESLURM_JOB_SCRIPT_MISSING, NULL);
        return;
    }
    a = malloc(sizeof(*a));
    if (!a) {
        core_error(ctld, cmd, EPST_BUSY, NULL);
        return;
    }
    *a = (struct script_answer){ .script = blob_hold(b), .id = cmd->id };
    conn_stream(cmd->conn, send_script, script_answer_free, a);
}

static const struct ctld_op scriptops_ops[] = {
    { OP_QUERY_SCRIPT, .fn = op_query_script, .flags = OPF_SHOWS },
    { 0 },
};

const struct ctld_service scriptops_service = { .name = "scriptops", .ops = scriptops_ops };
