/* scontrol_update.c - scontrol update, create and delete
 *
 * Sorts the words into the one entity they name and its values, which out_update.c reads, and sends
 * one request.  TimeLimit given as a change needs the present limit first, job by job. */
#include "cli/scontrol/scontrol.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbsafe.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "cli/base/ids.h"
#include "cli/query/arrayanswer.h"
#include "cli/query/elsewhere.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_nodes.h"
#include "cli/query/out_query.h"
#include "cli/query/out_update.h"
#include "cli/job/submit.h"
#include "model/words/names.h"
#include "wire/errors.h"
#include "wire/ops.h"

/* "3_9", "3_[8-9]" of an array without such tasks: `3_[9]: text`. */
static bool fail_tasks(struct scontrol *s, const char *id, const char *text)
{
    size_t len = id ? strcspn(id, "_") : 0;
    const char *tasks = id && id[len] ? id + len + 1 : "";
    bool set = tasks[0] == '[';
    size_t n = strlen(tasks);

    if (!len || !n || strspn(id, "0123456789") != len ||
        strspn(tasks, "0123456789") != (set ? 0 : n) || (set && tasks[n - 1] != ']'))
        return false;
    scontrol_missing(s, stderr, "%.*s_[%.*s]: %s", (int)len, id, (int)(set ? n - 2 : n),
                     tasks + set, text);
    return true;
}

bool scontrol_fail_tasks(struct scontrol *s, Pst__JobActionResult *const *results, size_t n,
                         bool good)
{
    _cleanup_free_ char *lines = arrayanswer_lines(results, n, good);

    if (lines)
        scontrol_missing(s, stderr, "%s", lines);
    return lines != NULL;
}

bool scontrol_fail_unknown_tasks(struct scontrol *s, const Pst__JobActionResult *r)
{
    const char *text = r->text ? r->text : slurm_err_text(r->code);

    return r->code == ESLURM_INVALID_JOB_ID && !r->job_id && fail_tasks(s, r->id, text);
}

void scontrol_fail_result(struct scontrol *s, const Pst__JobActionResult *r)
{
    const char *text = r->text ? r->text : slurm_err_text(r->code);

    if (scontrol_fail_unknown_tasks(s, r))
        return;
    if (r->id)
        scontrol_missing(s, stderr, "%s for job %s", text, r->id);
    else
        scontrol_missing(s, stderr, "%s for job %u", text, r->job_id);
}

/* No job has the name that was to choose. */
static void fail_name(struct scontrol *s, const struct update *u, const char *name)
{
    if (u->has_uid)
        scontrol_fail(s, "scontrol: error: No jobs with user ID %u and name '%s'", u->uid, name);
    else
        scontrol_fail(s, "scontrol: error: No jobs with name '%s'", name);
}

static void fail_update(struct scontrol *s, const struct update *u, const Pst__JobActionResult *r)
{
    if (r->code == ESLURM_NOT_SUPPORTED && u->job.has_array_task_throttle)
        cli_error("Update of ArrayTaskThrottle is only allowed on ArrayJobId");
    scontrol_fail_result(s, r);
}

static void print_result(struct scontrol *s, const struct update *u, const Pst__JobActionResult *r,
                         const char *name)
{
    if (name && r->code == ESLURM_INVALID_JOB_ID && !r->job_id)
        fail_name(s, u, name);
    else if (r->code)
        fail_update(s, u, r);
    else if (u->job.has_min_nodes || u->job.req_nodes)
        scontrol_write_resized(s, r->job_id);
    if (!r->code)
        submit_print_messages(r->text);
}

/* Has the result before this one told the same of the same id?  A heterogeneous job has a result
 * for each component, all of them under the id that was asked for. */
static bool was_told(Pst__JobActionResult *const *results, size_t i)
{
    const Pst__JobActionResult *a = i ? results[i - 1] : NULL, *b = results[i];

    return a && a->code && a->code == b->code && a->id && b->id && strcmp(a->id, b->id) == 0 &&
           strcmp(a->text ? a->text : "", b->text ? b->text : "") == 0;
}

