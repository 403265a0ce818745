/* sprio.c - what the priorities of pending jobs are made of
 *
 * The factors come from the scheduler (query-priority), names of users, accounts and QOS from the
 * jobs; lines are rendered as records arrive, so memory holds their text only. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "cli/base/argwords.h"
#include "cli/base/cli.h"
#include "cli/format/fmt_sprio.h"
#include "cli/base/opts.h"
#include "cli/query/out_filter.h"
#include "cli/base/fedview.h"
#include "cli/query/out_query.h"
#include "cli/query/out_sluid.h"
#include "cli/query/out_users.h"
#include "wire/errors.h"
#include "wire/ops.h"

struct sprio {
    struct cli cli;
    struct client *client;
    const char *format, *sort, *clusters;
    struct fedview view;
    struct clusters fed; /* of --federation */
    size_t fed_at;       /* the one that is asked */
    bool format_given, long_format, noheader, norm, only_weights, by_user, jobs_word_missing;
    Pst__PriorityRequest request;
    struct filter_ids ids;
    const char *given_jobs, *given_users, *given_partitions; /* as typed, for -v */
    struct prio_job *jobs;                                   /* of the cluster that is asked */
    size_t njobs, cap_jobs;
    uint32_t *shown; /* numbers of jobs that the federation has shown */
    size_t n_shown, cap_shown;
    size_t n_before; /* of these, in their order: by clusters that were asked before */
    Pst__PriorityRecord *weights;
    struct fmt fmt;
    struct fmt_sort order;
    struct fmt_lines *lines;
    struct strbuf out;
    uint32_t seq;
    char bad_order; /* a letter of --sort that is none */
};

static int set_jobs(struct sprio *s, const char *arg, struct err *err)
{
    s->given_jobs = arg;
    filter_ids_done(&s->ids);
    if (filter_parse_ids(arg, &s->ids, err) < 0)
        return CLI_EXIT_FAILED;
    for (const char *p = arg; *p; p += strcspn(p, ","), p += *p == ',') {
        size_t len = strcspn(p, ",");

        if (memchr(p, '.', len) || memchr(p, '_', len)) /* steps and tasks have no priority here */
            return err_set(err, CLI_EXIT_FAILED, "Invalid job id: %.*s", (int)MIN(len, 200u), p);
    }
    return 0;
}

/* "-j" alone is all jobs; "-j 12" leaves its value among the arguments. */
static int take_jobs(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct sprio *s = at;

    (void)opt;
    s->jobs_word_missing = !arg;
    return arg ? set_jobs(s, arg, err) : 0;
}

static void tell_bad_user(const char *word)
{
    cli_error("Invalid user: %s\n", word); /* an empty line follows */
}

static int take_users(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct sprio *s = at;

    (void)opt, (void)err;
    s->given_users = arg;
    s->request.n_uids = 0; /* the last list counts */
    filter_add_users(&s->request.uids, &s->request.n_uids, arg, tell_bad_user);
    return 0;
}

static int take_partitions(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct sprio *s = at;

    (void)opt, (void)err;
    s->given_partitions = arg;
    argwords_free(s->request.partitions, s->request.n_partitions); /* the last list counts */
    s->request.partitions = NULL;
    s->request.n_partitions = 0;
    argwords_add(&s->request.partitions, &s->request.n_partitions, arg);
    return 0;
}

#define OPT_INTO struct sprio
static const struct opt rows[] = {
    OPT("clusters", 'M', OPT_REQ, OPT_TEXT(clusters), "SLURM_CLUSTERS", NULL, "names",
        "ask this cluster"),
    FEDVIEW_FEDERATION,
    OPT("format", 'o', OPT_REQ, OPT_AND(OPT_TEXT(format), OPT_GIVEN(format_given)), "@FORMAT", NULL,
        "format", "columns as %[.][width]letter"),
    OPT("jobs", 'j', OPT_OPT, OPT_TAKE_ALL(take_jobs), NULL, NULL, "ids", "these jobs"),
    FEDVIEW_LOCAL,
    OPT("long", 'l', OPT_NONE, OPT_FLAG(long_format), NULL, NULL, NULL, "more columns"),
    OPT("noheader", 'h', OPT_NONE, OPT_FLAG(noheader), NULL, NULL, NULL, "no line of headings"),
    OPT("norm", 'n', OPT_NONE, OPT_FLAG(norm), NULL, NULL, NULL,
        "factors between 0 and 1, not weighted"),
    OPT("partition", 'p', OPT_REQ, OPT_TAKE_ALL(take_partitions), NULL, NULL, "names",
        "jobs of these partitions"),
    OPT("sibling", 0, OPT_NONE, OPT_FLAG(view.sibling), "@SIBLING", NULL, NULL,
        "each cluster's copy of a job, and one more column, the cluster"),
    OPT("sort", 'S', OPT_REQ, OPT_TEXT(sort), NULL, NULL, "letters",
        "order: letters of --format, - before one reverses"),
    OPT("user", 'u', OPT_REQ, OPT_AND(OPT_TAKE_ALL(take_users), OPT_GIVEN(by_user)), NULL, NULL,
        "names", "jobs of these users"),
    OPT("users", 0, OPT_REQ, OPT_AND(OPT_TAKE_ALL(take_users), OPT_GIVEN(by_user)), NULL, NULL,
        "names"),
    OPT("verbose", 'v', OPT_NONE, OPT_VERBOSE(cli), NULL, NULL, NULL, "say more"),
    OPT("weights", 'w', OPT_NONE, OPT_FLAG(only_weights), NULL, NULL, NULL,
        "only the weights of the factors"),
};

