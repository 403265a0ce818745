/* restbatch.c - many jobs in one request; see restbatch.h
 *
 * Rounds: each sends what is still to do over the connection to slurmctld, with at most WINDOW
 * requests without an answer.  When the connection is lost, jobs without an answer are sent again
 * in the next round if the list has an idempotency key; without one nobody knows what has become
 * of them, and that is told. */
#include "rest/slurm/restbatch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "conf/conf.h"
#include "rest/rest_impl.h"
#include "rest/restschema.h"
#include "rest/slurm/restidem.h"
#include "rest/slurm/restjobbody.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define WINDOW 256u
#define ROUNDS 4u
#define SOURCE "jobs_submit()"
#define UNKNOWN                                                                                    \
    "The connection was lost before the answer: the job may have been made; with an "              \
    "Idempotency-Key the list can be sent again"

enum item_state { ITEM_TODO, ITEM_SENT, ITEM_DONE };
struct item { /* one job */
    enum item_state state;
    bool tried;  /* it was sent, and may have been made */
    uint32_t id; /* of the frame */
    uint32_t job_id;
    char *message;
    struct rest_fault fault; /* number 0: none */
};

struct batch {
    struct rest_call *call;
    json_t *jobs; /* borrowed, of the body */
    struct restidem idem;
    size_t n;
    size_t first,
        next; /* of this round: before first none waits for an answer; next is looked at next */
    struct item *items;
    size_t waiting; /* sent, not answered */
    bool busy;      /* slurmctld has asked for patience */
};

static void batch_done(struct batch *b)
{
    for (size_t i = 0; b->items && i < b->n; i++) {
        free(b->items[i].message);
        rest_fault_done(&b->items[i].fault);
    }
    free(b->items);
}

static void fail_item(struct item *item, int number, const char *said, const char *description)
{
    rest_fault_done(&item->fault);
    item->state = ITEM_DONE;
    item->fault = (struct rest_fault){
        .number = number,
        .said = said && said[0] ? strdup(said) : NULL, /* out of memory: the number's text */
        .description = strdup(description),
        .source = strdup(SOURCE),
    };
}

/* What was noted as an error of the call is this job's. */
static void take_fault(struct batch *b, struct item *item)
{
    rest_fault_done(&item->fault);
    item->state = ITEM_DONE;
    rest_take_fault(b->call, &item->fault);
    if (!item->fault.description)
        fail_item(item, EPST_BUSY, NULL, ERR_NOMEM);
}

/* ---- sending --------------------------------------------------------------------------------- */

static int send_request(struct batch *b, struct client *c, struct item *item,
                        const Pst__SubmitRequest *req)
{
    int r;

    item->id = client_next_id(c);
    item->tried = true;
    r = client_send(c, OP_JOB_SUBMIT, 0, item->id, &req->base);
    if (r == -EMSGSIZE) {
        fail_item(item, EPST_BAD_REQUEST, NULL, "The job is too large");
        return 0;
    }
    item->state = ITEM_SENT;
    b->waiting++;
    return r;
}

/* Read the i-th job and send it.  0 also when it is none; an error: the connection is lost. */
static int send_job(struct batch *b, struct client *c, size_t i)
{
    _cleanup_val_(restjob_done) struct restjob job;
    Pst__SubmitRequest req = PST__SUBMIT_REQUEST__INIT;
    json_t *desc = json_array_get(b->jobs, i);
    struct item *item = &b->items[i];
    const char *script = rest_text(desc, "script");
    struct restidem key;
    char place[64];

    restjob_init(&job);
    (void)snprintf(place, sizeof(place), "#/jobs/%zu", i); /* fits */
    restidem_number(&b->idem, i, &key);
    /* the digest is of what the caller sent: before the job is read */
    if (!restidem_fill(b->call, &key, "jobs/submit", desc, &req) ||
        !restjob_read(b->call, desc, place, &job)) {
        take_fault(b, item);
        return 0;
    }
    if ((!script || !script[0]) && !job.job.external) {
        fail_item(item, ESLURM_REST_INVALID_QUERY, NULL, "A job needs a \"script\"");
        return 0;
    }
    if (job.immediate) {
        fail_item(item, ESLURM_NOT_SUPPORTED, NULL,
                  "immediate is for a job that is submitted alone");
        return 0;
    }
    restjob_fill(&job, &req);
    req.has_script = script != NULL;
    if (script)
        req.script =
            (ProtobufCBinaryData){ strlen(script), (uint8_t *)(uintptr_t)script }; /* only read */
    return send_request(b, c, item, &req);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Answers come in nearly the order of the requests. */
static struct item *item_of(struct batch *b, uint32_t id)
{
    while (b->first < b->next && b->items[b->first].state != ITEM_SENT)
        b->first++;
    for (size_t i = b->first; i < b->next; i++)
        if (b->items[i].state == ITEM_SENT && b->items[i].id == id)
            return &b->items[i];
    return NULL;
}

static void take_refusal(struct batch *b, struct item *item, const struct frame *frame)
{
    Pst__Error *e = NULL;

    if (FRAME_UNPACK(error, frame, &e, NULL) < 0) {
        fail_item(item, EPST_PROTOCOL, NULL, "Batch job submission failed");
        return;
    }
    fail_item(item, e->code, e->code >= EPST_BAD_REQUEST ? e->text : NULL,
              "Batch job submission failed");
    if (e->code == SLURMCTLD_COMMUNICATIONS_BACKOFF || e->code == EPST_BUSY) {
        item->state = ITEM_TODO; /* it was not made */
        item->tried = false;
        b->busy = true;
    }
    pst__error__free_unpacked(e, NULL);
}

static int take_answer(struct batch *b, const struct frame *frame)
{
    struct item *item = item_of(b, frame->id);
    Pst__SubmitReply *reply = NULL;
    int r;

    if (!item)
        return 0; /* of a round that is over */
    b->waiting--;
    if (frame->flags & FRAME_ERROR) {
        take_refusal(b, item, frame);
        return 0;
    }
    r = FRAME_UNPACK(submit_reply, frame, &reply, NULL);
    if (r < 0) {
        item->state = ITEM_SENT;
        b->waiting++;
        return r;
    }
    rest_fault_done(&item->fault);
    item->state = ITEM_DONE;
    item->job_id = reply->job_id;
    item->message = TAKE_PTR(reply->message);
    pst__submit_reply__free_unpacked(reply, NULL);
    return 0;
}

static int wait_answer(struct batch *b, struct client *c)
{
    int timeout_ms = (int)conf_num(rest_conf(b->call), CONF_MESSAGE_TIMEOUT) * 1000;
    struct frame frame;
    int r = client_recv(c, timeout_ms, &frame);

    return r > 0 ? take_answer(b, &frame) : r == 0 ? -ETIMEDOUT : r;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static int run_round(struct batch *b, struct client *c)
{
    int r = 0;

    b->waiting = b->first = 0;
    for (b->next = 0; r >= 0 && b->next < b->n;) {
        if (b->items[b->next].state != ITEM_TODO) {
            b->next++;
        } else if (b->waiting >= WINDOW) {
            r = wait_answer(b, c);
        } else {
            r = send_job(b, c, b->next);
            b->next++;
        }
    }
    while (r >= 0 && b->waiting)
        r = wait_answer(b, c);
    return r;
}

/* The connection was lost: jobs that were sent and not answered. */
static void settle_lost(struct batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        if (b->items[i].state != ITEM_SENT)
            continue;
        if (b->idem.key[0])
            b->items[i].state = ITEM_TODO;
        else
            fail_item(&b->items[i], EPST_UNREACHABLE, NULL, UNKNOWN);
    }
}

static bool is_left(const struct batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->items[i].state == ITEM_TODO)
            return true;
    return false;
}

