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
#include "base/safetext.h"
#include "base/timefmt.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_query.h"
#include "cli/query/out_update.h"
#include "cli/job/submit.h"
#include "model/words/names.h"
#include "wire/errors.h"
#include "wire/ops.h"

static void print_results(struct scontrol *s, const Pst__JobActionReply *reply, bool resized)
{
    for (size_t i = 0; i < reply->n_results; i++) {
        const Pst__JobActionResult *r = reply->results[i];

        const char *text = r->text ? r->text : slurm_err_text(r->code);

        if (r->code && r->id)
            scontrol_fail(s, "%s for job %s", text, r->id);
        else if (r->code)
            scontrol_fail(s, "%s for job %u", text, r->job_id);
        else if (resized)
            scontrol_write_resized(s, r->job_id);
        if (!r->code)
            submit_print_messages(r->text);
    }
}

static void send_job_update(struct scontrol *s, const struct update *u, char **ids, size_t n_ids,
                            const char *name)
{
    Pst__JobUpdateRequest request = PST__JOB_UPDATE_REQUEST__INIT;
    Pst__JobActionReply *reply = NULL;
    struct err err = { .text = "" };
    int r;

    if (safetext_check(&u->job.base, &err) < 0) {
        scontrol_fail(s, "%s for job %s", err.text, n_ids ? ids[0] : name);
        return;
    }
    request.ids = ids;
    request.n_ids = n_ids;
    request.set = (Pst__JobRecord *)&u->job;
    request.clear = (uint32_t *)u->clear;
    request.n_clear = u->n_clear;
    request.name_match = (char *)name;
    r = client_call(scontrol_client(s, "slurm_update"), OP_JOB_UPDATE, &request.base,
                    (ProtobufCMessage **)&reply);
    if (r < 0)
        scontrol_fail(s, "%s for job %s", client_strerror(s->client, r), n_ids ? ids[0] : name);
    else
        print_results(s, reply, u->job.has_min_nodes || u->job.req_nodes);
    if (r >= 0)
        pst__job_action_reply__free_unpacked(reply, NULL);
}

/* ---- TimeLimit=+2 ---------------------------------------------------------------------------- */

struct limit_lookup {
    uint32_t minutes;
    int64_t start_us; /* of a job that runs; else 0 */
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
    l->start_us = j->state == PST__JOB_STATE__JOB_PENDING ? 0 : j->start_us;
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
        scontrol_fail(s, "%s for job %s", slurm_err_text(ESLURM_INVALID_JOB_ID), id);
        return false;
    }
    filter_ids_numbers(&ids, &filter.job_ids, &filter.n_job_ids);
    filter_ids_done(&ids);
    query_need_names("time_limit_min time_unlimited state start_us", &pst__job_record__descriptor,
                     &set);
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

/* The limit with which a running job ends then, in whole minutes. */
static int64_t minutes_until(const struct limit_lookup *l, int64_t end_us)
{
    const int64_t minute_us = 60 * USEC_PER_SEC;

    return l->start_us ? (end_us - l->start_us + minute_us - 1) / minute_us : 0;
}