static void print_names(FILE *f)
{
    fmt_print_names(&sprio_fields, "field", f);
}

static const struct opt_command command = {
    .name = "sprio",
    .prefix = "SPRIO",
    .prefix2 = "SLURM",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS]",
    .usage = "[-j jid[s]] [-u user_name[s]] [-o format] [-p partitions]\n"
             "   [--federation] [--local] [--sibling] [--usage] [-hlnvVw]",
    .usage_status = CLI_EXIT_FAILED,
    .permute = true,
    .names = print_names,
};

struct prio_job { /* names of one job; text is shared by many jobs and kept once */
    uint32_t job_id;
    char *user, *account, *qos, *sluid;
};

static noreturn void die_loading(struct sprio *s, int r)
{
    (void)fprintf(stderr, "slurm_load_job_prio error: %s\n",
                  client_strerror(s->client, r)); /* as users know it */
    exit(CLI_EXIT_FAILED);
}

/* ---- names of the jobs ----------------------------------------------------------------------- */

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct sprio *s = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;

    (void)info;
    if (s->njobs == s->cap_jobs) {
        s->cap_jobs = s->cap_jobs ? s->cap_jobs * 2 : 64;
        s->jobs = xrealloc_or_die(s->jobs, s->cap_jobs, sizeof(*s->jobs));
    }
    s->jobs[s->njobs++] = (struct prio_job){ .job_id = j->job_id,
                                             .user = xstrdup_or_die(j->user_name),
                                             .account = xstrdup_or_die(j->account),
                                             .qos = xstrdup_or_die(j->qos),
                                             .sluid = xstrdup_or_die(j->sluid) };
    return 0;
}

