/* squeue.c - list jobs and steps
 *
 * Asks the controller for exactly the record fields that the format, the sort order and the filters
 * use, renders each record as it arrives and keeps lines, not records.  The controller applies the
 * filters of the request; what it cannot express (tasks of arrays, state flags, licenses, run time)
 * is applied here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"
#include "cli/cli.h"
#include "cli/explain.h"
#include "cli/fmt_squeue.h"
#include "cli/json_job.h"
#include "cli/opts.h"
#include "cli/out_filter.h"
#include "cli/out_query.h"
#include "cli/out_sluid.h"
#include "cli/out_stepjobs.h"
#include "cli/out_users.h"
#include "cli/watch.h"
#include "model/names.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define FLUSH_BYTES (256u * 1024)

enum option_id {
    O_ACCOUNT,
    O_ALL,
    O_ARRAY,
    O_EXPAND,
    O_FEDERATION,
    O_FORMAT,
    O_FORMAT_LONG,
    O_HIDE,
    O_ITERATE,
    O_JOBS,
    O_JSON,
    O_LICENSES,
    O_LOCAL,
    O_LONG,
    O_CLUSTERS,
    O_ME,
    O_NAME,
    O_NOCONVERT,
    O_NODELIST,
    O_NOHEADER,
    O_NOTME,
    O_ONLY_STATE,
    O_PARTITION,
    O_PRIORITY,
    O_QOS,
    O_RESERVATION,
    O_OVER,
    O_UNDER,
    O_SIBLING,
    O_SORT,
    O_START,
    O_STATES,
    O_STEPS,
    O_USER,
    O_VERBOSE,
    O_YAML,
    O_WATCH,
    O_SINCE,
    O_CHANGES_ONLY,
    O_EXPLAIN,
};

static const struct opt rows[] = {
    { "account", 'A', OPT_REQ, O_ACCOUNT, 0, "@ACCOUNT", NULL, "names",
      "jobs charged to these accounts" },
    { "accounts", 0, OPT_REQ, O_ACCOUNT, 0, NULL, NULL, "names", NULL },
    { "all", 'a', OPT_NONE, O_ALL, 0, "@ALL", NULL, NULL, "also jobs of hidden partitions" },
    { "array", 'r', OPT_NONE, O_ARRAY, 0, "@ARRAY", NULL, NULL,
      "one line for each task of an array" },
    { "changes-only", 0, OPT_NONE, O_CHANGES_ONLY, 0, NULL, NULL, NULL,
      "with --watch: no snapshot to begin with" },
    { "clusters", 'M', OPT_REQ, O_CLUSTERS, 0, "SLURM_CLUSTERS", NULL, "names",
      "ask this cluster" },
    { "expand-patterns", 0, OPT_NONE, O_EXPAND, 0, NULL, NULL, NULL,
      "resolve patterns in the names of input and output files" },
    { "explain", 0, OPT_NONE, O_EXPLAIN, 0, NULL, NULL, NULL,
      "say why pending jobs wait, and what would start them" },
    { "federation", 0, OPT_NONE, O_FEDERATION, 0, "@FEDERATION", NULL, NULL,
      "taken for compatibility: clusters do not federate here" },
    { "format", 'o', OPT_REQ, O_FORMAT, 0, "@FORMAT", NULL, "format",
      "columns as %[.][width]letter" },
    { "Format", 'O', OPT_REQ, O_FORMAT_LONG, 0, "@FORMAT2", NULL, "names",
      "columns as name[:[.][width][suffix]],..." },
    { "hide", 0, OPT_NONE, O_HIDE, 0, NULL, NULL, NULL, "leave out jobs of hidden partitions" },
    { "iterate", 'i', OPT_REQ, O_ITERATE, 0, NULL, NULL, "seconds", "list again and again" },
    { "jobs", 'j', OPT_OPT, O_JOBS, 0, NULL, NULL, "ids", "these jobs" },
    { "json", 0, OPT_OPT, O_JSON, 0, NULL, NULL, "version", "print JSON" },
    { "licenses", 'L', OPT_REQ, O_LICENSES, 0, "@LICENSES", NULL, "names",
      "jobs that ask for these licenses" },
    { "local", 0, OPT_NONE, O_LOCAL, 0, "@LOCAL", NULL, NULL,
      "taken for compatibility: clusters do not federate here" },
    { "long", 'l', OPT_NONE, O_LONG, 0, NULL, NULL, NULL, "more columns" },
    { "me", 0, OPT_NONE, O_ME, 0, NULL, NULL, NULL, "my own jobs" },
    { "name", 'n', OPT_REQ, O_NAME, 0, "@NAMES", NULL, "names", "jobs with these names" },
    { "names", 0, OPT_REQ, O_NAME, 0, NULL, NULL, "names", NULL },
    { "no-snapshot", 0, OPT_NONE, O_CHANGES_ONLY, 0, NULL, NULL, NULL, NULL },
    { "noconvert", 0, OPT_NONE, O_NOCONVERT, 0, NULL, NULL, NULL, "keep the units of sizes" },
    { "nodelist", 'w', OPT_REQ, O_NODELIST, 0, NULL, NULL, "nodes",
      "jobs that hold any of these nodes" },
    { "noheader", 'h', OPT_NONE, O_NOHEADER, 0, NULL, NULL, NULL, "no line of headings" },
    { "notme", 0, OPT_NONE, O_NOTME, 0, NULL, NULL, NULL, "everybody's jobs but mine" },
    { "only-job-state", 0, OPT_NONE, O_ONLY_STATE, 0, NULL, NULL, NULL, "only ids and states" },
    { "partition", 'p', OPT_REQ, O_PARTITION, 0, "@PARTITION", NULL, "names",
      "jobs of these partitions" },
    { "partitions", 0, OPT_REQ, O_PARTITION, 0, NULL, NULL, "names", NULL },
    { "priority", 'P', OPT_NONE, O_PRIORITY, 0, "@PRIORITY", NULL, NULL,
      "one line for each partition a pending job names" },
    { "qos", 'q', OPT_REQ, O_QOS, 0, "@QOS", NULL, "names", "jobs with these QOS" },
    { "reservation", 'R', OPT_REQ, O_RESERVATION, 0, NULL, NULL, "names",
      "jobs in these reservations" },
    { "running-over", 0, OPT_REQ, O_OVER, 0, NULL, NULL, "time",
      "jobs that have run longer than this" },
    { "running-under", 0, OPT_REQ, O_UNDER, 0, NULL, NULL, "time",
      "jobs that have run less than this" },
    { "sibling", 0, OPT_NONE, O_SIBLING, 0, "@SIBLING", NULL, NULL,
      "taken for compatibility: clusters do not federate here" },
    { "since", 0, OPT_REQ, O_SINCE, 0, NULL, NULL, "cursor",
      "with --watch: go on behind this place" },
    { "sort", 'S', OPT_REQ, O_SORT, 0, "@SORT", NULL, "letters",
      "order: letters of --format, - before one reverses" },
    { "start", 0, OPT_NONE, O_START, 0, NULL, NULL, NULL,
      "when pending jobs are expected to start" },
    { "states", 't', OPT_REQ, O_STATES, 0, "@STATES", NULL, "states",
      "jobs in these states, or all" },
    { "steps", 's', OPT_OPT, O_STEPS, 0, NULL, NULL, "ids", "job steps instead of jobs" },
    { "user", 'u', OPT_REQ, O_USER, 0, "@USERS", NULL, "names", "jobs of these users" },
    { "users", 0, OPT_REQ, O_USER, 0, NULL, NULL, "names", NULL },
    { "verbose", 'v', OPT_NONE, O_VERBOSE, 0, NULL, NULL, NULL, "say more" },
    { "watch", 0, OPT_NONE, O_WATCH, 0, NULL, NULL, NULL,
      "print changes as they happen, until interrupted" },
    { "yaml", 0, OPT_OPT, O_YAML, 0, NULL, NULL, "version", "print YAML" },
};

static const struct opt_command command = {
    .name = "squeue",
    .prefix = "SQUEUE",
    .prefix2 = "SLURM",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS]",
    .usage_status = CLI_EXIT_FAILED,
    .permute = true,
    .names = squeue_print_names,
};

struct squeue {
    struct cli cli;
    struct client *client;
    Pst__JobFilter filter; /* goes to the controller */
    struct filter_ids ids;
    struct filter_states states;
    bool have_states;
    struct json_option json;
    const char *json_arg;
    int json_result;

    const char *format, *format_long, *sort, *licenses, *nodes, *clusters;
    bool all, hide, array, expand, long_format, noconvert, noheader, only_state, per_partition,
        start, steps;
    bool watch, changes_only, explain;
    const char *since;
    uint32_t *explained;
    size_t n_explained;
    bool me, notme, jobs_word_missing, steps_word_missing, jobs_given;
    uint32_t iterate_s, over_s, under_s;
    bool have_over, have_under;

    struct fmt fmt;
    struct fmt_sort order;
    struct fmt_lines *lines;
    struct strbuf out;
    struct json js;
    struct pb_fieldset fields;
    unsigned bitstr_len;
    uid_t uid;
    char **hidden; /* names of hidden partitions */
    size_t n_hidden;
    struct step_jobs jobs; /* what --steps needs of the jobs */
};