static void print_results(struct scontrol *s, const struct update *u,
                          const Pst__JobActionReply *reply, const char *name)
{
    for (size_t i = 0, n; i < reply->n_results; i += n) {
        n = arrayanswer_run(reply->results + i, reply->n_results - i);
        if (n > 0 && scontrol_fail_tasks(s, reply->results + i, n, false))
            continue;
        n += n == 0; /* of an array whose tasks all did, or of no array */
        for (size_t k = i; k < i + n; k++)
            if (!was_told(reply->results, k))
                print_result(s, u, reply->results[k], name);
    }
}

static void send_job_update(struct scontrol *s, const struct update *u, char **ids, size_t n_ids,
                            const char *name)
{
    Pst__JobUpdateRequest request = PST__JOB_UPDATE_REQUEST__INIT;
    Pst__JobActionReply *reply = NULL;
    struct err err = { .text = "" };
    int r;

    if (pbsafe_check(&u->job.base, &err) < 0) {
        scontrol_fail(s, "%s for job %s", err.text, n_ids ? ids[0] : name);
        return;
    }
    request.ids = ids;
    request.n_ids = n_ids;
    request.set = (Pst__JobRecord *)&u->job;
    request.clear = (uint32_t *)u->clear;
    request.n_clear = u->n_clear;
    request.name_match = (char *)name;
    request.has_uid_match = name && u->has_uid;
    request.uid_match = u->uid;
    request.has_as_uid = s->has_uid;
    request.as_uid = s->uid;
    request.has_reset_accrue = request.reset_accrue = u->reset_accrue;
    r = client_call(scontrol_client(s, "slurm_update"), OP_JOB_UPDATE, &request.base,
                    (ProtobufCMessage **)&reply);
    if (r >= 0)
        elsewhere_update(&s->cli, &request, reply);
    if (r < 0)
        scontrol_fail(s, "%s for job %s", client_strerror(s->client, r), n_ids ? ids[0] : name);
    else
        print_results(s, u, reply, name);
    if (r >= 0)
        pst__job_action_reply__free_unpacked(reply, NULL);
}

/* ---- TimeLimit=+2 ---------------------------------------------------------------------------- */

struct limit_lookup {
    uint32_t minutes;
    bool found, unlimited;
};

static int on_limit(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct limit_lookup *l = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;

    (void)info;
    l->found = true;
    l->unlimited = j->time_unlimited || !j->has_time_limit_min;
    l->minutes = j->time_limit_min;
    return 0;
}

static bool present_limit(struct scontrol *s, const char *id, struct limit_lookup *l)
{
    Pst__QueryRequest request = query_to_print();
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    struct filter_ids ids = { 0 };
    struct pb_fieldset set = { 0 };
    struct err err = { .text = "" };
    int r;

    if (filter_parse_ids(id, &ids, &err) < 0) {
        scontrol_missing(s, stderr, "%s for job %s", slurm_err_text(ESLURM_INVALID_JOB_ID), id);
        return false;
    }
    filter_ids_numbers(&ids, &filter.job_ids, &filter.n_job_ids);
    filter_ids_done(&ids);
    query_need_names("time_limit_min time_unlimited", &pst__job_record__descriptor, &set);
    check_mem_or_die(query_fields(&set, &request.fields, &request.n_fields));
    request.jobs = &filter;
    r = query_run(scontrol_client(s, "slurm_load_jobs"), OP_QUERY_JOBS, &request.base,
                  &pst__job_record__descriptor, on_limit, l, NULL);
    free(request.fields);
    filter_done(&filter);
    if (r < 0 || !l->found)
        scontrol_fail(s, "%s for job %s",
                      r < 0 ? client_strerror(s->client, r) : slurm_err_text(ESLURM_INVALID_JOB_ID),
                      id);
    return r >= 0 && l->found;
}

