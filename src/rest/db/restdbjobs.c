/* restdbjobs.c - jobs of the accounting store; see restdbjobs.h
 *
 * Query words become the request that sacct sends and the filter that sacct applies.  Jobs are
 * written as they come. */
#include "rest/db/restdbjobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/format/json_job.h"
#include "cli/query/acctchoice.h"
#include "cli/query/out_query.h"
#include "conf/conf.h"
#include "rest/db/restdb.h"
#include "rest/db/restdbread.h"
#include "rest/db/restdbprio.h"
#include "rest/db/restdbset.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define GET_SOURCE "slurmdb_jobs_get"
#define SCRIPTS_MAX 1000u /* jobs of one answer that has scripts */

struct jobsget {
    struct rest_call *call;
    struct jobfilter filter;
    struct restdbprio priorities;
    Pst__AcctFilter request;
    char **reservations, **ids; /* names, and numbers as text */
    size_t n_reservations, n_ids;
    const char *assocs;
    enum whole_het whole_het;
    bool truncate, has_exit_code;
    bool scripts; /* are asked for: jobs are kept until they have theirs */
    ProtobufCMessage **kept;
    size_t n_kept;
    int64_t now_us; /* of the store */
    uint32_t exit_code;
    size_t shown;
};

static void refuse_user(const char *word)
{
    (void)word; /* nobody has jobs under a name that nobody has */
}

static struct jobsget jobsget_of(struct rest_call *call)
{
    struct jobsget g = { .call = call, .priorities.call = call };

    pst__acct_filter__init(&g.request);
    jobfilter_init(&g.filter, refuse_user);
    return g;
}

static void free_words(char **words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(words[i]);
    free(words);
}

static void jobsget_done(struct jobsget *g)
{
    free_words(g->request.clusters, g->request.n_clusters);
    free_words(g->reservations, g->n_reservations);
    free_words(g->ids, g->n_ids);
    restdb_keep_done(&g->kept, &g->n_kept);
    restdbprio_done(&g->priorities);
    jobfilter_done(&g->filter);
}

/* ---- query words ----------------------------------------------------------------------------- */

/* A word's text; NULL: it is not there or empty.  Long ones are refused. */
static bool take_text(struct rest_call *call, const char *name, const char **ret)
{
    const char *text = rest_query(call, name);

    *ret = text && *text ? text : NULL;
    if (!text || strlen(text) <= RESTDB_WORD_MAX * 16)
        return true;
    rest_error(call, ESLURM_REST_INVALID_QUERY, name, "%s is too long", name);
    return false;
}

bool restdb_time(struct rest_call *call, const char *name, protobuf_c_boolean *has, int64_t *ret)
{
    const char *text;

    if (!take_text(call, name, &text))
        return false;
    if (!text)
        return true;
    *has = 1;
    if (text[strspn(text, "0123456789")] == '\0')
        return rest_query_time(call, name, ret);
    if (time_when_parse(text, now_us(), false, ret, NULL) == 0)
        return true;
    rest_error(call, ESLURM_REST_INVALID_QUERY, name, "%s: %.64s is no time", name, text);
    return false;
}

static bool take_states(struct jobsget *g)
{
    struct jobfilter *f = &g->filter;
    _cleanup_free_ char *bad = NULL;
    const char *text;

    if (!take_text(g->call, "state", &text))
        return false;
    f->have_states = text != NULL;
    if (!text || filter_parse_states(text, &f->states, &bad) == 0)
        return true;
    rest_error(g->call, ESLURM_REST_INVALID_QUERY, "state", "state: there is no %.64s",
               bad ? bad : text);
    return false;
}

static bool take_ids(struct jobsget *g, const char *name, const char *text)
{
    struct err err = { .text = "" };

    if (!text || filter_parse_ids(text, &g->filter.ids, &err) == 0)
        return true;
    rest_error(g->call, ESLURM_INVALID_JOB_ID, name, "%s", err.text);
    return false;
}

static bool take_exit_code(struct jobsget *g)
{
    const char *text = rest_query(g->call, "exit_code");
    uint64_t code = 0;

    g->has_exit_code = text && *text;
    if (g->has_exit_code && parse_u64(text, 0, 255, &code) < 0) {
        rest_error(g->call, ESLURM_REST_INVALID_QUERY, "exit_code",
                   "exit_code: %.64s is no exit code", text);
        return false;
    }
    g->exit_code = (uint32_t)code;
    return true;
}

