/* sstat.c - what the tasks of running steps use at this moment
 *
 * The controller signs for each step; the connection to each of its nodes is handed to the step
 * daemon, which looks at its processes and answers.  The nodes' parts are added up here. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.pb-c.h"

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/base/cli.h"
#include "cli/format/fmt_sacct.h"
#include "cli/base/ids.h"
#include "cli/base/nodeconnect.h"
#include "cli/base/opts.h"
#include "cli/query/out_filter.h"
#include "cli/base/clusters.h"
#include "cli/query/out_query.h"
#include "cli/query/out_sluid.h"
#include "model/words/names.h"
#include "model/words/stepuse.h"
#include "wire/errors.h"
#include "wire/ops.h"

struct sstat {
    struct cli cli;
    struct client *client;
    struct filter_ids ids;
    struct sacct_fmt fmt;
    struct opt_fields format;
    const char *clusters;
    bool all, noheader, noconvert, helpformat;
    bool by_node; /* a line for each node of a step */
    struct strbuf out;

    const struct ids *id; /* that is looked up */
    bool of_leader;       /* a component was named: the leader's steps alone */
    uint32_t task_job;    /* a task of an array: its steps, not those of all tasks; 0: no task */
    Pst__JobRecord **jobs;
    Pst__StepRecord **steps;
    size_t n_jobs, n_steps;
};

static int take_pid_format(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct sstat *s = at;

    (void)opt, (void)arg, (void)err;
    s->by_node = true;
    opt_fields_add(&s->format, SSTAT_PIDS, OPT_FROM_ARGV);
    return 0;
}

#define OPT_INTO struct sstat
static const struct opt rows[] = {
    OPT("allsteps", 'a', OPT_NONE, OPT_FLAG(all), NULL, NULL, NULL,
        "all steps of a job, the batch script's too, not the first one of srun alone"),
    OPT("clusters", 'M', OPT_REQ, OPT_TEXT(clusters), "SLURM_CLUSTERS", NULL, "names",
        "steps of this cluster"),
    OPT("fields", 0, OPT_REQ, OPT_FIELDS(format)),
    OPT("format", 'o', OPT_REQ, OPT_FIELDS(format), NULL, NULL, "fields",
        "columns as name[%[-]width],..."),
    OPT("helpformat", 'e', OPT_NONE, OPT_FLAG(helpformat), NULL, NULL, NULL, "list the fields"),
    OPT("jobs", 'j', OPT_REQ, OPT_TAKE(ids, filter_take_ids), NULL, NULL, "job[.step],...",
        "these jobs or steps"),
    OPT("noconvert", 0, OPT_NONE, OPT_FLAG(noconvert), NULL, NULL, NULL, "sizes as plain numbers"),
    OPT("noheader", 'n', OPT_NONE, OPT_FLAG(noheader), NULL, NULL, NULL, "no headings"),
    OPT("parsable", 'p', OPT_NONE, OPT_CHOICE(fmt.style, SACCT_PARSABLE), NULL, NULL, NULL,
        "a | after each value"),
    OPT("parsable2", 'P', OPT_NONE, OPT_CHOICE(fmt.style, SACCT_PARSABLE2), NULL, NULL, NULL,
        "a | between values"),
    OPT("pidformat", 'i', OPT_NONE, OPT_TAKE_ALL(take_pid_format), NULL, NULL, NULL,
        "the nodes of each step and its processes"),
    OPT("steps", 0, OPT_REQ, OPT_TAKE(ids, filter_take_ids)),
    OPT("verbose", 'v', OPT_NONE, OPT_VERBOSE(cli), NULL, NULL, NULL, "say what is done"),
};

static void print_names(FILE *f)
{
    for (size_t i = 0; i < sstat_fields.n; i++)
        (void)fprintf(f, "field\t%s\t-\t%s\tshown\n", sstat_fields.fields[i].name,
                      sstat_fields.fields[i].name);
}

