/* scontrol_show.c - scontrol show ENTITY [NAME]
 *
 * Jobs and steps are printed as they arrive; nodes and partitions are few and read whole, since
 * each names the other.  Entities are a table. */
#include "cli/scontrol/scontrol.h"
#include "cli/scontrol/show_topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "cli/base/argwords.h"
#include "cli/base/ids.h"
#include "cli/format/json_alloc.h"
#include "conf/json/json_conf.h"
#include "cli/format/json_job.h"
#include "cli/query/fedprint.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_query.h"
#include "cli/query/out_sluid.h"
#include "cli/query/out_stepjobs.h"
#include "cli/query/out_tres.h"
#include "cli/scontrol/blockorder.h"
#include "model/words/names.h"
#include "version.h"
#include "wire/errors.h"
#include "wire/ops.h"

struct showing {
    struct scontrol *s;
    struct strbuf out;
    struct json js;
    struct filter_ids ids;
    const char *cluster, *name;
    struct clusters fed;        /* that are shown as one; none: the cluster of s->cli */
    int64_t now_us, planned_us; /* of the last cluster */
    struct step_jobs jobs;      /* with steps */
    struct step_use *use;       /* of jobs in JSON: what their steps use */
    struct block_order order;   /* of the records of one array, while it is asked for */
    bool by_order;
    const struct hostlist *names; /* of nodes; NULL: all */
    bool *found;                  /* ... and which of them a cluster has */
    uint64_t shown;
    bool known;    /* a job of that number is there, if not that task */
    char **hidden; /* partitions whose jobs are shown by number alone */
    size_t n_hidden;
};

static void begin_json(struct showing *w, const char *list)
{
    json_begin_option(&w->js, &w->out, &w->s->json);
    json_list(&w->js, list);
}

/* The time of the plan is a part of lists of jobs. */
static void end_json(struct showing *w, bool jobs, int64_t updated_us)
{
    const struct conf *conf = cli_conf(&w->s->cli);

    json_list_end(&w->js);
    if (jobs)
        json_time(&w->js, "last_backfill", updated_us ? w->planned_us : 0);
    json_time(&w->js, "last_update", updated_us);
    if (!w->js.warning)
        w->js.warning = cli_standby_note(&w->s->cli);
    json_meta(&w->js, w->s->argc, w->s->argv, conf_str(conf, CONF_CLUSTER_NAME),
              conf_str(conf, CONF_ACCOUNTING_STORAGE_TYPE));
    json_end(&w->js);
}

static void walk_done(struct showing *w)
{
    cli_write_out(&w->out, true);
    strbuf_done(&w->out);
    filter_ids_done(&w->ids);
}

static void failed_query(struct showing *w, const char *what, int r)
{
    cli_write_out(&w->out, true);
    scontrol_fail(w->s, "%s error: %s", what, client_strerror(w->s->client, r));
}

/* ---- the clusters of --federation --------------------------------------------------------- */

/* -M and `cluster` name one; it alone is shown. */
static void find_federation(struct showing *w)
{
    if (!w->s->clusters && !w->s->cli.cluster)
        (void)fedview_find(&w->s->cli, &w->s->view, &w->fed);
}

/* Ask the cluster, or each of the federation; one that cannot be asked is told.  what: for the
 * sentence of a failure.  As query_run() of the cluster. */