static void bad_user(const char *word)
{
    cli_error("Invalid user: %s", word);
}

static int set_seconds(const struct opt *opt, const char *arg, uint32_t *ret, struct err *err)
{
    uint32_t seconds;

    if (time_secs_parse(arg, &seconds, NULL) < 0)
        return err_set(err, CLI_EXIT_FAILED, "--%s=%s", opt->name, arg);
    if (arg[strspn(arg, "0123456789")] == '\0') /* a number on its own counts minutes */
        seconds = seconds < UINT32_MAX / 60 ? seconds * 60 : UINT32_MAX;
    *ret = seconds;
    return 0;
}

static int set_iterate(struct squeue *q, const char *arg, struct err *err)
{
    uint64_t n;

    if (parse_u64(arg, 1, UINT32_MAX, &n) < 0)
        return err_set(err, CLI_EXIT_FAILED, "--iterate=%s", arg);
    q->iterate_s = (uint32_t)n;
    return 0;
}

static int set_states(struct squeue *q, const char *arg)
{
    _cleanup_free_ char *bad = NULL;

    if (filter_parse_states(arg, &q->states, &bad) < 0) {
        cli_error("Invalid job state specified: %s", bad);
        cli_error("Valid job states include: %s", filter_state_words());
        return CLI_EXIT_FAILED;
    }
    q->have_states = true;
    return 0;
}

