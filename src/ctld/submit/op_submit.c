/* op_submit.c - requests to submit jobs: what a client may say, one job, components, crontabs
 *
 * What is asked for is checked in submission.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "ctld/job/crontimes.h"
#include "ctld/core/asking.h"
#include "ctld/starts/wait.h"
#include "ctld/submit/cronjobs.h"
#include "ctld/job/depends.h"
#include "ctld/policy/fedset.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/owners.h"
#include "ctld/submit/submission.h"
#include "ctld/submit/submitkeys.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/core/service.h"
#include "fields.h"
#include "fieldtable.h"

void submission_keep_fields(Pst__JobRecord *r, bool admin)
{
    const struct fieldtable *t = &job_record_fields;

    while (r->base.n_unknown_fields)
        (void)pb_clear(&r->base, r->base.unknown_fields[0].tag);
    for (size_t i = 0; i < t->n; i++)
        if (t->rows[i].submit != FIELD_SUBMIT_USER &&
            !(admin && t->rows[i].submit == FIELD_SUBMIT_ADMIN))
            (void)pb_clear(&r->base, t->rows[i].number); /* each row names a field */
}

static void answer_submission(struct submission *s, struct job *j, uint64_t lsn)
{
    const Pst__SubmitRequest *req = s->req;

    if (req->has_wait_alloc && req->wait_alloc) {
        owners_attach(s->ctld, j, conn_id(s->cmd->conn));
        wait_message(s->ctld,
                     wait_add(s->ctld, s->cmd, j, true, req->has_immediate_s ? req->immediate_s : 0,
                              req->step),
                     strbuf_str(&s->messages));
        wait_notify(s->ctld, j, lsn); /* the frame that tells the id */
    } else {
        Pst__SubmitReply reply = PST__SUBMIT_REPLY__INIT;

        SET(&reply, job_id, j->rec->job_id);
        reply.message = s->messages.buf;
        core_reply(s->ctld, s->cmd, lsn, 0, &reply.base);
    }
}

/* All of n in one transaction; the first is the one that is answered. */
static void accept_jobs(struct submission *s, uint32_t n)
{
    struct ctld *ctld = s->ctld;
    uint32_t id = jobs_fresh_id(ctld);
    Pst__Transaction *tx;
    Pst__ClusterRecord *c;
    uint64_t lsn;

    if (n > 1)
        id = het_ids(ctld, id, n);
    if (!id) {
        core_error(ctld, s->cmd, ESLURM_MAX_JOB_COUNT, NULL);
        return;
    }
    tx = tx_new(core_now());
    for (uint32_t k = 0; k < n; k++)
        submission_put(&s[k], tx, id);
    c = tx_cluster(tx);
    SET(c, next_job_id, jobs_next_id(ctld, id + n - 1));
    SET(c, jobs_submitted, ctld->cluster->rec->jobs_submitted + n);
    if (s->key.used)
        submitkeys_put(ctld, tx, &s->key, s->cmd->uid, id, s->messages.buf);
    lsn = core_commit(ctld, tx);
    if (!lsn) {
        core_disk_full(ctld, s->cmd);
        return;
    }
    answer_submission(s, cluster_job(ctld->cluster, id), lsn);
    depends_submitted(ctld, id); /* it may be settled already: never, or for some tasks */
}

/* No node is as the job asks, or the reservation is none for it: looking has used up an id. */
static bool looked_for_nodes(int code)
{
    return code == ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE ||
           code == ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE || code == ESLURM_RESERVATION_ACCESS ||
           code == ESLURM_RESERVATION_INVALID;
}

/* A refusal may have used up an id, which is told where nodes were looked for: what was to be an
 * allocation is revoked then. */
static void refuse_jobs(struct submission *s)
{
    struct strbuf *text = &s->messages;
    bool looked = looked_for_nodes(s->code);
    uint32_t used = s->het_offset + (looked || s->numbered);
    uint32_t id = looked ? jobs_fresh_id(s->ctld) : 0;

    for (uint32_t k = 0; k < used; k++) /* the components before had an id each */
        jobs_use_up_id(s->ctld);
    if (text->len)
        strbuf_addc(text, '\n');
    if (s->hint && !s->text[0] && !(s->req->has_test_only && s->req->test_only))
        strbuf_addf(text, "%s\n", s->hint);
    if (s->text[0])
        strbuf_add(text, s->text);
    else if (text->len)
        strbuf_add(text, slurm_err_text(s->code));
    core_error_job(s->ctld, s->cmd, s->code, text->len ? text->buf : NULL, id);
}