static int ask_each(struct showing *w, int (*ask)(struct showing *w), const char *what)
{
    struct scontrol *s = w->s;
    int r = 0;

    if (!w->fed.n)
        return ask(w);
    for (size_t i = 0; i < w->fed.n; i++) {
        s->client = client_free(s->client);
        w->cluster = w->fed.list[i].name;
        if (!fedview_connect(&s->cli, &w->fed, i, &s->client))
            continue;
        r = ask(w);
        if (r < 0)
            cli_error("cluster %s: %s: %s", w->cluster, what, client_strerror(s->client, r));
    }
    s->client = client_free(s->client);
    clusters_done(&s->cli, &w->fed);
    return 0;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

#define ORDER_BYTES (64u << 20) /* of records that are brought into order */

static void put_job(struct showing *w, const struct job_row *r)
{
    w->shown++;
    if (w->s->json.wanted)
        json_job(&w->js, r);
    else
        show_job(&w->out, r, &w->s->show);
    w->by_order = w->by_order && r->job->array_job_id && w->out.len < ORDER_BYTES;
    if (w->by_order)
        check_mem_or_die(block_order_add(&w->order, r->job->job_id, w->out.len));
    if (!w->by_order)
        cli_write_out(&w->out, false);
}

/* In hidden partitions alone, of those that it may run in. */
static bool is_hidden(const struct showing *w, const char *list)
{
    size_t n = 0, all = 1;

    if (!w->n_hidden || !list)
        return false;
    for (const char *p = list; *p; p++)
        all += *p == ',';
    for (size_t i = 0; i < w->n_hidden; i++)
        n += wordlist_has(list, w->hidden[i]);
    return n == all;
}

struct task_walk {
    struct showing *w;
    struct job_row row;
};

static int on_task(void *ctx, uint32_t task)
{
    struct task_walk *t = ctx;

    if (!filter_ids_match(&t->w->ids, t->row.job->job_id, job_group_id(t->row.job), true, task))
        return 0;
    t->row.has_task = true;
    t->row.task = task;
    put_job(t->w, &t->row);
    return 0;
}

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct showing *w = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;
    struct task_walk t = {
        .w = w,
        .row = { .job = j,
                 .now_us = info->now_us,
                 .cluster = w->cluster,
                 .use = w->use,
                 .select_type = conf_str(cli_conf(&w->s->cli), CONF_SELECT_TYPE_PARAMETERS),
                 .bitstr_len = getenv("SLURM_BITSTR_LEN") ? job_bitstr_len() : 0 },
    };

    if (w->fed.n && !w->s->view.sibling && job_is_copy(&t.row))
        return 0; /* the record that tells of the job is another cluster's */
    if (is_hidden(w, j->partition))
        return 0;
    w->known = true;
    if (j->array_tasks && w->ids.n && !filter_ids_match_whole(&w->ids, j->job_id, job_group_id(j)))
        return filter_each_task(j->array_tasks, on_task, &t);
    if (filter_ids_match(&w->ids, j->job_id, job_group_id(j), j->has_array_task_id,
                         j->array_task_id))
        put_job(w, &t.row);
    return 0;
}

static bool take_ids(struct showing *w, const char *name, const char *load, const char *what)
{
    struct err err = { .text = "" };

    if (!name)
        return true;
    if (filter_parse_ids(name, &w->ids, &err) == 0) {
        if (!w->fed.n) /* the query that follows tells what fails */
            (void)sluids_find(scontrol_client(w->s, load), &w->ids);
        return true;
    }
    scontrol_missing(w->s, stderr, "%s error: %s",
                     name[0] == 's' && strlen(name) == SLUID_TEXT_SIZE - 1 ? load : what,
                     slurm_err_text(ESLURM_INVALID_JOB_ID));
    return false;
}

/* One job, task, or component by its number or SLUID: not a list, a set or a step. */
static bool take_one_job(struct showing *w, const char *name)
{
    bool open = name && *name && name[strlen(name) - 1] == '+'; /* "6+" is the first component */
    _cleanup_free_ char *first = open ? xasprintf_or_die("%s0", name) : NULL;

    if (!take_ids(w, first ? first : name, "slurm_load_jobs", "scontrol_print_job"))
        return false;
    if (name && (w->ids.n != 1 || strpbrk(name, "[.*,") || w->ids.ids[0].has_step)) {
        scontrol_missing(w->s, stderr, "scontrol_print_job error: %s",
                         slurm_err_text(ESLURM_INVALID_JOB_ID));
        filter_ids_done(&w->ids);
        return false;
    }
    return true;
}

static int ask_jobs(struct showing *w)
{
    Pst__QueryRequest request = query_to_print();
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    struct query_info info = { 0 };
    struct client *c = scontrol_client(w->s, "slurm_load_jobs");
    int r;

    if (w->fed.n) /* another cluster has other numbers behind the same SLUIDs */
        (void)sluids_find(c, &w->ids);
    filter_ids_numbers(&w->ids, &filter.job_ids, &filter.n_job_ids);
    if (w->ids.n && w->ids.ids[0].has_het) /* is the job there, if not that component? */
        filter_add_number(&filter.job_ids, &filter.n_job_ids, w->ids.ids[0].job_id);
    request.jobs = &filter;
    r = w->s->json.wanted ? step_use_load(c, &filter, &w->use) : 0;
    if (r >= 0 && !w->ids.n && !w->s->all)
        r = hidden_partitions_load(c, &w->hidden, &w->n_hidden);
    if (r >= 0)
        r = query_run(c, OP_QUERY_JOBS, &request.base, &pst__job_record__descriptor, on_job, w,
                      &info);
    argwords_free(w->hidden, w->n_hidden);
    w->hidden = NULL;
    w->n_hidden = 0;
    w->use = step_use_free(w->use);
    if (w->by_order)
        check_mem_or_die(block_order_apply(&w->order, w->ids.ids[0].job_id, &w->out));
    w->now_us = info.now_us;
    w->planned_us = info.planned_us;
    filter_done(&filter);
    return r;
}

