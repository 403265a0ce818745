/* op_explain.c - op query-explain; see explain_text.h */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/gres/grestext.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "ctld/starts/explain_text.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/policy/policy.h"
#include "ctld/job/jobfacts.h"
#include "ctld/core/asking.h"
#include "ctld/starts/wait.h"
#include "ctld/core/service.h"

static void answer_explain(struct ctld *ctld, const struct cmd *to, const struct explain_text *t)
{
    struct explain_made *m = explain_make(t);

    if (m)
        core_reply(ctld, to, 0, 0, &explain_reply(m)->base);
    else
        core_error(ctld, to, SLURM_ERROR, ERR_NOMEM);
    explain_done(m);
}

static bool asks_devices(const Pst__JobRecord *r)
{
    const char *const asked[] = { r->tres_per_job, r->tres_per_node, r->tres_per_socket,
                                  r->tres_per_task };

    for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
        if (asked[i] && strstr(asked[i], "gres/"))
            return true;
    return false;
}

static bool has_gpus(const char *gres)
{
    bool any = false;

    (void)gres_text_count(gres, "gpu", NULL, &any); /* how many does not matter */
    return any;
}

/* Has every node of the partition GPUs?  Then it is there for jobs that use them. */
static bool is_for_gpus(const struct ctld *ctld, const struct partition *p)
{
    bool some = false;

    BITMAP_FOREACH (p->nodes, id) {
        const struct node *n = id < ctld->cluster->nnodes ? ctld->cluster->nodes[id] : NULL;

        if (!n)
            continue;
        if (!has_gpus(n->rec->gres))
            return false;
        some = true;
    }
    return some;
}

/* The partitions that the job's owner may use, comma separated. */
static void list_partitions(struct ctld *ctld, const struct cmd *cmd, const Pst__JobRecord *r,
                            struct strbuf *out)
{
    struct cmd owner = *cmd;

    owner.uid = r->uid;
    owner.group_name = r->groups ? r->groups : r->group_name;
    for (size_t i = 0; i < ctld->cluster->nparts; i++) {
        const struct partition *p = ctld->cluster->parts[i];

        if ((p->rec->has_hidden && p->rec->hidden) || submit_lets_in(ctld, &owner, p, r) != 0)
            continue;
        if (!asks_devices(r) && is_for_gpus(ctld, p))
            continue; /* its GPUs would lie idle below the job */
        strbuf_addf(out, "%s%s", out->len ? "," : "", p->rec->name);
    }
}

void op_query_explain(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__ExplainRequest *req = PB_AS(explain_request, cmd->msg);
    struct job *j = cluster_job(ctld->cluster, req->job_id);
    struct explain_text t = { .ctld = ctld, .job = j, .now_us = core_now(), .asker = cmd };
    _cleanup_val_(strbuf_done) struct strbuf others = STRBUF_INIT;
    uint64_t ticket;

    if (!j || (conn_peer(cmd->conn)->uid != j->rec->uid && !policy_may_manage(ctld, cmd, j->rec) &&
               policy_private(ctld->conf) & PRIVATE_JOBS)) {
        core_error(ctld, cmd, ESLURM_INVALID_JOB_ID, NULL);
        return;
    }
    if (!job_is_pending(j->rec) || !j->rec->partition) {
        answer_explain(ctld, cmd, &t);
        return;
    }
    if (!asking_admit(ctld, cmd))
        return;
    list_partitions(ctld, cmd, j->rec, &others);
    ticket = wait_add_test(ctld, cmd, NULL);
    wait_find(ctld, ticket)->job_id = j->rec->job_id;
    feed_explain(ctld, j->rec, strbuf_str(&others), ticket);
}

void explain_answer(struct ctld *ctld, const struct decisions_msg *m)
{
    struct waiter *w = wait_find(ctld, m->ticket);
    struct explain_text t = { .ctld = ctld,
                              .x = m->when_result == 0 ? &m->explained : NULL,
                              .now_us = core_now() };

    if (!w)
        return; /* his connection has gone */
    t.asker = &w->reply;
    t.job = cluster_job(ctld->cluster, w->job_id);
    if (t.job && !job_is_pending(t.job->rec))
        t.x = NULL; /* started meanwhile */
    if (t.job)
        answer_explain(ctld, &w->reply, &t);
    else
        core_error(ctld, &w->reply, ESLURM_INVALID_JOB_ID, NULL);
    wait_remove(ctld, w);
}

/* ---- the service ----------------------------------------------------------------------------- */

static const struct ctld_op explain_ops[] = { { OP_QUERY_EXPLAIN, .fn = op_query_explain }, { 0 } };

const struct ctld_service explain_service = { .name = "explain", .ops = explain_ops };