/* How the scheduler came to start a job is not kept; an environment has no place in the schema. */
static void tell_unknown(struct rest_call *call)
{
    static const char *const words[] = {
        "scheduler_unset", "scheduled_on_submit", "scheduled_by_main",    "scheduled_by_backfill",
        "job_started",     "job_altered",         "show_job_environment",
    };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (rest_query_true(call, words[i]))
            rest_warning(call, words[i], "%s has no effect: accounting shows nothing of it here",
                         words[i]);
}

static bool take_lists(struct jobsget *g)
{
    struct rest_call *call = g->call;
    Pst__JobFilter *f = &g->filter.request;
    const char *users, *nodes;

    if (!restdb_words(call, "account", &f->accounts, &f->n_accounts) ||
        !restdb_words(call, "job_name", &f->names, &f->n_names) ||
        !restdb_words(call, "partition", &f->partitions, &f->n_partitions) ||
        !restdb_words(call, "qos", &f->qos, &f->n_qos) ||
        !restdb_words(call, "cluster", &g->request.clusters, &g->request.n_clusters) ||
        !restdb_words(call, "reservation", &g->reservations, &g->n_reservations) ||
        !restdb_words(call, "reservation_id", &g->ids, &g->n_ids) ||
        !take_text(call, "association", &g->assocs) ||
        !take_text(call, "constraints", &g->filter.constraints) ||
        !take_text(call, "groups", &g->filter.groups) ||
        !take_text(call, "reason", &g->filter.reasons) ||
        !take_text(call, "wckey", &g->filter.wckeys) || !take_text(call, "users", &users) ||
        !take_text(call, "node", &nodes))
        return false;
    if (users)
        filter_add_users(&f->uids, &f->n_uids, users, refuse_user);
    if (nodes && !(f->nodes = strdup(nodes))) {
        restdb_no_memory(call, GET_SOURCE);
        return false;
    }
    return true;
}

static bool take_query(struct jobsget *g)
{
    struct rest_call *call = g->call;
    Pst__AcctFilter *r = &g->request;
    const char *steps;

    tell_unknown(call);
    if (!take_lists(g) || !take_text(call, "step", &steps) || !take_ids(g, "step", steps) ||
        !take_states(g) || !take_exit_code(g) ||
        !restdb_time(call, "start_time", &r->has_start_us, &r->start_us) ||
        !restdb_time(call, "end_time", &r->has_end_us, &r->end_us))
        return false;
    r->has_duplicates = r->duplicates = rest_query_true(call, "show_duplicates");
    g->scripts = rest_query_true(call, "show_batch_script");
    r->has_allocations_only = r->allocations_only = rest_query_true(call, "skip_steps");
    g->truncate =
        (r->has_start_us || r->has_end_us) && !rest_query_true(call, "disable_truncate_usage_time");
    if (rest_query_true(call, "disable_whole_hetjob"))
        g->whole_het = WHOLE_NO;
    else if (rest_query_true(call, "whole_hetjob"))
        g->whole_het = WHOLE_YES;
    return true;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static bool has_word(char *const *words, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (word && strcmp(words[i], word) == 0)
            return true;
    return n == 0;
}

static bool is_wanted(const struct jobsget *g, const Pst__JobRecord *j)
{
    const struct acct_choice choice = { &g->filter, g->assocs, g->whole_het };
    char number[16];

    (void)snprintf(number, sizeof(number), "%u", j->resv_id); /* fits */
    if (g->has_exit_code && !acct_ended_with(j, g->exit_code))
        return false;
    /* A component is shown with its whole job, or as is_wanted's choice has it; a task alone. */
    if (g->filter.ids.n && !j->het_job_id &&
        !filter_ids_match(&g->filter.ids, j->job_id, job_group_id(j), j->has_array_task_id,
                          j->array_task_id))
        return false;
    return has_word(g->reservations, g->n_reservations, j->reservation) &&
           has_word(g->ids, g->n_ids, number) && acct_wanted(&choice, j);
}

static int keep_job(struct jobsget *g, const Pst__AcctJob *a)
{
    ProtobufCMessage **more;

    if (g->n_kept >= SCRIPTS_MAX)
        return -E2BIG;
    more = reallocarray(g->kept, g->n_kept + 1, sizeof(*more));
    if (!more)
        return -ENOMEM;
    g->kept = more;
    if (pb_dup(&a->base, &more[g->n_kept]) < 0)
        return -ENOMEM;
    g->n_kept++;
    return 0;
}

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct jobsget *g = ctx;
    Pst__AcctJob *a = (Pst__AcctJob *)record; /* ours until the next one comes */
    const char *own = conf_str(rest_conf(g->call), CONF_CLUSTER_NAME);

    if (!a->job || !is_wanted(g, a->job))
        return 0;
    acct_sort_steps(a);
    if (!a->cluster || strcmp(a->cluster, own) == 0)
        restdbprio_fill(&g->priorities, a->job);
    if (g->truncate)
        acct_truncate(a, g->request.has_start_us ? g->request.start_us : 0,
                      g->request.has_end_us ? g->request.end_us : info->now_us);
    g->now_us = info->now_us;
    g->shown++;
    if (g->scripts)
        return keep_job(g, a);
    json_acct_job(&g->call->js, a, info->now_us, a->cluster ? a->cluster : own, NULL);
    return rest_flush(g->call);
}