static void show_jobs(struct scontrol *s, const char *name)
{
    struct showing w = { .s = s, .cluster = cli_cluster_name(&s->cli) };
    bool zero = name && (!*name || strcmp(name, "0") == 0); /* all jobs, of which one must be */
    int r;

    s->show.wckeys = conf_bool(cli_conf(&s->cli), CONF_TRACK_WCKEY);
    find_federation(&w);
    if (!take_one_job(&w, zero ? NULL : name)) {
        clusters_done(&s->cli, &w.fed);
        return;
    }
    if (s->json.wanted)
        begin_json(&w, "jobs");
    w.by_order = !s->json.wanted && !w.fed.n && w.ids.n == 1 && !w.ids.ids[0].has_het;
    r = ask_each(&w, ask_jobs, "slurm_load_jobs");
    block_order_done(&w.order);
    if (s->json.wanted && (r == 0 || r == -EREMOTEIO))
        end_json(&w, true, w.shown ? w.now_us : 0);
    else if (r < 0)
        failed_query(&w, "slurm_load_jobs", r);
    else if (!w.shown && (zero || (name && w.known)))
        scontrol_missing(s, stderr, "Job %s not found", zero ? "0" : name);
    else if (!w.shown && name)
        scontrol_missing(s, stderr, "slurm_load_jobs error: %s",
                         slurm_err_text(ESLURM_INVALID_JOB_ID));
    else if (!w.shown)
        strbuf_add(&w.out, s->quiet ? "" : "No jobs in the system\n");
    walk_done(&w);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int on_step_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct showing *w = ctx;

    (void)info;
    step_jobs_add(&w->jobs, (const Pst__JobRecord *)record);
    return 0;
}

static int show_one_step(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    static const struct step_job none;
    struct showing *w = ctx;
    const Pst__StepRecord *s = (const Pst__StepRecord *)record;
    const struct step_job *job = step_jobs_find(&w->jobs, s->job_id);
    struct step_row row = { .step = s, .now_us = info->now_us, .cluster = w->cluster };

    uint32_t array; /* a het job's number stands for its first component alone */

    if (!job)
        job = &none;
    array = w->ids.n && w->ids.ids[0].has_het ? job->group_id
            : job->array_job_id               ? job->array_job_id
                                              : s->job_id;
    if (names_job_state_terminal((unsigned)s->state) ||
        !filter_ids_match_step(&w->ids, s->job_id, array, job->has_task, job->array_task_id,
                               s->step_id))
        return 0;
    row.array_job_id = job->array_job_id;
    row.array_task_id = job->array_task_id;
    row.user = job->user;
    row.partition = job->partition;
    row.sluid = job->sluid;
    w->shown++;
    if (w->s->json.wanted)
        json_step(&w->js, &row);
    else
        show_step(&w->out, &row, &w->s->show);
    cli_write_out(&w->out, false);
    return 0;
}

static int on_step(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct showing *w = ctx;

    return step_jobs_in_order(&w->jobs, (const Pst__StepRecord *)record, info, show_one_step, w);
}

/* Jobs first: their steps do not say which task or partition they belong to. */
static int query_steps(struct showing *w, Pst__JobFilter *filter, struct query_info *info)
{
    struct client *c = scontrol_client(w->s, "slurm_get_job_steps");
    Pst__QueryRequest request = query_to_print();
    struct pb_fieldset set = { 0 };
    int r;

    request.jobs = filter;
    query_need_names(STEP_JOBS_FIELDS, &pst__job_record__descriptor, &set);
    check_mem_or_die(query_fields(&set, &request.fields, &request.n_fields));
    r = query_run(c, OP_QUERY_JOBS, &request.base, &pst__job_record__descriptor, on_step_job, w,
                  info);
    step_jobs_sort(&w->jobs);
    w->known = w->jobs.n > 0;
    free(request.fields);
    request.fields = NULL;
    request.n_fields = 0;
    if (r >= 0)
        r = query_run(c, OP_QUERY_STEPS, &request.base, &pst__step_record__descriptor, on_step, w,
                      info);
    if (r >= 0)
        (void)step_jobs_last(&w->jobs, info, show_one_step, w); /* always 0 */
    step_jobs_done(&w->jobs);
    return r;
}