static int set_ids(struct squeue *q, const char *arg, struct err *err)
{
    filter_ids_done(&q->ids);
    if (filter_parse_ids(arg, &q->ids, err) < 0)
        return CLI_EXIT_FAILED;
    for (size_t i = 0; i < q->ids.n; i++)
        if (q->ids.ids[i].array == IDS_TASK_SET)
            return err_set(err, CLI_EXIT_FAILED, "Invalid job id: %s", arg);
    q->jobs_given = true;
    return 0;
}

/* Options that narrow the list down. */
static int set_filter(struct squeue *q, int id, const char *arg, struct err *err)
{
    Pst__JobFilter *f = &q->filter;

    switch (id) {
    case O_ACCOUNT:
        filter_add_words(&f->accounts, &f->n_accounts, arg);
        return 0;
    case O_NAME:
        filter_add_words(&f->names, &f->n_names, arg);
        return 0;
    case O_PARTITION:
        filter_add_words(&f->partitions, &f->n_partitions, arg);
        return 0;
    case O_QOS:
        filter_add_words(&f->qos, &f->n_qos, arg);
        return 0;
    case O_RESERVATION:
        filter_add_words(&f->reservations, &f->n_reservations, arg);
        return 0;
    case O_USER:
        filter_add_users(&f->uids, &f->n_uids, arg, bad_user);
        return 0;
    case O_ME:
        q->me = true;
        return 0;
    case O_NOTME:
        q->notme = true;
        return 0;
    case O_LICENSES:
        q->licenses = arg;
        return 0;
    case O_NODELIST:
        q->nodes = arg;
        return 0;
    case O_JOBS:
        q->jobs_word_missing = !arg;
        return arg ? set_ids(q, arg, err) : 0;
    case O_STEPS:
        q->steps = true;
        q->steps_word_missing = !arg;
        return arg ? set_ids(q, arg, err) : 0;
    case O_STATES:
        return set_states(q, arg);
    default:
        return 0;
    }
}

static int set_option(void *ctx, const struct opt *opt, const char *arg, enum opt_source source,
                      struct err *err)
{
    struct squeue *q = ctx;

    (void)source; /* a later source overwrites */
    switch (opt->id) {
    case O_ALL:
        q->all = true;
        break;
    case O_HIDE:
        q->all = false;
        q->hide = true;
        break;
    case O_ARRAY:
        q->array = true;
        break;
    case O_EXPAND:
        q->expand = true;
        break;
    case O_FORMAT:
        q->format = arg;
        q->format_long = NULL;
        break;
    case O_FORMAT_LONG:
        q->format_long = arg;
        q->format = NULL;
        break;
    case O_ITERATE:
        return set_iterate(q, arg, err);
    case O_JSON:
    case O_YAML:
        q->json_arg = arg;
        q->json_result = json_option_parse(&q->json, opt->id == O_YAML, arg);
        break;
    case O_LONG:
        q->long_format = true;
        break;
    case O_CLUSTERS:
        q->clusters = arg;
        break;
    case O_NOCONVERT:
        q->noconvert = true;
        break;
    case O_NOHEADER:
        q->noheader = true;
        break;
    case O_ONLY_STATE:
        q->only_state = true;
        break;
    case O_PRIORITY:
        q->per_partition = true;
        break;
    case O_OVER:
        q->have_over = true;
        return set_seconds(opt, arg, &q->over_s, err);
    case O_UNDER:
        q->have_under = true;
        return set_seconds(opt, arg, &q->under_s, err);
    case O_SORT:
        q->sort = arg;
        break;
    case O_START:
        q->start = true;
        break;
    case O_EXPLAIN:
        q->explain = true;
        break;
    case O_WATCH:
        q->watch = true;
        break;
    case O_SINCE:
        q->since = arg;
        break;
    case O_CHANGES_ONLY:
        q->changes_only = true;
        break;
    case O_VERBOSE:
        cli_set_verbosity(&q->cli, q->cli.verbose + 1);
        break;
    default:
        return set_filter(q, opt->id, arg, err);
    }
    return 0;
}