static int by_id(const void *a, const void *b)
{
    const struct prio_job *x = a, *y = b;

    return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

/* Only when a column shows them. */
static void load_jobs(struct sprio *s)
{
    uint32_t pending[] = { PST__JOB_STATE__JOB_PENDING };
    Pst__QueryRequest request = PST__QUERY_REQUEST__INIT;
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    struct pb_fieldset set = { 0 };
    int r;

    filter.states = pending;
    filter.n_states = ARRAY_SIZE(pending);
    filter.uids = s->request.uids;
    filter.n_uids = s->request.n_uids;
    filter.job_ids = s->request.job_ids;
    filter.n_job_ids = s->request.n_job_ids;
    request.jobs = &filter;
    query_need_names("job_id user_name account qos sluid", &pst__job_record__descriptor, &set);
    check_mem_or_die(query_fields(&set, &request.fields, &request.n_fields));
    r = query_run(s->client, OP_QUERY_JOBS, &request.base, &pst__job_record__descriptor, on_job, s,
                  NULL);
    free(request.fields);
    if (r < 0)
        die_loading(s, r);
    if (s->njobs > 1)
        qsort(s->jobs, s->njobs, sizeof(*s->jobs), by_id);
}

/* ---- the listing ----------------------------------------------------------------------------- */

static void bad_format(void *ctx, const char *spec)
{
    (void)ctx;
    cli_error("Invalid job format specification: %s", spec);
}

static void make_format(struct sprio *s)
{
    _cleanup_val_(strbuf_done) struct strbuf spec = STRBUF_INIT;

    if (s->format) {
        strbuf_add(&spec, s->format);
    } else if (s->long_format && !s->norm) {
        strbuf_add(&spec, "%.15i %9r %.8u %.8o %.10Y %.10S %.10A %.10B %.10F %.10J %.10P %.10n "
                          "%.10Q %.11N %.20T");
    } else {
        strbuf_add(&spec, s->view.sibling ? "%.15i %9r %.8c" : "%.15i %9r");
        if (s->by_user || s->long_format)
            strbuf_add(&spec, " %.8u");
        strbuf_add(&spec, s->norm ? " %10y" : " %.10Y %.10S");
        sprio_add_factors(&spec, s->weights, s->norm);
    }
    check_mem_or_die(fmt_parse_short(&s->fmt, &sprio_fields, strbuf_str(&spec), bad_format, NULL));
}

static void make_order(struct sprio *s)
{
    struct strbuf spec = STRBUF_INIT;
    char bad;

    strbuf_addf(&spec, "%s,i", s->sort ? s->sort : ""); /* equals stand by number */
    if (fmt_sort_parse(&s->order, &sprio_fields, strbuf_str(&spec), &bad) < 0) {
        s->bad_order = bad; /* told once there is something to sort */
        check_mem_or_die(fmt_sort_parse(&s->order, &sprio_fields, "i", &bad));
    }
    strbuf_done(&spec);
    check_mem_or_die(fmt_lines_new(&s->order, &s->lines));
}

static void take_weights(struct sprio *s, const Pst__PriorityRecord *rec)
{
    ProtobufCMessage *copy;

    if (s->weights) /* of the first cluster of the federation: they chose the columns */
        return;
    check_mem_or_die(pb_dup(&rec->base, &copy));
    s->weights = (Pst__PriorityRecord *)copy;
    if (rec->direct) {
        (void)fprintf(stderr, "You are not running a supported priority plugin (priority/basic).\n"
                              "Only 'priority/multifactor' is supported.\n");
        exit(CLI_EXIT_FAILED);
    }
    make_format(s);
    if (!s->noheader)
        fmt_header(&s->fmt, &s->out);
    make_order(s);
    if (s->only_weights) {
        struct prio_row row = { .rec = s->weights, .weights = s->weights };

        row.tres_weights = conf_str(cli_conf(&s->cli), CONF_PRIORITY_WEIGHT_TRES);

        fmt_row(&s->fmt, &row, &s->out);
    }
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Has a cluster that was asked before shown the job?  Without --sibling one copy is enough. */
static bool told_before(struct sprio *s, uint32_t job_id)
{
    if (!s->fed.n || s->view.sibling)
        return false;
    if (s->n_before && bsearch(&job_id, s->shown, s->n_before, sizeof(job_id), by_number))
        return true;
    if (s->n_shown == s->cap_shown) {
        s->cap_shown = s->cap_shown ? s->cap_shown * 2 : 64;
        s->shown = xrealloc_or_die(s->shown, s->cap_shown, sizeof(*s->shown));
    }
    s->shown[s->n_shown++] = job_id;
    return false;
}

static int on_record(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct sprio *s = ctx;
    const Pst__PriorityRecord *rec = (const Pst__PriorityRecord *)record;
    const struct prio_job key = { .job_id = rec->job_id }, *job = NULL;
    struct prio_row row = { .rec = rec, .weights = s->weights };
    size_t start = s->out.len;

    (void)info;
    if (rec->weights)
        take_weights(s, rec);
    if (rec->weights || s->only_weights || !s->weights || told_before(s, rec->job_id))
        return 0;
    if (s->njobs)
        job = bsearch(&key, s->jobs, s->njobs, sizeof(*s->jobs), by_id);
    row.user = job && job->user ? job->user : user_name_of(rec->uid);
    row.cluster = s->fed.n      ? s->fed.list[s->fed_at].name
                  : s->clusters ? cli_cluster_name(&s->cli)
                                : NULL;
    if (job) {
        row.account = job->account;
        row.qos = job->qos;
        row.sluid = job->sluid;
    }
    fmt_row(&s->fmt, &row, &s->out);
    check_mem_or_die(
        fmt_lines_add(s->lines, &s->out, start, &row, (uint64_t)rec->job_id << 32 | s->seq++));
    return 0;
}

/* SLUIDs stand for other numbers in another cluster. */
static void find_numbers(struct sprio *s)
{
    free(s->request.job_ids);
    s->request.job_ids = NULL;
    s->request.n_job_ids = 0;
    if (s->only_weights) { /* no job has number 0 */
        filter_add_number(&s->request.job_ids, &s->request.n_job_ids, 0);
        return;
    }
    (void)sluids_find(s->client, &s->ids); /* what fails here fails again below */
    filter_ids_numbers(&s->ids, &s->request.job_ids, &s->request.n_job_ids);
}

static void forget_jobs(struct sprio *s)
{
    for (size_t i = 0; i < s->njobs; i++) {
        free(s->jobs[i].user);
        free(s->jobs[i].account);
        free(s->jobs[i].qos);
        free(s->jobs[i].sluid);
    }
    s->njobs = 0;
}

/* What the cluster has that s->client is connected to. */
static void add_jobs(struct sprio *s)
{
    int r;

    find_numbers(s);
    forget_jobs(s);
    if (!s->only_weights && (s->long_format || s->format || s->by_user))
        load_jobs(s);
    r = query_run(s->client, OP_QUERY_PRIORITY, &s->request.base, &pst__priority_record__descriptor,
                  on_record, s, NULL);
    if (r < 0)
        die_loading(s, r);
    s->n_before = s->n_shown;
    if (s->n_before)
        qsort(s->shown, s->n_before, sizeof(*s->shown), by_number);
}

/* A cluster that cannot be asked is told; of weights the first is enough. */
static void add_federation(struct sprio *s)
{
    for (s->fed_at = 0; s->fed_at < s->fed.n && !(s->only_weights && s->weights); s->fed_at++) {
        s->client = client_free(s->client);
        if (fedview_connect(&s->cli, &s->fed, s->fed_at, &s->client))
            add_jobs(s);
    }
}

static int list_jobs(struct sprio *s)
{
    if (s->fed.n) {
        add_federation(s);
    } else {
        s->client = cli_connect_or_die(&s->cli, "slurm_load_job_prio");
        add_jobs(s);
    }
    if (s->out.len)
        (void)fwrite(s->out.buf, 1, s->out.len, stdout); /* seen when stdout is closed */
    if (s->bad_order && s->seq) {
        (void)fflush(stdout);
        cli_die(CLI_EXIT_FAILED, "Invalid sort specification: %c", s->bad_order);
    }
    if (s->lines && fmt_lines_write(s->lines, stdout) < 0)
        return CLI_EXIT_FAILED;
    return 0;
}

/* What was asked for, as -v tells it. */
static void show_settings(const struct sprio *s)
{
    const char *line = "-----------------------------";
    const char *jobs = s->given_jobs ? s->given_jobs : "(null)";
    const char *partitions = s->given_partitions ? s->given_partitions : "(null)";
    const char *users = s->given_users ? s->given_users : "(null)";

    (void)printf("%s\nformat     = %s\njob_flag   = %d\njobs       = %s\n", line,
                 s->format ? s->format : "(null)", s->given_jobs != NULL, jobs);
    (void)printf("partition  = %s\nusers      = %s\nverbose    = %d\n%s\n\n\n", partitions, users,
                 s->cli.verbose, line);
}

int main(int argc, char **argv)
{
    struct sprio s = { .request = PST__PRIORITY_REQUEST__INIT };
    struct err err = { .text = "" };
    int first, status;

    cli_init(&s.cli, "sprio");
    opts_env(&command, &s);
    s.format_given = false;
    first = opts_parse(&command, argc, argv, &s);
    if (s.format_given && s.long_format)
        cli_fatal("Options -o(--format) and -l(--long) are mutually exclusive. "
                  "Please remove one and retry.");
    if (s.long_format)
        s.format = NULL; /* of a variable: the layout that was asked for counts before it */
    if (first < argc && s.jobs_word_missing && set_jobs(&s, argv[first++], &err) != 0)
        cli_die(CLI_EXIT_FAILED, "%s", err.text);
    if (first < argc) {
        opts_print_usage(&command, stdout);
        (void)fflush(stdout);
        cli_die(CLI_EXIT_FAILED, "Unrecognized option: %s", argv[first]);
    }
    if (s.clusters)
        clusters_use_one(&s.cli, s.clusters);
    else
        (void)fedview_find(&s.cli, &s.view, &s.fed);
    if (s.cli.verbose > 0)
        show_settings(&s);
    status = list_jobs(&s);
    fmt_lines_free(s.lines);
    fmt_done(&s.fmt);
    strbuf_done(&s.out);
    filter_ids_done(&s.ids);
    client_free(s.client);
    forget_jobs(&s);
    free(s.jobs);
    free(s.shown);
    clusters_done(&s.cli, &s.fed);
    cli_done(&s.cli);
    return status;
}