static int note_a_step(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    bool *any = ctx;

    (void)record;
    (void)info;
    *any = true;
    return 0;
}

/* Of a job that is not known Slurm says so only while there are steps: without any it looks for
 * none. */
static bool has_any_step(struct showing *w)
{
    struct client *c = scontrol_client(w->s, "slurm_get_job_steps");
    Pst__QueryRequest request = query_to_print();
    struct query_info info = { 0 };
    bool any = false;

    return query_run(c, OP_QUERY_STEPS, &request.base, &pst__step_record__descriptor, note_a_step,
                     &any, &info) >= 0 &&
           any;
}

/* A number followed by no step, or by one in a form that steps have; else it is an SLUID. */
static bool names_steps(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    uint32_t step;

    if (!digits)
        return *name == 's' && strlen(name) > 13;
    return name[digits] != '.' || step_parse(name + digits + 1, &step) == 0;
}

static void show_steps(struct scontrol *s, const char *name)
{
    struct showing w = { .s = s, .cluster = cli_cluster_name(&s->cli) };
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    struct query_info info = { 0 };
    int r;

    if (name && !names_steps(name)) {
        scontrol_fail(s, "scontrol: error: scontrol_print_step: slurm_get_job_steps(%s) failed: %s",
                      name, ids_mistake(name));
        return;
    }
    if (!take_ids(&w, name, "slurm_get_job_steps", "scontrol_print_step"))
        return;
    filter_ids_numbers(&w.ids, &filter.job_ids, &filter.n_job_ids);
    if (s->json.wanted)
        begin_json(&w, "steps");
    r = query_steps(&w, &filter, &info);
    filter_done(&filter);
    if (s->json.wanted && (r == 0 || r == -EREMOTEIO)) {
        end_json(&w, false, info.now_us);
    } else if (r < 0 && r != -EREMOTEIO) {
        failed_query(&w, "slurm_get_job_steps", r);
    } else if (!w.known && name && has_any_step(&w)) {
        scontrol_fail(s, "scontrol: error: scontrol_print_step: slurm_get_job_steps(%s) failed: %s",
                      name, slurm_err_text(ESLURM_INVALID_JOB_ID));
    } else if (!w.shown && name) {
        if (!s->quiet)
            strbuf_addf(&w.out, "Job step %s%s not found\n", name, strchr(name, '.') ? "" : ".");
        s->status = CLI_EXIT_FAILED;
    } else if (!w.shown) {
        strbuf_add(&w.out, s->quiet ? "" : "No job steps in the system\n");
    }
    walk_done(&w);
}

/* ---- nodes and partitions -------------------------------------------------------------------- */

static bool load_cluster(struct scontrol *s, const char *what, struct cluster_nodes *ret)
{
    int r = cluster_nodes_load(scontrol_client(s, what), NULL, ret);

    if (r < 0)
        scontrol_fail(s, "%s error: %s", what, client_strerror(s->client, r));
    return r >= 0;
}

static void put_node(struct showing *w, const struct cluster_nodes *t, size_t i)
{
    _cleanup_free_ char *parts = NULL, *tres = NULL, *used = NULL;
    const Pst__NodeRecord *n = t->nodes[i].record;
    struct tres_rules rules = tres_rules_of(cli_conf(&w->s->cli));
    struct show_node_of of;

    check_mem_or_die(cluster_nodes_partitions(t, i, w->s->all, &parts));
    check_mem_or_die(out_node_tres(t, i, &rules, &tres));
    check_mem_or_die(out_node_used(n, &rules, &used));
    of = (struct show_node_of){ .partitions = parts,
                                .tres = tres,
                                .tres_used = used,
                                .now_us = t->now_us,
                                .cluster = w->fed.n ? w->cluster : NULL };
    if (w->s->json.wanted)
        json_node(&w->js, n, &of);
    else
        show_node(&w->out, n, &of, &w->s->show);
    w->shown++;
    cli_write_out(&w->out, false);
}