static void bad_format(void *ctx, const char *spec)
{
    (void)ctx;
    cli_error("Invalid job format specification: %s", spec);
}

static void make_format(struct squeue *q)
{
    const struct fmt_table *table = q->steps ? &squeue_step_fields : &squeue_job_fields;
    const char *spec = q->format;

    if (q->format_long) {
        check_mem_or_die(fmt_parse_long(&q->fmt, table, q->format_long, bad_format, NULL));
        return;
    }
    if (!spec) {
        if (q->steps)
            spec = SQUEUE_STEPS;
        else if (q->start)
            spec = SQUEUE_START;
        else if (q->only_state)
            spec = SQUEUE_STATE_ONLY;
        else
            spec = q->long_format ? SQUEUE_JOBS_LONG : SQUEUE_JOBS;
    }
    check_mem_or_die(fmt_parse_short(&q->fmt, table, spec, bad_format, NULL));
}

static void flush_out(struct squeue *q, bool always)
{
    if (q->out.failed)
        cli_die(CLI_EXIT_FAILED, "Out of memory");
    if (q->out.len < FLUSH_BYTES && !always)
        return;
    if (fwrite(strbuf_str(&q->out), 1, q->out.len, stdout) != q->out.len ||
        (always && fflush(stdout)))
        exit(CLI_EXIT_FAILED);
    strbuf_reset(&q->out);
}

static void make_order(struct squeue *q)
{
    const char *spec = q->sort ? q->sort : q->steps ? "P,i" : q->start ? "S" : "P,t,-p";
    char bad;

    if (fmt_sort_parse(&q->order, q->steps ? &squeue_step_fields : &squeue_job_fields, spec, &bad) <
        0) {
        flush_out(q, true); /* the heading comes first, as users know it */
        cli_die(CLI_EXIT_FAILED, "Invalid sort specification: %c", bad);
    }
}

/* ---- filters applied here -----------------------------------------------------------------------
 */

static bool partition_hidden(const struct squeue *q, const char *list)
{
    if (!q->n_hidden || !list)
        return false;
    for (size_t i = 0; i < q->n_hidden; i++)
        if (filter_list_has(list, q->hidden[i]))
            return true;
    return false;
}

static bool has_license(const char *asked, const char *wanted)
{
    for (const char *p = asked; p && *p;) {
        size_t len = strcspn(p, ",|"), name = strcspn(p, ":@,|");
        char word[256];

        if (name < sizeof(word)) {
            memcpy(word, p, name);
            word[name] = '\0';
            if (filter_list_has(wanted, word))
                return true;
        }
        p += len + (p[len] != '\0');
    }
    return false;
}

