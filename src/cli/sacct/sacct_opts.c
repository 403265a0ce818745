/* sacct_opts.c - the options of sacct; see sacct_opts.h */
#include "cli/sacct/sacct_opts.h"

#include <ctype.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/format/acctflags.h"
#include "cli/sacct/sacct.h"

/* A list without a name is a mistake here, and no filter of squeue. */
static int take_users(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct jobfilter *f = at;

    if (!arg[strspn(arg, ",")])
        f->bad_user(arg);
    return jobfilter_take_users(at, opt, arg, err);
}
#define TAKE_USERS OPT_TAKE(filter, take_users), OPT_GIVEN(filter.given)

/* The group must be known. */
static int take_groups(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    char **words = NULL;
    size_t n = 0;

    (void)opt, (void)err;
    argwords_add(&words, &n, arg);
    for (size_t i = 0; i < n; i++) {
        bool number = words[i][strspn(words[i], "0123456789")] == '\0';

        if (!number && !getgrnam(words[i]))
            cli_die(CLI_EXIT_FAILED, "Invalid group id: %s", words[i]);
    }
    argwords_free(words, n);
    *(const char **)at = arg;
    return 0;
}

/* Accounting has the states that jobs end in, and of those beside them a few. */
static bool is_accounted(uint32_t flags)
{
    const uint32_t kept = 1u << PST__JOB_FLAG__JOB_FLAG_REQUEUED |
                          1u << PST__JOB_FLAG__JOB_FLAG_RESIZING |
                          1u << PST__JOB_FLAG__JOB_FLAG_REVOKED;

    return !(flags & ((1u << 16) - 1) & ~kept);
}

static void check_states(const char *list)
{
    char **words = NULL;
    size_t n = 0;

    argwords_add(&words, &n, list);
    for (size_t i = 0; i < n; i++) {
        _cleanup_free_ char *bad = NULL;
        struct filter_states one;

        if (filter_parse_states(words[i], &one, &bad) == 0 && !is_accounted(one.flags)) {
            for (char *p = words[i]; *p; p++)
                *p = (char)toupper((unsigned char)*p);
            cli_fatal("job state %s is not supported / accounted", words[i]);
        }
    }
    argwords_free(words, n);
}

/* Length of a set from its bracket on, as far as the next comma: ids are split there. */
static int set_len(const char *bracket)
{
    size_t len = strcspn(bracket, ",]");

    return (int)(len + (bracket[len] == ']'));
}

/* Sets of tasks are for other commands. */
static int take_ids(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    const char *bracket = strchr(arg, '[');

    if (bracket) {
        const char *from = bracket;

        while (from > arg && from[-1] != ',')
            from--;
        cli_fatal("Bad job/step specified: %.*s: JobID includes unexpected non-numeric characters",
                  (int)(bracket - from) + set_len(bracket), from);
    }
    return filter_take_ids(at, opt, arg, err);
}

static int take_states(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct filter_states *states = at;
    _cleanup_free_ char *bad = NULL;
    struct filter_states more;

    (void)opt, (void)err;
    if (filter_parse_states(arg, &more, &bad) < 0)
        cli_fatal("unrecognized job state value '%s'", bad);
    check_states(arg);
    states->base |= more.base; /* each --state adds to the list */
    states->flags |= more.flags;
    states->all |= more.all;
    return 0;
}

static int parse_time(const char *arg, int64_t now, int64_t *ret)
{
    if (!*arg) {
        *ret = SACCT_NO_TIME;
        return 0;
    }
    if (time_when_parse(arg, now, false, ret, NULL) < 0) {
        (void)fprintf(stderr, "Invalid time specification (pos=%d): %s\n", time_when_mistake(arg),
                      arg);
        return CLI_EXIT_FAILED;
    }
    return 0;
}

static int take_time(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    (void)opt, (void)err;
    return parse_time(arg, now_us(), at);
}

/* Times are given in whole seconds: a window that ends in the present one ends now, and has what
 * was done before in that second. */