static void tell_no_node(struct showing *w, const char *name)
{
    if (w->s->json.wanted)
        return;
    cli_write_out(&w->out, true);
    scontrol_missing(w->s, stdout, "Node %s not found", name);
}

/* The nodes that are named, in the order of the names. */
static void put_named_nodes(struct showing *w, const struct cluster_nodes *t)
{
    for (size_t i = 0; i < hostlist_count(w->names); i++) {
        long at = cluster_nodes_find(t, hostlist_nth(w->names, i));

        if (at >= 0 && t->nodes[at].record->state == PST__NODE_STATE__NODE_FUTURE && !w->s->future)
            at = -1; /* it is not there yet */
        if (at >= 0) {
            w->found[i] = true;
            put_node(w, t, (size_t)at);
        } else if (!w->fed.n) {
            tell_no_node(w, hostlist_nth(w->names, i));
        }
    }
}

static int ask_nodes(struct showing *w)
{
    struct cluster_nodes t;
    int r = cluster_nodes_load(scontrol_client(w->s, "slurm_load_node"), NULL, &t);

    if (r < 0)
        return r;
    if (w->names)
        put_named_nodes(w, &t);
    for (size_t i = 0; !w->names && i < t.n_nodes; i++)
        if (w->s->future || t.nodes[i].record->state != PST__NODE_STATE__NODE_FUTURE)
            put_node(w, &t, i);
    w->now_us = t.now_us;
    cluster_nodes_done(&t);
    return 0;
}

static void show_nodes(struct scontrol *s, const char *name)
{
    struct showing w = { .s = s };
    _cleanup_(hostlist_free) struct hostlist *names = NULL;
    bool federated;
    int r;

    if (name && hostlist_parse(name, &names, NULL) < 0) {
        scontrol_missing(s, stderr, "unable to parse node list %s", name);
        return;
    }
    find_federation(&w);
    if (names && !w.fed.n)
        scontrol_expand_units(s, &names);
    w.names = names;
    w.found = xmalloc_or_die((names ? hostlist_count(names) : 0) + 1);
    federated = w.fed.n > 0;
    if (s->json.wanted)
        begin_json(&w, "nodes");
    r = ask_each(&w, ask_nodes, "slurm_load_node");
    if (r < 0) {
        scontrol_fail(s, "slurm_load_node error: %s", client_strerror(s->client, r));
        strbuf_done(&w.out);
        free(w.found);
        return;
    }
    for (size_t i = 0; federated && names && i < hostlist_count(names); i++)
        if (!w.found[i])
            tell_no_node(&w, hostlist_nth(names, i));
    if (!w.shown)
        w.js.warning = "No nodes to dump";
    if (s->json.wanted)
        end_json(&w, false, w.now_us);
    free(w.found);
    walk_done(&w);
}

/* Can nodes of the cluster be powered up and down? */
static bool saves_power(const struct conf *conf)
{
    const char *down = conf_str(conf, CONF_SUSPEND_PROGRAM),
               *up = conf_str(conf, CONF_RESUME_PROGRAM);

    return down && *down && up && *up;
}

static int ask_partitions(struct showing *w)
{
    const struct scontrol *s = w->s;
    struct tres_rules rules = tres_rules_of(cli_conf(&w->s->cli));
    struct cluster_nodes t;
    int r = cluster_nodes_load(scontrol_client(w->s, "slurm_load_partitions"), NULL, &t);

    if (r < 0)
        return r;
    for (size_t i = 0; i < t.n_parts; i++) {
        const Pst__PartitionRecord *p = t.parts[i].record;
        _cleanup_free_ char *tres = NULL;

        if ((w->name && strcmp(w->name, p->name) != 0) || !cluster_nodes_shows(&t, p, s->all))
            continue;
        check_mem_or_die(out_part_tres(&t, &t.parts[i], &rules, &tres));
        if (s->json.wanted)
            json_partition(&w->js, NULL, p, tres, w->fed.n ? w->cluster : NULL);
        else
            show_partition(&w->out, p, tres, &s->show);
        w->shown++;
    }
    w->now_us = t.now_us;
    cluster_nodes_done(&t);
    return 0;
}

