/* restjobchange.c - changes of jobs; see restjobchange.h */
#include "rest/slurm/restjobchange.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/job/jobtext.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_update.h"
#include "cli/query/out_users.h"
#include "rest/slurm/restkeys.h"
#include "rest/slurm/restwords.h"
#include "rest/restpath.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define IDS_MAX 100000u

/* ---- update ---------------------------------------------------------------------------------- */

static const struct restkey job_keys[] = {
    { "account", "Account", RESTKEY_TEXT, NULL },
    { "admin_comment", "AdminComment", RESTKEY_CLEARS, NULL },
    { "begin_time", "StartTime", RESTKEY_TIME, NULL },
    { "burst_buffer", "BurstBuffer", RESTKEY_TEXT, NULL },
    { "cluster_constraint", "ClusterFeatures", RESTKEY_TEXT, NULL },
    { "clusters", "Clusters", RESTKEY_TEXT, NULL },
    { "comment", "Comment", RESTKEY_CLEARS, NULL },
    { "constraints", "Features", RESTKEY_CLEARS, NULL },
    { "contiguous", "Contiguous", RESTKEY_YESNO, NULL },
    { "core_specification", "CoreSpec", RESTKEY_NUMBER, NULL },
    { "cores_per_socket", "ReqCores", RESTKEY_NUMBER, NULL },
    { "cpus_per_task", "CPUsPerTask", RESTKEY_NUMBER, NULL },
    { "cpus_per_tres", "CpusPerTres", RESTKEY_TEXT, NULL },
    { "current_working_directory", "WorkDir", RESTKEY_TEXT, NULL },
    { "deadline", "Deadline", RESTKEY_TIME, NULL },
    { "delay_boot", "DelayBoot", RESTKEY_SECONDS, NULL },
    { "dependency", "Dependency", RESTKEY_CLEARS, NULL },
    { "end_time", "EndTime", RESTKEY_TIME, NULL },
    { "excluded_nodes", "ExcNodeList", RESTKEY_CLEARS, NULL },
    { "extra", "Extra", RESTKEY_CLEARS, NULL },
    { "licenses", "Licenses", RESTKEY_CLEARS, NULL },
    { "mail_user", "MailUser", RESTKEY_CLEARS, NULL },
    { "mcs_label", "MCSLabel", RESTKEY_TEXT, NULL },
    { "memory_per_cpu", "MinMemoryCPU", RESTKEY_NUMBER, NULL },
    { "memory_per_node", "MinMemoryNode", RESTKEY_NUMBER, NULL },
    { "memory_per_tres", "MemPerTres", RESTKEY_TEXT, NULL },
    { "minimum_cpus_per_node", "MinCPUsNode", RESTKEY_NUMBER, NULL },
    { "name", "JobName", RESTKEY_TEXT, NULL },
    { "network", "Network", RESTKEY_TEXT, NULL },
    { "nice", "Nice", RESTKEY_NUMBER, NULL },
    { "nodes", "NumNodes", RESTKEY_TEXT, NULL },
    { "partition", "Partition", RESTKEY_TEXT, NULL },
    { "prefer", "Prefer", RESTKEY_CLEARS, NULL },
    { "priority", "Priority", RESTKEY_NUMBER, "UNLIMITED" }, /* see change_hold() */
    { "qos", "QOS", RESTKEY_TEXT, NULL },
    { "reboot", "Reboot", RESTKEY_YESNO, NULL },
    { "requeue", "Requeue", RESTKEY_SWITCH, NULL },
    { "required_nodes", "ReqNodeList", RESTKEY_CLEARS, NULL },
    { "required_switches", "Switches", RESTKEY_NUMBER, NULL },
    { "reservation", "ReservationName", RESTKEY_CLEARS, NULL },
    { "site_factor", "SiteFactor", RESTKEY_NUMBER, NULL },
    { "sockets_per_node", "ReqSockets", RESTKEY_NUMBER, NULL },
    { "standard_error", "StdErr", RESTKEY_TEXT, NULL },
    { "standard_input", "StdIn", RESTKEY_TEXT, NULL },
    { "standard_output", "StdOut", RESTKEY_TEXT, NULL },
    { "tasks", "NumTasks", RESTKEY_NUMBER, NULL },
    { "tasks_per_node", "TasksPerNode", RESTKEY_NUMBER, NULL },
    { "temporary_disk_per_node", "MinTmpDiskNode", RESTKEY_NUMBER, NULL },
    { "thread_specification", "ThreadSpec", RESTKEY_NUMBER, NULL },
    { "threads_per_core", "ReqThreads", RESTKEY_NUMBER, NULL },
    { "time_limit", "TimeLimit", RESTKEY_NUMBER, NULL },
    { "time_minimum", "TimeMin", RESTKEY_NUMBER, NULL },
    { "tres_bind", "TresBind", RESTKEY_TEXT, NULL },
    { "tres_per_job", "TresPerJob", RESTKEY_CLEARS, NULL },
    { "tres_per_node", "TresPerNode", RESTKEY_CLEARS, NULL },
    { "tres_per_socket", "TresPerSocket", RESTKEY_CLEARS, NULL },
    { "tres_per_task", "TresPerTask", RESTKEY_CLEARS, NULL },
    { "wait_for_switch", "wait-for-switch", RESTKEY_NUMBER, NULL },
    { "wckey", "WCKey", RESTKEY_TEXT, NULL },
    { 0 },
};

