/* squeue_list.c - one listing of jobs or steps; see squeue.h
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

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/wordlist.h"
#include "cli/base/iterate.h"
#include "cli/format/json_alloc.h"
#include "cli/format/json_job.h"
#include "cli/query/out_nodes.h"
#include "cli/squeue/squeue.h"
#include "model/words/names.h"
#include "wire/errors.h"
#include "wire/ops.h"

static void make_order(struct squeue *q)
{
    const char *spec = q->sort ? q->sort : q->steps ? "P,i" : q->start ? "S" : "P,t,-p";
    char bad;

    if (q->steps) { /* SQUEUE_SORT names what jobs have: steps are sorted by what they have of it */
        if (fmt_sort_parse(&q->order, &squeue_step_fields, spec, NULL) < 0)
            cli_die(CLI_EXIT_FAILED, "Too many sort keys: %s", spec);
    } else if (fmt_sort_parse(&q->order, &squeue_job_fields, spec, &bad) < 0) {
        cli_write_out(&q->out, true); /* the heading comes first, as users know it */
        cli_die(CLI_EXIT_FAILED, "Invalid sort specification: %c", bad);
    }
}

/* ---- filters applied here -------------------------------------------------------------------- */

static bool partition_hidden(const struct squeue *q, const char *list)
{
    if (!q->n_hidden || !list)
        return false;
    for (size_t i = 0; i < q->n_hidden; i++)
        if (wordlist_has(list, q->hidden[i]))
            return true;
    return false;
}

/* Revoked copies are shown with --all and with --states alone. */
static bool told_elsewhere(const struct squeue *q, const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;
    bool revoked = j->state_flags & 1u << PST__JOB_FLAG__JOB_FLAG_REVOKED;

    if (revoked)
        return !q->all && !q->filter.have_states;
    return q->federated && !q->view.sibling && job_is_copy(r);
}