static void show_partitions(struct scontrol *s, const char *name)
{
    struct showing w = { .s = s, .name = name };
    int r;

    s->show.power_saving = saves_power(cli_conf(&s->cli));
    find_federation(&w);
    if (s->json.wanted)
        begin_json(&w, "partitions");
    r = ask_each(&w, ask_partitions, "slurm_load_partitions");
    if (r < 0) {
        scontrol_fail(s, "slurm_load_partitions error: %s", client_strerror(s->client, r));
        strbuf_done(&w.out);
        return;
    }
    if (!w.shown)
        w.js.warning = "No partitions to dump";
    if (s->json.wanted) {
        end_json(&w, false, w.now_us);
    } else if (!w.shown && name) {
        scontrol_missing(s, stdout, "Partition %s not found", name);
    } else if (!w.shown) {
        strbuf_add(&w.out, s->quiet ? "" : "No partitions in the system\n");
    }
    walk_done(&w);
}

/* ---- configuration --------------------------------------------------------------------------- */

static void put_entry(struct strbuf *out, const Pst__ConfigReply *reply, const Pst__KeyValue *e)
{
    const char *key = e->key ? e->key : "";

    strbuf_addf(out, "%-23s = ", key);
    if (e->value)
        strbuf_add(out, e->value);
    else if (strcmp(key, "BOOT_TIME") == 0)
        put_stamp(out, reply->boot_us, "Unknown", reply->now_us);
    else if (strcmp(key, "NEXT_JOB_ID") == 0)
        put_u64(out, reply->next_job_id);
    else if (strcmp(key, "HASH_VAL") == 0)
        strbuf_add(out, "Match");
    else
        strbuf_add(out, "(null)");
    strbuf_addc(out, '\n');
}

static void json_config(struct showing *w, const Pst__ConfigReply *reply)
{
    const struct conf *conf = cli_conf(&w->s->cli);

    json_begin_option(&w->js, &w->out, &w->s->json);
    json_conf(&w->js, reply);
    if (!w->js.warning)
        w->js.warning = cli_standby_note(&w->s->cli);
    json_meta(&w->js, w->s->argc, w->s->argv, conf_str(conf, CONF_CLUSTER_NAME),
              conf_str(conf, CONF_ACCOUNTING_STORAGE_TYPE));
    json_end(&w->js);
}

/* Is any of the plugins that read cgroup.conf in use? */
static bool uses_cgroups(const Pst__ConfigReply *reply)
{
    for (size_t i = 0; i < reply->n_entries; i++) {
        const Pst__KeyValue *e = reply->entries[i];

        if (e->value && strstr(e->value, "/cgroup") &&
            (strcmp(e->key, "ProctrackType") == 0 || strcmp(e->key, "TaskPlugin") == 0 ||
             strcmp(e->key, "JobAcctGatherType") == 0))
            return reply->n_cgroup > 0;
    }
    return false;
}

static void show_config(struct scontrol *s, const char *name)
{
    struct showing w = { .s = s };
    Pst__Empty request = PST__EMPTY__INIT;
    Pst__ConfigReply *reply = NULL;
    int r = client_call(scontrol_client(s, "slurm_load_ctl_conf"), OP_QUERY_CONFIG, &request.base,
                        (ProtobufCMessage **)&reply);

    (void)name; /* shows everything */
    if (r < 0) {
        failed_query(&w, "slurm_load_ctl_conf", r);
        return;
    }
    if (s->json.wanted) {
        json_config(&w, reply);
        cli_write_out(&w.out, true);
    } else {
        strbuf_add(&w.out, "Configuration data as of ");
        put_stamp(&w.out, reply->now_us, "Unknown", reply->now_us);
        strbuf_addc(&w.out, '\n');
        for (size_t i = 0; i < reply->n_entries; i++)
            put_entry(&w.out, reply, reply->entries[i]);
        if (uses_cgroups(reply)) {
            strbuf_add(&w.out, "\nCgroup Support Configuration:\n");
            for (size_t i = 0; i < reply->n_cgroup; i++)
                put_entry(&w.out, reply, reply->cgroup[i]);
        }
        strbuf_addc(&w.out, '\n');
        cli_write_out(&w.out, true);
        scontrol_ping(s, 0, NULL);
    }
    pst__config_reply__free_unpacked(reply, NULL);
    walk_done(&w);
}