static int take_word(void *ctx, const char *word, struct err *err)
{
    return update_set(ctx, UPDATE_JOB, word, now_us(), err);
}

/* Fields that become a word together, or words of their own. */
static const char *const other_fields[] = {
    "array",        "flags",        "hold",          "mail_type",     "shared",
    "maximum_cpus", "minimum_cpus", "maximum_nodes", "minimum_nodes",
};

static bool is_known(const char *field)
{
    for (const struct restkey *row = job_keys; row->field; row++)
        if (strcmp(row->field, field) == 0)
            return true;
    for (size_t i = 0; i < ARRAY_SIZE(other_fields); i++)
        if (strcmp(other_fields[i], field) == 0)
            return true;
    return false;
}

struct changing {
    struct rest_call *call;
    struct update *u;
};

static bool give_one(const struct changing *c, const char *field, const char *key,
                     const char *value)
{
    _cleanup_val_(strbuf_done) struct strbuf word = STRBUF_INIT;

    strbuf_addf(&word, "%s=%s", key, value);
    return restkeys_give(c->call, strbuf_str(&word), field, take_word, c->u, "_job_post_update");
}

/* The least and the most.  The most alone: *ret_most, which no word says. */
static bool give_range(const struct changing *c, const char *least, const char *most,
                       const char *key, struct rest_number *ret_most)
{
    struct rest_number low = rest_number(json_object_get(c->call->body, least));
    struct rest_number high = rest_number(json_object_get(c->call->body, most));
    char text[64];

    *ret_most = (struct rest_number){ 0 };
    if (!low.set || !low.value) {
        *ret_most = high;
        return true;
    }
    if (high.set && high.value)
        (void)snprintf(text, sizeof(text), "%llu-%llu", (unsigned long long)low.value,
                       (unsigned long long)high.value); /* it fits */
    else
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)low.value);
    return give_one(c, least, key, text);
}

static bool take_most(const struct changing *c, const char *field, struct rest_number most,
                      protobuf_c_boolean *has, uint32_t *ret)
{
    if (!most.set || !most.value)
        return true;
    if (most.value > INT32_MAX) {
        rest_error(c->call, ESLURM_REST_INVALID_QUERY, "_job_post_update", "Unable to take %s",
                   field);
        return false;
    }
    *has = c->u->any = true;
    *ret = (uint32_t)most.value;
    return true;
}

static bool give_ranges(const struct changing *c)
{
    struct rest_number cpus, nodes;

    return give_range(c, "minimum_cpus", "maximum_cpus", "NumCPUs", &cpus) &&
           give_range(c, "minimum_nodes", "maximum_nodes", "NumNodes", &nodes) &&
           take_most(c, "maximum_cpus", cpus, &c->u->job.has_max_cpus, &c->u->job.max_cpus) &&
           take_most(c, "maximum_nodes", nodes, &c->u->job.has_max_nodes, &c->u->job.max_nodes);
}