void submission_done(struct submission *s)
{
    if (s->rec)
        pst__job_record__free_unpacked(s->rec, NULL);
    strbuf_done(&s->messages);
}

static bool take_identity(struct submission *s)
{
    struct cmd *cmd = s->cmd;

    if ((!s->req->has_uid || s->req->uid == cmd->uid) &&
        (!s->req->has_gid || s->req->gid == cmd->gid))
        return true; /* his own */
    if (conn_peer(cmd->conn)->uid != 0)
        return submission_fail(s, ESLURM_ACCESS_DENIED);
    if (s->req->has_uid)
        cmd->uid = s->req->uid;
    if (s->req->has_gid)
        cmd->gid = s->req->gid;
    return true;
}

/* ---- idempotency keys ------------------------------------------------------------------------ */

/* The user has come with this key before: he is told what he was told then, once that is on the
 * disk. */
static void answer_again(struct submission *s, const Pst__SubmitKeyRecord *before)
{
    Pst__SubmitReply reply = PST__SUBMIT_REPLY__INIT;

    SET(&reply, job_id, before->job_id);
    reply.message = before->message;
    core_reply(s->ctld, s->cmd, s->ctld->applied_lsn, 0, &reply.base);
}

/* True: the request is answered, by its key. */
static bool key_answers(struct submission *s)
{
    const Pst__SubmitKeyRecord *before;
    struct err err = { .text = "" };
    int r = submitkeys_read(s->req, s->cmd->uid, &s->key, &err);

    if (r < 0) {
        core_error(s->ctld, s->cmd, r == -ENOMEM ? EPST_BUSY : EPST_BAD_REQUEST, err.text);
        return true;
    }
    before = s->key.used ? submitkeys_find(s->ctld, &s->key) : NULL;
    if (!before)
        return false;
    if (memcmp(before->content.data, s->key.content.bytes, DIGEST_SIZE) != 0)
        core_error(
            s->ctld, s->cmd, EPST_KEY_REUSED,
            "The idempotency key stands for another submission, of which this is no repetition");
    else
        answer_again(s, before);
    return true;
}

/* ---- heterogeneous --------------------------------------------------------------------------- */

static bool check_component(struct submission *s, const struct submission *first)
{
    submission_keep_fields(s->rec, cmd_is_admin(s->ctld, s->cmd));
    if (s->het_offset) {
        /* cannot fail: it frees; the leader waits for all, and its components show that */
        (void)pb_set_str(&s->rec->dependency, NULL);
        if (s->rec->has_batch && s->rec->batch && !s->rec->work_dir && first->rec->work_dir)
            s->rec->work_dir = tx_strdup(first->rec->work_dir);
    }
    return submission_check(s);
}

/* The script belongs to the first component, which has none when it is external. */
static void fail_external(struct submission *s)
{
    (void)snprintf(s->text, sizeof(s->text),
                   "non-external component cannot follow an external hetjob leader");
    (void)submission_fail(s, ESLURM_INVALID_EXTERNAL_JOB);
}

/* Components share no node: the job would wait for ever.  taken: those of the components before. */
static bool names_free_nodes(struct submission *s, struct bitmap *taken)
{
    _cleanup_(bitmap_free) struct bitmap *own = NULL;

    if (!s->rec->req_nodes || jobs_nodes_named(s->ctld->cluster, s->rec->req_nodes, true, &own) ||
        !own)
        return true;
    if (bitmap_overlaps(taken, own)) {
        s->hint = "components share no node: no node can be required by two of them";
        return submission_fail(s, ESLURM_INVALID_NODE_NAME);
    }
    bitmap_or(taken, own);
    return true;
}

/* Has its partition as many nodes as it needs beside those that other components require?
 * required: those of all. */
static bool finds_nodes_beside(struct submission *s, const struct bitmap *required)
{
    _cleanup_(bitmap_free) struct bitmap *own = NULL, *left = NULL;
    const Pst__JobRecord *r = s->rec;

    if (s->hold || !s->first || (r->partition && strchr(r->partition, ',')) ||
        bitmap_empty(s->first->nodes) || bitmap_dup(s->first->nodes, &left) < 0)
        return true;
    bitmap_andnot(left, required);
    if (r->req_nodes && jobs_nodes_named(s->ctld->cluster, r->req_nodes, true, &own) == 0 && own)
        bitmap_or(left, own);
    if (bitmap_count(left) >= (r->has_min_nodes ? MAX(r->min_nodes, 1u) : 1))
        return true;
    s->hint = "components share no node: the others require those that this one would get";
    return submission_fail(s, ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE);
}