static const struct opt_command command = {
    .name = "sstat",
    .prefix = "SSTAT",
    .prefix2 = "SLURM",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS] -j <job(.step)>",
    .usage_status = CLI_EXIT_FAILED,
    .permute = true,
    .names = print_names,
};

/* ---- which steps ----------------------------------------------------------------------------- */

static void *keep_message(const ProtobufCMessage *record)
{
    ProtobufCMessage *copy = NULL;

    check_mem_or_die(pb_dup(record, &copy));
    return copy;
}

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;
    struct filter_ids one;
    struct sstat *s = ctx;

    (void)info;
    one = (struct filter_ids){ (struct ids *)s->id, 1 };
    if (!filter_ids_match(&one, j->job_id, j->array_job_id, j->has_array_task_id, j->array_task_id))
        return 0;
    s->jobs = xrealloc_or_die(s->jobs, s->n_jobs + 1, sizeof(Pst__JobRecord *));
    s->jobs[s->n_jobs++] = keep_message(record);
    return 0;
}

static int on_step(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    const Pst__StepRecord *rec = (const Pst__StepRecord *)record;
    struct sstat *s = ctx;

    (void)info;
    if (rec->state != PST__STEP_STATE__STEP_RUNNING ||
        (s->id->has_step && s->id->step_id != rec->step_id) ||
        (s->of_leader && rec->job_id != s->id->job_id) ||
        (s->task_job && rec->job_id != s->task_job))
        return 0;
    s->steps = xrealloc_or_die(s->steps, s->n_steps + 1, sizeof(Pst__StepRecord *));
    s->steps[s->n_steps++] = keep_message(record);
    return 0;
}

static void ask_records(struct sstat *s, unsigned op, const ProtobufCMessageDescriptor *desc,
                        uint32_t job_id, query_fn *fn)
{
    Pst__QueryRequest req = PST__QUERY_REQUEST__INIT;
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    struct query_info info = { 0 };
    int r;

    filter.job_ids = &job_id;
    filter.n_job_ids = 1;
    req.jobs = &filter;
    r = query_run(s->client, op, &req.base, desc, fn, s, &info);
    if (r < 0)
        cli_die(CLI_EXIT_FAILED, "couldn't get steps for JobId=%u: %s", job_id,
                client_strerror(s->client, r));
}

/* extern, batch, interactive, then in the order they began. */
static uint64_t step_rank(const Pst__StepRecord *rec)
{
    return rec->step_id < NAMES_STEP_INTERACTIVE ? (uint64_t)rec->step_id + 8
                                                 : NAMES_STEP_PENDING - (uint64_t)rec->step_id;
}

static int compare_steps(const void *a, const void *b)
{
    const Pst__StepRecord *x = *(Pst__StepRecord *const *)a, *y = *(Pst__StepRecord *const *)b;

    return step_rank(x) < step_rank(y) ? -1 : step_rank(x) > step_rank(y);
}

/* ---- asking the nodes ------------------------------------------------------------------------ */

struct answer {
    Pst__StepUsage *usage;
    uint32_t *pids;
    size_t n_pids;
};

static void add_answer(struct answer *a, const Pst__StepStat *stat)
{
    Pst__StepUsage *sum = stepuse_sum(a->usage, stat->usage);

    check_mem_or_die(sum ? 0 : -ENOMEM);
    if (a->usage)
        pst__step_usage__free_unpacked(a->usage, NULL);
    a->usage = sum;
    a->pids = xrealloc_or_die(a->pids, a->n_pids + stat->n_pids + 1, sizeof(*a->pids));
    for (size_t i = 0; i < stat->n_pids; i++)
        a->pids[a->n_pids++] = stat->pids[i];
}

static void ask_node(struct sstat *s, const Pst__NodeAddr *addr, const Pst__StepReply *access,
                     struct answer *a)
{
    Pst__StatStep req = PST__STAT_STEP__INIT;
    struct err err = { .text = "" };
    ProtobufCMessage *reply = NULL;
    struct client *node = NULL;
    int r;