static bool give_mail(const struct changing *c)
{
    _cleanup_val_(strbuf_done) struct strbuf words = STRBUF_INIT;

    restwords_mail(c->call->body, &words);
    return !words.len || give_one(c, "mail_type", "MailType", strbuf_str(&words));
}

static bool give_sharing(const struct changing *c)
{
    const json_t *shared = json_object_get(c->call->body, "shared");

    if (restwords_has(shared, "oversubscribe"))
        return give_one(c, "shared", "OverSubscribe", "YES");
    if (restwords_has(shared, "none"))
        return give_one(c, "shared", "OverSubscribe", "NO");
    if (json_array_size(shared) || json_is_string(shared))
        rest_warning(c->call, "shared",
                     "shared: only none and oversubscribe have an effect on a "
                     "job that is there");
    return true;
}

/* "%4": how many tasks at a time.  Which tasks there are stays. */
static bool give_throttle(const struct changing *c)
{
    const char *array = rest_text(c->call->body, "array");
    uint64_t n;

    if (!array || !array[0])
        return true;
    if (array[0] == '%' && parse_u64(array + 1, 0, UINT32_MAX - 2, &n) == 0)
        return give_one(c, "array", "ArrayTaskThrottle", array + 1);
    rest_warning(c->call, "array",
                 "array: only %%NUMBER, the tasks at a time, has an effect on a "
                 "job that is there");
    return true;
}

static bool give_flags(const struct changing *c)
{
    static const char reset[] = "JOB_ACCRUE_TIME_RESET";
    json_t *flag;
    size_t i;

    json_array_foreach(json_object_get(c->call->body, "flags"), i, flag)
    {
        const char *word = json_is_string(flag) ? json_string_value(flag) : "";

        if (strcmp(word, reset) != 0)
            rest_warning(c->call, "flags", "%.64s has no effect on a job that is there", word);
        else if (!give_one(c, "flags", "ResetAccrueTime", "YES"))
            return false;
    }
    return true;
}

static bool give_others(struct rest_call *call, struct update *u)
{
    const struct changing c = { call, u };

    return give_ranges(&c) && give_mail(&c) && give_sharing(&c) && give_throttle(&c) &&
           give_flags(&c);
}

static void tell_unused(struct rest_call *call)
{
    const char *field;
    json_t *value;

    json_object_foreach(call->body, field, value)
    {
        if (!is_known(field) && !json_is_null(value))
            rest_warning(call, field, "%.64s has no effect on a job that is there", field);
    }
}

static void put_results(struct rest_call *call, const Pst__JobActionReply *reply)
{
    bool many = reply->n_results > 1;

    for (size_t i = 0; i < reply->n_results; i++)
        if (reply->results[i]->code)
            rest_error_said(call, reply->results[i]->code, reply->results[i]->text,
                            "slurm_update_job2()", "Job update requested failed");
    if (!many && rest_has_error(call))
        return;
    if (!many) {
        json_nil(&call->js, "results");
        return;
    }
    json_list(&call->js, "results");
    for (size_t i = 0; i < reply->n_results; i++) {
        const Pst__JobActionResult *r = reply->results[i];

        json_map(&call->js, NULL);
        json_int(&call->js, "job_id", r->job_id);
        json_str(&call->js, "step_id", r->id);
        json_str(&call->js, "error", slurm_err_text(r->code));
        json_int(&call->js, "error_code", r->code);
        json_str(&call->js, "why", r->text);
        json_map_end(&call->js);
    }
    json_list_end(&call->js);
}