static bool wanted(const struct squeue *q, const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;
    int64_t used;

    if (!filter_state_match(&q->states, (unsigned)j->state, j->state_flags))
        return false;
    if (q->notme && j->uid == q->uid)
        return false;
    if (q->licenses && !has_license(j->licenses, q->licenses))
        return false;
    if (partition_hidden(q, j->partition))
        return false;
    if (!q->have_over && !q->have_under)
        return true;
    used = job_elapsed_s(r);
    return !job_is_pending(r) && (!q->have_over || used > q->over_s) &&
           (!q->have_under || used < q->under_s);
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

static void emit(struct squeue *q, const struct job_row *r)
{
    size_t start = q->out.len;

    if (q->json.wanted) {
        json_job(&q->js, r);
        flush_out(q, false);
        return;
    }
    fmt_row(&q->fmt, r, &q->out);
    if (q->lines)
        check_mem_or_die(fmt_lines_add(q->lines, &q->out, start, r,
                                       (uint64_t)r->job->job_id << 32 | r->task));
    else
        flush_out(q, false);
}

/* With --priority a pending job of several partitions has a line for each. */
static void emit_partitions(struct squeue *q, struct job_row *r)
{
    const char *list = r->job->partition;

    if (!q->per_partition || !job_is_pending(r) || !list || !strchr(list, ',')) {
        emit(q, r);
        return;
    }
    while (*list) {
        size_t len = strcspn(list, ",");
        _cleanup_free_ char *name = xasprintf_or_die("%.*s", (int)len, list);

        r->partition = name;
        emit(q, r);
        r->partition = NULL;
        list += len + (list[len] == ',');
    }
}

struct task_walk {
    struct squeue *q;
    struct job_row row;
    bool only_named;
};

static int on_task(void *ctx, uint32_t task)
{
    struct task_walk *w = ctx;

    if (w->only_named &&
        !filter_ids_match(&w->q->ids, w->row.job->job_id, job_group_id(w->row.job), true, task))
        return 0;
    w->row.has_task = true;
    w->row.task = task;
    emit_partitions(w->q, &w->row);
    return 0;
}

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct squeue *q = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;
    struct task_walk w = {
        .q = q,
        .row = { .job = j,
                 .now_us = info->now_us,
                 .cluster = conf_str(cli_conf(&q->cli), CONF_CLUSTER_NAME),
                 .noconvert = q->noconvert,
                 .expand = q->expand,
                 .no_throttle = q->only_state,
                 .bitstr_len = q->bitstr_len },
    };

    if (!wanted(q, &w.row))
        return 0;
    if (!j->array_tasks) {
        if (filter_ids_match(&q->ids, j->job_id, job_group_id(j), j->has_array_task_id,
                             j->array_task_id))
            emit_partitions(q, &w.row);
        return 0;
    }
    w.only_named = q->ids.n && !filter_ids_match_whole(&q->ids, j->job_id, job_group_id(j));
    if (q->array || w.only_named)
        return filter_each_task(j->array_tasks, on_task, &w);
    emit_partitions(q, &w.row);
    return 0;
}

/* ---- requests -----------------------------------------------------------------------------------
 */

static noreturn void die_loading(struct squeue *q, const char *what, int r)
{
    int code = r == -EREMOTEIO ? client_error(q->client, NULL) : 0;

    if (code == ESLURM_INVALID_NODE_NAME && q->nodes)
        cli_die(CLI_EXIT_FAILED, "Invalid node name %s", q->nodes);
    flush_out(q, true);
    (void)fprintf(stderr, "%s error: %s\n", what, client_strerror(q->client, r));
    exit(CLI_EXIT_FAILED);
}

static void run_query(struct squeue *q, unsigned op, const ProtobufCMessageDescriptor *desc,
                      const struct pb_fieldset *fields, query_fn *fn, struct query_info *info)
{
    Pst__QueryRequest request = PST__QUERY_REQUEST__INIT;
    int r;

    request.jobs = &q->filter;
    if (fields)
        check_mem_or_die(query_fields(fields, &request.fields, &request.n_fields));
    r = query_run(q->client, op, &request.base, desc, fn, q, info);
    free(request.fields);
    if (r < 0)
        die_loading(q, op == OP_QUERY_JOBS ? "slurm_load_jobs" : "slurm_get_job_steps", r);
}

static int on_partition(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct squeue *q = ctx;
    const Pst__PartitionRecord *p = (const Pst__PartitionRecord *)record;

    (void)info;
    if (p->hidden && p->name)
        filter_add_words(&q->hidden, &q->n_hidden, p->name);
    return 0;
}

/* Which partitions are hidden.  Jobs asked for by number are shown wherever they are. */
static void load_hidden(struct squeue *q)
{
    struct pb_fieldset set = { 0 };
    Pst__QueryRequest request = PST__QUERY_REQUEST__INIT;
    int r;

    filter_free_words(q->hidden, q->n_hidden);
    q->hidden = NULL;
    q->n_hidden = 0;
    if (q->all || (q->jobs_given && !q->hide))
        return;
    fmt_need_names("name hidden", &pst__partition_record__descriptor, &set);
    check_mem_or_die(query_fields(&set, &request.fields, &request.n_fields));
    r = query_run(q->client, OP_QUERY_PARTITIONS, &request.base, &pst__partition_record__descriptor,
                  on_partition, q, NULL);
    free(request.fields);
    if (r < 0)
        die_loading(q, "slurm_load_partitions", r);
}

struct node_check {
    struct hostlist *missing;
};

static int on_node(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct node_check *c = ctx;
    const Pst__NodeRecord *n = (const Pst__NodeRecord *)record;

    (void)info;
    if (n->name)
        (void)hostlist_remove(c->missing, n->name);
    return 0;
}