/* TimeLimit=+2: a limit of each job's own. */
static void change_limits(struct scontrol *s, struct update *u, char **ids, size_t n_ids)
{
    for (size_t i = 0; i < n_ids; i++) {
        struct limit_lookup l = { 0 };
        int64_t minutes;

        if (!present_limit(s, ids[i], &l))
            continue;
        if (l.unlimited) {
            scontrol_fail(s, "scontrol: error: Cannot increment/decrement TimeLimit when set to "
                             "UNLIMITED.");
            continue;
        }
        minutes = (int64_t)l.minutes + u->limit_change_min;
        if (minutes < 0) {
            scontrol_fail(s,
                          "scontrol: error: TimeLimit decrement larger than current time limit "
                          "(%lld > %u)",
                          (long long)-u->limit_change_min, l.minutes);
            continue;
        }
        if (minutes < 1 || minutes >= UINT32_MAX) {
            scontrol_fail(s, "%s for job %s", slurm_err_text(ESLURM_INVALID_TIME_LIMIT), ids[i]);
            continue;
        }
        u->job.has_time_limit_min = true;
        u->job.time_limit_min = (uint32_t)minutes;
        send_job_update(s, u, &ids[i], 1, NULL);
    }
}

/* ---- entities -------------------------------------------------------------------------------- */

static void print_abort(enum update_kind kind, const char *word, int r)
{
    if (kind == UPDATE_PART && r == -ENOENT)
        (void)fprintf(stderr, "\nscontrol: error: Request aborted\n");
    else
        (void)fprintf(stderr, "Request aborted\n");
    if (kind == UPDATE_NODE && r == -EBADMSG && update_names(word, "State", 2, NULL))
        (void)fprintf(stderr, "Valid states are: NoResp DRAIN FAIL FUTURE RESUME POWER_DOWN "
                              "POWER_UP UNDRAIN\n"
                              "Not all states are valid given a node's prior state\n");
}

/* One word of KEY=VALUE.  False: refused, and told. */
static bool read_value(struct scontrol *s, struct update *u, enum update_kind kind,
                       const char *word)
{
    struct err err = { .text = "" };
    int r = update_set(u, kind, word, now_us(), &err);

    if (r == 0)
        return true;
    if (r == -EAGAIN) { /* the others are taken */
        if (err.text[0])
            (void)fprintf(stderr, "%s\n", err.text);
        return true;
    }
    if (kind == UPDATE_PART && r == -EBADMSG) {
        scontrol_fail(s, "scontrol: error: %s  Request aborted", err.text);
        return false;
    }
    scontrol_fail(s, "%s%s", kind == UPDATE_PART && r == -ENOENT ? "scontrol: error: " : "",
                  err.text);
    if (r == -ENOENT || r == -EBADMSG)
        print_abort(kind, word, r);
    return false;
}

/* Every word but the one that names the entity. */
static bool read_values(struct scontrol *s, struct update *u, enum update_kind kind,
                        const char *entity, int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (argv[i] != entity && !read_value(s, u, kind, argv[i]))
            return false;
    if (!u->any) {
        scontrol_fail(s, "%sNo changes specified", kind == UPDATE_PART ? "scontrol: error: " : "");
        return false;
    }
    return true;
}

/* A step is no job: StepId= names it. */
static bool names_step(const struct filter_ids *ids)
{
    for (size_t i = 0; i < ids->n; i++)
        if (ids->ids[i].has_step)
            return true;
    return false;
}

/* "6+" is the first component. */
static char *with_offsets(const char *list)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    char *text = NULL;

    for (const char *p = list; *p; p++) {
        strbuf_addc(&sb, *p);
        if (*p == '+' && (!p[1] || p[1] == ','))
            strbuf_addc(&sb, '0');
    }
    check_mem_or_die(strbuf_detach(&sb, &text));
    return text;
}

/* The list names jobs, and no steps. */
static bool names_jobs(const char *list)
{
    _cleanup_free_ char *text = with_offsets(list);
    struct filter_ids ids = { 0 };
    bool jobs = filter_parse_ids(text, &ids, NULL) == 0 && !names_step(&ids);

    filter_ids_done(&ids);
    return jobs;
}

