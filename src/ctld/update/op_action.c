/* op_action.c - one verb over jobs: which jobs a request means, and who may; jobverbs.c does it */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare/order.h"
#include "base/timefmt.h"
#include "ctld/job/hetgroup.h"
#include "ctld/front/jobfilter.h"
#include "ctld/policy/fedset.h"
#include "ctld/policy/policy.h"
#include "ctld/update/jobverbs.h"
#include "ctld/core/service.h"
#include "model/array.h"

#define RESULTS_MAX 10000u /* successes reported one by one */

static void add_result(struct action *a, int code, const char *text, uint32_t job_id)
{
    Pst__JobActionResult *r, **bigger;

    if (!a->id && a->n >= RESULTS_MAX)
        return; /* a filter that selects a million jobs still fits a frame */
    r = malloc(sizeof(*r));
    bigger = realloc(a->results, (a->n + 1) * sizeof(*bigger));
    if (bigger)
        a->results = bigger;
    if (!r || !bigger) {
        free(r);
        return; /* the caller sees fewer results than jobs */
    }
    pst__job_action_result__init(r);
    if (a->id)
        r->id = tx_strdup(a->id);
    r->has_code = 1;
    r->code = code;
    if (text)
        r->text = tx_strdup(text);
    SET(r, job_id, job_id);
    r->tasks = a->tasks;
    a->tasks = NULL;
    a->results[a->n++] = r;
}

static bool may_manage(const struct action *a, const struct job *j)
{
    if (a->req->verb == PST__JOB_VERB__VERB_NOTIFY) /* it writes into the owner's file */
        return conn_peer(a->cmd->conn)->uid == j->rec->uid || cmd_is_admin(a->ctld, a->cmd);
    return conn_peer(a->cmd->conn)->uid == j->rec->uid ||
           policy_may_manage(a->ctld, a->cmd, j->rec);
}

/* What a stranger is told: Slurm's word depends on the verb, and on the end of a job whose state
 * the stranger may see. */
static int not_his(const struct action *a, const struct job_ref *ref)
{
    switch (a->req->verb) {
    case PST__JOB_VERB__VERB_HOLD:
    case PST__JOB_VERB__VERB_UHOLD:
    case PST__JOB_VERB__VERB_RELEASE:
        if (job_is_ended(ref->job->rec) && !a->private)
            return ESLURM_JOB_FINISHED;
        return ESLURM_USER_ID_MISSING;
    case PST__JOB_VERB__VERB_NOTIFY:
        return ESLURM_USER_ID_MISSING;
    default:
        return ESLURM_ACCESS_DENIED;
    }
}

/* May the id name a step? */
static bool takes_steps(Pst__JobVerb verb)
{
    return verb == PST__JOB_VERB__VERB_CANCEL || verb == PST__JOB_VERB__VERB_SIGNAL ||
           verb == PST__JOB_VERB__VERB_COMPLETE || verb == PST__JOB_VERB__VERB_NOTIFY;
}

static bool holds_or_releases(Pst__JobVerb verb)
{
    return verb == PST__JOB_VERB__VERB_HOLD || verb == PST__JOB_VERB__VERB_UHOLD ||
           verb == PST__JOB_VERB__VERB_RELEASE;
}

static enum jobwalk_plain plain_named(Pst__JobVerb verb)
{
    if (verb == PST__JOB_VERB__VERB_CANCEL || verb == PST__JOB_VERB__VERB_SIGNAL)
        return JOBWALK_PLAIN_REFUSED;
    return holds_or_releases(verb) ? JOBWALK_PLAIN_FIRST : JOBWALK_PLAIN_NONE;
}

/* A signal, and a cancel of steps or by filters, are for live jobs: of others it does not matter
 * whose they are. */
static bool asks_for_live(const struct action *a, const struct job_ref *ref)
{
    return ref->has_step || a->req->verb == PST__JOB_VERB__VERB_SIGNAL ||
           (a->req->verb == PST__JOB_VERB__VERB_CANCEL &&
            (a->filter || (a->req->has_batch_only && a->req->batch_only)));
}