/* The word of SlurmctldHost, SlurmdHost ... that run here. */
static void show_daemons(struct scontrol *s, const char *name)
{
    const struct conf *conf = cli_conf(&s->cli);
    char host[256] = "";
    size_t len;

    if (name) {
        scontrol_missing(s, stderr, "too many arguments for keyword:show");
        return;
    }
    (void)gethostname(host, sizeof(host) - 1); /* empty: then no host is this one */
    len = strcspn(host, ".");
    for (size_t i = 0; conf_ctld_host(conf, i, NULL); i++) {
        const char *ctld = conf_ctld_host(conf, i, NULL);

        if (len && strncmp(ctld, host, len) == 0 && (ctld[len] == '\0' || ctld[len] == '.'))
            (void)printf("slurmctld ");
    }
    (void)printf("slurmd\n");
}

/* ---- the federation ---------------------------------------------------------------------- */

static void show_federation(struct scontrol *s, const char *name)
{
    const Pst__Empty request = PST__EMPTY__INIT;
    ProtobufCMessage *reply = NULL;
    const Pst__FedInfo *info;
    int r = client_call(scontrol_client(s, "slurm_load_federation"), OP_QUERY_FEDERATION,
                        &request.base, &reply);

    (void)name;
    if (r < 0) {
        scontrol_fail(s, "slurm_load_federation error: %s", client_strerror(s->client, r));
        return;
    }
    info = PB_AS(fed_info, reply);
    if (!s->json.wanted)
        federation_print(stdout, info);
    protobuf_c_message_free_unpacked(reply, NULL);
}

/* ---- what never has anything to show --------------------------------------------------------- */

static void show_nothing(struct scontrol *s, const char *name)
{
    (void)s; /* an empty answer, as on a site that has none */
    (void)name;
}

/* Needs the job's number; what a job has is in show job -d. */
static void show_resources(struct scontrol *s, const char *name)
{
    (void)s;
    if (!name)
        (void)fprintf(stderr, "missing JobId: %s\n", slurm_err_text(0));
}

/* The nodes whose daemons run on this host, or on the one that is named. */
static void show_aliases(struct scontrol *s, const char *name)
{
    char host[256] = "";
    struct cluster_nodes t;
    size_t shown = 0;

    (void)gethostname(host, sizeof(host) - 1); /* empty: then no host is this one */
    host[strcspn(host, ".")] = '\0';
    if (!load_cluster(s, "slurm_load_node", &t))
        return;
    for (size_t i = 0; i < t.n_nodes; i++) {
        const Pst__NodeRecord *n = t.nodes[i].record;

        if (strcmp(n->hostname ? n->hostname : n->name, name ? name : host) == 0 ||
            (name && strcmp(n->name, name) == 0))
            (void)printf("%s%s", shown++ ? " " : "", n->name);
    }
    if (shown)
        (void)printf("\n");
    cluster_nodes_done(&t);
}

/* ---- what a daemon told about its machine -------------------------------------------------- */

static void print_row(const char *label, const char *value)
{
    (void)printf("%-24s = %s\n", label, value);
}

static void print_number(const char *label, uint64_t value, const char *unit)
{
    (void)printf("%-24s = %llu%s\n", label, (unsigned long long)value, unit);
}

static void print_slurmd(const Pst__NodeRecord *n, int64_t now_us)
{
    char when[64];

    print_number("Actual CPUs", n->cpus, "");
    print_number("Actual Boards", n->has_boards ? n->boards : 1, "");
    print_number("Actual sockets", n->sockets, "");
    print_number("Actual cores", n->cores_per_socket, "");
    print_number("Actual threads per core", n->threads_per_core, "");
    print_number("Actual real memory", n->real_memory_mib, " MB");
    print_number("Actual temp disk space", n->tmp_disk_mib, " MB");
    time_fmt_stamp(n->slurmd_start_us, "None", now_us, when, sizeof(when));
    print_row("Boot time", when);
    print_row("Hostname", n->hostname ? n->hostname : n->name);
    print_row("Version", n->version ? n->version : "");
    (void)printf("\n");
}