/* JobId=LIST or JobName=NAME is the word `entity`. */
static void update_job(struct scontrol *s, int argc, char **argv, const char *entity,
                       const char *id, const char *name)
{
    struct update u;
    char **ids = NULL;
    size_t n_ids = 0;

    update_init(&u);
    if (!read_values(s, &u, UPDATE_JOB, entity, argc, argv)) {
        update_done(&u);
        return;
    }
    if (id && !names_jobs(id)) {
        scontrol_missing(s, stderr, "%s for job %s", slurm_err_text(ESLURM_INVALID_JOB_ID), id);
    } else if (!id || *id) { /* an empty list names no job, and all of none are changed */
        if (id)
            filter_add_ids(&ids, &n_ids, id);
        if (u.refused)
            scontrol_fail(s, "%s for job %s", slurm_err_text(u.refused), id ? id : name);
        else if (u.has_limit_change && !n_ids)
            scontrol_fail(s, "TimeLimit can be changed by an amount for jobs named by JobId only");
        else if (u.has_limit_change)
            change_limits(s, &u, ids, n_ids);
        else
            send_job_update(s, &u, ids, n_ids, id ? NULL : name);
    }
    argwords_free(ids, n_ids);
    update_done(&u);
}

/* What the controller would refuse as well, in words that name the mistake. */
static const char *node_mistake(const struct update *u)
{
    bool ends = u->node_action == PST__NODE_ACTION__NODE_ACT_DOWN ||
                u->node_action == PST__NODE_ACTION__NODE_ACT_DRAIN ||
                u->node_action == PST__NODE_ACTION__NODE_ACT_FAIL;

    if (!update_reason_given(u))
        return "You must specify a reason when DOWNING or DRAINING a node. Request denied";
    if (!ends && u->resume_given)
        return "You can only specify a resume time when DOWNING or DRAINING a node. Request denied";
    return NULL;
}

static void update_nodes(struct scontrol *s, int argc, char **argv, const char *entity,
                         const char *nodes)
{
    Pst__NodeUpdateRequest request = PST__NODE_UPDATE_REQUEST__INIT;
    struct update u;
    int r;

    update_init(&u);
    if (!read_values(s, &u, UPDATE_NODE, entity, argc, argv)) {
        update_done(&u);
        return;
    }
    if (node_mistake(&u)) {
        scontrol_fail(s, "%s", node_mistake(&u));
        update_done(&u);
        return;
    }
    request.nodes = (char *)nodes;
    request.has_action = true;
    request.action = u.node_action;
    request.set = &u.node;
    request.clear = u.clear;
    request.n_clear = u.n_clear;
    r = client_call(scontrol_client(s, "slurm_update"), OP_NODE_UPDATE, &request.base, NULL);
    if (r < 0)
        scontrol_fail(s, "slurm_update error: %s", client_strerror(s->client, r));
    update_done(&u);
}

static int send_partition(struct scontrol *s, struct update *u, const char *name, bool create,
                          bool remove)
{
    Pst__PartUpdateRequest request = PST__PART_UPDATE_REQUEST__INIT;

    request.name = (char *)name;
    request.set = &u->part;
    request.clear = u->clear;
    request.n_clear = u->n_clear;
    request.has_create = request.create = create;
    request.has_remove = request.remove = remove;
    return client_call(scontrol_client(s, "slurm_update"), OP_PART_UPDATE, &request.base, NULL);
}

static void update_partition(struct scontrol *s, int argc, char **argv, const char *entity,
                             const char *name, bool create)
{
    struct update u;
    int r;

    update_init(&u);
    u.any = create;
    if (read_values(s, &u, UPDATE_PART, entity, argc, argv)) {
        r = send_partition(s, &u, name, create, false);
        if (r < 0)
            scontrol_fail(s, create ? "Error creating the partition: %s" : "slurm_update error: %s",
                          client_strerror(s->client, r));
    }
    update_done(&u);
}

/* ---- StepId=12.0, or of all steps of a job --------------------------------------------------- */

struct step_limits {
    const struct ids *id;
    struct {
        uint32_t step_id, minutes;
    } * steps;
    size_t n;
};

static int on_step(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct step_limits *l = ctx;
    const Pst__StepRecord *r = (const Pst__StepRecord *)record;

    (void)info;
    if (r->job_id != l->id->job_id || (l->id->has_step && r->step_id != l->id->step_id) ||
        names_job_state_terminal((unsigned)r->state))
        return 0;
    l->steps = xrealloc_or_die(l->steps, l->n + 1, sizeof(*l->steps));
    l->steps[l->n].step_id = r->step_id;
    l->steps[l->n++].minutes = r->has_time_limit_min ? r->time_limit_min : 0;
    return 0;
}