    if (nodeconnect_step(&s->cli, access, addr, &node, &err) < 0) {
        cli_error("problem getting step_layout for %s: %s", addr->name, err.text);
        return;
    }
    req.credential = access->credential;
    req.node_name = addr->name;
    req.stream_key = client_stream_key(node);
    req.has_stream_key = req.stream_key.len > 0;
    r = client_call(node, OP_STAT_STEP, &req.base, &reply);
    if (r == 0)
        add_answer(a, PB_AS(step_stat, reply));
    else
        cli_verbose(1, "node %s: %s", addr->name,
                    client_strerror(node, r)); /* its tasks are over */
    if (reply)
        protobuf_c_message_free_unpacked(reply, NULL);
    client_free(node);
}

/* Another user's step: each of its nodes is named, as users know it. */
static void tell_denied(const Pst__StepRecord *step, const char *id)
{
    _cleanup_(hostlist_free) struct hostlist *nodes = NULL;
    const char *why = slurm_err_text(ESLURM_USER_ID_MISSING);

    if (step->alloc && step->alloc->nodes && hostlist_parse(step->alloc->nodes, &nodes, NULL) == 0)
        for (size_t i = 0; i < hostlist_count(nodes); i++)
            cli_error("slurm_job_step_stat: there was an error with the request to %s rc = %s",
                      hostlist_nth(nodes, i), why);
    cli_error("problem getting step_layout for StepId=%s: %s", id, why);
}

static void put_row(struct sstat *s, struct sacct_row *row, Pst__StepRecord *step, struct answer *a)
{
    if (step->usage)
        pst__step_usage__free_unpacked(step->usage, NULL);
    step->usage = TAKE_PTR(a->usage);
    row->now_us = now_us();
    row->pids = a->pids;
    row->n_pids = a->n_pids;
    sacct_fmt_row(&s->fmt, row, &s->out);
    free(a->pids);
    *a = (struct answer){ 0 };
}

/* The same with what one node answered, as if the step had no other. */
static void put_node(struct sstat *s, struct sacct_row *row, Pst__StepRecord *step, char *node,
                     struct answer *a)
{
    char *all = step->alloc ? step->alloc->nodes : NULL;

    if (step->alloc)
        step->alloc->nodes = node;
    put_row(s, row, step, a);
    if (step->alloc)
        step->alloc->nodes = all;
}

static void print_step(struct sstat *s, Pst__JobRecord *job, Pst__StepRecord *step)
{
    Pst__AccessRequest req = PST__ACCESS_REQUEST__INIT;
    Pst__AcctJob acct = PST__ACCT_JOB__INIT;
    Pst__StepReply *reply = NULL;
    struct answer a = { 0 };
    char name[16];
    _cleanup_free_ char *id =
        xasprintf_or_die("%u.%s", step->job_id, step_name(step->step_id, name, sizeof(name)));
    struct sacct_row row = { .acct = &acct, .step = step, .live = true, .noconvert = s->noconvert };
    int r;

    req.id = id;
    req.has_purpose = true;
    req.purpose = PST__CRED_PURPOSE__CRED_STAT;
    r = client_call(s->client, OP_ACCESS, &req.base, (ProtobufCMessage **)&reply);
    if (r == -EREMOTEIO && client_error(s->client, NULL) == ESLURM_ACCESS_DENIED) {
        tell_denied(step, id);
        return;
    }
    if (r < 0) {
        cli_error("couldn't get statistics of step %s: %s", id, client_strerror(s->client, r));
        return;
    }
    acct.job = job;
    acct.steps = &step;
    acct.n_steps = 1;
    for (size_t i = 0; i < reply->n_nodes; i++) {
        ask_node(s, reply->nodes[i], reply, &a);
        if (s->by_node)
            put_node(s, &row, step, reply->nodes[i]->name, &a);
    }
    if (!s->by_node)
        put_row(s, &row, step, &a);
    pst__step_reply__free_unpacked(reply, NULL);
}