static void send_update(struct rest_call *call, struct update *u)
{
    static const char source[] = "slurm_update_job2()";
    Pst__JobUpdateRequest request = PST__JOB_UPDATE_REQUEST__INIT;
    struct client *c = rest_ctld(call, source);
    Pst__JobActionReply *reply = NULL;
    char *id = (char *)(uintptr_t)call->word; /* only read */
    int r;

    if (!c)
        return;
    if (u->refused) {
        rest_error(call, u->refused, source, "Job update requested failed");
        return;
    }
    request.ids = &id;
    request.n_ids = 1;
    request.set = &u->job;
    request.clear = u->clear;
    request.n_clear = u->n_clear;
    request.has_reset_accrue = request.reset_accrue = u->reset_accrue;
    r = client_call(c, OP_JOB_UPDATE, &request.base, (ProtobufCMessage **)&reply);
    if (r < 0) {
        rest_failed(call, c, r, source, "Job update requested failed");
        return;
    }
    put_results(call, reply);
    pst__job_action_reply__free_unpacked(reply, NULL);
}

/* "hold" as `scontrol hold` and `release` do; an infinite priority is one that the controller
 * chooses, which releases.  A job that has begun is not held: nothing to release. */
static void change_hold(struct rest_call *call, bool hold)
{
    static const char source[] = "slurm_update_job2()";
    Pst__JobActionRequest request = PST__JOB_ACTION_REQUEST__INIT;
    struct client *c = rest_ctld(call, source);
    char *id = (char *)(uintptr_t)call->word; /* only read */
    Pst__JobActionReply *reply = NULL;
    int r;

    if (!c)
        return;
    request.has_verb = true;
    request.verb = hold ? PST__JOB_VERB__VERB_HOLD : PST__JOB_VERB__VERB_RELEASE;
    request.ids = &id;
    request.n_ids = 1;
    r = client_call(c, OP_JOB_ACTION, &request.base, (ProtobufCMessage **)&reply);
    if (r < 0) {
        rest_failed(call, c, r, source, "Job update requested failed");
        return;
    }
    for (size_t i = 0; i < reply->n_results; i++) {
        const Pst__JobActionResult *res = reply->results[i];

        if (res->code && (hold || res->code != ESLURM_JOB_NOT_PENDING))
            rest_error_said(call, res->code, res->code == EPST_OTHER_CLUSTER ? res->text : NULL,
                            source, "Job update requested failed");
    }
    pst__job_action_reply__free_unpacked(reply, NULL);
}

/* One job, task or component: not a list, a set or a step. */
static bool take_id(struct rest_call *call, const char *word, const char *source)
{
    struct filter_ids ids = { 0 };
    bool ok = filter_parse_ids(word, &ids, NULL) == 0 && ids.n == 1 && !ids.ids[0].has_step &&
              !strpbrk(word, ".*,");

    filter_ids_done(&ids);
    if (!ok)
        rest_error(call, ESLURM_INVALID_JOB_ID, source, "Unable to parse JobId=%.64s", word);
    return ok;
}

static void post_job(struct rest_call *call)
{
    const json_t *hold = json_object_get(call->body, "hold");
    bool releases = rest_number(json_object_get(call->body, "priority")).infinite;
    bool has_hold = json_is_boolean(hold) || releases;
    struct update u;

    if (!take_id(call, call->word, "_job_post_update"))
        return;
    if (!json_is_object(call->body)) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, "_job_post_update",
                   "A body with what shall change is wanted");
        return;
    }
    update_init(&u);
    tell_unused(call);
    if (restkeys_apply(call, call->body, job_keys, take_word, &u, "_job_post_update") &&
        give_others(call, &u)) {
        if (u.any)
            send_update(call, &u);
        if (has_hold && !rest_has_error(call))
            change_hold(call, json_is_true(hold));
        if (!u.any && has_hold && !rest_has_error(call))
            json_nil(&call->js, "results");
        else if (!u.any && !has_hold)
            rest_error(call, ESLURM_REST_INVALID_QUERY, "_job_post_update", "No changes specified");
    }
    update_done(&u);
}

/* What ran on the nodes of an external job that kept them has ended. */
static void delete_nodes(struct rest_call *call)
{
    struct update u;

    if (!take_id(call, call->word, "_job_free_nodes"))
        return;
    update_init(&u);
    u.job.has_keeps_nodes = true;
    send_update(call, &u);
    update_done(&u);
}

