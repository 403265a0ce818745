/* restplan.c - why a job waits, and when one would start; see restplan.h */
#include "rest/slurm/restplan.h"

#include <jansson.h>
#include <string.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/timefmt.h"
#include "explain.pb-c.h"
#include "model/words/names.h"
#include "rest/rest_impl.h"
#include "rest/restschema.h"
#include "rest/slurm/restjobbody.h"
#include "rest/slurm/restjobs.h"
#include "rest/slurm/restsubmit.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define EXPLAIN_SOURCE "job_explain()"
#define PLAN_SOURCE "job_plan()"
#define PLAN_FAILED "The job cannot be planned"

/* ---- what the scheduler says ----------------------------------------------------------------- */

/* Seconds since 1970; 0: none. */
static void put_time(struct json *js, const char *key, int64_t us)
{
    json_int(js, key, us / (int64_t)USEC_PER_SEC);
}

static const char *reason_word(bool has, Pst__JobReason reason)
{
    return has ? names_reason((unsigned)reason) : "None";
}

static void put_causes(struct json *js, const Pst__ExplainPartition *p)
{
    json_list(js, "causes");
    for (size_t i = 0; i < p->n_causes; i++) {
        const Pst__ExplainCount *c = p->causes[i];

        json_map(js, NULL);
        json_str(js, "cause", c->cause);
        json_int(js, "nodes", c->nodes);
        json_str(js, "names", c->names);
        json_map_end(js);
    }
    json_list_end(js);
}

static void put_holders(struct json *js, const Pst__ExplainPartition *p)
{
    json_list(js, "holders");
    for (size_t i = 0; i < p->n_holders; i++) {
        const Pst__ExplainHolder *h = p->holders[i];

        json_map(js, NULL);
        json_int(js, "job_id", h->job_id);
        json_str(js, "id", h->id_text);
        json_str(js, "user_name", h->user_name);
        json_int(js, "nodes", h->nodes);
        put_time(js, "end_time", h->has_end_us ? h->end_us : 0);
        json_map_end(js);
    }
    json_list_end(js);
}

static void put_unit(struct json *js, const Pst__ExplainUnit *u)
{
    json_map(js, NULL);
    json_str(js, "first", u->first);
    json_str(js, "last", u->last);
    json_int(js, "free", u->free);
    json_int(js, "wanted", u->wanted);
    json_list(js, "missing");
    for (size_t i = 0; i < u->n_missing; i++) {
        json_map(js, NULL);
        json_str(js, "node", u->missing[i]->node);
        json_str(js, "why", u->missing[i]->why);
        json_int(js, "job_id", u->missing[i]->job_id);
        json_map_end(js);
    }
    json_list_end(js);
    json_int(js, "missing_nodes", u->missing_nodes);
    json_map_end(js);
}

static void put_preempts(struct json *js, const Pst__ExplainPartition *p)
{
    json_list(js, "preempts");
    for (size_t i = 0; p && i < p->n_preempts; i++) {
        const Pst__ExplainVictim *v = p->preempts[i];

        json_map(js, NULL);
        json_int(js, "job_id", v->job_id);
        json_str(js, "id", v->id_text);
        json_str(js, "user_name", v->user_name);
        json_str(js, "mode", v->mode);
        json_map_end(js);
    }
    json_list_end(js);
    json_int(js, "preempt_count", p ? p->preempt_count : 0);
}

static void put_partition(struct json *js, const Pst__ExplainPartition *p)
{
    json_map(js, NULL);
    json_str(js, "name", p->name);
    json_str(js, "reason", reason_word(p->has_reason, p->reason));
    json_int(js, "place", p->place);
    json_int(js, "queued", p->queued);
    json_map(js, "nodes");
    json_int(js, "total", p->total_nodes);
    json_int(js, "suitable", p->suitable_nodes);
    json_int(js, "free", p->free_nodes);
    json_int(js, "wanted", p->wanted_nodes);
    json_map_end(js);
    put_causes(js, p);
    put_holders(js, p);
    json_str(js, "lacks", p->lacks);
    json_list(js, "blocks");
    for (size_t i = 0; i < p->n_units; i++)
        put_unit(js, p->units[i]);
    json_list_end(js);
    put_preempts(js, p);
    put_time(js, "expected_start", p->expected_us);
    json_str(js, "expected_nodes", p->expected_nodes);
    json_map_end(js);
}

/* sentences, partitions and changes, into the open object; x may be NULL. */
static void put_explained(struct json *js, const Pst__ExplainReply *x)
{
    json_list(js, "sentences");
    for (size_t i = 0; x && i < x->n_sentences; i++)
        json_str(js, NULL, x->sentences[i]);
    json_list_end(js);
    json_list(js, "partitions");
    for (size_t i = 0; x && i < x->n_partitions; i++)
        put_partition(js, x->partitions[i]);
    json_list_end(js);
    json_list(js, "changes");
    for (size_t i = 0; x && i < x->n_changes; i++) {
        json_map(js, NULL);
        json_str(js, "option", x->changes[i]->option);
        json_str(js, "sentence", x->changes[i]->sentence);
        json_map_end(js);
    }
    json_list_end(js);
}

/* ---- explain --------------------------------------------------------------------------------- */

static void put_explain(struct json *js, const Pst__ExplainReply *x)
{
    json_map(js, "explain");
    json_int(js, "job_id", x->job_id);
    json_str(js, "id", x->id_text);
    json_str(js, "job_state", names_job_state_word((unsigned)x->state, 0, false));
    json_str(js, "reason", reason_word(x->has_reason, x->reason));
    json_str(js, "summary", x->summary);
    json_str(js, "release", x->release);
    json_bool(js, "settled", x->settled);
    put_time(js, "expected_start", x->expected_us);
    put_explained(js, x);
    json_map_end(js);
}