static void submit_all(struct batch *b)
{
    struct timespec pause = { .tv_sec = 1 };

    for (unsigned round = 0; round < ROUNDS && is_left(b); round++) {
        struct client *c = rest_ctld(b->call, SOURCE);

        if (!c)
            break;
        if (b->busy)
            (void)nanosleep(&pause, NULL); /* woken early: asks early */
        b->busy = false;
        if (run_round(b, c) < 0)
            settle_lost(b);
    }
    for (size_t i = 0; i < b->n; i++)
        if (b->items[i].state == ITEM_TODO && !b->items[i].fault.number)
            fail_item(&b->items[i], EPST_UNREACHABLE, NULL,
                      b->items[i].tried ? UNKNOWN : "The job was not submitted");
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void put_item(struct json *js, const struct item *item)
{
    const struct rest_fault *f = &item->fault;

    json_map(js, NULL);
    json_int(js, "job_id", item->job_id);
    json_str(js, "job_submit_user_msg", item->message);
    if (!item->job_id) {
        json_map(js, "error");
        json_str(js, "description", f->description);
        json_int(js, "error_number", f->number);
        json_str(js, "error", f->said ? f->said : slurm_err_text(f->number));
        json_str(js, "source", f->source);
        json_map_end(js);
    } else {
        json_nil(js, "error");
    }
    json_map_end(js);
}

static void put_answer(const struct batch *b)
{
    struct json *js = &b->call->js;
    size_t failed = 0, lost = 0;

    json_list(js, "jobs");
    for (size_t i = 0; i < b->n; i++) {
        put_item(js, &b->items[i]);
        failed += !b->items[i].job_id;
        lost += b->items[i].fault.number == EPST_UNREACHABLE;
    }
    json_list_end(js);
    json_int(js, "submitted", (int64_t)(b->n - failed));
    json_int(js, "failed", (int64_t)failed);
    if (lost && !rest_has_error(b->call))
        rest_error(b->call, EPST_UNREACHABLE, SOURCE, "%zu jobs were not answered", lost);
}

static bool read_list(struct rest_call *call, struct batch *b)
{
    b->call = call;
    b->jobs = json_object_get(call->body, "jobs");
    b->n = json_array_size(b->jobs);
    if (!b->n || b->n > RESTBATCH_MAX) {
        b->n = 0;
        rest_error(call, ESLURM_REST_INVALID_JOBS_DESC, SOURCE,
                   "#/jobs: a list of 1 to %u jobs is expected", RESTBATCH_MAX);
        return false;
    }
    if (!restidem_read(call, RESTIDEM_LIST_MAX, &b->idem))
        return false;
    b->items = calloc(b->n, sizeof(*b->items));
    if (!b->items)
        rest_error(call, EPST_BUSY, SOURCE, ERR_NOMEM);
    return b->items != NULL;
}

static void post_batch(struct rest_call *call)
{
    struct batch b = { 0 };
    char place[64];

    if (read_list(call, &b)) {
        for (size_t i = 0; i < b.n; i++) {
            (void)snprintf(place, sizeof(place), "#/jobs/%zu/", i); /* fits */
            if (!restschema_check_item(call->rest->schema, call, "job_desc_msg", place, b.jobs, i))
                take_fault(&b, &b.items[i]);
        }
        submit_all(&b);
        put_answer(&b);
    }
    batch_done(&b);
}

const struct rest_row rest_batch_rows[] = {
    { "POST", REST_PENSTOCK, "jobs/submit", 0, post_batch, false },
    { 0 },
};