/* Units of what is done to it, or of the look that finds that nothing can be. */
static uint32_t act_cost(const struct action *a, const struct job_ref *ref)
{
    const Pst__JobRecord *r = ref->job->rec;
    size_t nodes = r->alloc ? r->alloc->n_node_ids : 0;

    if (job_is_ended(r) && !job_has_flag(r, JOB_FLAG(REQUEUED)))
        return BUDGET_CHANGE / 10;
    if (a->req->verb == PST__JOB_VERB__VERB_TOP)
        return BUDGET_CHANGE + (uint32_t)a->ctld->cluster->jobs.count; /* it looks at all of them */
    if (ref->tasks)
        return BUDGET_CHANGE + array_count(ref->tasks) / 8;
    return BUDGET_CHANGE + (uint32_t)MIN(nodes, BUDGET_TURN) +
           (het_is(r) ? r->het_count * BUDGET_CHANGE : 0);
}

/* Tasks that a filter found are named as squeue shows them. */
static char *array_text(const struct action *a, const Pst__JobRecord *r)
{
    char *text = NULL;
    int n = 0;

    if (!a->id && r->array_tasks)
        n = asprintf(&text, "%u_[%s]", r->job_id, r->array_tasks);
    else if (!a->id && r->has_array_task_id)
        n = asprintf(&text, "%u_%u", r->array_job_id, r->array_task_id);
    return n < 0 ? NULL : text;
}

/* A job of the federation is another cluster's to change; its name is told.  The origin takes a
 * cancel or a requeue of a job that runs elsewhere, and passes it on. */
static bool refer_to_other(struct action *a, const struct job_ref *ref)
{
    const Pst__JobRecord *r = ref->job->rec;
    bool passes_on = jobverb_kills(a, ref) || a->req->verb == PST__JOB_VERB__VERB_REQUEUE;
    const char *cluster;
    size_t before = a->n;

    if (fedset_decides(a->ctld, r, &cluster) || (passes_on && fedset_is_origin(a->ctld, r)))
        return false;
    add_result(a, EPST_OTHER_CLUSTER, NULL, r->job_id);
    if (a->n > before)
        fedset_refer(a->results[before], cluster);
    return true;
}

/* A number of an array that was to mean one job: the others of the array are no part of it. */
static bool is_other_task(const struct action *a, const Pst__JobRecord *r)
{
    uint64_t number;
    bool one = (a->req->has_one_task && a->req->one_task) ||
               a->req->verb == PST__JOB_VERB__VERB_TOP; /* what still waits has the number */

    return one && a->id && parse_u64(a->id, 1, UINT32_MAX, &number) == 0 && number != r->job_id;
}

/* A hold or release by name is meant for jobs that wait.  What it did to another one is told. */
static int missed_by_name(const struct action *a, bool waits)
{
    return holds_or_releases(a->req->verb) && !a->id && !waits ? ESLURM_JOB_NOT_PENDING : 0;
}

/* Tasks that the answer is about.  None that waits is suspended: all that wait with it are told. */
static char *tasks_told(const struct action *a, const struct job_ref *ref)
{
    const struct job_ref all = { .job = ref->job };
    bool suspends =
        a->req->verb == PST__JOB_VERB__VERB_SUSPEND || a->req->verb == PST__JOB_VERB__VERB_RESUME;

    return job_ref_tasks(suspends && job_is_pending(ref->job->rec) ? &all : ref);
}

