/* op_update.c - scontrol update of jobs: the jobs that a request names, one after the other */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "ctld/core/service.h"
#include "ctld/ctld.h"
#include "ctld/policy/fedset.h"
#include "ctld/job/arraysplit.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/jobwalk.h"
#include "ctld/schedlink/licenses.h"
#include "ctld/job/resize.h"
#include "ctld/policy/policy.h"
#include "ctld/job/crontimes.h"
#include "ctld/submit/jobsubmit.h"
#include "ctld/update/jobchange.h"
#include "fields.h"

/* so long after its end a job that comes back is waited for */
#define RETURN_US (10 * USEC_PER_SEC)

struct update {
    struct ctld *ctld;
    struct cmd *cmd; /* owned */
    const Pst__JobUpdateRequest *req;
    struct jobwalk walk; /* over the ids asked for */
    uint32_t *ids;       /* or over these, of the jobs of a name */
    size_t n_ids, next;
    uint32_t cost; /* units of one job's change */
    const char *id;
    char *tasks; /* owned: of the array, of the job at hand */
    Pst__JobActionReply reply;
    uint64_t lsn;
    struct strbuf messages; /* of the site's filters about the job at hand */
};

static void add_result(struct update *u, int code, uint32_t job_id)
{
    Pst__JobActionResult *r = malloc(sizeof(*r));
    Pst__JobActionResult **bigger =
        realloc(u->reply.results, (u->reply.n_results + 1) * sizeof(*bigger));

    if (bigger)
        u->reply.results = bigger;
    if (!r || !bigger) {
        free(r);
        return; /* the caller sees fewer results than jobs */
    }
    pst__job_action_result__init(r);
    if (u->id)
        r->id = tx_strdup(u->id);
    r->has_code = 1;
    r->code = code;
    if (u->messages.len && code)
        strbuf_addf(&u->messages, ": %s", slurm_err_text(code));
    r->text = tx_strdup(u->messages.buf);
    SET(r, job_id, job_id);
    r->tasks = u->tasks;
    u->tasks = NULL;
    u->reply.results[u->reply.n_results++] = r;
}

/* JobSubmitPlugins see each job's change, and change it for that job alone. */
static int filter_and_apply(struct update *u, struct job *j)
{
    Pst__JobUpdateRequest own = *u->req; /* shallow */
    struct job_change change = { .ctld = u->ctld, .cmd = u->cmd, .req = u->req };
    struct jobsubmit_request r = {
        .ctld = u->ctld, .cmd = u->cmd, .job = j->rec, .messages = &u->messages
    };
    Pst__JobRecord empty = PST__JOB_RECORD__INIT;
    ProtobufCMessage *copy = NULL;
    int code;

    strbuf_reset(&u->messages);
    if (!jobsubmit_any(u->ctld->conf))
        return change_apply(&change, j, &u->lsn);
    if (pb_dup(own.set ? &own.set->base : &empty.base, &copy) < 0)
        return SLURM_ERROR;
    own.set = r.desc = (Pst__JobRecord *)copy;
    change.req = &own;
    code = jobsubmit_run(&r);
    if (code == 0)
        code = change_apply(&change, j, &u->lsn);
    protobuf_c_message_free_unpacked(copy, NULL);
    return code;
}

/* How many tasks run at once is a matter of the whole array. */
static bool throttles_task(const struct update *u)
{
    return u->tasks && u->req->set && u->req->set->has_array_task_throttle && strchr(u->id, '_');
}

static void refuse_throttle(struct update *u, uint32_t job_id)
{
    Pst__JobActionResult *r;
    size_t n = u->reply.n_results;

    add_result(u, ESLURM_NOT_SUPPORTED, job_id);
    if (u->reply.n_results == n)
        return;
    r = u->reply.results[n];
    free(r->text);
    if (asprintf(&r->text, "%s (Update of ArrayTaskThrottle is only allowed on ArrayJobId)",
                 slurm_err_text(ESLURM_NOT_SUPPORTED)) < 0)
        r->text = NULL;
}