/* ---- cancel and signal ----------------------------------------------------------------------- */

/* A job that filters chose has no name but its number. */
static void put_kill_id(struct json *js, const Pst__JobActionResult *r)
{
    char number[16];

    (void)snprintf(number, sizeof(number), "%u", r->job_id); /* it fits */
    json_str(js, "step_id", r->id ? r->id : number);
    json_number(js, "job_id", r->job_id, false, r->job_id);
}

static void put_kill_result(struct json *js, const Pst__JobActionResult *r)
{
    const char *why = r->code ? slurm_err_text(r->code) : "";

    json_map(js, NULL);
    json_map(js, "error");
    json_str(js, "string", slurm_err_text(r->code));
    json_int(js, "code", r->code);
    json_str(js, "message", r->text && r->text[0] ? r->text : why);
    json_map_end(js);
    put_kill_id(js, r);
    json_map(js, "federation");
    json_str(js, "sibling", r->cluster);
    json_map_end(js);
    json_map_end(js);
}

/* verbose: what went well is told too. */
static void send_kill(struct rest_call *call, Pst__JobActionRequest *request, bool verbose,
                      const char *source)
{
    struct client *c = rest_ctld(call, source);
    Pst__JobActionReply *reply = NULL;
    int r;

    if (!c)
        return;
    r = client_call(c, OP_JOB_ACTION, &request->base, (ProtobufCMessage **)&reply);
    if (r < 0) {
        rest_failed(call, c, r, source, "Failure to signal jobs");
        return;
    }
    json_list(&call->js, "status");
    for (size_t i = 0; i < reply->n_results; i++)
        if (reply->results[i]->code || verbose)
            put_kill_result(&call->js, reply->results[i]);
    json_list_end(&call->js);
    pst__job_action_reply__free_unpacked(reply, NULL);
}

/* ---- flags of a cancel or signal ------------------------------------------------------------- */

struct kill_flag {
    const char *name;
    size_t has, is; /* members of the request; 0: of none */
    const char *refusal;
    bool idle; /* there is nothing that it could do here */
};

#define KILL_MEMBER(member)                                                                        \
    offsetof(Pst__JobActionRequest, has_##member), offsetof(Pst__JobActionRequest, member)

static const struct kill_flag kill_flags[] = {
    { "BATCH_JOB", KILL_MEMBER(batch_only), NULL, false },
    { "ARRAY_TASK", KILL_MEMBER(one_task), NULL, false },
    { "FULL_STEPS_ONLY", KILL_MEMBER(steps_only), NULL, false },
    { "FULL_JOB", KILL_MEMBER(full), NULL, false },
    { "CRON_JOBS", KILL_MEMBER(cron), NULL, false },
    { "VERBOSE", 0, 0, NULL, false }, /* of the answer */
    { "HURRY", 0, 0, NULL, true },
    { "FEDERATION_REQUEUE", 0, 0, "a requeue of jobs is asked for by job/{job_id}/requeue", false },
    { "OUT_OF_MEMORY", 0, 0, "slurmctld alone says that a job ran out of memory", false },
    { "NO_SIBLING_JOBS", 0, 0, "a job of a federation ends on all its clusters", false },
    { "RESERVATION_JOB", 0, 0, "slurmctld alone ends jobs with their reservation", false },
    { "WARNING_SENT", 0, 0, "slurmctld alone notes that the warning was sent", false },
};

typedef bool kill_asked_fn(const struct rest_call *call, const char *flag);

/* What a flag asks for and cannot be done must not be done otherwise. */
static bool take_kill_flags(struct rest_call *call, Pst__JobActionRequest *request,
                            kill_asked_fn *is_asked, const char *source)
{
    for (size_t i = 0; i < ARRAY_SIZE(kill_flags); i++) {
        const struct kill_flag *f = &kill_flags[i];

        if (!is_asked(call, f->name))
            continue;
        if (f->refusal) {
            rest_error(call, ESLURM_NOT_SUPPORTED, source, "flags=%s: %s", f->name, f->refusal);
            return false;
        }
        if (f->idle)
            rest_warning(call, "flags", "%s has no effect: no burst buffer is staged out", f->name);
        if (f->has) {
            *(protobuf_c_boolean *)((char *)request + f->has) = true;
            *(protobuf_c_boolean *)((char *)request + f->is) = true;
        }
    }
    if (request->steps_only && (request->batch_only || request->full)) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, source,
                   "flags: FULL_STEPS_ONLY leaves out the script, which BATCH_JOB and FULL_JOB "
                   "signal");
        return false;
    }
    return true;
}