/* Every component is checked as a job of its own; the first that is refused refuses all. */
static void submit_het(struct submission *first, Pst__SubmitRequest *req)
{
    uint32_t n = (uint32_t)req->n_components + 1;
    struct submission *list = calloc(n, sizeof(*list)), *bad = NULL;
    _cleanup_(bitmap_free) struct bitmap *taken = NULL;
    bool leads_external = false;

    if (!list || n > HET_COMPONENTS_MAX || (req->has_test_only && req->test_only)) {
        core_error(first->ctld, first->cmd, ESLURM_NOT_SUPPORTED,
                   list && n <= HET_COMPONENTS_MAX
                       ? "when a heterogeneous job would start cannot be foretold"
                       : "a job has at most 128 components");
        free(list);
        return;
    }
    if (bitmap_new(MAX(first->ctld->cluster->nnodes, 1u), &taken) < 0) {
        core_error(first->ctld, first->cmd, SLURM_ERROR, strerror(ENOMEM));
        free(list);
        return;
    }
    for (size_t k = 0; k < req->n_components; k++) /* they start together, or not at all */
        first->hold = first->hold || (req->components[k]->has_hold && req->components[k]->hold);
    for (uint32_t k = 0; k < n && !bad; k++) {
        Pst__HetComponent *c = k ? req->components[k - 1] : NULL;

        list[k] = *first;
        list[k].het_offset = k;
        list[k].het_count = n;
        if (c) {
            list[k].rec = TAKE_PTR(c->job);
        } else {
            first->rec = NULL;
            leads_external = list[k].rec && job_is_external(list[k].rec);
        }
        if (!list[k].rec)
            (void)submission_fail(&list[k], EPST_BAD_REQUEST);
        else if (k && leads_external && !job_is_external(list[k].rec))
            fail_external(&list[k]);
        if (!list[k].rec || list[k].code || !check_component(&list[k], &list[0]) ||
            !names_free_nodes(&list[k], taken)) {
            bad = &list[k];
        } else if (k && list[0].rec->dependency) {
            list[k].rec->dependency = tx_strdup(list[0].rec->dependency);
        }
        if (!bad && k && list[k].messages.len) { /* the first is the one that is answered */
            strbuf_addf(&list[0].messages, "%s%s", list[0].messages.len ? "\n" : "",
                        list[k].messages.buf);
        }
    }
    for (uint32_t k = 0; k < n && !bad && !bitmap_empty(taken); k++)
        bad = finds_nodes_beside(&list[k], taken) ? NULL : &list[k];
    if (bad)
        refuse_jobs(bad);
    else
        accept_jobs(list, n);
    for (uint32_t k = 0; k < n; k++)
        submission_done(&list[k]);
    free(list);
}

/* The scheduler answers; with want_record the record comes with it, with want_plan what keeps the
 * job, also when it would not start. */
static void ask_scheduler(struct ctld *ctld, struct cmd *cmd, const struct submission *s)
{
    bool shows = s->req->has_want_record && s->req->want_record;
    bool plan = s->req->has_want_plan && s->req->want_plan;
    ProtobufCMessage *copy = NULL;
    struct waiter *w;

    if (!asking_admit(ctld, cmd))
        return;
    if ((shows || plan) && pb_dup(&s->rec->base, &copy) < 0)
        copy = NULL;
    w = wait_find(ctld, wait_add_test(ctld, cmd, (Pst__JobRecord *)copy));
    w->shows = shows && copy;
    w->plan = plan && copy;
    w->test_id = s->rec->job_id;
    if (!plan)
        jobs_use_up_id(ctld);
    if (plan)
        wait_message(ctld, w->ticket, strbuf_str(&s->messages));
    feed_when(ctld, s->rec, w->plan, w->ticket);
}

/* Other clusters of the federation may run it: a batch job, or an allocation whose client goes
 * where it starts.  Arrays stay, as with Slurm: their tasks are limited and counted together. */
static bool join_federation(struct submission *s)
{
    bool follows = s->req->has_follows && s->req->follows && s->req->has_wait_alloc &&
                   s->req->wait_alloc && !s->req->has_immediate_s;
    bool moves = (s->rec->batch || follows) && !s->rec->array_tasks && !job_is_external(s->rec);
    int code = moves ? fedset_fill(s->ctld, s->rec) : fedset_keep(s->ctld, s->rec);

    return code == 0 || submission_fail(s, code);
}

