/* squeue.c - list jobs and steps: the options, and what they lead to
 *
 * Owns the option table and the struct squeue that it fills; the work is in squeue_list.c and
 * squeue_watch.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/base/opts.h"
#include "cli/base/clusters.h"
#include "cli/base/iterate.h"
#include "cli/query/out_sluid.h"
#include "cli/query/out_users.h"
#include "cli/squeue/squeue.h"
#include "model/words/names.h"

/* A line between what is wrong with the filters and what follows. */
static void end_sentence(void)
{
    (void)fputc('\n', stderr);
}

static int take_iterate(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    if (opt_take_count(at, opt, arg, err) == 0)
        return 0;
    cli_error("%s", err->text);
    end_sentence();
    return err_set(err, CLI_EXIT_FAILED, "%s", "");
}

static int take_states(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    _cleanup_free_ char *bad = NULL;

    (void)opt, (void)err;
    *(struct filter_states *)at = (struct filter_states){ 0 };
    if (filter_parse_states(arg, at, &bad) < 0) {
        cli_error("Invalid job state specified: %s", bad);
        cli_error("Valid job states include: %s", filter_state_words());
        end_sentence();
        return CLI_EXIT_FAILED;
    }
    return 0;
}

/* A list without a name selects no job: it becomes that of a name that nothing has. */
static int take_list(void *at, const struct opt *opt, const char *arg, struct err *err)
{
#define LIST(member) offsetof(Pst__JobFilter, member), offsetof(Pst__JobFilter, n_##member)
    static const struct {
        const char *option;
        size_t words, count;
    } lists[] = { { "account", LIST(accounts) },
                  { "name", LIST(names) },
                  { "partition", LIST(partitions) },
                  { "qos", LIST(qos) },
                  { "reservation", LIST(reservations) } };
#undef LIST
    struct squeue *q = at;
    Pst__JobFilter *f = &q->filter.request;

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        char ***words = (char ***)(void *)((char *)f + lists[i].words);
        size_t *n = (size_t *)(void *)((char *)f + lists[i].count);

        if (strncmp(opt->name, lists[i].option, strlen(lists[i].option)) != 0)
            continue;
        argwords_free(*words, *n); /* the last of two counts, also behind a variable */
        *words = NULL;
        *n = 0;
        argwords_add(words, n, arg);
        if (!*n)
            argwords_set(words, n, "");
        return 0;
    }
    f->n_uids = 0;
    if (!arg[strspn(arg, ",")])
        filter_add_number(&f->uids, &f->n_uids, FILTER_NO_UID);
    return jobfilter_take_users(&q->filter, opt, arg, err);
}

/* Ids are split at commas: "10_[6,7]" begins with the word "10_[6", which is none. */
static int refuse_set(const char *arg, struct err *err)
{
    const char *word = strchr(arg, '[');

    while (word && word > arg && word[-1] != ',')
        word--;
    if (!word)
        word = arg;
    return err_set(err, CLI_EXIT_FAILED, "Invalid job id: %.*s",
                   (int)MIN(strcspn(word, ","), (size_t)200), word);
}

/* A component stands for all: what follows "+" is not looked at, but something must.  Zero is no
 * job, and is told with all of its word. */
static char *without_offsets(const char *arg)
{
    char *list = xstrdup_or_die(arg), *to = list;

    for (const char *p = arg; *p;) {
        size_t word = strcspn(p, ","), plus = strcspn(p, "+");
        size_t id = plus + 1 < word && strspn(p, "0") != plus ? plus : word;

        memmove(to, p, id);
        to += id;
        p += word;
        if (*p)
            *to++ = *p++;
    }
    *to = '\0';
    return list;
}

static int set_ids(struct squeue *q, const char *arg, struct err *err)
{
    struct filter_ids *ids = &q->filter.ids;
    _cleanup_free_ char *list = without_offsets(arg);

    filter_ids_done(ids);
    if (filter_parse_ids(list, ids, err) < 0)
        return CLI_EXIT_FAILED;
    if (!ids->n) /* a list of no job selects none */
        ids->ids[ids->n++] = (struct ids){ .job_id = SQUEUE_NO_JOB };
    for (size_t i = 0; i < ids->n; i++)
        if (ids->ids[i].array == IDS_TASK_SET)
            return refuse_set(arg, err);
    q->jobs_given = true;
    return 0;
}

