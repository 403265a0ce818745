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
#include "cli/query/out_sluid.h"
#include "cli/query/out_users.h"
#include "cli/squeue/squeue.h"
#include "model/words/names.h"

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
    /* fmt_row() cleans what is shown, for less than it costs to clean whole records */
    query_keep_text();
    opts_env(&command, set_option, &q);
    take_arguments(&q, argc, argv, opts_parse(&command, argc, argv, set_option, &q));
    status = q.json.wanted ? json_option_done(&q.json, q.json_result, q.json_arg) : -1;
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
    if (q.clusters)
        query_check_clusters(&q.cli, q.clusters, !q.json.wanted);
    if (cli_connect(&q.cli, &q.client, &err) < 0) {
        (void)fprintf(stderr, "slurm_load_jobs error: %s\n", err.text);
        return CLI_EXIT_FAILED;
    }
    (void)sluids_find(q.client, &q.ids); /* what fails here fails again below */
    squeue_make_filter(&q);
    if (q.explain) {
        status = squeue_explain(&q);
        done(&q);
        return status;
    }
    for (;;) {
        squeue_list(&q, argc, words);
        if (!q.iterate_s)
            break;
        (void)printf("\n");
        (void)sleep(q.iterate_s);
    }
    done(&q);
    return 0;
}
