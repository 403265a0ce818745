/* restsubmit.c - new jobs; see restsubmit.h */
#include "rest/slurm/restsubmit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "rest/slurm/restidem.h"
#include "rest/slurm/restjobbody.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define COMPONENTS_MAX 128u
#define FAILED "Batch job submission failed"

struct component {
    struct restjob job;
    Pst__HetComponent het; /* of all but the first */
};

/* The jobs of a request: one, or the components of a heterogeneous job. */
struct submission {
    struct restidem idem;
    Pst__HetComponent *list[COMPONENTS_MAX];
    size_t n;
    struct component items[]; /* as many as the request has: most have one */
};

/* For what the body has as "job", or as the list `many`. */
static struct submission *submission_new(const struct rest_call *call, const char *many)
{
    size_t n = json_array_size(json_object_get(call->body, many));
    struct submission *s;

    n = MIN(MAX(n, 1), COMPONENTS_MAX);
    s = malloc(sizeof(*s) + n * sizeof(s->items[0]));
    if (!s)
        return NULL;
    s->n = 0;
    s->idem = (struct restidem){ 0 };
    return s;
}

static void submission_done(struct submission *s)
{
    for (size_t i = 0; s && i < s->n; i++)
        restjob_done(&s->items[i].job);
    free(s);
}

static inline void submission_donep(struct submission **s)
{
    submission_done(*s);
}

static bool read_job(struct rest_call *call, const json_t *desc, const char *place,
                     struct submission *s)
{
    restjob_init(&s->items[s->n].job);
    return restjob_read(call, desc, place, &s->items[s->n++].job);
}

/* "job", or the list `many` of components. */
static bool read_jobs(struct rest_call *call, const char *many, struct submission *s)
{
    const json_t *list = json_object_get(call->body, many);
    char place[64];
    json_t *desc;
    size_t i;

    if (!json_array_size(list))
        return read_job(call, json_object_get(call->body, "job"), "#/job", s);
    if (json_array_size(list) > COMPONENTS_MAX) {
        rest_error(call, ESLURM_REST_INVALID_JOBS_DESC, "_job_post",
                   "#/%s: more than %u components", many, COMPONENTS_MAX);
        return false;
    }
    json_array_foreach(list, i, desc)
    {
        (void)snprintf(place, sizeof(place), "#/%s/%zu", many, i); /* fits */
        if (!read_job(call, desc, place, s))
            return false;
    }
    return true;
}

static void fill_request(struct submission *s, Pst__SubmitRequest *req)
{
    restjob_fill(&s->items[0].job, req);
    for (size_t i = 1; i < s->n; i++) {
        struct component *c = &s->items[i];

        pst__het_component__init(&c->het);
        c->het.job = &c->job.job;
        c->het.has_hold = c->het.hold = c->job.hold;
        s->list[i - 1] = &c->het;
    }
    req->components = s->n > 1 ? s->list : NULL;
    req->n_components = s->n > 1 ? s->n - 1 : 0;
}

static void send_request(struct rest_call *call, const Pst__SubmitRequest *req, const char *source,
                         bool batch)
{
    struct client *c = rest_ctld(call, source);
    Pst__SubmitReply *reply = NULL;
    int r;

    if (!c)
        return;
    r = client_call(c, OP_JOB_SUBMIT, &req->base, (ProtobufCMessage **)&reply);
    if (r < 0) {
        rest_failed(call, c, r, source, FAILED);
        return;
    }
    json_int(&call->js, "job_id", reply->job_id);
    if (batch)
        json_str(&call->js, "step_id", "batch");
    json_str(&call->js, "job_submit_user_msg", reply->message);
    pst__submit_reply__free_unpacked(reply, NULL);
}

/* ---- immediate ------------------------------------------------------------------------------- */

static bool refuse_immediate(struct rest_call *call, int number, const char *source,
                             const char *why)
{
    rest_error_said(call, number, why, source, FAILED);
    return false;
}