/* It holds for tasks that have ended as well: they may be requeued. */
static void throttle_ended(struct update *u, uint32_t job_id)
{
    const struct job *j = cluster_job(u->ctld->cluster, job_id);
    Pst__Transaction *tx;
    uint64_t lsn;

    if (!u->req->set || !u->req->set->has_array_task_throttle || !j || !job_is_ended(j->rec) ||
        !j->rec->has_array_job_id)
        return;
    tx = tx_new(core_now());
    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, job_id), array_task_throttle,
        u->req->set->array_task_throttle);
    lsn = core_commit(u->ctld, tx);
    if (lsn) /* disk full: it keeps what it had */
        u->lsn = lsn;
}

/* What a stranger is told: of an end first, when the stranger may see the state of the job.  A step
 * is not his, over or not. */
static int stranger_code(const struct update *u, const struct job_ref *ref)
{
    const struct job *j = ref->job;
    unsigned hidden = policy_hidden(u->ctld, cmd_rights_uid(u->cmd), u->cmd->caller);

    return !ref->has_step && job_is_ended(j->rec) && !(hidden & PRIVATE_JOBS)
               ? ESLURM_JOB_FINISHED
               : ESLURM_USER_ID_MISSING;
}

static void update_job(struct update *u, const struct job_ref *ref)
{
    const struct job_change as_sent = { .ctld = u->ctld, .cmd = u->cmd, .req = u->req };
    struct job *j = ref->job;
    const char *cluster;
    uint32_t id;
    int code;

    strbuf_reset(&u->messages);
    free(u->tasks);
    u->tasks = u->id ? job_ref_tasks(ref) : NULL; /* before a task becomes a job */
    if (throttles_task(u)) {
        refuse_throttle(u, j->rec->job_id);
        return;
    }
    if (cmd_rights_uid(u->cmd) != j->rec->uid && !policy_may_manage(u->ctld, u->cmd, j->rec)) {
        add_result(u, stranger_code(u, ref), j->rec->job_id);
        return;
    }
    if (!fedset_decides(u->ctld, j->rec, &cluster)) {
        add_result(u, EPST_OTHER_CLUSTER, j->rec->job_id);
        if (u->reply.n_results)
            fedset_refer(u->reply.results[u->reply.n_results - 1], cluster);
        return;
    }
    if (ref->has_step) {
        add_result(u, change_step(&as_sent, j, ref->step, &u->lsn), j->rec->job_id);
        return;
    }
    if (cron_is(j->rec)) {
        add_result(u, ESLURM_CANNOT_MODIFY_CRON_JOB, j->rec->job_id);
        return;
    }
    if (job_has_flag(j->rec, JOB_FLAG(EXPEDITING)) && !policy_is_operator(u->ctld, u->cmd)) {
        add_result(u, ESLURM_NOT_SUPPORTED, j->rec->job_id);
        return;
    }
    if (!(j = job_ref_own(u->ctld, ref))) {
        add_result(u, SLURM_ERROR, 0);
        return;
    }
    if (u->req->set && u->req->set->cluster_features && !fed_is_job(j->rec)) {
        add_result(u, SLURM_ERROR, j->rec->job_id);
        return;
    }
    if (resize_asked(j->rec, u->req->set)) {
        add_result(u, change_resize(&as_sent, j, &u->lsn), j->rec->job_id);
        return;
    }
    id = j->rec->job_id;
    code = filter_and_apply(u, j);
    if (code == ESLURM_JOB_FINISHED)
        throttle_ended(u, id);
    add_result(u, code, id);
}