void op_job_submit(struct ctld *ctld, struct cmd *cmd)
{
    Pst__SubmitRequest *req = PB_AS(submit_request, cmd->msg);
    struct submission s = { .ctld = ctld, .cmd = cmd, .req = req };

    s.hold = req->has_hold && req->hold;
    s.rec = TAKE_PTR(req->job);
    if (!s.rec) {
        core_error(ctld, cmd, EPST_BAD_REQUEST, "the submission describes no job");
        return;
    }
    s.contents = cmd->contents;
    submission_keep_fields(s.rec, cmd_is_admin(ctld, cmd));
    if (!take_identity(&s)) {
        refuse_jobs(&s);
    } else if (key_answers(&s)) {
        submission_done(&s);
        return;
    } else if (req->n_components) {
        submit_het(&s, req);
    } else if (!submission_check(&s)) {
        refuse_jobs(&s);
    } else if (req->has_test_only && req->test_only) {
        SET(s.rec, job_id, jobs_fresh_id(ctld));
        SET(s.rec, submit_us, core_now());
        ask_scheduler(ctld, cmd, &s);
    } else if (!join_federation(&s)) {
        refuse_jobs(&s);
    } else {
        accept_jobs(&s, 1);
    }
    submission_done(&s);
}

/* ---- crontabs -------------------------------------------------------------------------------- */

int submit_cron_check(struct ctld *ctld, struct cmd *cmd, Pst__SubmitRequest *req,
                      struct contents *contents, const char *spec, struct submission **ret,
                      struct err *err)
{
    struct submission *s = calloc(1, sizeof(*s));
    int64_t next_us;

    if (!s)
        return SLURM_ERROR;
    *s = (struct submission){ .ctld = ctld,
                              .cmd = cmd,
                              .req = req,
                              .contents = contents,
                              .hold = req->has_hold && req->hold };
    s->rec = TAKE_PTR(req->job);
    submission_keep_fields(s->rec, cmd_is_admin(ctld, cmd));
    SET(s->rec, batch, true);
    if (!submission_check(s)) {
        int code = s->code;

        (void)err_set(err, code, "%s%s%s", s->hint && !s->text[0] ? s->hint : "",
                      s->hint && !s->text[0] ? ": " : "",
                      s->text[0] ? s->text : slurm_err_text(code));
        submit_cron_free(s);
        return code;
    }
    s->rec->cron_spec = tx_strdup(spec);
    next_us = cron_next_us(s->rec);
    if (next_us != INT64_MAX)
        SET(s->rec, begin_us, next_us);
    *ret = s;
    return 0;
}

void submit_cron_put(struct submission *s, Pst__Transaction *tx, uint32_t job_id)
{
    submission_put(s, tx, job_id);
}

void submit_cron_free(struct submission *s)
{
    if (s)
        submission_done(s);
    free(s);
}

void op_job_wait(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__JobWaitRequest *req = PB_AS(job_wait_request, cmd->msg);
    struct job *j = cluster_job(ctld->cluster, req->job_id);
    bool until_started = req->has_until_started && req->until_started;
    const uint32_t *ids;

    if (!j && !until_started && cluster_array_jobs(ctld->cluster, req->job_id, &ids))
        j = cluster_job(ctld->cluster, ids[0]); /* the task of the array's number is forgotten */
    if (!j) {
        core_error(ctld, cmd, ESLURM_INVALID_JOB_ID, NULL);
        return;
    }
    if (conn_peer(cmd->conn)->uid != j->rec->uid && !cmd_is_admin(ctld, cmd)) {
        core_error(ctld, cmd, ESLURM_ACCESS_DENIED, NULL);
        return;
    }
    if (req->has_attach && req->attach)
        owners_attach(ctld, j, conn_id(cmd->conn));
    if (!until_started && j->rec->has_array_job_id && j->rec->array_job_id == req->job_id)
        wait_add_array(ctld, cmd, req->job_id);
    else
        (void)wait_add(ctld, cmd, j, until_started, 0, NULL);
    wait_notify(ctld, j, ctld->applied_lsn);
}

/* ---- the service ----------------------------------------------------------------------------- */

static const struct ctld_op submit_ops[] = {
    { OP_JOB_SUBMIT, .fn = op_job_submit, .flags = OPF_WRITES | OPF_CLOSES },
    { OP_JOB_WAIT, .fn = op_job_wait, .flags = OPF_CLOSES },
    { 0 }
};

static int start_submit(struct ctld *ctld, struct err *err)
{
    (void)err;
    return bloblog_new(&ctld->bloblog);
}

static void free_submit(struct ctld *ctld)
{
    ctld->bloblog = bloblog_free(ctld->bloblog);
}

const struct ctld_service submit_service = {
    .name = "submit",
    .ops = submit_ops,
    .start = start_submit,
    .free = free_submit,
};