static int take_end(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    int64_t now = now_us(), *end = at;
    int r = parse_time(arg, now, end);

    (void)opt, (void)err;
    if (r == 0 && *end != SACCT_NO_TIME && *end <= now && now - *end < USEC_PER_SEC)
        *end = now;
    return r;
}

static int take_unit(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    char unit = (char)toupper((unsigned char)*arg);

    (void)opt;
    (void)err;
    if (strlen(arg) != 1 || !strchr("KMGTP", unit)) {
        (void)fprintf(stderr, "Invalid unit type '%s'. Possible options are 'KMGTP'\n", arg);
        cli_fatal("Invalid unit type");
    }
    *(char *)at = unit;
    return 0;
}

static int take_flags(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    const char *bad;
    int len;

    (void)opt, (void)err;
    if (!acctflags_parse(arg, at, &bad, &len))
        cli_die(CLI_EXIT_FAILED, "str_2_job_flags: Invalid job flag %.*s", len, bad);
    return 0;
}

static int take_whole_het(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    (void)opt, (void)err;
    if (arg && strcasecmp(arg, "yes") != 0 && strcasecmp(arg, "no") != 0)
        cli_die(CLI_EXIT_FAILED, "Invalid --whole-hetjob value \"%s\". Valid values: [yes|no].",
                arg);
    *(enum whole_het *)at = arg && strcasecmp(arg, "no") == 0 ? WHOLE_NO : WHOLE_YES;
    return 0;
}

static int take_efficiency(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    bool *report = at;

    (void)opt;
    if (arg && strcasecmp(arg, "table") != 0 && strcasecmp(arg, "report") != 0)
        return err_set(err, CLI_EXIT_FAILED, "Invalid --efficiency argument: %s (table or report)",
                       arg);
    *report = arg && strcasecmp(arg, "report") == 0;
    return 0;
}

static int take_brief(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    (void)opt, (void)arg, (void)err;
    opt_fields_add(at, SACCT_BRIEF, OPT_FROM_ARGV);
    return 0;
}

static int take_long(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    (void)opt, (void)arg, (void)err;
    opt_fields_add(at, SACCT_LONG, OPT_FROM_ARGV);
    return 0;
}

/* Unlike other filters the first list counts. */
static int take_nodes(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    Pst__JobFilter *f = &((struct jobfilter *)at)->request;

    (void)opt, (void)err;
    if (f->nodes)
        cli_error("Already asked for nodes '%s'", f->nodes);
    else
        f->nodes = xstrdup_or_die(arg);
    return 0;
}

static int take_all_clusters(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    (void)opt, (void)arg, (void)err;
    *(const char **)at = "all";
    return 0;
}