static bool query_has_flag(const struct rest_call *call, const char *flag)
{
    return rest_query_flag(call, "flags", flag);
}

static bool body_has_flag(const struct rest_call *call, const char *flag)
{
    _cleanup_free_ char *words = rest_joined(call->body, "flags");

    return words && restpath_in_list(words, flag);
}

/* A signal other than KILL, or to the script alone, is sent; else the jobs are cancelled. */
static bool take_signal(struct rest_call *call, const char *name, Pst__JobActionRequest *request,
                        const char *source)
{
    unsigned number = name && name[0] ? jobtext_signal_number(name) : 0;
    bool whole = !request->batch_only && !request->full && !request->steps_only;

    if (name && name[0] && !number) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, source, "signal=%.32s: no such signal", name);
        return false;
    }
    request->has_verb = true;
    request->verb = PST__JOB_VERB__VERB_CANCEL;
    if (!whole || (number && number != SIGKILL)) {
        request->verb = PST__JOB_VERB__VERB_SIGNAL;
        number = number ? number : request->steps_only ? SIGKILL : SIGTERM;
    }
    request->has_signal = number != 0;
    request->signal = number;
    return true;
}

static void delete_job(struct rest_call *call)
{
    Pst__JobActionRequest request = PST__JOB_ACTION_REQUEST__INIT;
    char *id = (char *)(uintptr_t)call->word; /* only read */

    if (!id[strspn(id, "0")]) { /* no job has it, and programs take 200 for "it is cancelled" */
        rest_error(call, ESLURM_INVALID_JOB_ID, "_handle_job_delete", "JobId=%.64s: no job has it",
                   id);
        return;
    }
    request.ids = &id;
    request.n_ids = 1;
    if (take_kill_flags(call, &request, query_has_flag, "_handle_job_delete") &&
        take_signal(call, rest_query(call, "signal"), &request, "_handle_job_delete"))
        send_kill(call, &request, query_has_flag(call, "VERBOSE"), "slurm_kill_job2()");
}

struct id_list {
    char **ids;
    size_t n;
};

/* One id: a text, a number, or an object of the schema.  -EINVAL, -ENOMEM. */
static int add_id(struct id_list *l, const json_t *item)
{
    struct rest_number number =
        rest_number(json_is_object(item) ? json_object_get(item, "job_id") : item);
    char *id = NULL;

    if (json_is_string(item) && json_string_length(item))
        id = strdup(json_string_value(item));
    else if (!json_is_string(item) && number.set && number.value)
        id = asprintf(&id, "%llu", (unsigned long long)number.value) < 0 ? NULL : id;
    else
        return -EINVAL;
    if (!id)
        return -ENOMEM;
    l->ids[l->n++] = id;
    return 0;
}

/* The ids of "jobs".  A list that cannot be read chooses nothing: it must not be left out, since
 * what stands beside it would choose more.  False: an error was noted. */
static bool read_ids(struct rest_call *call, struct id_list *l, const char *source)
{
    const json_t *list = json_object_get(call->body, "jobs");
    json_t *item;
    size_t i;

    if (!list || json_is_null(list))
        return true;
    if (!json_is_array(list) || !json_array_size(list) || json_array_size(list) > IDS_MAX) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, source,
                   "jobs: a list of 1 to %u jobs is wanted", IDS_MAX);
        return false;
    }
    l->ids = calloc(json_array_size(list), sizeof(*l->ids));
    json_array_foreach(list, i, item)
    {
        if (!l->ids || add_id(l, item) < 0) {
            rest_error(call, ESLURM_INVALID_JOB_ID, source, "jobs: entry %zu names no job", i);
            return false;
        }
    }
    return true;
}