/* A connection answers one question after the other: scripts come when all jobs are here. */
static void put_with_scripts(struct jobsget *g, struct client *c)
{
    const char *own = conf_str(rest_conf(g->call), CONF_CLUSTER_NAME);
    int r = 0;

    for (size_t i = 0; i < g->n_kept && r == 0; i++) {
        Pst__AcctJob *a = (Pst__AcctJob *)g->kept[i];
        Pst__AcctBlobRequest request = PST__ACCT_BLOB_REQUEST__INIT;
        Pst__AcctBlobReply *reply = NULL;
        _cleanup_free_ char *script = NULL;

        request.cluster = a->cluster ? a->cluster : (char *)(uintptr_t)own; /* only packed */
        request.has_job_id = true;
        request.job_id = a->job->job_id;
        r = client_call(c, OP_ACCT_BLOB, &request.base, (ProtobufCMessage **)&reply);
        if (r == -EREMOTEIO && client_error(c, NULL) == ESLURM_ACCESS_DENIED) {
            r = 0; /* another's: the job is shown without */
        } else if (r < 0) {
            rest_failed(g->call, c, r, GET_SOURCE, "the script of job %u", a->job->job_id);
            return;
        }
        if (reply && reply->has_data)
            script = strndup((const char *)reply->data.data, reply->data.len);
        if (reply)
            pst__acct_blob_reply__free_unpacked(reply, NULL);
        json_acct_job(&g->call->js, a, g->now_us, a->cluster ? a->cluster : own, script);
        r = rest_flush(g->call);
    }
}

static void put_jobs(struct jobsget *g)
{
    struct jobfilter *f = &g->filter;
    struct client *c = rest_acct(g->call, GET_SOURCE);
    struct query_info info;
    int r;

    if (!c)
        return;
    for (size_t i = 0; i < f->ids.n && g->whole_het == WHOLE_YES; i++)
        f->ids.ids[i].has_het = false;
    jobfilter_ask_ids(f);
    if (f->have_states && !f->states.all && !f->states.flags)
        jobfilter_ask_states(f);
    if (jobfilter_wants_earlier(f))
        g->request.has_duplicates = g->request.duplicates = true;
    jobfilter_lend(f, &g->request);
    json_list(&g->call->js, "jobs");
    r = query_run(c, OP_QUERY_ACCT, &g->request.base, &pst__acct_job__descriptor, on_job, g, &info);
    if (r == 0)
        put_with_scripts(g, c);
    json_list_end(&g->call->js);
    jobfilter_return(&g->request);
    if (r == -E2BIG)
        rest_error(g->call, ESLURM_REST_QUERY_UNMET, GET_SOURCE,
                   "show_batch_script: more than %u jobs are chosen", SCRIPTS_MAX);
    else if (r < 0 && r != -EPIPE)
        rest_failed(g->call, c, r, GET_SOURCE, "%s() failed", GET_SOURCE);
    else if (r == 0 && !g->shown)
        rest_warning(g->call, GET_SOURCE, "%s() found nothing", GET_SOURCE);
}

static void get_jobs(struct rest_call *call)
{
    struct jobsget g = jobsget_of(call);

    if (take_query(&g))
        put_jobs(&g);
    jobsget_done(&g);
}

/* One job with all its runs. */
static void get_job(struct rest_call *call)
{
    struct jobsget g = jobsget_of(call);

    g.request.has_duplicates = g.request.duplicates = true;
    if (take_ids(&g, "job_id", call->word))
        put_jobs(&g);
    jobsget_done(&g);
}

/* ---- notes ----------------------------------------------------------------------------------- */

#define SET_SOURCE "slurmdb_job_modify"