/* A name that is no node is a mistake to be told. */
static void check_nodes(struct squeue *q)
{
    struct node_check c = { 0 };
    struct pb_fieldset set = { 0 };
    Pst__QueryRequest request = PST__QUERY_REQUEST__INIT;
    struct err err = { .text = "" };

    if (hostlist_parse(q->nodes, &c.missing, &err) < 0)
        cli_die(CLI_EXIT_FAILED, "Invalid node name %s", q->nodes);
    hostlist_uniq(c.missing);
    fmt_need_names("name", &pst__node_record__descriptor, &set);
    check_mem_or_die(query_fields(&set, &request.fields, &request.n_fields));
    request.names = (char *)q->nodes;
    if (query_run(q->client, OP_QUERY_NODES, &request.base, &pst__node_record__descriptor, on_node,
                  &c, NULL) == -EREMOTEIO ||
        hostlist_count(c.missing))
        cli_die(CLI_EXIT_FAILED, "Invalid node name %s",
                hostlist_count(c.missing) ? hostlist_nth(c.missing, 0) : q->nodes);
    free(request.fields);
    (void)hostlist_free(c.missing);
}

/* ---- steps --------------------------------------------------------------------------------------
 */

static int on_step_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct squeue *q = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;
    struct job_row row = { .job = j, .now_us = info->now_us };

    if (wanted(q, &row) && !j->array_tasks)
        step_jobs_add(&q->jobs, j);
    return 0;
}

static int on_step(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct squeue *q = ctx;
    const Pst__StepRecord *s = (const Pst__StepRecord *)record;
    const struct step_job *job = step_jobs_find(&q->jobs, s->job_id);
    struct step_row row;
    size_t start = q->out.len;

    if (!job || names_job_state_terminal((unsigned)s->state) ||
        !filter_ids_match_step(&q->ids, job->job_id, job->group_id, job->has_task,
                               job->array_task_id, s->step_id))
        return 0;
    row = (struct step_row){ .step = s,
                             .now_us = info->now_us,
                             .array_job_id = job->array_job_id,
                             .array_task_id = job->array_task_id,
                             .user = job->user,
                             .partition = job->partition,
                             .cluster = conf_str(cli_conf(&q->cli), CONF_CLUSTER_NAME) };
    if (q->json.wanted) {
        json_step(&q->js, &row);
        flush_out(q, false);
        return 0;
    }
    fmt_row(&q->fmt, &row, &q->out);
    check_mem_or_die(
        fmt_lines_add(q->lines, &q->out, start, &row, (uint64_t)s->job_id << 32 | s->step_id));
    return 0;
}

static void list_steps(struct squeue *q, struct query_info *info)
{
    struct pb_fieldset set = { 0 };

    fmt_need_names(STEP_JOBS_FIELDS " state state_flags", &pst__job_record__descriptor, &set);
    if (q->licenses)
        fmt_need_names("licenses", &pst__job_record__descriptor, &set);
    run_query(q, OP_QUERY_JOBS, &pst__job_record__descriptor, &set, on_step_job, info);
    step_jobs_sort(&q->jobs);
    memset(&set, 0, sizeof(set));
    fmt_needs(&q->fmt, &pst__step_record__descriptor, &set);
    fmt_sort_needs(&q->order, &pst__step_record__descriptor, &set);
    fmt_need_names("job_id step_id state", &pst__step_record__descriptor, &set);
    run_query(q, OP_QUERY_STEPS, &pst__step_record__descriptor, q->json.wanted ? NULL : &set,
              on_step, info);
}

static void list_jobs(struct squeue *q, struct query_info *info)
{
    struct pb_fieldset set = { 0 };

    fmt_needs(&q->fmt, &pst__job_record__descriptor, &set);
    fmt_sort_needs(&q->order, &pst__job_record__descriptor, &set);
    fmt_need_names("job_id array_job_id array_task_id array_tasks het_job_id het_offset state state_flags",
                   &pst__job_record__descriptor, &set);
    if (q->notme)
        fmt_need_names("uid", &pst__job_record__descriptor, &set);
    if (q->licenses)
        fmt_need_names("licenses", &pst__job_record__descriptor, &set);
    if (q->n_hidden || q->per_partition)
        fmt_need_names("partition", &pst__job_record__descriptor, &set);
    if (q->have_over || q->have_under)
        fmt_need_names("start_us end_us suspend_us suspended_us", &pst__job_record__descriptor,
                       &set);
    run_query(q, OP_QUERY_JOBS, &pst__job_record__descriptor, q->json.wanted ? NULL : &set, on_job,
              info);
    /* One job by its number that nobody knows is a mistake; of several, those that exist are shown.
     */
    if (q->ids.n == 1 && info->records == 0) {
        if (!q->json.wanted)
            strbuf_reset(&q->out);
        (void)fprintf(stderr, "slurm_load_jobs error: %s\n", slurm_err_text(ESLURM_INVALID_JOB_ID));
        exit(CLI_EXIT_FAILED);
    }
}