/* TimeLimit=+2 and EndTime=: a limit of each job's own. */
static void change_limits(struct scontrol *s, struct update *u, char **ids, size_t n_ids)
{
    int64_t end_us = u->job.end_us;

    u->job.has_end_us = false;
    for (size_t i = 0; i < n_ids; i++) {
        struct limit_lookup l = { 0 };
        int64_t minutes;

        if (!present_limit(s, ids[i], &l))
            continue;
        if (u->has_limit_change && l.unlimited) {
            scontrol_fail(s, "scontrol: error: Cannot increment/decrement TimeLimit when set to "
                             "UNLIMITED.");
            continue;
        }
        minutes = u->has_limit_change ? (int64_t)l.minutes + u->limit_change_min
                                      : minutes_until(&l, end_us);
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

static const char *word_value(int argc, char **argv, const char *key)
{
    const char *value = NULL;

    for (int i = 0; i < argc; i++)
        if (update_word_is(argv[i], key, &value))
            return value;
    return NULL;
}

static void fail_partition(struct scontrol *s, const struct err *err, const char *word)
{
    scontrol_fail(s, "scontrol: error: %s", err->text);
    if (update_word_is(word, "State", NULL))
        (void)fprintf(
            stderr, "scontrol: error: Acceptable State values are UP, DOWN, DRAIN and INACTIVE\n");
    else
        (void)fprintf(stderr, "scontrol: error: Request aborted\n");
}

/* Every word but the one that names the entity. */
static bool read_values(struct scontrol *s, struct update *u, enum update_kind kind,
                        const char *entity, int argc, char **argv)
{
    int64_t now = now_us();

    for (int i = 0; i < argc; i++) {
        struct err err = { .text = "" };
        int r;

        if (update_word_is(argv[i], entity, NULL))
            continue;
        r = update_set(u, kind, argv[i], now, &err);
        if (r == 0)
            continue;
        if (kind == UPDATE_PART) {
            fail_partition(s, &err, argv[i]);
            return false;
        }
        scontrol_fail(s, "%s", err.text);
        if (r == -EDOM) /* the sentence is complete */
            return false;
        (void)fprintf(stderr, "Request aborted\n");
        if (kind == UPDATE_NODE && update_word_is(argv[i], "State", NULL))
            (void)fprintf(stderr, "Valid states are: NoResp DRAIN FAIL FUTURE RESUME POWER_DOWN "
                                  "POWER_UP UNDRAIN\n"
                                  "Not all states are valid given a node's prior state\n");
        return false;
    }
    return true;
}

static void update_job(struct scontrol *s, int argc, char **argv, const char *id, const char *name)
{
    struct update u;
    char **ids = NULL;
    size_t n_ids = 0;

    update_init(&u);
    if (id) {
        struct filter_ids parsed = { 0 };
        struct err err = { .text = "" };

        if (filter_parse_ids(id, &parsed, &err) < 0)
            scontrol_fail(s, "%s for job %s", slurm_err_text(ESLURM_INVALID_JOB_ID), id);
        filter_ids_done(&parsed);
        if (err.text[0])
            return;
        filter_add_ids(&ids, &n_ids, id);
    }
    if (read_values(s, &u, UPDATE_JOB, id ? "JobId" : "JobName", argc, argv)) {
        bool own = u.has_limit_change || u.job.has_end_us;

        if (own && !n_ids)
            scontrol_fail(s, "TimeLimit can be changed by an amount for jobs named by JobId only");
        else if (own)
            change_limits(s, &u, ids, n_ids);
        else
            send_job_update(s, &u, ids, n_ids, id ? NULL : name);
    }
    argwords_free(ids, n_ids);
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

static void update_steps(struct scontrol *s, int argc, char **argv, const char *name)
{
    struct ids id = { 0 };
    struct step_limits l = { .id = &id };
    struct update u;
    int r;

    update_init(&u);
    if (ids_parse(name, &id, NULL) < 0) {
        scontrol_fail(s, "slurm_update error: %s", slurm_err_text(ESLURM_INVALID_JOB_ID));
    } else if (read_values(s, &u, UPDATE_JOB, "StepId", argc, argv)) {
        r = find_steps(s, &l);
        if (r < 0 && r != -EREMOTEIO)
            scontrol_fail(s, "slurm_update error: %s", client_strerror(s->client, r));
        else if (!l.n)
            scontrol_fail(s, "slurm_update error: %s", slurm_err_text(ESLURM_INVALID_JOB_ID));
        for (size_t i = 0; i < l.n; i++)
            send_step(s, &u, &id, l.steps[i].step_id, l.steps[i].minutes);
    }
    free(l.steps);
    ids_done(&id);
    update_done(&u);
}

static void update_nodes(struct scontrol *s, int argc, char **argv, const char *nodes)
{
    Pst__NodeUpdateRequest request = PST__NODE_UPDATE_REQUEST__INIT;
    struct update u;
    int r;

    update_init(&u);
    if (!read_values(s, &u, UPDATE_NODE, "NodeName", argc, argv)) {
        update_done(&u);
        return;
    }
    if (!update_reason_given(&u)) {
        scontrol_fail(
            s, u.node_action == PST__NODE_ACTION__NODE_ACT_FAIL
                   ? "You must specify a reason when FAILING a node. Request denied"
                   : "You must specify a reason when DOWNING or DRAINING a node. Request denied");
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

static void update_partition(struct scontrol *s, int argc, char **argv, const char *name,
                             bool create)
{
    struct update u;
    int r;

    update_init(&u);
    if (read_values(s, &u, UPDATE_PART, "PartitionName", argc, argv)) {
        r = send_partition(s, &u, name, create, false);
        if (r < 0)
            scontrol_fail(s, create ? "Error creating the partition: %s" : "slurm_update error: %s",
                          client_strerror(s->client, r));
    }
    update_done(&u);
}

/* `update job 7 ...` names its entity in two words: the one word for it, or NULL.  The caller
 * frees. */
static char *entity_of_words(int argc, char **argv)
{
    static const struct {
        const char *word, *key;
    } entities[] = { { "job", "JobId" },
                     { "jobid", "JobId" },
                     { "node", "NodeName" },
                     { "nodename", "NodeName" },
                     { "part", "PartitionName" },
                     { "partition", "PartitionName" },
                     { "partitionname", "PartitionName" },
                     { "res", "ReservationName" },
                     { "reservation", "ReservationName" },
                     { "reservationname", "ReservationName" } };

    for (size_t i = 0; argc >= 2 && i < ARRAY_SIZE(entities); i++)
        if (strcasecmp(argv[0], entities[i].word) == 0 && !strchr(argv[1], '='))
            return xasprintf_or_die("%s=%s", entities[i].key, argv[1]);
    return NULL;
}

/* `update node=n1 ...`: the word with the whole key, or NULL.  The caller frees. */
static char *lengthen_node(int argc, char **argv)
{
    const char *names = NULL;

    for (int i = 0; i < argc; i++)
        if (update_word_is(argv[i], "Node", &names))
            return argv[i] = xasprintf_or_die("NodeName=%s", names);
    return NULL;
}

void scontrol_update(struct scontrol *s, int argc, char **argv)
{
    _cleanup_free_ char *entity = entity_of_words(argc, argv);
    const char *id, *name;

    if (entity) {
        argc--;
        *++argv = entity;
    } else {
        entity = lengthen_node(argc, argv);
    }
    id = word_value(argc, argv, "JobId");
    if (argc < 1) {
        scontrol_fail(s, "too few arguments for update keyword");
        return;
    }
    if (id || (name = word_value(argc, argv, "JobName"))) {
        update_job(s, argc, argv, id, id ? NULL : name);
        return;
    }
    name = word_value(argc, argv, "NodeName");
    if (name) {
        update_nodes(s, argc, argv, name);
        return;
    }
    name = word_value(argc, argv, "PartitionName");
    if (name) {
        update_partition(s, argc, argv, name, false);
        return;
    }
    if (word_value(argc, argv, "ReservationName") || word_value(argc, argv, "Reservation")) {
        scontrol_update_resv(s, argc, argv);
        return;
    }
    name = word_value(argc, argv, "StepId");
    if (name) {
        update_steps(s, argc, argv, name);
        return;
    }
    scontrol_fail(s, "No valid entity in update command");
    (void)fprintf(stderr,
                  "Input line must include \"NodeName\", \"PartitionName\", \"Reservation\", "
                  "\"JobId\", or \"SlurmctldDebug\"\n");
}

void scontrol_create(struct scontrol *s, int argc, char **argv)
{
    const char *name = word_value(argc, argv, "PartitionName");

    if (argc < 1)
        scontrol_fail(s, "too few arguments for create keyword");
    else if (name)
        update_partition(s, argc, argv, name, true);
    else if (word_value(argc, argv, "NodeName"))
        scontrol_fail(s, "Error creating node(s): %s", slurm_err_text(ESLURM_DISABLED));
    else
        scontrol_create_resv(s, argc, argv);
}

void scontrol_delete(struct scontrol *s, int argc, char **argv)
{
    const char *name = word_value(argc, argv, "PartitionName");
    struct update u;
    int r;

    if (argc < 1) {
        scontrol_fail(s, "too few arguments for keyword:delete");
        return;
    }
    if (!name &&
        (word_value(argc, argv, "ReservationName") || word_value(argc, argv, "Reservation"))) {
        name = word_value(argc, argv, "ReservationName");
        scontrol_delete_resv(s, argc, argv, name ? name : word_value(argc, argv, "Reservation"));
        return;
    }
    if (!name && argc == 1 && !strchr(argv[0], '=')) {
        scontrol_fail(s, "scontrol: error: Proper format is 'delete <ENTITY>=<ID>' or "
                         "'delete <ENTITY> <ID>'");
        return;
    }
    if (!name) {
        scontrol_fail(s, "delete_%s: %s", argv[0], slurm_err_text(ESLURM_DISABLED));
        return;
    }
    update_init(&u);
    r = send_partition(s, &u, name, false, true);
    if (r < 0)
        scontrol_fail(s, "delete_partition %s: %s", argv[0], client_strerror(s->client, r));
    update_done(&u);
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