static void id_list_done(struct id_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->ids[i]);
    free(l->ids);
}

static bool add_one(char ***list, size_t *n, const json_t *body, const char *field)
{
    const char *text = rest_text(body, field);

    if (!text || !text[0])
        return true;
    *list = calloc(1, sizeof(**list));
    if (*list)
        **list = strdup(text);
    *n = *list && **list;
    return *n;
}

static bool add_user(struct rest_call *call, Pst__JobFilter *f)
{
    const char *name = rest_text(call->body, "user_name"), *id = rest_text(call->body, "user_id");
    bool has_name = name && name[0], has_id = id && id[0];
    uint32_t uid, other;

    if (!has_name && !has_id)
        return true;
    if (user_id_of(has_name ? name : id, &uid) < 0) {
        rest_error(call, ESLURM_USER_ID_UNKNOWN, "_handle_jobs_delete", "%.64s: no such user",
                   has_name ? name : id);
        return false;
    }
    if (has_name && has_id && (user_id_of(id, &other) < 0 || other != uid)) {
        rest_error(call, ESLURM_USER_ID_INVALID, "_handle_jobs_delete",
                   "user_name and user_id name different users");
        return false;
    }
    filter_add_number(&f->uids, &f->n_uids, uid);
    return true;
}

static bool add_states(struct rest_call *call, Pst__JobFilter *f)
{
    _cleanup_free_ char *words = rest_joined(call->body, "job_state"), *bad = NULL;
    struct filter_states states = { 0 };

    if (!words)
        return true;
    if (filter_parse_states(words, &states, &bad) < 0) {
        rest_error(call, ESLURM_INVALID_JOB_STATE, "_handle_jobs_delete", "%.64s: no such state",
                   bad ? bad : words);
        return false;
    }
    if (states.flags) { /* left out they would choose jobs in any state */
        rest_error(call, ESLURM_NOT_SUPPORTED, "_handle_jobs_delete",
                   "job_state: jobs are chosen by their base state alone");
        return false;
    }
    for (unsigned i = 0; i < 32; i++)
        if (states.base & 1u << i)
            filter_add_number(&f->states, &f->n_states, i);
    return true;
}

static bool read_filter(struct rest_call *call, Pst__JobFilter *f)
{
    const json_t *b = call->body;

    if (rest_text(b, "wckey") && rest_text(b, "wckey")[0]) {
        rest_error(call, ESLURM_NOT_SUPPORTED, "_handle_jobs_delete",
                   "wckey: jobs cannot be chosen by it here");
        return false;
    }
    f->nodes = rest_joined(b, "nodes");
    return add_one(&f->accounts, &f->n_accounts, b, "account") &&
           add_one(&f->names, &f->n_names, b, "job_name") &&
           add_one(&f->partitions, &f->n_partitions, b, "partition") &&
           add_one(&f->qos, &f->n_qos, b, "qos") &&
           add_one(&f->reservations, &f->n_reservations, b, "reservation") && add_user(call, f) &&
           add_states(call, f);
}

static bool filter_chooses(const Pst__JobFilter *f)
{
    return f->nodes || f->n_accounts || f->n_names || f->n_partitions || f->n_qos ||
           f->n_reservations || f->n_uids || f->n_states;
}

static void delete_jobs(struct rest_call *call)
{
    Pst__JobActionRequest request = PST__JOB_ACTION_REQUEST__INIT;
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    struct id_list ids = { 0 };

    if (take_kill_flags(call, &request, body_has_flag, "_handle_jobs_delete") &&
        read_ids(call, &ids, "_handle_jobs_delete") && read_filter(call, &filter)) {
        request.ids = ids.ids;
        request.n_ids = ids.n;
        if (filter_chooses(&filter))
            request.filter = &filter;
        if (!request.n_ids && !request.filter)
            rest_error(call, ESLURM_REST_INVALID_QUERY, "_handle_jobs_delete",
                       "Jobs to cancel are wanted: a list of jobs, or what chooses them");
        else if (take_signal(call, rest_text(call->body, "signal"), &request,
                             "_handle_jobs_delete"))
            send_kill(call, &request, body_has_flag(call, "VERBOSE"), "slurm_kill_jobs()");
    }
    id_list_done(&ids);
    filter_done(&filter);
}