/* ---- one listing --------------------------------------------------------------------------------
 */

static void date_line(struct squeue *q)
{
    char buf[64];
    time_t now = time(NULL);
    struct tm tm;

    if (localtime_r(&now, &tm) && strftime(buf, sizeof(buf), "%a %b %d %H:%M:%S %Y\n", &tm))
        strbuf_add(&q->out, buf);
}

static void make_filter(struct squeue *q)
{
    Pst__JobFilter *f = &q->filter;

    if (!q->have_states) {
        q->states = (struct filter_states){ .base = 1u << PST__JOB_STATE__JOB_PENDING };
        if (!q->start)
            q->states = (struct filter_states){
                .base = q->states.base | 1u << PST__JOB_STATE__JOB_RUNNING |
                        1u << PST__JOB_STATE__JOB_SUSPENDED,
                .flags = 1u << PST__JOB_FLAG__JOB_FLAG_COMPLETING,
            };
    }
    if (q->me)
        filter_add_number(&f->uids, &f->n_uids, q->uid);
    if (q->nodes)
        f->nodes = xstrdup_or_die(q->nodes);
    if (q->only_state && (q->notme || q->licenses || q->steps || !filter_by_ids_only(f)))
        cli_die(CLI_EXIT_FAILED, "--only-job-state goes with --jobs, --states, --clusters and "
                                 "options of the output, not with other filters");
    filter_ids_numbers(&q->ids, &f->job_ids, &f->n_job_ids);
    /* Named jobs are asked for in any state, so that an unknown one can be told from a finished
     * one; flags other than COMPLETING cannot be asked for at all. */
    if (q->ids.n || q->states.all ||
        (q->states.flags & ~(1u << PST__JOB_FLAG__JOB_FLAG_COMPLETING)))
        return;
    for (uint32_t i = 0; i < NAMES_JOB_STATES; i++)
        if (q->states.base & (1u << i))
            filter_add_number(&f->states, &f->n_states, i);
    f->has_include_completing = f->include_completing = q->states.flags != 0;
}

static void end_json(struct squeue *q, const struct query_info *info, int argc, char **argv)
{
    const struct conf *conf = cli_conf(&q->cli);

    json_list_end(&q->js);
    if (!q->steps)
        json_time(&q->js, "last_backfill", 0);
    json_time(&q->js, "last_update", info->now_us);
    json_meta(&q->js, argc, argv, conf_str(conf, CONF_CLUSTER_NAME),
              conf_str(conf, CONF_ACCOUNTING_STORAGE_TYPE));
    json_end(&q->js);
}

static void write_lines(struct squeue *q)
{
    flush_out(q, true); /* the heading */
    if (fmt_lines_write(q->lines, stdout) < 0)
        exit(CLI_EXIT_FAILED);
}

static void list_once(struct squeue *q, int argc, char **argv)
{
    struct query_info info = { 0 };

    if (q->json.wanted) {
        json_begin(&q->js, &q->out, json_option_style(&q->json));
        q->js.plain_null = q->json.complex;
        json_list(&q->js, q->steps ? "steps" : "jobs");
    } else if (!q->noheader) {
        if (q->iterate_s || q->long_format)
            date_line(q);
        fmt_header(&q->fmt, &q->out);
    }
    load_hidden(q);
    if (q->nodes)
        check_nodes(q);
    if (!q->json.wanted) {
        make_order(q);
        check_mem_or_die(fmt_lines_new(&q->order, &q->lines));
    }
    if (q->steps)
        list_steps(q, &info);
    else
        list_jobs(q, &info);
    if (q->json.wanted)
        end_json(q, &info, argc, argv);
    else
        write_lines(q);
    flush_out(q, true);
    q->lines = fmt_lines_free(q->lines);
    step_jobs_done(&q->jobs);
}

static void take_arguments(struct squeue *q, int argc, char **argv, int first)
{
    struct err err = { .text = "" };

    /* "-j 12": the option's value is optional, so getopt leaves it among the arguments. */
    if (first < argc && (q->jobs_word_missing || q->steps_word_missing)) {
        if (set_ids(q, argv[first], &err) != 0)
            cli_die(CLI_EXIT_FAILED, "%s", err.text);
        first++;
    }
    if (first < argc) {
        opts_print_usage(&command, stdout);
        (void)fflush(stdout);
        cli_die(CLI_EXIT_FAILED, "Unrecognized option: %s", argv[first]);
    }
}