static void show_slurmd(struct scontrol *s, const char *name)
{
    char host[256] = "";
    struct cluster_nodes t;
    const Pst__NodeRecord *found = NULL;
    int r = cluster_nodes_load(scontrol_client(s, "slurm_load_node"), NULL, &t);

    if (r < 0) {
        scontrol_fail(s, "slurm_load_node error: %s", client_strerror(s->client, r));
        return;
    }
    (void)gethostname(host, sizeof(host) - 1); /* empty: then no host is this one */
    for (size_t i = 0; i < t.n_nodes && !found; i++) {
        const Pst__NodeRecord *n = t.nodes[i].record;

        if (name ? strcmp(n->name, name) == 0
                 : strcmp(n->hostname ? n->hostname : n->name, host) == 0)
            found = n;
    }
    if (found && found->version) {
        print_slurmd(found, t.now_us);
    } else {
        cli_error("slurm_slurmd_info: Connection refused");
        scontrol_missing(s, stderr, "slurm_load_slurmd_status:Connection refused");
    }
    cluster_nodes_done(&t);
}

#define ASSOC_MGR "assoc_mgr" /* these two have several arguments */
#define TOPOLOGY "topology"

static const struct entity {
    const char *name;
    unsigned shortest; /* letters that are enough */
    void (*show)(struct scontrol *s, const char *name);
} entities[] = {
    { "aliases", 2, show_aliases },
    { "bbstat", 2, show_nothing },
    { "burstbuffer", 2, show_nothing },
    { "config", 1, show_config },
    { "daemons", 1, show_daemons },
    { "dwstat", 2, show_nothing },
    { "federation", 3, show_federation },
    { "hostlistsorted", 9, scontrol_show_hostlistsorted },
    { "hostlist", 5, scontrol_show_hostlist },
    { "hostnames", 5, scontrol_show_hostnames },
    { "jobs", 1, show_jobs },
    { "jobid", 4, show_jobs },
    { "licenses", 2, scontrol_show_licenses },
    { "nodes", 1, show_nodes },
    { "partitions", 2, show_partitions },
    { "partitionname", 10, show_partitions },
    { "reservations", 1, scontrol_show_resvs },
    { "reservationname", 12, scontrol_show_resvs },
    { "resources", 9, show_resources },
    { "slurmd", 6, show_slurmd },
    { "steps", 2, show_steps },
    { "topoconf", 5, scontrol_show_topoconf },
};

static void show_entity(struct scontrol *s, int argc, char **argv)
{
    _cleanup_free_ char *entity = NULL;
    const char *name = argc > 1 ? argv[1] : NULL;
    char *equals;

    if (argc < 1) {
        scontrol_missing(s, stderr, "too few arguments for keyword:show");
        return;
    }
    if ((strlen(argv[0]) >= 2 && strncasecmp(argv[0], ASSOC_MGR, strlen(argv[0])) == 0) ||
        strcasecmp(argv[0], "cache") == 0) {
        scontrol_show_assocs(s, argc - 1, argv + 1);
        return;
    }
    if (strlen(argv[0]) >= 4 && strncasecmp(argv[0], TOPOLOGY, strlen(argv[0])) == 0) {
        scontrol_show_topology(s, argc - 1, argv + 1);
        return;
    }
    if (argc > 2) {
        scontrol_missing(s, stderr, "too many arguments for keyword:show");
        return;
    }
    entity = xstrdup_or_die(argv[0]);
    equals = strchr(entity, '=');
    if (equals) {
        *equals = '\0';
        name = strchr(argv[0], '=') + 1;
    }
    for (size_t i = 0; i < ARRAY_SIZE(entities); i++) {
        size_t len = strlen(entity);

        if (len < entities[i].shortest || strncasecmp(entity, entities[i].name, len) != 0 ||
            len > strlen(entities[i].name))
            continue;
        entities[i].show(s, name);
        return;
    }
    scontrol_missing(s, stderr, "invalid entity:%s for keyword:show", argv[0]);
}

void scontrol_show_names(FILE *f)
{
    (void)fprintf(f, "entity\t%s\tshown\nentity\t%s\tshown\n", ASSOC_MGR, TOPOLOGY);
    for (size_t i = 0; i < ARRAY_SIZE(entities); i++)
        (void)fprintf(f, "entity\t%s\t%s\n", entities[i].name,
                      entities[i].show == show_nothing ? "hidden" : "shown");
}

/* A standby may answer this when no controller leads, and nothing else over the same connection. */
void scontrol_show(struct scontrol *s, int argc, char **argv)
{
    s->cli.shows = true;
    show_entity(s, argc, argv);
    s->cli.shows = false;
    if (cli_standby_note(&s->cli))
        s->client = client_free(s->client);
}