static int take_jobs(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct squeue *q = at;

    (void)opt;
    q->jobs_word_missing = !arg;
    return arg ? set_ids(q, arg, err) : 0;
}

/* Steps have a job and a number. */
static int set_step_ids(struct squeue *q, const char *arg, struct err *err)
{
    const struct filter_ids *ids = &q->filter.ids;

    if (set_ids(q, arg, err) != 0)
        return err_set(err, CLI_EXIT_FAILED, "Invalid job_step id: %s.\?\?", arg);
    for (size_t i = 0; i < ids->n; i++)
        if (!ids->ids[i].has_step && ids->ids[i].job_id != SQUEUE_NO_JOB)
            return err_set(err, CLI_EXIT_FAILED, "Invalid job_step id: %u.\?\?",
                           ids->ids[i].job_id);
    return 0;
}

static int take_steps(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct squeue *q = at;

    (void)opt;
    q->steps = true;
    q->steps_word_missing = !arg;
    return arg ? set_step_ids(q, arg, err) : 0;
}

#define OPT_INTO struct squeue
static const struct opt rows[] = {
    OPT("account", 'A', OPT_REQ, OPT_AND(OPT_TAKE_ALL(take_list), OPT_GIVEN(filter.given)),
        "@ACCOUNT", NULL, "names", "jobs charged to these accounts"),
    OPT("accounts", 0, OPT_REQ, OPT_AND(OPT_TAKE_ALL(take_list), OPT_GIVEN(filter.given)), NULL,
        NULL, "names"),
    OPT("all", 'a', OPT_NONE, OPT_FLAG(all), "@ALL", NULL, NULL, "also jobs of hidden partitions"),
    OPT("array", 'r', OPT_NONE, OPT_FLAG(array), "@ARRAY", NULL, NULL,
        "one line for each task of an array"),
    OPT("changes-only", 0, OPT_NONE, OPT_FLAG(changes_only), NULL, NULL, NULL,
        "with --watch: no snapshot to begin with", .ours = true),
    OPT("clusters", 'M', OPT_REQ, OPT_TEXT(clusters), "SLURM_CLUSTERS", NULL, "names",
        "ask this cluster"),
    OPT("expand-patterns", 0, OPT_NONE, OPT_FLAG(expand), NULL, NULL, NULL,
        "resolve patterns in the names of input and output files"),
    OPT("explain", 0, OPT_NONE, OPT_FLAG(explain), NULL, NULL, NULL,
        "say why pending jobs wait, and what would start them", .ours = true),
    OPT("federation", 0, OPT_NONE, OPT_FLAG(view.federation), "@FEDERATION", NULL, NULL,
        "jobs of all clusters of the federation"),
    OPT("format", 'o', OPT_REQ,
        OPT_AND(OPT_TEXT(format), OPT_BUT(format_long), OPT_GIVEN(format_given)), "@FORMAT", NULL,
        "format", "columns as %[.][width]letter"),
    OPT("Format", 'O', OPT_REQ,
        OPT_AND(OPT_TEXT(format_long), OPT_BUT(format), OPT_GIVEN(format_long_given)), "@FORMAT2",
        NULL, "names", "columns as name[:[.][width][suffix]],..."),
    OPT("hide", 0, OPT_NONE, OPT_AND(OPT_UNFLAG(all), OPT_GIVEN(hide)), NULL, NULL, NULL,
        "leave out jobs of hidden partitions"),
    OPT("iterate", 'i', OPT_REQ, OPT_TAKE(iterate_s, take_iterate), NULL, NULL, "seconds",
        "list again and again"),
    OPT("jobs", 'j', OPT_OPT, OPT_TAKE_ALL(take_jobs), NULL, NULL, "ids", "these jobs"),
    OPT("json", 0, OPT_OPT, OPT_TAKE(json, json_take_json), NULL, NULL, "version", "print JSON"),
    OPT("licenses", 'L', OPT_REQ, JOBFILTER_LICENSES(filter), "@LICENSES", NULL, "names",
        "jobs that ask for these licenses"),
    OPT("local", 0, OPT_NONE, OPT_FLAG(view.local), "@LOCAL", NULL, NULL,
        "jobs of this cluster alone"),
    OPT("long", 'l', OPT_NONE, OPT_FLAG(long_format), NULL, NULL, NULL, "more columns"),
    OPT("me", 0, OPT_NONE, JOBFILTER_ME(filter), NULL, NULL, NULL, "my own jobs"),
    OPT("name", 'n', OPT_REQ, OPT_AND(OPT_TAKE_ALL(take_list), OPT_GIVEN(filter.given)), "@NAMES",
        NULL, "names", "jobs with these names"),
    OPT("names", 0, OPT_REQ, OPT_AND(OPT_TAKE_ALL(take_list), OPT_GIVEN(filter.given)), NULL, NULL,
        "names"),
    OPT("no-snapshot", 0, OPT_NONE, OPT_FLAG(changes_only), .ours = true),
    OPT("noconvert", 0, OPT_NONE, OPT_FLAG(noconvert), NULL, NULL, NULL, "keep the units of sizes"),
    OPT("nodelist", 'w', OPT_REQ, JOBFILTER_NODES(filter), NULL, NULL, "nodes",
        "jobs that hold any of these nodes"),
    OPT("noheader", 'h', OPT_NONE, OPT_FLAG(noheader), NULL, NULL, NULL, "no line of headings"),
    OPT("notme", 0, OPT_NONE, JOBFILTER_NOTME(filter), NULL, NULL, NULL,
        "everybody's jobs but mine"),
    OPT("only-job-state", 0, OPT_NONE, OPT_FLAG(only_state), NULL, NULL, NULL,
        "only ids and states"),
    OPT("partition", 'p', OPT_REQ, OPT_AND(OPT_TAKE_ALL(take_list), OPT_GIVEN(filter.given)),
        "@PARTITION", NULL, "names", "jobs of these partitions"),
    OPT("partitions", 0, OPT_REQ, OPT_AND(OPT_TAKE_ALL(take_list), OPT_GIVEN(filter.given)), NULL,
        NULL, "names"),
    OPT("priority", 'P', OPT_NONE, OPT_FLAG(per_partition), "@PRIORITY", NULL, NULL,
        "one line for each partition a pending job names"),
    OPT("qos", 'q', OPT_REQ, OPT_AND(OPT_TAKE_ALL(take_list), OPT_GIVEN(filter.given)), "@QOS",
        NULL, "names", "jobs with these QOS"),
    OPT("reservation", 'R', OPT_REQ, OPT_AND(OPT_TAKE_ALL(take_list), OPT_GIVEN(filter.given)),
        NULL, NULL, "names", "jobs in these reservations"),
    OPT("running-over", 0, OPT_REQ,
        OPT_AND(OPT_TAKE(filter.over_s, jobfilter_take_run_time), OPT_GIVEN(filter.have_over)),
        NULL, NULL, "time", "jobs that have run longer than this"),
    OPT("running-under", 0, OPT_REQ,
        OPT_AND(OPT_TAKE(filter.under_s, jobfilter_take_run_time), OPT_GIVEN(filter.have_under)),
        NULL, NULL, "time", "jobs that have run less than this"),
    OPT("sibling", 0, OPT_NONE, OPT_FLAG(view.sibling), "@SIBLING", NULL, NULL,
        "with --federation: each cluster's copy of a job"),
    OPT("since", 0, OPT_REQ, OPT_TEXT(since), NULL, NULL, "cursor",
        "with --watch: go on behind this place", .ours = true),
    OPT("sort", 'S', OPT_REQ, OPT_TEXT(sort), "@SORT", NULL, "letters",
        "order: letters of --format, - before one reverses"),
    OPT("start", 0, OPT_NONE, OPT_FLAG(start), NULL, NULL, NULL,
        "when pending jobs are expected to start"),
    OPT("states", 't', OPT_REQ,
        OPT_AND(OPT_TAKE(filter.states, take_states), OPT_GIVEN(filter.have_states)), "@STATES",
        NULL, "states", "jobs in these states, or all"),
    OPT("steps", 's', OPT_OPT, OPT_TAKE_ALL(take_steps), NULL, NULL, "ids",
        "job steps instead of jobs"),
    OPT("user", 'u', OPT_REQ, OPT_AND(OPT_TAKE_ALL(take_list), OPT_GIVEN(filter.given)), "@USERS",
        NULL, "names", "jobs of these users"),
    OPT("users", 0, OPT_REQ, OPT_AND(OPT_TAKE_ALL(take_list), OPT_GIVEN(filter.given)), NULL, NULL,
        "names"),
    OPT("verbose", 'v', OPT_NONE, OPT_VERBOSE(cli), NULL, NULL, NULL, "say more"),
    OPT("watch", 0, OPT_NONE, OPT_FLAG(watch), NULL, NULL, NULL,
        "print changes as they happen, until interrupted", .ours = true),
    OPT("yaml", 0, OPT_OPT, OPT_TAKE(json, json_take_yaml), NULL, NULL, "version", "print YAML"),
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

static void tell_bad_user(const char *word)
{
    cli_error("Invalid user: %s", word);
    end_sentence();
}

static void bad_format(void *ctx, const char *spec)
{
    const struct squeue *q = ctx;

    cli_error("Invalid job %sformat specification: %s", q->steps ? "step " : "", spec);
}

static void make_format(struct squeue *q)
{
    const struct fmt_table *table = q->steps ? &squeue_step_fields : &squeue_job_fields;
    const char *spec = q->format;

    if (q->format_long) {
        check_mem_or_die(fmt_parse_long(&q->fmt, table, q->format_long, bad_format, q));
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
    check_mem_or_die(fmt_parse_short(&q->fmt, table, spec, bad_format, q));
}

static void take_arguments(struct squeue *q, int argc, char **argv, int first)
{
    struct err err = { .text = "" };

    /* "-j 12": the option's value is optional, so getopt leaves it among the arguments. */
    if (first < argc && (q->jobs_word_missing || q->steps_word_missing)) {
        bool of_steps = q->steps_word_missing && !q->jobs_word_missing;

        if ((of_steps ? set_step_ids : set_ids)(q, argv[first], &err) != 0)
            cli_die(CLI_EXIT_FAILED, "%s", err.text);
        first++;
    }
    if (first < argc) {
        opts_print_usage(&command, stdout);
        (void)fflush(stdout);
        cli_die(CLI_EXIT_FAILED, "Unrecognized option: %s", argv[first]);
    }
}

static void squeue_done(struct squeue *q)
{
    argwords_free(q->hidden, q->n_hidden);
    jobfilter_done(&q->filter);
    fmt_done(&q->fmt);
    strbuf_done(&q->out);
    client_free(q->client);
    cli_done(&q->cli);
}

/* Of two formats SQUEUE_FORMAT counts. */
static void read_env(struct squeue *q)
{
    const char *format = getenv("SQUEUE_FORMAT");

    opts_env(&command, q);
    q->format_given = q->format_long_given = false;
    if (!format)
        return;
    q->format = format;
    q->format_long = NULL;
}

static void check_options(struct squeue *q)
{
    Pst__JobFilter *f = &q->filter.request;

    if (q->format_given && q->format_long_given)
        cli_die(CLI_EXIT_FAILED, "-O (--Format) is incompatible with -o (--format)");
    if (q->format_given && q->long_format)
        cli_fatal("Options -o(--format) and -l(--long) are mutually exclusive. "
                  "Please remove one and retry.");
    if (!q->format_given && !q->format_long_given && (q->long_format || q->start || q->steps))
        q->format = q->format_long = NULL; /* of a variable: a layout of its own counts before it */
    if (q->steps) { /* --name is of jobs: steps are listed whatever it says */
        argwords_free(f->names, f->n_names);
        f->names = NULL;
        f->n_names = 0;
    }
    f->has_names_any_case = f->names_any_case = f->n_names + f->n_accounts + f->n_qos > 0;
}

static void connect_cluster(struct squeue *q)
{
    struct err err = { .text = "" };

    q->client = client_free(q->client);
    if (cli_connect(&q->cli, &q->client, &err) < 0) {
        (void)fprintf(stderr, "slurm_load_jobs error: %s\n", err.text);
        exit(q->iterate_s ? ITERATE_AGAIN : CLI_EXIT_FAILED);
    }
    (void)sluids_find(q->client, &q->filter.ids); /* what fails here fails again below */
}

/* Another cluster has other numbers behind the same SLUIDs. */
static void ask_ids_again(struct squeue *q)
{
    free(q->filter.request.job_ids);
    q->filter.request.job_ids = NULL;
    q->filter.request.n_job_ids = 0;
    jobfilter_ask_ids(&q->filter);
}

/* The clusters of the federation as one list; one that cannot be asked is told. */
static void list_federation(struct squeue *q, const struct clusters *cl, int argc, char **argv)
{
    bool first = true;

    q->several = true;
    squeue_make_filter(q);
    squeue_begin(q);
    for (size_t i = 0; i < cl->n; i++) {
        q->client = client_free(q->client);
        if (!fedview_connect(&q->cli, cl, i, &q->client))
            continue;
        (void)sluids_find(q->client, &q->filter.ids); /* what fails here fails again below */
        ask_ids_again(q);
        if (first)
            squeue_begin_order(q);
        first = false;
        squeue_load_hidden(q); /* this cluster's */
        squeue_add(q);
    }
    if (first)
        squeue_begin_order(q);
    squeue_end(q, argc, argv);
}

static void list_clusters(struct squeue *q, const struct clusters *cl, int argc, char **argv)
{
    bool heading = !q->json.wanted && !q->noheader;

    q->several = cl->n > 1;
    if (cl->n)
        clusters_use(&q->cli, cl, 0);
    connect_cluster(q); /* once, and again only where there are several */
    squeue_make_filter(q);
    for (size_t i = 0; i < MAX(cl->n, (size_t)1); i++) {
        if (cl->n)
            clusters_begin(&q->cli, cl, i, heading);
        if (q->several) {
            connect_cluster(q);
            ask_ids_again(q);
        }
        squeue_list(q, argc, argv);
    }
}

int main(int argc, char **argv)
{
    struct squeue q = { .bitstr_len = job_bitstr_len() };
    struct clusters clusters = { 0 };
    _cleanup_free_ char **words = xmalloc_or_die(((size_t)argc + 1) * sizeof(*words));
    int first, status;

    memcpy(words, argv, (size_t)argc * sizeof(*words)); /* before getopt reorders them */
    cli_init(&q.cli, "squeue");
    q.cli.shows = true;
    /* fmt_row() cleans what is shown, for less than it costs to clean whole records */
    q.cli.keeps_text = true;
    jobfilter_init(&q.filter, tell_bad_user);
    read_env(&q);
    first = opts_parse(&command, argc, argv, &q);
    check_options(&q);
    take_arguments(&q, argc, argv, first);
    status = json_option_done(&q.json);
    if (status >= 0)
        exit(status);
    if (q.watch) {
        squeue_make_filter(&q);
        return squeue_watch(&q);
    }
    if (q.since || q.changes_only)
        cli_die(CLI_EXIT_FAILED, "--since and --changes-only need --watch");
    if (!q.json.wanted)
        make_format(&q);
    if (!q.explain)
        iterate_begin(q.iterate_s);
    if (q.clusters)
        clusters_find_or_die(&q.cli, q.clusters, &clusters);
    else if (!q.explain)
        q.federated = fedview_find(&q.cli, &q.view, &clusters);
    if (q.federated) {
        list_federation(&q, &clusters, argc, words);
        status = q.status;
    } else if (q.explain) {
        if (clusters.n)
            clusters_use(&q.cli, &clusters, 0);
        connect_cluster(&q);
        squeue_make_filter(&q);
        status = squeue_explain(&q);
    } else {
        list_clusters(&q, &clusters, argc, words);
        status = q.status;
    }
    clusters_done(&q.cli, &clusters);
    squeue_done(&q);
    return status && q.iterate_s ? ITERATE_AGAIN : status;
}