/* ---- main ------------------------------------------------------------------------------------ */

static void tell_absent(const struct sstat *s, const Pst__JobRecord *job)
{
    char name[16];

    cli_error("StepId=%u.%s not found running.", job->job_id,
              step_name(s->id->step_id, name, sizeof(name)));
}

/* Without -a and a step's name: the first step of srun. */
static void print_steps(struct sstat *s, Pst__JobRecord *job)
{
    size_t shown = 0;

    s->task_job = job->has_array_task_id ? job->job_id : 0;
    ask_records(s, OP_QUERY_STEPS, &pst__step_record__descriptor, job->job_id, on_step);
    if (s->n_steps)
        qsort(s->steps, s->n_steps, sizeof(Pst__StepRecord *), compare_steps);
    for (size_t i = 0; i < s->n_steps; i++) {
        bool plain = s->steps[i]->step_id < NAMES_STEP_INTERACTIVE;

        if (s->all || s->id->has_step || (plain && !shown)) {
            print_step(s, job, s->steps[i]);
            shown++;
        }
        pst__step_record__free_unpacked(s->steps[i], NULL);
    }
    cli_write_out(&s->out, true);
    if (!shown && s->id->has_step)
        tell_absent(s, job);
    else if (!shown)
        cli_error("no steps running for JobId=%u", job->job_id);
    free(s->steps);
    s->steps = NULL;
    s->n_steps = 0;
}

/* A component of a heterogeneous job, 41+1, stands for the leader: the steps are the leader's. */
static void print_id(struct sstat *s, const struct ids *id)
{
    struct ids leader = *id;

    s->of_leader = id->has_het;
    leader.has_het = false;
    s->id = &leader;
    ask_records(s, OP_QUERY_JOBS, &pst__job_record__descriptor, id->job_id, on_job);
    if (!s->n_jobs)
        cli_error("couldn't get steps for JobId=%u", id->job_id);
    for (size_t i = 0; i < s->n_jobs; i++) {
        print_steps(s, s->jobs[i]);
        pst__job_record__free_unpacked(s->jobs[i], NULL);
    }
    free(s->jobs);
    s->jobs = NULL;
    s->n_jobs = 0;
    s->id = NULL;
}

static void run_command(struct sstat *s)
{
    struct err err = { .text = "" };
    int r;

    s->fmt.table = &sstat_fields;
    if (s->helpformat) {
        sacct_fmt_help(&sstat_fields, &s->out);
        cli_write_out(&s->out, true);
        return;
    }
    if (!s->ids.n)
        cli_die(CLI_EXIT_FAILED, "You didn't give me any jobs to stat.");
    r = sacct_fmt_parse(&s->fmt, s->format.list ? s->format.list : SSTAT_DEFAULT, &err);
    if (r == -EINVAL)
        cli_die(CLI_EXIT_FAILED, "%s", err.text);
    check_mem_or_die(r);
    if (s->clusters)
        clusters_use_one(&s->cli, s->clusters);
    s->client = cli_connect_or_die(&s->cli, NULL);
    (void)sluids_find(s->client, &s->ids); /* an unknown one finds no job */
    if (!s->noheader)
        sacct_fmt_header(&s->fmt, &s->out);
    cli_write_out(&s->out, true);
    for (size_t i = 0; i < s->ids.n; i++)
        print_id(s, &s->ids.ids[i]);
}

int main(int argc, char **argv)
{
    struct sstat s = { .fmt.delimiter = "|" };
    int first;

    cli_init(&s.cli, "sstat");
    opts_env(&command, &s);
    first = opts_parse(&command, argc, argv, &s);
    for (; first < argc; first++)
        (void)filter_take_ids(&s.ids, NULL, argv[first], NULL); /* exits when it is none */
    run_command(&s);
    filter_ids_done(&s.ids);
    sacct_fmt_done(&s.fmt);
    free(s.format.list);
    strbuf_done(&s.out);
    client_free(s.client);
    cli_done(&s.cli);
    return 0;
}