/* A member that is text, also an empty one. */
static void set_note(struct restdb_changes *ch, char **field, const json_t *object, const char *key)
{
    const char *text = rest_text(object, key);

    if (text)
        restdb_text(ch, field, text);
}

/* "derived_exit_code" as GET shows it, or a number. */
static bool read_exit_code(struct rest_call *call, const json_t *value, Pst__AcctJobSet *set)
{
    const json_t *code = json_object_get(value, "return_code");
    struct rest_number n = rest_number(code ? code : value);

    if (!n.set)
        return true;
    if (n.value > INT32_MAX) {
        rest_error(call, ESLURM_REST_QUERY_UNMET, SET_SOURCE, "derived_exit_code is too large");
        return false;
    }
    set->has_derived_exit_code = 1;
    set->derived_exit_code = (int32_t)n.value;
    return true;
}

static bool read_notes(struct restdb_changes *ch, const json_t *body, Pst__AcctJobSet *set)
{
    const json_t *comment = json_object_get(body, "comment");
    const json_t *tres = json_object_get(json_object_get(body, "tres"), "allocated");
    struct err err = { .text = "" };
    int r = restdbread_tres_text(tres, &set->tres, &err);

    set_note(ch, &set->comment, comment, "job");
    set_note(ch, &set->admin_comment, comment, "administrator");
    set_note(ch, &set->system_comment, comment, "system");
    set_note(ch, &set->extra, body, "extra");
    set_note(ch, &set->wckey, body, "wckey");
    if (r < 0)
        restdb_unread(ch, r, &err, SET_SOURCE, "tres");
    return !ch->failed && read_exit_code(ch->call, json_object_get(body, "derived_exit_code"), set);
}

/* Jobs by their numbers: steps have no notes. */
static bool choose_jobs(struct restdb_changes *ch, Pst__AcctOp *op, const char *words)
{
    struct filter_ids ids = { 0 };
    struct err err = { .text = "" };
    bool good = filter_parse_ids(words, &ids, &err) == 0 && ids.n > 0;

    for (size_t i = 0; i < ids.n && good; i++) {
        good = ids.ids[i].array == IDS_NO_TASK && !ids.ids[i].has_step && !ids.ids[i].sluid[0];
        if (good)
            restdb_number(ch, &op->where->ids, &op->where->n_ids, ids.ids[i].job_id);
    }
    if (!good)
        rest_error(ch->call, ESLURM_INVALID_JOB_ID, SET_SOURCE, "%.64s is no list of jobs", words);
    filter_ids_done(&ids);
    return good;
}

static void modify_jobs(struct rest_call *call, const char *words, const json_t *body)
{
    struct restdb_changes ch;
    Pst__AcctOp *op;
    const Pst__AcctOpResult *res;

    restdb_changes_init(&ch, call);
    op = restdb_op(&ch, PST__ACCT_VERB__ACCT_MODIFY, PST__ACCT_ENTITY__ACCT_JOB, SET_SOURCE,
                   SET_SOURCE);
    if (op && choose_jobs(&ch, op, words) &&
        restdb_record(&ch, &op->set->job, &pst__acct_job_set__descriptor) &&
        read_notes(&ch, body, op->set->job) && restdb_send(&ch)) {
        res = ch.reply->n_results ? ch.reply->results[0] : NULL;
        json_list(&call->js, "results");
        for (size_t i = 0; res && i < res->n_lines; i++)
            json_str(&call->js, NULL, res->lines[i]);
        json_list_end(&call->js);
        if (!res || res->has_code)
            rest_warning(call, SET_SOURCE, "%s() found nothing", SET_SOURCE);
    }
    restdb_changes_done(&ch);
}

static void post_job(struct rest_call *call)
{
    modify_jobs(call, call->word, call->body);
}

static void post_jobs(struct rest_call *call)
{
    _cleanup_free_ char *words = rest_joined(call->body, "job_id_list");

    if (words)
        modify_jobs(call, words, json_object_get(call->body, "job_rec"));
    else
        rest_error(call, ESLURM_REST_QUERY_UNMET, SET_SOURCE, "job_id_list is missing");
}

const struct rest_row rest_dbjobs_rows[] = {
    { "GET", REST_SLURMDB, "jobs", 0, get_jobs, true },
    { "GET", REST_SLURMDB, "job/{}", 0, get_job, true },
    { "POST", REST_SLURMDB, "jobs", 44, post_jobs, false },
    { "POST", REST_SLURMDB, "job/{}", 44, post_job, false },
    { 0 },
};