/* ---- requeue --------------------------------------------------------------------------------- */

static void put_requeued(struct json *js, const Pst__JobActionResult *r)
{
    json_map(js, NULL);
    json_int(js, "job_id", r->job_id);
    json_str(js, "step_id", r->id);
    json_str(js, "error", slurm_err_text(r->code));
    json_int(js, "error_code", r->code);
    json_str(js, "why", r->text);
    json_map_end(js);
}

static void requeue_jobs(struct rest_call *call, char **ids, size_t n, bool incomplete, bool hold,
                         bool special)
{
    static const char source[] = "slurm_requeue2()";
    Pst__JobActionRequest request = PST__JOB_ACTION_REQUEST__INIT;
    struct client *c = rest_ctld(call, source);
    Pst__JobActionReply *reply = NULL;
    int r;

    if (!c)
        return;
    request.has_verb = true;
    request.verb = hold || special ? PST__JOB_VERB__VERB_REQUEUE_HOLD : PST__JOB_VERB__VERB_REQUEUE;
    request.has_special_exit = request.special_exit = special;
    request.has_incomplete_only = request.incomplete_only = incomplete;
    request.ids = ids;
    request.n_ids = n;
    r = client_call(c, OP_JOB_ACTION, &request.base, (ProtobufCMessage **)&reply);
    if (r < 0) {
        rest_failed(call, c, r, source, "Failure to requeue jobs");
        return;
    }
    json_list(&call->js, "status");
    for (size_t i = 0; i < reply->n_results; i++) {
        if (reply->results[i]->code)
            rest_error_said(call, reply->results[i]->code, reply->results[i]->text, source,
                            "Failure to requeue JobId=%.64s",
                            reply->results[i]->id ? reply->results[i]->id : "");
        if (!call->word) /* of many jobs each has a list of its own */
            json_list(&call->js, NULL);
        put_requeued(&call->js, reply->results[i]);
        if (!call->word)
            json_list_end(&call->js);
    }
    json_list_end(&call->js);
    pst__job_action_reply__free_unpacked(reply, NULL);
}

static void get_requeue(struct rest_call *call)
{
    char *id = (char *)(uintptr_t)call->word; /* only read */

    if (take_id(call, call->word, "_handle_job_requeue"))
        requeue_jobs(call, &id, 1, rest_query_true(call, "Incomplete"),
                     rest_query_true(call, "Hold"), rest_query_true(call, "SpecialExit"));
}

static void post_requeue(struct rest_call *call)
{
    struct id_list ids = { 0 };

    if (read_ids(call, &ids, "_handle_jobs_requeue") && ids.n)
        requeue_jobs(call, ids.ids, ids.n, body_has_flag(call, "Incomplete"),
                     body_has_flag(call, "Hold"), body_has_flag(call, "SpecialExit"));
    else if (!rest_has_error(call))
        rest_error(call, ESLURM_REST_INVALID_QUERY, "_handle_jobs_requeue",
                   "jobs: a list of jobs is wanted");
    id_list_done(&ids);
}

const struct rest_row rest_job_change_rows[] = {
    { "POST", REST_SLURM, "job/{}", 0, post_job, false },
    { "DELETE", REST_SLURM, "job/{}", 0, delete_job, false },
    { "DELETE", REST_PENSTOCK, "job/{}/nodes", 0, delete_nodes, false },
    { "DELETE", REST_SLURM, "jobs", 0, delete_jobs, false },
    { "GET", REST_SLURM, "job/{}/requeue", 45, get_requeue, false },
    { "POST", REST_SLURM, "jobs/requeue", 45, post_requeue, false },
    { 0 },
};