static void on_ref(struct action *a, const struct job_ref *ref)
{
    uint32_t id = ref->job->rec->job_id;
    _cleanup_free_ char *text = array_text(a, ref->job->rec);
    bool waits = job_is_pending(ref->job->rec);
    size_t before = a->n;

    if (is_other_task(a, ref->job->rec)) {
        a->others = true;
        return;
    }
    free(a->tasks);
    a->tasks = a->id ? tasks_told(a, ref) : NULL; /* before a task becomes a job */
    if (!jobfilter_match(a->filter, ref->job->rec)) {
        if (a->id && job_is_ended(ref->job->rec))
            add_result(a, ESLURM_ALREADY_DONE, NULL, id);
        else
            a->left_out = true;
        return;
    }
    budget_spend(&a->walk.budget, act_cost(a, ref));
    if (ref->has_step && !takes_steps(a->req->verb))
        add_result(a, ESLURM_INVALID_JOB_ID, NULL, id);
    else if (asks_for_live(a, ref) && job_is_ended(ref->job->rec) && !a->private)
        add_result(a, ESLURM_ALREADY_DONE, NULL, id);
    else if (!may_manage(a, ref->job))
        add_result(a, not_his(a, ref), NULL, id);
    else if (refer_to_other(a, ref))
        ;
    else if (holds_or_releases(a->req->verb) && ref->job->rec->cron_spec)
        add_result(a, a->id ? ESLURM_CANNOT_MODIFY_CRON_JOB : 0, NULL, id);
    else
        add_result(a, jobverb_do(a, ref) ?: missed_by_name(a, waits), NULL, id);
    if (text && a->n > before && !a->results[a->n - 1]->id)
        a->results[a->n - 1]->id = tx_strdup(text);
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* Every job that the verb could touch, in the order of numbers; each meets the filter when its
 * turn comes. */
static void collect_ids(struct action *a)
{
    struct cluster *c = a->ctld->cluster;
    void *v;

    a->ids = malloc((c->jobs.count ? c->jobs.count : 1) * sizeof(*a->ids));
    for (size_t pos = 0; a->ids && (v = cluster_next_job(c, &pos));) {
        const struct job *j = v;

        if (!job_is_ended(j->rec))
            a->ids[a->n_ids++] = j->rec->job_id;
    }
    if (a->n_ids)
        qsort(a->ids, a->n_ids, sizeof(*a->ids), order_u32);
}

static void action_free(struct action *a)
{
    for (size_t i = 0; i < a->n; i++)
        pst__job_action_result__free_unpacked(a->results[i], NULL);
    free(a->results);
    free(a->tasks);
    free(a->ids);
    jobwalk_done(&a->walk);
    jobfilter_free(a->filter);
    cmd_free(a->cmd);
    free(a);
}

static void finish_action(struct action *a)
{
    Pst__JobActionReply reply = PST__JOB_ACTION_REPLY__INIT;

    reply.results = a->results;
    reply.n_results = a->n;
    core_reply(a->ctld, a->cmd, a->lsn, 0, &reply.base);
    action_free(a);
}

/* A component that the filter selected with its leader: what was done to that was done to it. */
static bool done_with_leader(const struct action *a, const struct job *j)
{
    const struct job *leader =
        het_is_follower(j->rec) ? het_component(a->ctld->cluster, j->rec, 0) : NULL;

    return leader && jobfilter_match(a->filter, leader->rec);
}

/* A cancel by filters names the jobs of others that it may not touch. */
static bool is_tried(const struct action *a, const struct job *j)
{
    bool cancels =
        a->req->verb == PST__JOB_VERB__VERB_CANCEL || a->req->verb == PST__JOB_VERB__VERB_SIGNAL;

    return may_manage(a, j) || (cancels && !a->private);
}

/* A part of the jobs; false: there are more. */
static bool walk_all(struct action *a)
{
    for (; a->next < a->n_ids && !budget_turn_over(&a->walk.budget); a->next++) {
        struct job_ref ref = { .job = cluster_job(a->ctld->cluster, a->ids[a->next]) };

        budget_spend(&a->walk.budget, 1 + jobfilter_cost(a->filter));
        if (ref.job && !job_is_ended(ref.job->rec) && is_tried(a, ref.job) &&
            !done_with_leader(a, ref.job))
            on_ref(a, &ref);
    }
    return a->next == a->n_ids;
}

/* Behind the last job of an id: an array is over when no task lives, also none that the filter left
 * out. */
static void end_id(struct action *a)
{
    size_t kept = a->first;

    if (a->others && a->n == a->first)
        add_result(a, ESLURM_INVALID_JOB_ID, NULL, 0);
    if (a->left_out && a->id && !strchr(a->id, '_')) {
        for (size_t i = a->first; i < a->n; i++)
            if (a->results[i]->code == ESLURM_ALREADY_DONE)
                pst__job_action_result__free_unpacked(a->results[i], NULL);
            else
                a->results[kept++] = a->results[i];
        a->n = kept;
    }
    a->first = a->n;
    a->left_out = a->others = false;
}

/* The job whose number an id begins with, and in *ret_rest what follows the number; or NULL. */
static const struct job *job_before(const struct action *a, const char **ret_rest)
{
    const struct cluster *c = a->ctld->cluster;
    char *rest = NULL;
    unsigned long id = a->id && *a->id >= '0' && *a->id <= '9' ? strtoul(a->id, &rest, 10) : 0;
    const struct job *j = id && id <= UINT32_MAX ? cluster_job(c, (uint32_t)id) : NULL;
    const uint32_t *ids;

    *ret_rest = rest;
    if (!j && id && id <= UINT32_MAX && cluster_array_jobs(c, (uint32_t)id, &ids))
        j = cluster_job(c, ids[0]);
    return j;
}

/* An id without filter and step that would have named a part of an array, or "12+" of no array. */
static bool hides_nothing(const struct action *a, const struct job *j, const char *rest)
{
    bool part = *rest == '_' ? j->rec->has_array_job_id : a->walk.code == ESLURM_NOT_HET_JOB;

    return part && !strchr(rest, '.') && !a->req->filter && !a->private;
}

/* What is wrong with an id that names nothing.  No single component of a job is suspended, whether
 * the job has one of this number or not; nobody cancels a task of another's array, there or not. */
static int missing_code(const struct action *a)
{
    int code = a->walk.code;
    const char *rest;
    const struct job *j = job_before(a, &rest);

    if (!j)
        return code;
    switch (a->req->verb) {
    case PST__JOB_VERB__VERB_SUSPEND:
    case PST__JOB_VERB__VERB_RESUME:
        return *rest == '+' ? ESLURM_NOT_WHOLE_HET_JOB : code;
    case PST__JOB_VERB__VERB_CANCEL:
        return hides_nothing(a, j, rest) && !may_manage(a, j) ? ESLURM_ACCESS_DENIED : code;
    default:
        return code;
    }
}

/* No job here has the id: another cluster of the federation that gave the number may know it. */
static void none_here(struct action *a)
{
    int code = missing_code(a);
    const char *giver = code == ESLURM_INVALID_JOB_ID ? fedset_giver(a->ctld, a->id) : NULL;
    size_t before = a->n;

    add_result(a, giver ? EPST_OTHER_CLUSTER : code, NULL, 0);
    if (giver && a->n > before)
        fedset_refer(a->results[before], giver);
}

/* A part of the ids; false: there are more. */
static bool walk_ids(struct action *a)
{
    struct job_ref ref;

    for (;;) {
        enum jobwalk_event e = jobwalk_next(&a->walk, &ref);

        if (a->id != a->walk.id || e == JOBWALK_END)
            end_id(a);
        a->id = a->walk.id;
        if (e == JOBWALK_JOB)
            on_ref(a, &ref);
        else if (e == JOBWALK_NONE)
            none_here(a);
        else if (e == JOBWALK_REFUSED)
            add_result(a, EPST_BAD_REQUEST, jobwalk_refusal, 0);
        if (e != JOBWALK_JOB && e != JOBWALK_NONE)
            return e != JOBWALK_PAUSE;
    }
}

/* The controller ends in the middle: no answer says that all was done. */
static void drop_action(void *arg)
{
    action_free(arg);
}

/* The rest is posted behind what others have asked meanwhile. */
static void walk_jobs(void *arg)
{
    struct action *a = arg;
    bool done = a->ids ? walk_all(a) : walk_ids(a);

    budget_next_turn(&a->walk.budget);
    if (done || !core_again(a->ctld, a->cmd, walk_jobs, drop_action, a))
        finish_action(a);
}

/* False: answered. */
static bool start_action(struct action *a)
{
    struct err err = { .text = "" };

    if (a->req->filter && jobfilter_new(a->req->filter, &a->filter, &err) < 0) {
        core_error(a->ctld, a->cmd, EPST_BAD_REQUEST, err.text);
        return false;
    }
    if (a->req->admin_comment && !policy_is_operator(a->ctld, a->cmd)) {
        core_error(a->ctld, a->cmd, ESLURM_USER_ID_MISSING, NULL);
        return false;
    }
    a->private =
        policy_hidden(a->ctld, conn_peer(a->cmd->conn)->uid, a->cmd->caller) & PRIVATE_JOBS;
    jobwalk_init(&a->walk, a->ctld->cluster, a->req->ids, a->req->n_ids);
    a->walk.plain = plain_named(a->req->verb);
    if (!a->req->n_ids && a->req->filter)
        collect_ids(a);
    return true;
}

void op_job_action(struct ctld *ctld, struct cmd *cmd)
{
    struct action *a = calloc(1, sizeof(*a));

    if (a)
        a->cmd = malloc(sizeof(*a->cmd));
    if (!a || !a->cmd) {
        free(a);
        core_error(ctld, cmd, EPST_BUSY, NULL);
        return;
    }
    *a->cmd = *cmd; /* kept beyond this call, with what it owns */
    *cmd = (struct cmd){ .kind = CMD_REQUEST, .op = cmd->op };
    a->ctld = ctld;
    a->req = (const Pst__JobActionRequest *)a->cmd->msg;
    a->lsn = ctld->applied_lsn;
    if (start_action(a))
        walk_jobs(a);
    else
        action_free(a);
}

/* ---- the service ----------------------------------------------------------------------------- */

static const struct ctld_op action_ops[] = {
    { OP_JOB_ACTION, .fn = op_job_action, .flags = OPF_WRITES }, { 0 }
};

const struct ctld_service action_service = { .name = "action", .ops = action_ops };