/* The leader's id is that of all components; only the leader waits for other jobs. */
static void on_ref(struct update *u, const struct job_ref *ref)
{
    const Pst__JobRecord *r = ref->job->rec;
    bool waits = (u->req->set && u->req->set->dependency) || change_clears_dependency(u->req);
    bool all = het_is_leader(r) && !ref->component && !waits;
    uint32_t leader = r->job_id, n = all ? r->het_count : 1;

    if (het_is_follower(r) && waits) {
        add_result(u, ESLURM_NOT_HET_JOB_LEADER, r->job_id);
        return;
    }
    budget_spend(&u->walk.budget, (uint64_t)n * u->cost);
    update_job(u, ref);
    for (uint32_t k = 1; k < n; k++) {
        const struct job *first = cluster_job(u->ctld->cluster, leader);
        struct job_ref one = { .job =
                                   first ? het_component(u->ctld->cluster, first->rec, k) : NULL };

        if (one.job && !job_is_ended(one.job->rec))
            update_job(u, &one);
    }
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* JobName= selects the caller's jobs of that name. */
static void collect_named(struct update *u)
{
    struct cluster *c = u->ctld->cluster;
    uid_t uid = u->cmd->conn ? cmd_rights_uid(u->cmd) : 0;
    void *v;

    u->ids = malloc((c->jobs.count ? c->jobs.count : 1) * sizeof(*u->ids));
    for (size_t pos = 0; u->ids && (v = cluster_next_job(c, &pos));) {
        const struct job *j = v;

        if (j->rec->name && strcmp(j->rec->name, u->req->name_match) == 0 &&
            !job_is_ended(j->rec) && (j->rec->uid == uid || cmd_is_admin(u->ctld, u->cmd)) &&
            (!u->req->has_uid_match || j->rec->uid == u->req->uid_match))
            u->ids[u->n_ids++] = j->rec->job_id;
    }
    if (!u->n_ids)
        add_result(u, ESLURM_INVALID_JOB_ID, 0);
}

/* A part of them; false: there are more. */
static bool walk_named(struct update *u)
{
    for (; u->next < u->n_ids && !budget_turn_over(&u->walk.budget); u->next++) {
        struct job_ref ref = { .job = cluster_job(u->ctld->cluster, u->ids[u->next]) };

        if (ref.job)
            on_ref(u, &ref);
    }
    return u->next == u->n_ids;
}

/* No job here has the id: another cluster of the federation that gave the number may know it. */
static void none_here(struct update *u)
{
    const char *giver = u->walk.code == ESLURM_INVALID_JOB_ID ? fedset_giver(u->ctld, u->id) : NULL;
    size_t before = u->reply.n_results;

    strbuf_reset(&u->messages);
    add_result(u, giver ? EPST_OTHER_CLUSTER : u->walk.code, 0);
    if (giver && u->reply.n_results > before)
        fedset_refer(u->reply.results[before], giver);
}

/* A part of the ids; false: there are more. */
static bool walk_ids(struct update *u)
{
    struct job_ref ref;

    for (;;) {
        enum jobwalk_event e = jobwalk_next(&u->walk, &ref);

        u->id = u->walk.id;
        if (e == JOBWALK_JOB) {
            on_ref(u, &ref);
        } else if (e == JOBWALK_NONE) {
            none_here(u);
        } else if (e == JOBWALK_REFUSED) {
            strbuf_reset(&u->messages);
            strbuf_add(&u->messages, jobwalk_refusal);
            add_result(u, EPST_BAD_REQUEST, 0);
        }
        if (e != JOBWALK_JOB && e != JOBWALK_NONE)
            return e != JOBWALK_PAUSE;
    }
}

static void update_free(void *arg)
{
    struct update *u = arg;

    for (size_t i = 0; i < u->reply.n_results; i++)
        pst__job_action_result__free_unpacked(u->reply.results[i], NULL);
    free(u->reply.results);
    free(u->tasks);
    strbuf_done(&u->messages);
    free(u->ids);
    jobwalk_done(&u->walk);
    cmd_free(u->cmd);
    free(u);
}

static void finish_update(struct update *u)
{
    core_reply(u->ctld, u->cmd, u->lsn, 0, &u->reply.base);
    update_free(u);
}

/* The rest is posted behind what others have asked meanwhile. */
static void walk_jobs(void *arg)
{
    struct update *u = arg;
    bool done = u->ids ? walk_named(u) : walk_ids(u);

    budget_next_turn(&u->walk.budget);
    if (done || !core_again(u->ctld, u->cmd, walk_jobs, update_free, u))
        finish_update(u);
}

/* Each job is checked against all that is set: long texts cost more. */
static uint32_t cost_of(const Pst__JobUpdateRequest *req)
{
    size_t bytes = req->set ? protobuf_c_message_get_packed_size(&req->set->base) : 0;

    return BUDGET_CHANGE + (uint32_t)(bytes / 8 + req->n_clear);
}

/* May the sender ask in another's name?  With that the rights of the other user count.  A user who
 * is an administrator of accounting alone may not name root: this is for root and SlurmUser. */
static bool take_user(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__JobUpdateRequest *req = PB_AS(job_update_request, cmd->msg);

    if (!req->has_as_uid)
        return true;
    if (!cmd_may_act_as(ctld, cmd, req->as_uid)) {
        core_error(ctld, cmd, ESLURM_ACCESS_DENIED, NULL);
        return false;
    }
    cmd_act_as(cmd, req->as_uid);
    return true;
}

/* Licenses= may leave the server out. */
static void complete_licenses(const struct ctld *ctld, Pst__JobUpdateRequest *req)
{
    char *full = req->set ? licenses_complete(ctld, req->set->licenses) : NULL;

    if (full) {
        free(req->set->licenses);
        req->set->licenses = full;
    }
}

/* A job that was just requeued is back in the queue once its nodes are clean, which is soon: the
 * command asks again until then, so that a script may change what it has requeued. */
static bool is_back_soon(const struct ctld *ctld, const Pst__JobUpdateRequest *req)
{
    struct job_ref ref;
    struct jobwalk walk;
    bool soon;

    if (req->n_ids != 1)
        return false;
    jobwalk_init(&walk, ctld->cluster, req->ids, 1);
    soon = jobwalk_next(&walk, &ref) == JOBWALK_JOB && job_comes_back(ref.job->rec) &&
           core_now() - ref.job->rec->end_us < RETURN_US;
    jobwalk_done(&walk);
    return soon;
}

void op_job_update(struct ctld *ctld, struct cmd *cmd)
{
    struct update *u;
    struct cmd *own;

    if (!take_user(ctld, cmd))
        return;
    if (is_back_soon(ctld, PB_AS(job_update_request, cmd->msg))) {
        core_error(ctld, cmd, SLURMCTLD_COMMUNICATIONS_BACKOFF, NULL);
        return;
    }
    complete_licenses(ctld, PB_AS(job_update_request, cmd->msg));
    if (PB_AS(job_update_request, cmd->msg)->set)
        jobs_join_features(PB_AS(job_update_request, cmd->msg)->set);
    u = calloc(1, sizeof(*u));
    own = malloc(sizeof(*own));
    if (!u || !own) {
        free(u);
        free(own);
        core_error(ctld, cmd, EPST_BUSY, NULL);
        return;
    }
    *own = *cmd; /* kept beyond this call, with what it owns */
    *cmd = (struct cmd){ .kind = CMD_REQUEST, .op = cmd->op };
    *u = (struct update){ .ctld = ctld,
                          .cmd = own,
                          .req = PB_AS(job_update_request, own->msg),
                          .reply = PST__JOB_ACTION_REPLY__INIT,
                          .lsn = ctld->applied_lsn };
    u->cost = cost_of(u->req);
    jobwalk_init(&u->walk, ctld->cluster, u->req->ids, u->req->n_ids);
    u->walk.plain = JOBWALK_PLAIN_FIRST;
    if (!u->req->n_ids && u->req->name_match)
        collect_named(u);
    walk_jobs(u);
}

/* ---- the service ----------------------------------------------------------------------------- */

static const struct ctld_op update_ops[] = {
    { OP_JOB_UPDATE, .fn = op_job_update, .flags = OPF_WRITES }, { 0 }
};

const struct ctld_service update_service = { .name = "update", .ops = update_ops };