static int find_steps(struct scontrol *s, struct step_limits *l)
{
    Pst__QueryRequest request = query_to_print();
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    int r;

    filter_add_number(&filter.job_ids, &filter.n_job_ids, l->id->job_id);
    request.jobs = &filter;
    r = query_run(scontrol_client(s, "slurm_update"), OP_QUERY_STEPS, &request.base,
                  &pst__step_record__descriptor, on_step, l, NULL);
    filter_done(&filter);
    return r;
}

/* One step's change.  A step has no limit of its own: an amount counts from nothing. */
static void send_step(struct scontrol *s, struct update *u, const struct ids *id, uint32_t step_id,
                      uint32_t minutes)
{
    Pst__JobUpdateRequest request = PST__JOB_UPDATE_REQUEST__INIT;
    Pst__JobActionReply *reply = NULL;
    char name[16];
    _cleanup_free_ char *text =
        xasprintf_or_die("%u.%s", id->job_id, step_name(step_id, name, sizeof(name)));
    int r;

    if (u->has_limit_change) {
        u->job.has_time_limit_min = true;
        u->job.time_limit_min = (uint32_t)MAX((int64_t)minutes + u->limit_change_min, INT64_C(1));
    }
    request.ids = &text;
    request.n_ids = 1;
    request.set = &u->job;
    request.has_as_uid = s->has_uid;
    request.as_uid = s->uid;
    r = client_call(scontrol_client(s, "slurm_update"), OP_JOB_UPDATE, &request.base,
                    (ProtobufCMessage **)&reply);
    if (r < 0) {
        scontrol_fail(s, "slurm_update error: %s", client_strerror(s->client, r));
        return;
    }
    for (size_t i = 0; i < reply->n_results; i++)
        if (reply->results[i]->code)
            scontrol_fail(s, "slurm_update error: %s", slurm_err_text(reply->results[i]->code));
    pst__job_action_reply__free_unpacked(reply, NULL);
}

/* A step has a time limit, and nothing else that changes. */
static bool only_limits(struct scontrol *s, int argc, char **argv, const char *step)
{
    const char *value;

    for (int i = 0; i < argc; i++)
        if (argv[i] != step && !update_names(argv[i], "TimeLimit", 5, &value)) {
            scontrol_fail(s, "Update of this parameter is not supported: %s\nRequest aborted",
                          argv[i]);
            return false;
        }
    return true;
}

static void change_steps(struct scontrol *s, struct update *u, const struct ids *id)
{
    struct step_limits l = { .id = id };
    int r = find_steps(s, &l);

    if (r < 0 && r != -EREMOTEIO)
        scontrol_fail(s, "slurm_update error: %s", client_strerror(s->client, r));
    else if (!l.n && (r < 0 || (id->has_step && u->has_limit_change)))
        scontrol_fail(s, "slurm_update error: %s", slurm_err_text(ESLURM_INVALID_JOB_ID));
    else if (!l.n && id->has_step) /* the controller says whether it is his to change */
        send_step(s, u, id, id->step_id, 0);
    for (size_t i = 0; i < l.n; i++)
        send_step(s, u, id, l.steps[i].step_id, l.steps[i].minutes);
    free(l.steps);
}

static void update_steps(struct scontrol *s, int argc, char **argv, const char *word,
                         const char *name)
{
    struct ids id = { 0 };
    bool known = ids_parse(name, &id, NULL) == 0;
    struct update u;

    update_init(&u);
    if (!known || only_limits(s, argc, argv, word)) {
        if (!known || (id.has_step && id.step_id >= STEP_ID_MAX_NORMAL))
            scontrol_fail(s, "slurm_update error: %s", slurm_err_text(ESLURM_INVALID_JOB_ID));
        else if (read_values(s, &u, UPDATE_JOB, word, argc, argv))
            change_steps(s, &u, &id);
    }
    ids_done(&id);
    update_done(&u);
}

/* ---- which entity ------------------------------------------------------------------------- */

/* In the order in which they are looked for: a job may name its reservation and partition, a
 * reservation its partition. */