/* --watch: the filters that the controller applies to changes. */
static int watch_jobs(struct squeue *q)
{
    const Pst__JobFilter *f = &q->filter;
    struct watch_options o = { .cli = &q->cli,
                               .entities = 1u << PST__WATCH_ENTITY__WATCH_JOB,
                               .jobs = &q->filter,
                               .all_states = !q->have_states || q->states.all,
                               .ids = q->ids.n ? &q->ids : NULL,
                               .json = q->json.wanted,
                               .changes_only = q->changes_only,
                               .since = q->since };

    if (f->n_accounts || f->n_qos || f->n_reservations || f->nodes || q->licenses || q->notme ||
        q->have_over || q->have_under || q->steps || q->iterate_s)
        cli_die(CLI_EXIT_FAILED, "--watch goes with --jobs, --me, --name, --partition, --states and --user "
                                 "only");
    if (q->ids.n && q->have_states && !q->states.all)
        for (uint32_t i = 0; i < NAMES_JOB_STATES; i++)
            if (q->states.base & (1u << i))
                filter_add_number(&q->filter.states, &q->filter.n_states, i);
    return watch_follow(&o);
}

/* --explain: every pending job that the filters choose. */
static int explain_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct squeue *q = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;
    struct job_row row = { .job = j, .now_us = info->now_us };
    bool named = filter_ids_match(&q->ids, j->job_id, j->array_job_id, j->has_array_task_id,
                                  j->array_task_id) ||
                 filter_ids_match_whole(&q->ids, j->job_id, j->array_job_id);

    if (named && (q->ids.n || (job_is_pending(&row) && wanted(q, &row))))
        filter_add_number(&q->explained, &q->n_explained, j->job_id);
    return 0;
}

static int explain_jobs(struct squeue *q)
{
    struct pb_fieldset set = { 0 };
    struct query_info info = { 0 };
    bool ok = true;

    fmt_need_names("job_id array_job_id array_task_id array_tasks state state_flags uid licenses partition",
                   &pst__job_record__descriptor, &set);
    load_hidden(q);
    run_query(q, OP_QUERY_JOBS, &pst__job_record__descriptor, &set, explain_job, &info);
    if (q->ids.n && !q->n_explained) {
        (void)fprintf(stderr, "slurm_load_jobs error: %s\n", slurm_err_text(ESLURM_INVALID_JOB_ID));
        return CLI_EXIT_FAILED;
    }
    for (size_t i = 0; i < q->n_explained; i++)
        ok &= explain_print(q->client, q->explained[i], q->json.wanted, i > 0) >= 0;
    free(q->explained);
    return ok ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

static void done(struct squeue *q)
{
    filter_free_words(q->hidden, q->n_hidden);
    filter_done(&q->filter);
    filter_ids_done(&q->ids);
    fmt_done(&q->fmt);
    strbuf_done(&q->out);
    client_free(q->client);
    cli_done(&q->cli);
}

int main(int argc, char **argv)
{
    struct squeue q = { .filter = PST__JOB_FILTER__INIT,
                        .bitstr_len = job_bitstr_len(),
                        .uid = getuid() };
    struct err err = { .text = "" };
    _cleanup_free_ char **words = xmalloc_or_die(((size_t)argc + 1) * sizeof(*words));
    int status;

    memcpy(words, argv, (size_t)argc * sizeof(*words)); /* before getopt reorders them */
    cli_init(&q.cli, "squeue");
    opts_env(&command, set_option, &q);
    take_arguments(&q, argc, argv, opts_parse(&command, argc, argv, set_option, &q));
    status = q.json.wanted ? json_option_done(&q.json, q.json_result, q.json_arg) : -1;
    if (status >= 0)
        exit(status);
    if (q.watch) {
        make_filter(&q);
        return watch_jobs(&q);
    }
    if (q.since || q.changes_only)
        cli_die(CLI_EXIT_FAILED, "--since and --changes-only need --watch");
    if (!q.json.wanted)
        make_format(&q);
    if (q.clusters)
        query_check_clusters(&q.cli, q.clusters, !q.json.wanted);
    if (cli_connect(&q.cli, &q.client, &err) < 0) {
        (void)fprintf(stderr, "slurm_load_jobs error: %s\n", err.text);
        return CLI_EXIT_FAILED;
    }
    (void)sluids_find(q.client, &q.ids); /* what fails here fails again below */
    make_filter(&q);
    if (q.explain) {
        status = explain_jobs(&q);
        done(&q);
        return status;
    }
    for (;;) {
        list_once(&q, argc, words);
        if (!q.iterate_s)
            break;
        (void)printf("\n");
        (void)sleep(q.iterate_s);
    }
    done(&q);
    return 0;
}
