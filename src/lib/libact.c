/* libact.c - changes of jobs, nodes and partitions, and waiting for jobs; see libpenstock.h */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/pb/pbsafe.h"
#include "base/timefmt.h"
#include "cli/base/argwords.h"
#include "cli/job/jobtext.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_update.h"
#include "lib/libhandle.h"
#include "session/dial.h"
#include "session/jobcalls.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define WORDS_MAX 256u

/* ---- answers --------------------------------------------------------------------------------- */

static void forget_results(struct penstock *p)
{
    if (p->results)
        pst__job_action_reply__free_unpacked(p->results, NULL);
    p->results = NULL;
}

/* Asked a second time because the connection was lost, a job that is over is what was wanted. */
static bool is_over(int code)
{
    return code == ESLURM_ALREADY_DONE || code == ESLURM_JOB_FINISHED;
}

static int judge_results(struct penstock *p, bool over_is_good)
{
    for (size_t i = 0; i < p->results->n_results; i++) {
        Pst__JobActionResult *res = p->results->results[i];

        if (over_is_good && is_over(res->code))
            res->code = 0;
    }
    for (size_t i = 0; i < p->results->n_results; i++) {
        const Pst__JobActionResult *res = p->results->results[i];

        if (res->code)
            return lib_fail(p, -EREMOTEIO, res->code, "%s%s%s", res->id ? res->id : "",
                            res->id ? ": " : "", res->text ? res->text : slurm_err_text(res->code));
    }
    return 0;
}

int penstock_result(const penstock *p, size_t i, int *ret_code, const char **ret_id,
                    const char **ret_text)
{
    const Pst__JobActionResult *res;

    if (!p->results || i >= p->results->n_results)
        return -ENOENT;
    res = p->results->results[i];
    if (ret_code)
        *ret_code = res->code;
    if (ret_id)
        *ret_id = res->id ? res->id : "";
    if (ret_text)
        *ret_text = res->text ? res->text : slurm_err_text(res->code);
    return 0;
}

/* ---- actions --------------------------------------------------------------------------------- */

/* The words of a list of ids; refuses what is none. */
static int read_ids(struct penstock *p, const char *text, char ***ret, size_t *ret_n)
{
    struct filter_ids ids = { 0 };
    struct err err = { .text = "" };

    *ret = NULL;
    *ret_n = 0;
    if (filter_parse_ids(text, &ids, &err) < 0)
        return lib_fail(p, -EINVAL, 0, "%s", err.text);
    filter_ids_done(&ids);
    filter_add_ids(ret, ret_n, text);
    return *ret_n ? 0 : lib_fail(p, -EINVAL, 0, "no job is named");
}

/* again: asking twice does what asking once does. */
static int act_on_jobs(struct penstock *p, const char *ids, Pst__JobActionRequest *req, bool again)
{
    ProtobufCMessage *msg = NULL;
    bool repeated = false;
    int r;

    forget_results(p);
    r = read_ids(p, ids, &req->ids, &req->n_ids);
    if (r == 0 && !req->has_verb)
        jobcalls_choose_kill(req);
    if (r == 0)
        r = lib_call(p, OP_JOB_ACTION, &req->base, again, &msg, &repeated);
    argwords_free(req->ids, req->n_ids);
    if (r < 0)
        return r;
    p->results = PB_AS(job_action_reply, msg);
    return judge_results(p, repeated && req->verb == PST__JOB_VERB__VERB_CANCEL);
}

static int do_verb(struct penstock *p, const char *ids, Pst__JobVerb verb, bool again)
{
    Pst__JobActionRequest req = PST__JOB_ACTION_REQUEST__INIT;

    req.has_verb = true;
    req.verb = verb;
    return act_on_jobs(p, ids, &req, again);
}

int penstock_cancel(penstock *p, const char *ids)
{
    Pst__JobActionRequest req = PST__JOB_ACTION_REQUEST__INIT;

    return act_on_jobs(p, ids, &req, true);
}

int penstock_signal(penstock *p, const char *ids, const char *signal)
{
    Pst__JobActionRequest req = PST__JOB_ACTION_REQUEST__INIT;

    req.signal = jobtext_signal_number(signal);
    req.has_signal = true;
    if (!req.signal)
        return lib_fail(p, -EINVAL, 0, "Unknown job signal: %.100s", signal);
    return act_on_jobs(p, ids, &req, false);
}

int penstock_hold(penstock *p, const char *ids)
{
    return do_verb(p, ids, PST__JOB_VERB__VERB_HOLD, true);
}

int penstock_release(penstock *p, const char *ids)
{
    return do_verb(p, ids, PST__JOB_VERB__VERB_RELEASE, true);
}

int penstock_requeue(penstock *p, const char *ids)
{
    return do_verb(p, ids, PST__JOB_VERB__VERB_REQUEUE, false);
}

/* ---- updates --------------------------------------------------------------------------------- */