enum entity { NO_ENTITY, JOB, JOB_NAMED, RESERVATION, NODE, PARTITION, STEP, ENTITIES };

static const struct {
    const char *key;
    size_t shortest;
} entities[ENTITIES] = {
    [JOB] = { "JobId", 3 },
    [JOB_NAMED] = { "JobName", 4 },
    [NODE] = { "NodeName", 4 },
    [PARTITION] = { "PartitionName", 4 },
    [RESERVATION] = { "ReservationName", 3 },
    [STEP] = { "StepId", 4 },
};

/* Which entity the words name: *ret_word is the one that does, *ret_value what follows its sign. */
static enum entity find_entity(int argc, char **argv, const char **ret_word, const char **ret_value)
{
    for (int e = JOB; e < ENTITIES; e++)
        for (int i = 0; i < argc; i++)
            if (update_names(argv[i], entities[e].key, entities[e].shortest, ret_value)) {
                *ret_word = argv[i];
                return (enum entity)e;
            }
    return NO_ENTITY;
}

/* An entity that is named twice is the one named last: the earlier words go.  How many are left. */
static int keep_last_name(int argc, char **argv)
{
    const char *word, *value;
    enum entity e = find_entity(argc, argv, &word, &value);
    int kept = 0, last = argc - 1;

    if (e == NO_ENTITY)
        return argc;
    while (!update_names(argv[last], entities[e].key, entities[e].shortest, &value))
        last--;
    for (int i = 0; i < argc; i++)
        if (i == last || !update_names(argv[i], entities[e].key, entities[e].shortest, &value))
            argv[kept++] = argv[i];
    return kept;
}

/* The entity that a word without "=" begins. */
static enum entity begun_entity(const char *word)
{
    for (int e = JOB; e < ENTITIES; e++)
        if (strlen(word) >= entities[e].shortest && strlen(word) <= strlen(entities[e].key) &&
            strncasecmp(word, entities[e].key, strlen(word)) == 0)
            return (enum entity)e;
    return NO_ENTITY;
}

/* Of a job and a reservation, `update job 7 ...` names the entity in two words: the one word for
 * it, or NULL.  The caller frees. */
static char *entity_of_words(int argc, char **argv)
{
    enum entity e = argc >= 2 && !strchr(argv[1], '=') ? begun_entity(argv[0]) : NO_ENTITY;

    return e == JOB || e == RESERVATION ? xasprintf_or_die("%s=%s", entities[e].key, argv[1])
                                        : NULL;
}

static void fail_entity(struct scontrol *s, const char *word)
{
    enum entity e = begun_entity(word);

    if (e == JOB) {
        scontrol_fail(s, "Invalid input: %s\nRequest aborted", word);
        return;
    }
    if (e == NODE || e == PARTITION) {
        scontrol_fail(s, "scontrol: error: Invalid input: %s  Request aborted", word);
        return;
    }
    if (e == RESERVATION) {
        scontrol_fail(s, "scontrol: error: Reservation must be given.  No reservation update.");
        return;
    }
    scontrol_fail(s, "No valid entity in update command\n"
                     "Input line must include \"NodeName\", \"PartitionName\", \"Reservation\", "
                     "\"JobId\", or \"SlurmctldDebug\"");
}

/* `update node=n1 ...`: the last such word with the whole key, or NULL.  The caller frees. */
static char *lengthen_node(int argc, char **argv)
{
    const char *names = NULL;

    for (int i = argc - 1; i >= 0; i--)
        if (update_word_is(argv[i], "Node", &names))
            return argv[i] = xasprintf_or_die("NodeName=%s", names);
    return NULL;
}

/* ---- SuspendExcNodes+=LIST ------------------------------------------------------------------- */

static const char *const excepted_keys[] = { "SuspendExcNodes", "SuspendExcParts",
                                             "SuspendExcStates" };