/* Would it start now, by the plan that slurmctld makes for the same request? */
static bool starts_at_once(struct rest_call *call, const Pst__SubmitRequest *asked,
                           const char *source)
{
    Pst__SubmitRequest req = *asked;
    struct client *c = rest_ctld(call, source);
    Pst__SubmitReply *reply = NULL;
    bool now;
    int r;

    if (!c)
        return false;
    req.has_test_only = req.test_only = true;
    req.has_want_plan = req.want_plan = true;
    r = client_call(c, OP_JOB_SUBMIT, &req.base, (ProtobufCMessage **)&reply);
    if (r < 0) {
        rest_failed(call, c, r, source, FAILED);
        return false;
    }
    now =
        reply->has_start_us && reply->plan && reply->start_us < reply->plan->now_us + USEC_PER_SEC;
    pst__submit_reply__free_unpacked(reply, NULL);
    return now || refuse_immediate(call, ESLURM_CAN_NOT_START_IMMEDIATELY, source, NULL);
}

/* A job with "immediate" is submitted when it can start.  A submission that is sent again would be
 * held against the job that the first one made. */
static bool keeps_immediate(struct rest_call *call, const struct submission *s,
                            const Pst__SubmitRequest *req, const char *source)
{
    bool immediate = false;

    for (size_t i = 0; i < s->n; i++)
        immediate = immediate || s->items[i].job.immediate;
    if (!immediate)
        return true;
    if (s->n > 1)
        return refuse_immediate(call, ESLURM_NOT_SUPPORTED, source,
                                "immediate is for one job: when a heterogeneous job would start "
                                "cannot be foretold");
    if (req->idempotency_key)
        return refuse_immediate(call, ESLURM_NOT_SUPPORTED, source,
                                "immediate and Idempotency-Key exclude each other");
    if (req->hold)
        return refuse_immediate(call, ESLURM_CAN_NOT_START_IMMEDIATELY, source, NULL);
    return starts_at_once(call, req, source);
}

const char *rest_find_script(const struct rest_call *call)
{
    const char *script = rest_text(call->body, "script");

    if (!script)
        script = rest_text(json_object_get(call->body, "job"), "script");
    if (!script)
        script = rest_text(json_array_get(json_object_get(call->body, "jobs"), 0), "script");
    return script && script[0] ? script : NULL;
}

/* Does the first job, whose the script is, claim resources for somebody else? */
static bool is_external(const struct submission *s)
{
    return s->n && s->items[0].job.job.has_external && s->items[0].job.job.external;
}

static void post_submit(struct rest_call *call)
{
    _cleanup_(submission_done) struct submission *s = submission_new(call, "jobs");
    Pst__SubmitRequest req = PST__SUBMIT_REQUEST__INIT;
    const char *script = rest_find_script(call);

    if (!s) {
        rest_error(call, EPST_BUSY, "_job_post", ERR_NOMEM);
        return;
    }
    if (!restidem_read(call, RESTIDEM_MAX, &s->idem) || !read_jobs(call, "jobs", s))
        return;
    if (!script && !is_external(s)) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, "_job_post",
                   "Populated \"script\" field is required for job submission");
        return;
    }
    fill_request(s, &req);
    if (!restidem_fill(call, &s->idem, call->row->path, call->body, &req))
        return;
    req.has_script = script != NULL;
    if (script)
        req.script =
            (ProtobufCBinaryData){ strlen(script), (uint8_t *)(uintptr_t)script }; /* only read */
    if (keeps_immediate(call, s, &req, "slurm_submit_batch_job()"))
        send_request(call, &req, "slurm_submit_batch_job()", !is_external(s));
}

/* An allocation without a script, which is not waited for. */
static void post_allocate(struct rest_call *call)
{
    _cleanup_(submission_done) struct submission *s = submission_new(call, "hetjob");
    Pst__SubmitRequest req = PST__SUBMIT_REQUEST__INIT;

    if (!s) {
        rest_error(call, EPST_BUSY, "_job_post_allocate", ERR_NOMEM);
        return;
    }
    if (!restidem_read(call, RESTIDEM_MAX, &s->idem) || !read_jobs(call, "hetjob", s))
        return;
    for (size_t i = 0; i < s->n; i++)
        s->items[i].job.job.has_batch = s->items[i].job.job.batch = false;
    fill_request(s, &req);
    if (!restidem_fill(call, &s->idem, call->row->path, call->body, &req))
        return;
    if (keeps_immediate(call, s, &req, "slurm_allocate_resources()"))
        send_request(call, &req, "slurm_allocate_resources()", false);
}

const struct rest_row rest_submit_rows[] = {
    { "POST", REST_SLURM, "job/submit", 0, post_submit, false },
    { "POST", REST_SLURM, "job/allocate", 0, post_allocate, false },
    { 0 },
};