static int update_jobs(struct penstock *p, const char *ids, struct update *u)
{
    Pst__JobUpdateRequest req = PST__JOB_UPDATE_REQUEST__INIT;
    ProtobufCMessage *msg = NULL;
    struct err err = { .text = "" };
    int r;

    forget_results(p);
    if (u->has_limit_change)
        return lib_fail(p, -EINVAL, 0, "TimeLimit: a limit is wanted, not a change of it");
    if (u->has_uid)
        return lib_fail(p, -EINVAL, 0, "UserID: jobs are named by their ids");
    if (u->refused)
        return lib_fail(p, -EREMOTEIO, u->refused, "%s", slurm_err_text(u->refused));
    if (pbsafe_check(&u->job.base, &err) < 0)
        return lib_fail(p, -EINVAL, 0, "%s", err.text);
    r = read_ids(p, ids, &req.ids, &req.n_ids);
    req.set = &u->job;
    req.clear = u->clear;
    req.n_clear = u->n_clear;
    req.has_reset_accrue = req.reset_accrue = u->reset_accrue;
    if (r == 0)
        r = lib_call(p, OP_JOB_UPDATE, &req.base, true, &msg, NULL);
    argwords_free(req.ids, req.n_ids);
    if (r < 0)
        return r;
    p->results = PB_AS(job_action_reply, msg);
    return judge_results(p, false);
}

static int update_nodes(struct penstock *p, const char *names, struct update *u)
{
    Pst__NodeUpdateRequest req = PST__NODE_UPDATE_REQUEST__INIT;

    if (!update_reason_given(u))
        return lib_fail(p, -EINVAL, 0, "DOWN, DRAIN and FAIL need a Reason");
    req.nodes = (char *)(uintptr_t)names; /* only read */
    req.has_action = true;
    req.action = u->node_action;
    req.set = &u->node;
    req.clear = u->clear;
    req.n_clear = u->n_clear;
    return lib_call(p, OP_NODE_UPDATE, &req.base, true, NULL, NULL);
}

static int update_partition(struct penstock *p, const char *name, struct update *u)
{
    Pst__PartUpdateRequest req = PST__PART_UPDATE_REQUEST__INIT;

    req.name = (char *)(uintptr_t)name; /* only read */
    req.set = &u->part;
    req.clear = u->clear;
    req.n_clear = u->n_clear;
    return lib_call(p, OP_PART_UPDATE, &req.base, true, NULL, NULL);
}

static int read_words(struct penstock *p, enum update_kind kind, const char *const *words,
                      struct update *u)
{
    for (size_t i = 0; words && words[i]; i++) {
        struct err err = { .text = "" };

        if (i >= WORDS_MAX)
            return lib_fail(p, -EINVAL, 0, "more than %u words", WORDS_MAX);
        if (update_set(u, kind, words[i], now_us(), &err) < 0)
            return lib_fail(p, -EINVAL, 0, "%s",
                            err.text[0] ? update_said(&err) : "a word cannot be taken");
    }
    return u->any ? 0 : lib_fail(p, -EINVAL, 0, "nothing is to be changed");
}

int penstock_update(penstock *p, const char *what, const char *ids, const char *const *words)
{
    static const struct {
        const char *what;
        enum update_kind kind;
        int (*send)(struct penstock *p, const char *ids, struct update *u);
    } kinds[] = {
        { "job", UPDATE_JOB, update_jobs },
        { "node", UPDATE_NODE, update_nodes },
        { "partition", UPDATE_PART, update_partition },
    };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        struct update u;
        int r;

        if (strcmp(what, kinds[i].what) != 0)
            continue;
        update_init(&u);
        r = read_words(p, kinds[i].kind, words, &u);
        if (r == 0)
            r = kinds[i].send(p, ids, &u);
        update_done(&u);
        return r;
    }
    return lib_fail(p, -ENOENT, 0, "%.100s is neither job, node nor partition", what);
}

/* ---- waiting --------------------------------------------------------------------------------- */

int penstock_wait(penstock *p, uint32_t job_id, int timeout_ms, int *ret_status)
{
    int64_t deadline =
        timeout_ms < 0 ? JOBCALLS_FOREVER : now_mono_us() + (int64_t)timeout_ms * 1000;
    int r = lib_conf(p, NULL);

    if (r < 0)
        return r;
    for (;;) {
        struct client *c = NULL;
        uint32_t status = 0;

        r = lib_take_client(p, true, &c);
        if (r == 0)
            r = jobcalls_wait_end(c, job_id, deadline, &status);
        if (c && r == -ENOENT)
            r = lib_fail(p, -ENXIO, ESLURM_INVALID_JOB_ID, "%u: %s", job_id,
                         slurm_err_text(ESLURM_INVALID_JOB_ID));
        else if (c && r < 0)
            (void)lib_fail_client(p, c, r);
        (void)client_free(c); /* always NULL; it may still be told of the job */
        if (r == 0 && ret_status)
            *ret_status = (int)status;
        if (r == 0 || r == -ETIME)
            return r == 0;
        if (!dial_may_come_back(r))
            return r == -ENXIO ? -ENOENT : r;
        if (now_mono_us() >= deadline)
            return 0;
        (void)poll(NULL, 0, 100); /* the controller is away: a pause before the next try */
    }
}