/* Which list the word changes, -1: none.  *ret_value: what follows its sign. */
static int excepted_list(const char *word, Pst__ListEdit *ret_change, const char **ret_value)
{
    for (size_t i = 0; i < ARRAY_SIZE(excepted_keys); i++) {
        size_t len = strlen(excepted_keys[i]);
        char sign;

        if (strncasecmp(word, excepted_keys[i], len) != 0)
            continue;
        sign = word[len];
        *ret_change = sign == '+'   ? PST__LIST_EDIT__LIST_ADD
                      : sign == '-' ? PST__LIST_EDIT__LIST_REMOVE
                                    : PST__LIST_EDIT__LIST_SET;
        len += sign == '+' || sign == '-';
        if (word[len] != '=')
            continue;
        *ret_value = word + len + 1;
        return (int)i;
    }
    return -1;
}

static void update_excepted(struct scontrol *s, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        Pst__PowerExceptRequest request = PST__POWER_EXCEPT_REQUEST__INIT;
        char **lists[] = { &request.nodes, &request.parts, &request.states };
        Pst__ListEdit change = PST__LIST_EDIT__LIST_SET;
        const char *value = NULL;
        int list = excepted_list(argv[i], &change, &value), r;

        if (list < 0) {
            scontrol_fail(s, "Invalid input: %s\nRequest aborted", argv[i]);
            return;
        }
        *lists[list] = (char *)value; /* not changed by packing */
        request.has_change = true;
        request.change = change;
        r = client_call(scontrol_client(s, "slurm_update"), OP_POWER_EXCEPT, &request.base, NULL);
        if (r < 0) {
            scontrol_fail(s, "slurm_update error: %s", client_strerror(s->client, r));
            return;
        }
    }
}

static bool names_excepted(int argc, char **argv)
{
    Pst__ListEdit change;
    const char *value;

    return argc > 0 && excepted_list(argv[0], &change, &value) >= 0;
}

void scontrol_update(struct scontrol *s, int argc, char **argv)
{
    _cleanup_free_ char *entity = entity_of_words(argc, argv);
    const char *word = NULL, *value = NULL;

    if (entity) {
        argc--;
        *++argv = entity;
    } else {
        entity = lengthen_node(argc, argv);
    }
    if (names_excepted(argc, argv)) {
        update_excepted(s, argc, argv);
        return;
    }
    if (argc < 1) {
        scontrol_fail(s, "too few arguments for update keyword");
        return;
    }
    argc = keep_last_name(argc, argv);
    switch (find_entity(argc, argv, &word, &value)) {
    case JOB:
        update_job(s, argc, argv, word, value, NULL);
        break;
    case JOB_NAMED:
        update_job(s, argc, argv, word, NULL, value);
        break;
    case NODE:
        update_nodes(s, argc, argv, word, value);
        break;
    case PARTITION:
        update_partition(s, argc, argv, word, value, false);
        break;
    case RESERVATION:
        scontrol_update_resv(s, argc, argv);
        break;
    case STEP:
        update_steps(s, argc, argv, word, value);
        break;
    default:
        fail_entity(s, argv[0]);
    }
}

/* What the controller says beside the words of its code. */
static void print_detail(struct scontrol *s, const char *more)
{
    if (*more)
        cli_error("%s", more);
    s->status = CLI_EXIT_FAILED;
}

/* Send a request about the table of nodes.  Gives 0 or an error's code; *ret_more is what the
 * controller says beside the words of the code, or "". */
static int send_node_table(struct scontrol *s, unsigned op, const ProtobufCMessage *msg,
                           const char **ret_words, const char **ret_more)
{
    const char *text = NULL;
    int r = client_call(scontrol_client(s, "slurm_update"), op, msg, NULL), code = 0;

    *ret_more = "";
    if (r < 0)
        code = client_error(s->client, &text);
    *ret_words = code ? slurm_err_text(code) : client_strerror(s->client, r);
    if (code && text && strcmp(text, *ret_words) != 0)
        *ret_more = text;
    return r;
}

/* The words of the command as a NodeName line: values with blanks are quoted again. */
static char *node_line(int argc, char **argv)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    for (int i = 0; i < argc; i++) {
        size_t key = strcspn(argv[i], "=");

        strbuf_addf(&sb, "%s", i ? " " : "");
        if (argv[i][key] && strpbrk(argv[i] + key, " \t#"))
            strbuf_addf(&sb, "%.*s=\"%s\"", (int)key, argv[i], argv[i] + key + 1);
        else
            strbuf_add(&sb, argv[i]);
    }
    return xstrdup_or_die(strbuf_str(&sb));
}