bool squeue_wanted(const struct squeue *q, const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;

    if (told_elsewhere(q, r))
        return false;

    return jobfilter_match_state(&q->filter, j) && jobfilter_match(&q->filter, r) &&
           !partition_hidden(q, j->partition);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Orders rows with equal keys: components that run follow each other as their numbers do, those
 * that wait are jobs like others. */
static uint64_t place_of(const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;

    if (j->het_job_id && !job_is_pending(r))
        return (uint64_t)j->het_job_id << 32 | j->het_offset;
    return (uint64_t)j->job_id << 32 | r->task;
}

static void emit_row(struct squeue *q, const struct job_row *r)
{
    size_t start = q->out.len;

    if (q->json.wanted) {
        (q->only_state ? json_job_state : json_job)(&q->js, r);
        cli_write_out(&q->out, false);
        return;
    }
    fmt_row(&q->fmt, r, &q->out);
    if (q->lines)
        check_mem_or_die(fmt_lines_add(q->lines, &q->out, start, r, place_of(r)));
    else
        cli_write_out(&q->out, false);
}

/* One of those of --partition, when there are any? */
static bool is_wanted_partition(const struct squeue *q, const char *name)
{
    const Pst__JobFilter *f = &q->filter.request;

    for (size_t i = 0; i < f->n_partitions; i++)
        if (strcmp(f->partitions[i], name) == 0)
            return true;
    return f->n_partitions == 0;
}

/* With --priority a pending job of several partitions has a line for each. */
static void emit_partitions(struct squeue *q, struct job_row *r)
{
    const char *list = r->job->partition;

    if (!q->per_partition || !job_is_pending(r) || !list || !strchr(list, ',')) {
        emit_row(q, r);
        return;
    }
    while (*list) {
        size_t len = strcspn(list, ",");
        _cleanup_free_ char *name = xasprintf_or_die("%.*s", (int)len, list);

        r->partition = name;
        if (is_wanted_partition(q, name))
            emit_row(q, r);
        r->partition = NULL;
        list += len + (list[len] == ',');
    }
}

struct task_walk {
    struct squeue *q;
    struct job_row row;
    bool only_named;
    struct strbuf named;           /* "6-7,9": the tasks that are asked for */
    uint32_t n_named, first, last; /* ... how many, and the ends of their last range */
};

static int on_task(void *ctx, uint32_t task)
{
    struct task_walk *w = ctx;

    if (w->only_named && !filter_ids_match(&w->q->filter.ids, w->row.job->job_id,
                                           job_group_id(w->row.job), true, task))
        return 0;
    w->row.has_task = true;
    w->row.task = task;
    emit_partitions(w->q, &w->row);
    return 0;
}

static void end_range(struct task_walk *w)
{
    if (!w->n_named)
        return;
    strbuf_addf(&w->named, "%s%u", w->named.len ? "," : "", w->first);
    if (w->last != w->first)
        strbuf_addf(&w->named, "-%u", w->last);
}

static int on_named_task(void *ctx, uint32_t task)
{
    struct task_walk *w = ctx;

    if (!filter_ids_match(&w->q->filter.ids, w->row.job->job_id, job_group_id(w->row.job), true,
                          task))
        return 0;
    if (!w->n_named || task != w->last + 1) {
        end_range(w);
        w->first = task;
    }
    w->last = task;
    w->n_named++;
    return 0;
}

/* Some tasks of a set that waits: several have one line, as the set has. */
static int emit_named_tasks(struct squeue *q, struct task_walk *w)
{
    Pst__JobRecord some = *w->row.job;
    int r = filter_each_task(some.array_tasks, on_named_task, w);

    if (r == 0 && w->n_named == 1) {
        w->row.has_task = true;
        w->row.task = w->last;
        emit_partitions(q, &w->row);
    } else if (r == 0 && w->n_named) {
        end_range(w);
        strbuf_add(&w->named, some.array_tasks + strcspn(some.array_tasks, "%"));
        some.array_tasks = (char *)strbuf_str(&w->named);
        w->row.job = &some;
        emit_partitions(q, &w->row);
    }
    strbuf_done(&w->named);
    return r;
}

/* Is a line told of all records of an array that wait? */
static bool joins_arrays(const struct squeue *q)
{
    return !q->array && !q->json.wanted && !q->only_state && !q->per_partition;
}

static void emit_array(void *ctx, struct job_row *row)
{
    emit_row(ctx, row);
}

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct squeue *q = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;
    struct task_walk w = {
        .q = q,
        .named = STRBUF_INIT,
        .row = { .job = j,
                 .now_us = info->now_us,
                 .cluster = cli_cluster_name(&q->cli),
                 .select_type = conf_str(cli_conf(&q->cli), CONF_SELECT_TYPE_PARAMETERS),
                 .use = q->use,
                 .noconvert = q->noconvert,
                 .expand = q->expand,
                 .no_throttle = q->only_state,
                 .bitstr_len = q->bitstr_len,
                 .cut_id = !getenv("SLURM_BITSTR_LEN") },
    };

    if (!squeue_wanted(q, &w.row))
        return 0;
    w.only_named =
        q->filter.ids.n && !filter_ids_match_whole(&q->filter.ids, j->job_id, job_group_id(j));
    if (joins_arrays(q) && !w.only_named) {
        int r = job_arrays_take(&q->arrays, &w.row);

        check_mem_or_die(MIN(r, 0));
        if (r > 0)
            return 0;
    }
    if (!j->array_tasks) {
        if (filter_ids_match(&q->filter.ids, j->job_id, job_group_id(j), j->has_array_task_id,
                             j->array_task_id))
            emit_partitions(q, &w.row);
        return 0;
    }
    if (w.only_named && !q->array && !q->only_state)
        return emit_named_tasks(q, &w);
    if (q->array || w.only_named || (q->only_state && q->json.wanted) ||
        (joins_arrays(q) && job_is_split_set(j)))
        return filter_each_task(j->array_tasks, on_task, &w);
    emit_partitions(q, &w.row);
    return 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

static noreturn void die_loading(struct squeue *q, const char *what, int r)
{
    int code = r == -EREMOTEIO ? client_error(q->client, NULL) : 0;

    if (code == ESLURM_INVALID_NODE_NAME && q->filter.request.nodes)
        cli_die(CLI_EXIT_FAILED, "Invalid node name %s", q->filter.request.nodes);
    cli_write_out(&q->out, true);
    (void)fprintf(stderr, "%s error: %s\n", what, client_strerror(q->client, r));
    exit(q->iterate_s ? ITERATE_AGAIN : CLI_EXIT_FAILED);
}

void squeue_query(struct squeue *q, unsigned op, const ProtobufCMessageDescriptor *desc,
                  const struct pb_fieldset *fields, query_fn *fn, struct query_info *info)
{
    Pst__QueryRequest request = query_to_print();
    int r;

    request.jobs = &q->filter.request;
    if (fields)
        check_mem_or_die(query_fields(fields, &request.fields, &request.n_fields));
    r = query_run(q->client, op, &request.base, desc, fn, q, info);
    free(request.fields);
    if (r < 0)
        die_loading(q, op == OP_QUERY_JOBS ? "slurm_load_jobs" : "slurm_get_job_steps", r);
}

/* Which partitions are hidden.  Jobs asked for by number are shown wherever they are, and so are
 * those of a partition that is named. */
void squeue_load_hidden(struct squeue *q)
{
    int r;

    argwords_free(q->hidden, q->n_hidden);
    q->hidden = NULL;
    q->n_hidden = 0;
    if (q->all || ((q->jobs_given || q->filter.request.n_partitions) && !q->hide))
        return;
    r = hidden_partitions_load(q->client, &q->hidden, &q->n_hidden);
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
    if (n->name && n->state != PST__NODE_STATE__NODE_FUTURE) /* which is listed nowhere */
        (void)hostlist_remove(c->missing, n->name);
    return 0;
}

/* A name that is no node is a mistake to be told. */
static void check_nodes(struct squeue *q)
{
    struct node_check c = { 0 };
    struct pb_fieldset set = { 0 };
    Pst__QueryRequest request = query_to_print();
    struct err err = { .text = "" };
    int r;

    if (hostlist_parse(q->filter.request.nodes, &c.missing, &err) < 0)
        cli_die(CLI_EXIT_FAILED, "'%s' invalid entry for --nodelist", q->filter.request.nodes);
    hostlist_uniq(c.missing);
    query_need_names("name state", &pst__node_record__descriptor, &set);
    check_mem_or_die(query_fields(&set, &request.fields, &request.n_fields));
    request.names = (char *)q->filter.request.nodes;
    r = query_run(q->client, OP_QUERY_NODES, &request.base, &pst__node_record__descriptor, on_node,
                  &c, NULL);
    if (r < 0 && (r != -EREMOTEIO || client_error(q->client, NULL) != ESLURM_INVALID_NODE_NAME))
        die_loading(q, "slurm_load_node", r);
    if (r < 0 || hostlist_count(c.missing))
        cli_die(CLI_EXIT_FAILED, "Invalid node name %s",
                hostlist_count(c.missing) ? hostlist_nth(c.missing, 0) : q->filter.request.nodes);
    free(request.fields);
    (void)hostlist_free(c.missing);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int on_step_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct squeue *q = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;
    struct job_row row = { .job = j, .now_us = info->now_us };

    if (squeue_wanted(q, &row) && !j->array_tasks)
        step_jobs_add(&q->jobs, j);
    return 0;
}

static int emit_step(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct squeue *q = ctx;
    const Pst__StepRecord *s = (const Pst__StepRecord *)record;
    const struct step_job *job = step_jobs_find(&q->jobs, s->job_id);
    struct step_row row;
    size_t start = q->out.len;

    if (!job || names_job_state_terminal((unsigned)s->state) ||
        !filter_ids_match_step(&q->filter.ids, job->job_id, job->group_id, job->has_task,
                               job->array_task_id, s->step_id))
        return 0;
    row = (struct step_row){ .step = s,
                             .now_us = info->now_us,
                             .array_job_id = job->array_job_id,
                             .array_task_id = job->array_task_id,
                             .user = job->user,
                             .partition = job->partition,
                             .sluid = job->sluid,
                             .cluster = cli_cluster_name(&q->cli) };
    if (q->json.wanted) {
        json_step(&q->js, &row);
        cli_write_out(&q->out, false);
        return 0;
    }
    fmt_row(&q->fmt, &row, &q->out);
    check_mem_or_die(
        fmt_lines_add(q->lines, &q->out, start, &row, (uint64_t)s->job_id << 32 | s->step_id));
    return 0;
}

static int on_step(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct squeue *q = ctx;

    return step_jobs_in_order(&q->jobs, (const Pst__StepRecord *)record, info, emit_step, q);
}

static void list_steps(struct squeue *q, struct query_info *info)
{
    struct pb_fieldset set = { 0 };

    query_need_names(STEP_JOBS_FIELDS " state state_flags", &pst__job_record__descriptor, &set);
    if (q->filter.licenses)
        query_need_names("licenses", &pst__job_record__descriptor, &set);
    squeue_query(q, OP_QUERY_JOBS, &pst__job_record__descriptor, &set, on_step_job, info);
    step_jobs_sort(&q->jobs);
    memset(&set, 0, sizeof(set));
    fmt_needs(&q->fmt, &pst__step_record__descriptor, &set);
    fmt_sort_needs(&q->order, &pst__step_record__descriptor, &set);
    query_need_names("job_id step_id state", &pst__step_record__descriptor, &set);
    squeue_query(q, OP_QUERY_STEPS, &pst__step_record__descriptor, q->json.wanted ? NULL : &set,
                 on_step, info);
    (void)step_jobs_last(&q->jobs, info, emit_step, q); /* always 0 */
}

/* What steps use of their jobs' nodes. */
static void load_use(struct squeue *q)
{
    int r = step_use_load(q->client, &q->filter.request, &q->use);

    if (r < 0)
        die_loading(q, "slurm_get_job_steps", r);
}

static void list_jobs(struct squeue *q, struct query_info *info)
{
    struct pb_fieldset set = { 0 };

    fmt_needs(&q->fmt, &pst__job_record__descriptor, &set);
    fmt_sort_needs(&q->order, &pst__job_record__descriptor, &set);
    query_need_names(
        "job_id array_job_id array_task_id array_tasks het_job_id het_offset state state_flags",
        &pst__job_record__descriptor, &set);
    if (q->federated && !q->view.sibling)
        query_need_names("fed_origin fed_owner", &pst__job_record__descriptor, &set);
    if (q->filter.notme)
        query_need_names("uid", &pst__job_record__descriptor, &set);
    if (q->filter.licenses)
        query_need_names("licenses", &pst__job_record__descriptor, &set);
    if (joins_arrays(q))
        query_need_names("name partition", &pst__job_record__descriptor, &set);
    if (q->n_hidden || q->per_partition)
        query_need_names("partition", &pst__job_record__descriptor, &set);
    if (q->filter.have_over || q->filter.have_under)
        query_need_names("start_us end_us suspend_us suspended_us", &pst__job_record__descriptor,
                         &set);
    if (q->json.wanted && !q->only_state)
        load_use(q);
    squeue_query(q, OP_QUERY_JOBS, &pst__job_record__descriptor, q->json.wanted ? NULL : &set,
                 on_job, info);
    check_mem_or_die(job_arrays_end(&q->arrays, emit_array, q));
    q->use = step_use_free(q->use);
}

/* ---- one listing ----------------------------------------------------------------------------- */

static void date_line(struct squeue *q)
{
    char buf[64];
    time_t now = time(NULL);
    struct tm tm;

    if (localtime_r(&now, &tm) && strftime(buf, sizeof(buf), "%a %b %d %H:%M:%S %Y\n", &tm))
        strbuf_add(&q->out, buf);
}

void squeue_make_filter(struct squeue *q)
{
    Pst__JobFilter *f = &q->filter.request;

    if (!q->filter.have_states) {
        q->filter.states = (struct filter_states){ .base = 1u << PST__JOB_STATE__JOB_PENDING };
        if (!q->start || q->steps)
            q->filter.states = (struct filter_states){
                .base = q->filter.states.base | 1u << PST__JOB_STATE__JOB_RUNNING |
                        1u << PST__JOB_STATE__JOB_SUSPENDED,
                .flags = 1u << PST__JOB_FLAG__JOB_FLAG_COMPLETING,
            };
    }
    jobfilter_ask_me(&q->filter);
    if (q->only_state &&
        (q->filter.notme || q->filter.licenses || q->steps || !filter_by_ids_only(f)))
        cli_die(CLI_EXIT_FAILED, "--only-job-state goes with --jobs, --states, --clusters and "
                                 "options of the output, not with other filters");
    jobfilter_ask_ids(&q->filter);
    /* Named jobs are asked for in any state, so that an unknown one can be told from a finished
     * one; flags other than COMPLETING cannot be asked for at all. */
    if (q->filter.ids.n || q->filter.states.all ||
        (q->filter.states.flags & ~(1u << PST__JOB_FLAG__JOB_FLAG_COMPLETING)))
        return;
    jobfilter_ask_states(&q->filter);
    f->has_include_completing = f->include_completing = q->filter.states.flags != 0;
}

static void end_json(struct squeue *q, const struct query_info *info, int argc, char **argv)
{
    const struct conf *conf = cli_conf(&q->cli);

    json_list_end(&q->js);
    if (!q->steps && !q->only_state)
        json_time(&q->js, "last_backfill", info->planned_us);
    if (!q->only_state)
        json_time(&q->js, "last_update", info->now_us);
    q->js.warning = cli_standby_note(&q->cli);
    json_meta(&q->js, argc, argv, cli_cluster_name(&q->cli),
              conf_str(conf, CONF_ACCOUNTING_STORAGE_TYPE));
    json_end(&q->js);
}

static void write_lines(struct squeue *q)
{
    cli_write_out(&q->out, true); /* the heading */
    if (fmt_lines_write(q->lines, stdout) < 0)
        exit(CLI_EXIT_FAILED);
}

void squeue_begin(struct squeue *q)
{
    q->info = (struct query_info){ 0 };
    q->n_jobs = 0;
    if (q->json.wanted) {
        json_begin_option(&q->js, &q->out, &q->json);
        json_list(&q->js, q->steps ? "steps" : "jobs");
    } else if (!q->noheader) {
        if (q->iterate_s || q->long_format)
            date_line(q);
        fmt_header(&q->fmt, &q->out);
    }
}

void squeue_begin_order(struct squeue *q)
{
    if (q->json.wanted)
        return;
    make_order(q);
    check_mem_or_die(fmt_lines_new(&q->order, &q->lines));
}

void squeue_add(struct squeue *q)
{
    if (q->steps)
        list_steps(q, &q->info);
    else
        list_jobs(q, &q->info);
    q->n_jobs += q->info.records;
    step_jobs_done(&q->jobs);
}

static int pass_over(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    (void)ctx, (void)record, (void)info;
    return 0;
}

/* Is there a job of the only id, which some other filter keeps out? */
static bool is_kept_out(struct squeue *q)
{
    Pst__QueryRequest request = query_to_print();
    Pst__JobFilter only = PST__JOB_FILTER__INIT;
    struct query_info info = { 0 };

    if (q->several)
        return false;
    only.job_ids = q->filter.request.job_ids;
    only.n_job_ids = q->filter.request.n_job_ids;
    request.jobs = &only;
    return only.n_job_ids &&
           query_run(q->client, OP_QUERY_JOBS, &request.base, &pst__job_record__descriptor,
                     pass_over, NULL, &info) >= 0 &&
           info.records > 0;
}

/* A single job id that no controller knows is a mistake; of several ids, those that exist are
 * shown. */
static void tell_unknown(struct squeue *q)
{
    if (q->steps || q->filter.ids.n != 1 || q->filter.ids.ids[0].job_id == SQUEUE_NO_JOB ||
        q->n_jobs > 0 || is_kept_out(q))
        return;
    if (!q->json.wanted)
        strbuf_reset(&q->out);
    (void)fprintf(stderr, "slurm_load_jobs error: %s\n", slurm_err_text(ESLURM_INVALID_JOB_ID));
    if (!q->several || q->federated)
        exit(q->iterate_s ? ITERATE_AGAIN : CLI_EXIT_FAILED);
    q->status = CLI_EXIT_FAILED;
}

void squeue_end(struct squeue *q, int argc, char **argv)
{
    tell_unknown(q);
    if (q->json.wanted)
        end_json(q, &q->info, argc, argv);
    else
        write_lines(q);
    cli_write_out(&q->out, true);
    q->lines = fmt_lines_free(q->lines);
}

void squeue_list(struct squeue *q, int argc, char **argv)
{
    squeue_begin(q);
    squeue_load_hidden(q);
    if (q->filter.request.nodes)
        check_nodes(q);
    squeue_begin_order(q);
    squeue_add(q);
    squeue_end(q, argc, argv);
}