static void get_explain(struct rest_call *call)
{
    Pst__ExplainRequest request = PST__EXPLAIN_REQUEST__INIT;
    Pst__ExplainReply *reply = NULL;
    struct client *c = rest_ctld(call, EXPLAIN_SOURCE);
    int r;

    if (!c || !restjobs_find(call, call->word, EXPLAIN_SOURCE, &request.job_id))
        return;
    request.has_job_id = true;
    r = client_call(c, OP_QUERY_EXPLAIN, &request.base, (ProtobufCMessage **)&reply);
    if (r < 0) {
        rest_failed(call, c, r, EXPLAIN_SOURCE, "Unable to explain JobId=%.64s", call->word);
        return;
    }
    put_explain(&call->js, reply);
    pst__explain_reply__free_unpacked(reply, NULL);
}

/* ---- plan ------------------------------------------------------------------------------------ */

/* The partition in which it would start first, or the first one when it would not. */
static const Pst__ExplainPartition *chosen_partition(const Pst__SubmitReply *reply)
{
    const Pst__ExplainReply *x = reply->plan;

    for (size_t i = 0; x && reply->partition && i < x->n_partitions; i++)
        if (strcmp(x->partitions[i]->name, reply->partition) == 0)
            return x->partitions[i];
    return x && x->n_partitions ? x->partitions[0] : NULL;
}

static void put_plan(struct json *js, const Pst__SubmitReply *reply, const Pst__JobRecord *job)
{
    const Pst__ExplainReply *x = reply->plan;
    int64_t start_us = reply->start_us, now_us = x ? x->now_us : start_us;
    int64_t minutes = job && job->has_time_limit_min && job->time_limit_min != UINT32_MAX
                          ? job->time_limit_min
                          : 0;

    json_map(js, "plan");
    json_bool(js, "starts", reply->has_start_us);
    put_time(js, "start_time", start_us);
    json_int(js, "wait", start_us > now_us ? (start_us - now_us) / USEC_PER_SEC : 0);
    put_time(js, "end_time",
             start_us && minutes ? start_us + minutes * 60 * (int64_t)USEC_PER_SEC : 0);
    json_str(js, "partition", reply->partition);
    json_str(js, "nodes", reply->nodes);
    json_int(js, "node_count", reply->node_count);
    json_int(js, "cpus", reply->cpus);
    put_preempts(js, chosen_partition(reply));
    json_str(js, "reason", x ? reason_word(x->has_reason, x->reason) : "None");
    put_explained(js, x);
    json_map_end(js);
    json_str(js, "job_submit_user_msg", reply->message);
}

/* The job of the body, checked against the schema; borrowed.  NULL: a mistake was noted. */
static const json_t *plan_job(struct rest_call *call)
{
    json_t *job = json_object_get(call->body, "job");
    const json_t *list = json_object_get(call->body, "jobs");
    json_auto_t *one = NULL;

    if (!job && json_array_size(list) == 1)
        job = json_array_get(list, 0);
    if (!job && json_array_size(list) > 1) {
        rest_error(call, ESLURM_NOT_SUPPORTED, PLAN_SOURCE,
                   "#/jobs: when a heterogeneous job would start cannot be foretold");
        return NULL;
    }
    if (!json_is_object(job)) {
        rest_error(call, ESLURM_REST_INVALID_JOBS_DESC, PLAN_SOURCE, "#/job: a job is expected");
        return NULL;
    }
    one = json_pack("[O]", job);
    if (!one) {
        rest_error(call, EPST_BUSY, PLAN_SOURCE, ERR_NOMEM);
        return NULL;
    }
    return restschema_check_item(call->rest->schema, call, "job_desc_msg", "#/job/", one, 0) ? job
                                                                                             : NULL;
}

static void ask_plan(struct rest_call *call, Pst__SubmitRequest *req)
{
    struct client *c = rest_ctld(call, PLAN_SOURCE);
    Pst__SubmitReply *reply = NULL;
    int r;

    if (!c)
        return;
    req->has_test_only = req->test_only = true;
    req->has_want_plan = req->want_plan = true;
    req->has_want_record = req->want_record = true;
    r = client_call(c, OP_JOB_SUBMIT, &req->base, (ProtobufCMessage **)&reply);
    if (r < 0) {
        rest_failed(call, c, r, PLAN_SOURCE, PLAN_FAILED);
        return;
    }
    put_plan(&call->js, reply, reply->record);
    pst__submit_reply__free_unpacked(reply, NULL);
}

static void post_plan(struct rest_call *call)
{
    _cleanup_val_(restjob_done) struct restjob job;
    Pst__SubmitRequest req = PST__SUBMIT_REQUEST__INIT;
    const json_t *desc = plan_job(call);
    const char *script = rest_find_script(call);

    restjob_init(&job);
    if (!desc || !restjob_read(call, desc, "#/job", &job))
        return;
    job.job.has_batch = job.job.batch = script != NULL;
    restjob_fill(&job, &req);
    req.has_script = script != NULL;
    if (script)
        req.script =
            (ProtobufCBinaryData){ strlen(script), (uint8_t *)(uintptr_t)script }; /* only read */
    ask_plan(call, &req);
}

const struct rest_row rest_plan_rows[] = {
    { "GET", REST_PENSTOCK, "job/{}/explain", 0, get_explain, false },
    { "POST", REST_PENSTOCK, "job/plan", 0, post_plan, false },
    { 0 },
};