static void create_nodes(struct scontrol *s, int argc, char **argv)
{
    Pst__NodeCreateRequest request = PST__NODE_CREATE_REQUEST__INIT;
    _cleanup_free_ char *line = node_line(argc, argv);
    const char *words, *more;

    request.line = line;
    if (send_node_table(s, OP_NODE_CREATE, &request.base, &words, &more) >= 0)
        return;
    print_detail(s, more);
    scontrol_fail(s, "Error creating node(s): %s", words);
}

void scontrol_create(struct scontrol *s, int argc, char **argv)
{
    const char *word = NULL, *value = NULL;
    enum entity e;

    if (argc < 1) {
        scontrol_fail(s, "too few arguments for create keyword");
        return;
    }
    e = strchr(argv[0], '=') ? NO_ENTITY : begun_entity(argv[0]);
    if (e != RESERVATION) { /* which names its partition too */
        argc = keep_last_name(argc, argv);
        e = find_entity(argc, argv, &word, &value);
    }
    if (e == NO_ENTITY || e == JOB || e == JOB_NAMED || e == STEP)
        e = begun_entity(argv[0]);
    if (e == PARTITION && word)
        update_partition(s, argc, argv, word, value, true);
    else if (e == PARTITION)
        scontrol_fail(s, "scontrol: error: Invalid input: %s  Request aborted", argv[0]);
    else if (e == NODE)
        create_nodes(s, argc, argv);
    else if (e == RESERVATION)
        scontrol_create_resv(s, argc, argv);
    else
        scontrol_fail(s, "scontrol: error: Invalid creation entity: %s", argv[0]);
}

static void delete_partition(struct scontrol *s, const char *word, const char *name)
{
    struct update u;
    int r;

    update_init(&u);
    r = send_partition(s, &u, name, false, true);
    if (r < 0)
        scontrol_fail(s, "delete_partition %s: %s", word, client_strerror(s->client, r));
    update_done(&u);
}

static void delete_nodes(struct scontrol *s, const char *word, const char *names)
{
    Pst__NodeDeleteRequest request = PST__NODE_DELETE_REQUEST__INIT;
    const char *words, *more;

    request.nodes = (char *)(uintptr_t)names; /* only read */
    if (send_node_table(s, OP_NODE_DELETE, &request.base, &words, &more) >= 0)
        return;
    print_detail(s, more);
    scontrol_fail(s, "delete_node %s: %s", word, words);
}

/* `delete ENTITY=ID`; `delete ENTITY ID` names nothing. */
void scontrol_delete(struct scontrol *s, int argc, char **argv)
{
    const char *word = NULL, *value = NULL;
    enum entity e;

    if (argc < 1) {
        scontrol_fail(s, "too few arguments for delete keyword");
        return;
    }
    e = find_entity(argc, argv, &word, &value);
    if (!word && argc < 2 && !strchr(argv[0], '=')) {
        cli_error("Proper format is 'delete <ENTITY>=<ID>' or 'delete <ENTITY> <ID>'");
        s->status = CLI_EXIT_FAILED;
        return;
    }
    if (!word)
        e = begun_entity(argv[0]);
    if (e == PARTITION)
        delete_partition(s, argv[0], word ? value : "");
    else if (e == RESERVATION)
        scontrol_delete_resv(s, argc, argv, word ? value : "");
    else if (e == NODE)
        delete_nodes(s, argv[0], word ? value : "");
    else
        scontrol_fail(s, "Invalid deletion entity: %s", argv[0]);
}

void scontrol_update_names(FILE *f)
{
    static const struct {
        enum update_kind kind;
        const char *name;
    } kinds[] = {
        { UPDATE_JOB, "job-key" },
        { UPDATE_NODE, "node-key" },
        { UPDATE_PART, "partition-key" },
    };

    for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
        const char *key;
        bool supported;

        for (size_t i = 0; (key = update_key(kinds[k].kind, i, &supported)); i++)
            (void)fprintf(f, "%s\t%s\t%s\n", kinds[k].name, key, supported ? "shown" : "refused");
    }
    scontrol_resv_names(f);
}