#define OPT_INTO struct sacct
static const struct opt rows[] = {
    OPT("accounts", 'A', OPT_REQ, JOBFILTER_ACCOUNTS(filter), NULL, NULL, "names",
        "jobs charged to these accounts"),
    OPT("allclusters", 'L', OPT_NONE, OPT_TAKE(clusters, take_all_clusters), NULL, NULL, NULL,
        "jobs of every cluster of the accounting store"),
    OPT("allocations", 'X', OPT_NONE,
        OPT_AND(OPT_FLAG(request.allocations_only), OPT_GIVEN(request.has_allocations_only)), NULL,
        NULL, NULL, "jobs without their steps"),
    OPT("allusers", 'a', OPT_NONE, OPT_FLAG(all_users), NULL, NULL, NULL, "everybody's jobs"),
    OPT("array", 0, OPT_NONE, OPT_FLAG(array), NULL, NULL, NULL,
        "one line for each pending task of an array"),
    OPT("associations", 'x', OPT_REQ, OPT_TEXT(assocs), NULL, NULL, "ids",
        "jobs of these associations"),
    OPT("batch-script", 'B', OPT_NONE, OPT_FLAG(scripts), NULL, NULL, NULL,
        "print the batch scripts of --jobs"),
    OPT("brief", 'b', OPT_NONE, OPT_TAKE(format, take_brief), NULL, NULL, NULL,
        "job id, state and exit code"),
    OPT("clusters", 'M', OPT_REQ, OPT_TEXT(clusters), "SLURM_CLUSTERS", NULL, "names",
        "jobs of these clusters"),
    OPT("completion", 'c', OPT_NONE, OPT_FLAG(completion), NULL, NULL, NULL,
        "ended runs as the file of JobCompType=jobcomp/filetxt has them"),
    OPT("constraints", 'C', OPT_REQ, OPT_TEXT(filter.constraints), NULL, NULL, "features",
        "jobs that asked for these features"),
    OPT("delimiter", 0, OPT_REQ, OPT_TEXT(fmt.delimiter), NULL, NULL, "text",
        "between values of --parsable"),
    OPT("duplicates", 'D', OPT_NONE,
        OPT_AND(OPT_FLAG(request.duplicates), OPT_GIVEN(request.has_duplicates)), NULL, NULL, NULL,
        "also earlier runs of requeued jobs"),
    OPT("efficiency", 0, OPT_OPT, OPT_AND(OPT_TAKE(report, take_efficiency), OPT_GIVEN(efficiency)),
        NULL, NULL, "table|report",
        "what runs used of what they held; report: a page and advice for each", .ours = true),
    OPT("endtime", 'E', OPT_REQ, OPT_AND(OPT_TAKE(end_us, take_end), OPT_GIVEN(have_end)), NULL,
        NULL, "time", "jobs before this time"),
    OPT("env-vars", 0, OPT_NONE, OPT_FLAG(env_vars), NULL, NULL, NULL,
        "print the environments of --jobs"),
    OPT("expand-patterns", 0, OPT_NONE, OPT_FLAG(expand), NULL, NULL, NULL,
        "resolve patterns in file names"),
    FEDVIEW_FEDERATION,
    OPT("fields", 0, OPT_REQ, OPT_FIELDS(format)),
    OPT("file", 'f', OPT_REQ, OPT_TEXT(file), NULL, NULL, "file",
        "as --completion, from this file instead of JobCompLoc"),
    OPT("flags", 'F', OPT_REQ, OPT_TAKE(flags, take_flags), NULL, NULL, "flags",
        "jobs with any of these: SchedSubmit, SchedMain, SchedBackfill, StartReceived"),
    OPT("format", 'o', OPT_REQ, OPT_AND(OPT_FIELDS(format), OPT_GIVEN(format_given)), "@FORMAT",
        NULL, "fields", "columns as name[%[-]width],..."),
    OPT("gid", 'g', OPT_REQ, OPT_TAKE(filter.groups, take_groups), NULL, NULL, "groups",
        "jobs of these groups"),
    OPT("group", 0, OPT_REQ, OPT_TAKE(filter.groups, take_groups), NULL, NULL, "groups"),
    OPT("helpformat", 'e', OPT_NONE, OPT_FLAG(helpformat), NULL, NULL, NULL, "list the fields"),
    OPT("jobs", 'j', OPT_REQ, OPT_TAKE(filter.ids, take_ids), NULL, NULL, "ids",
        "these jobs or steps"),
    OPT("json", 0, OPT_OPT, OPT_TAKE(json, json_take_json), NULL, NULL, "version", "print JSON"),
    FEDVIEW_LOCAL,
    OPT("long", 'l', OPT_NONE, OPT_AND(OPT_TAKE(format, take_long), OPT_GIVEN(long_given)), NULL,
        NULL, NULL, "most fields"),
    OPT("name", 0, OPT_REQ, JOBFILTER_NAMES(filter), NULL, NULL, "names", "jobs with these names"),
    OPT("nnodes", 'i', OPT_REQ, OPT_TAKE(filter.nodes, jobfilter_take_range), NULL, NULL,
        "min[-max]", "jobs with so many nodes"),
    OPT("ncpus", 'I', OPT_REQ, OPT_TAKE(filter.cpus, jobfilter_take_range), NULL, NULL, "min[-max]",
        "jobs with so many CPUs"),
    OPT("noconvert", 0, OPT_NONE, OPT_FLAG(noconvert), NULL, NULL, NULL, "sizes as plain numbers"),
    OPT("nodelist", 'N', OPT_REQ, OPT_AND(OPT_TAKE(filter, take_nodes), OPT_GIVEN(filter.given)),
        NULL, NULL, "nodes", "jobs that ran on any of these nodes"),
    OPT("noheader", 'n', OPT_NONE, OPT_FLAG(noheader), NULL, NULL, NULL, "no headings"),
    OPT("parsable", 'p', OPT_NONE, OPT_CHOICE(fmt.style, SACCT_PARSABLE), NULL, NULL, NULL,
        "a | after each value"),
    OPT("parsable2", 'P', OPT_NONE, OPT_CHOICE(fmt.style, SACCT_PARSABLE2), NULL, NULL, NULL,
        "a | between values"),
    OPT("partition", 'r', OPT_REQ, JOBFILTER_PARTITIONS(filter), NULL, NULL, "names",
        "jobs of these partitions"),
    OPT("qos", 'q', OPT_REQ, JOBFILTER_QOS(filter), NULL, NULL, "names", "jobs with these QOS"),
    OPT("reason", 'R', OPT_REQ, OPT_TEXT(filter.reasons), NULL, NULL, "reasons",
        "jobs that waited for these reasons"),
    OPT("starttime", 'S', OPT_REQ, OPT_AND(OPT_TAKE(start_us, take_time), OPT_GIVEN(have_start)),
        NULL, NULL, "time", "jobs after this time"),
    OPT("state", 's', OPT_REQ,
        OPT_AND(OPT_TAKE(filter.states, take_states), OPT_GIVEN(filter.have_states)), NULL, NULL,
        "states", "jobs in these states"),
    OPT("timelimit-max", 'K', OPT_REQ, OPT_TAKE(filter.limit, jobfilter_take_most_time), NULL, NULL,
        "time", "jobs with at most this limit"),
    OPT("timelimit-min", 'k', OPT_REQ, OPT_TAKE(filter.limit, jobfilter_take_least_time), NULL,
        NULL, "time", "jobs with this limit, or with -K at least this"),
    OPT("truncate", 'T', OPT_NONE, OPT_FLAG(truncate), NULL, NULL, NULL, "cut times to the window"),
    OPT("uid", 0, OPT_REQ, TAKE_USERS, NULL, NULL, "names"),
    OPT("units", 0, OPT_REQ, OPT_TAKE(unit, take_unit), NULL, NULL, "KMGTP", "unit of sizes"),
    OPT("use-local-uid", 0, OPT_NONE, OPT_FLAG(local_uid), NULL, NULL, NULL,
        "numbers of users as this machine has them, not as they were stored"),
    OPT("user", 'u', OPT_REQ, TAKE_USERS, NULL, NULL, "names", "jobs of these users"),
    OPT("verbose", 'v', OPT_NONE, OPT_VERBOSE(cli), NULL, NULL, NULL, "say more"),
    OPT("wckeys", 'W', OPT_REQ, JOBFILTER_WCKEYS(filter), NULL, NULL, "keys",
        "jobs with these workload keys"),
    OPT("whole-hetjob", 0, OPT_OPT, OPT_TAKE(whole_het, take_whole_het), NULL, NULL, "yes|no",
        "with a component of a heterogeneous job show all of it, or that one alone"),
    OPT("yaml", 0, OPT_OPT, OPT_TAKE(json, json_take_yaml), NULL, NULL, "version", "print YAML"),
};

static void print_names(FILE *f)
{
    for (size_t i = 0; i < sacct_n_fields; i++)
        (void)fprintf(f, "field\t%s\t-\t%s\tshown\n", sacct_fields[i].name, sacct_fields[i].name);
}

const struct opt_command sacct_command = {
    .name = "sacct",
    .prefix = "SACCT",
    .prefix2 = "SLURM",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS]",
    .usage_status = CLI_EXIT_FAILED,
    .terse = true,
    .permute = true,
    .help_with_h = true,
    .names = print_names,
};
