/* sacct.c - finished and running jobs from accounting
 *
 * The controller selects jobs; the filters that its request cannot express, and the choice of
 * steps, are applied here.  Jobs are printed as they arrive. */
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "acctop.pb-c.h"
#include "base/cleanup.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "cli/base/cli.h"
#include "cli/base/fedview.h"
#include "cli/format/acctflags.h"
#include "cli/format/jsonefficiency.h"
#include "cli/format/fmt_sacct.h"
#include "cli/format/json_job.h"
#include "cli/base/opts.h"
#include "cli/query/acctchoice.h"
#include "cli/query/complog.h"
#include "cli/query/out_jobfilter.h"
#include "cli/query/out_query.h"
#include "cli/query/out_sluid.h"
#include "cli/query/out_users.h"
#include "model/words/names.h"
#include "wire/ops.h"

#define RULE "--------------------------------------------------------------------------------\n"

struct sacct {
    struct cli cli;
    struct client *client;
    Pst__AcctFilter request;
    struct jobfilter filter;
    struct json_option json;
    struct sacct_fmt fmt;
    struct opt_fields format;
    const char *clusters;
    struct fedview view;
    bool federated;     /* the clusters of view are shown as one */
    const char *file;   /* of --completion */
    const char *assocs; /* a list of numbers */
    bool format_given, long_given;
    bool all_users, noheader, noconvert, expand, helpformat, completion, scripts, array, truncate;
    enum whole_het whole_het; /* components of heterogeneous jobs */
    bool local_uid;           /* numbers of users by their names, here */
    bool have_start, have_end, env_vars, efficiency, report;
    struct named_job { /* --batch-script, --env-vars */
        uint32_t job_id;
        char name[256], *cluster;
    } * named;
    size_t n_named;
    size_t njobs; /* seen */
    int64_t start_us, end_us;
    uint32_t flags; /* of acctflags.h; 0: any */
    char unit;

    struct strbuf out;
    struct json js;
    unsigned bitstr_len;
    const char *cluster;
};

static void refuse_user(const char *word)
{
    cli_die(CLI_EXIT_FAILED, "Invalid user id: %s", word);
}

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

#define NO_TIME INT64_MIN /* -S "$FROM" where FROM is not set: as without the option */

static int parse_time(const char *arg, int64_t now, int64_t *ret)
{
    if (!*arg) {
        *ret = NO_TIME;
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
    if (r == 0 && *end != NO_TIME && *end <= now && now - *end < USEC_PER_SEC)
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
        NULL, "time", "jobs with at least this limit"),
    OPT("truncate", 'T', OPT_NONE, OPT_FLAG(truncate), NULL, NULL, NULL, "cut times to the window"),
    OPT("uid", 0, OPT_REQ, JOBFILTER_USERS(filter), NULL, NULL, "names"),
    OPT("units", 0, OPT_REQ, OPT_TAKE(unit, take_unit), NULL, NULL, "KMGTP", "unit of sizes"),
    OPT("use-local-uid", 0, OPT_NONE, OPT_FLAG(local_uid), NULL, NULL, NULL,
        "numbers of users as this machine has them, not as they were stored"),
    OPT("user", 'u', OPT_REQ, JOBFILTER_USERS(filter), NULL, NULL, "names", "jobs of these users"),
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

static const struct opt_command command = {
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

/* ---- the request ----------------------------------------------------------------------------- */

static int64_t midnight_us(int64_t now)
{
    time_t t = (time_t)(now / USEC_PER_SEC);
    struct tm tm;

    if (!localtime_r(&t, &tm))
        return 0;
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    tm.tm_isdst = -1;
    return (int64_t)mktime(&tm) * USEC_PER_SEC;
}

static void refuse_window(const struct sacct *s)
{
    char start[64], end[64];

    time_fmt_stamp(s->start_us, "Unknown", 0, start, sizeof(start));
    time_fmt_stamp(s->end_us, "Unknown", 0, end, sizeof(end));
    cli_die(CLI_EXIT_FAILED, "Start time (%s) requested is after end time (%s).", start, end);
}

/* The window: midnight to now; with --jobs from the beginning; with --state what is so now. */
static void make_window(struct sacct *s)
{
    int64_t now = now_us();
    bool jobs = s->filter.ids.n > 0;

    s->have_start &= s->start_us != NO_TIME;
    s->have_end &= s->end_us != NO_TIME;
    if (!s->have_start) {
        if (jobs)
            s->start_us = 0;
        else
            s->start_us = s->filter.have_states ? now : midnight_us(now);
        if (s->filter.have_states && s->have_end && s->start_us > s->end_us)
            s->start_us = s->end_us;
    }
    if (!s->have_end) /* states asked for since a moment: what was so at that moment */
        s->end_us = s->filter.have_states && s->have_start ? s->start_us : now;
    if (s->end_us < s->start_us)
        refuse_window(s);
    s->request.has_start_us = s->start_us > 0;
    s->request.start_us = s->start_us;
    s->request.has_end_us = s->have_end || !jobs;
    s->request.end_us = s->end_us;
}

/* Runs that the controller still knows. */
static void find_sluids(struct sacct *s)
{
    struct client *ctld = NULL;

    if (!cli_acct_is_dbd(&s->cli)) {
        (void)sluids_find(s->client, &s->filter.ids);
    } else if (s->filter.ids.n && cli_connect_once(&s->cli, &ctld, NULL) == 0) {
        (void)sluids_find(ctld, &s->filter.ids);
        (void)client_free(ctld); /* always NULL */
    }
}

/* Of slurmdbd: this cluster's jobs, unless others or the federation's are asked for. */
static void make_clusters(struct sacct *s)
{
    Pst__AcctFilter *f = &s->request;

    if (!cli_acct_is_dbd(&s->cli) || (s->clusters && strcasecmp(s->clusters, "all") == 0))
        return;
    if (!s->clusters)
        fedview_add_names(&s->cli, &s->view, &f->clusters, &f->n_clusters);
    s->federated = f->n_clusters > 0;
    if (!f->n_clusters && (s->clusters || s->cluster))
        argwords_add(&f->clusters, &f->n_clusters, s->clusters ? s->clusters : s->cluster);
}

static int keep_qos(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct strbuf *names = ctx;
    const Pst__QosRecord *q = (const Pst__QosRecord *)record;

    (void)info;
    if (!q->deleted)
        strbuf_addf(names, "%s%s", names->len ? "," : "", q->name);
    return 0;
}

/* QOS that accounting does not know; a site that keeps none may ask for any. */
static void check_qos(struct sacct *s)
{
    _cleanup_val_(strbuf_done) struct strbuf names = STRBUF_INIT;
    Pst__AcctListRequest req = PST__ACCT_LIST_REQUEST__INIT;
    Pst__AcctCond where = PST__ACCT_COND__INIT;
    const Pst__JobFilter *f = &s->filter.request;

    req.has_entity = true;
    req.entity = PST__ACCT_ENTITY__ACCT_QOS;
    req.where = &where;
    if (query_run(s->client, OP_ACCT_LIST, &req.base, &pst__qos_record__descriptor, keep_qos,
                  &names, NULL) < 0 ||
        !names.len)
        return;
    for (size_t i = 0; i < f->n_qos; i++)
        if (!wordlist_has_nocase(strbuf_str(&names), f->qos[i])) {
            cli_error("You gave a bad qos '%s'. Valid QOS's are %s", f->qos[i], strbuf_str(&names));
            cli_fatal("problem processing qos list");
        }
}

/* Names of accounts and QOS are kept in lower case, but where nobody keeps them: both are asked. */
static void ask_lower_too(char ***list, size_t *n)
{
    const size_t given = *n;

    for (size_t i = 0; i < given; i++) {
        char *lower = xstrdup_or_die((*list)[i]);

        for (char *c = lower; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        if (strcmp(lower, (*list)[i]) == 0) {
            free(lower);
            continue;
        }
        *list = xrealloc_or_die(*list, *n + 1, sizeof(**list));
        (*list)[(*n)++] = lower;
    }
}

static void make_filter(struct sacct *s)
{
    struct jobfilter *jf = &s->filter;

    find_sluids(s);
    make_clusters(s);
    make_window(s);
    for (size_t i = 0; i < s->filter.ids.n && s->whole_het == WHOLE_YES; i++)
        s->filter.ids.ids[i].has_het = false;
    jobfilter_ask_ids(jf);
    if (!jf->request.n_uids && !s->all_users && !jf->ids.n && getuid() != 0)
        filter_add_number(&jf->request.uids, &jf->request.n_uids, getuid());
    if (jf->have_states && !jf->states.all && !jf->states.flags)
        jobfilter_ask_states(jf);
    if (jobfilter_wants_earlier(jf))
        s->request.has_duplicates = s->request.duplicates = true;
    if (jf->request.n_qos)
        check_qos(s);
    ask_lower_too(&jf->request.accounts, &jf->request.n_accounts);
    ask_lower_too(&jf->request.qos, &jf->request.n_qos);
    jobfilter_lend(jf, &s->request);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Is the job named as a whole, rather than some of its steps?  With -X these name it too. */
static bool job_line_wanted(const struct sacct *s, const Pst__JobRecord *j)
{
    for (size_t i = 0; i < s->filter.ids.n; i++) {
        const struct filter_ids one = { &s->filter.ids.ids[i], 1 };

        if ((!s->filter.ids.ids[i].has_step || s->request.allocations_only) &&
            filter_ids_match(&one, j->job_id, job_group_id(j), j->has_array_task_id,
                             j->array_task_id))
            return true;
    }
    return s->filter.ids.n == 0;
}

static void put_job(struct sacct *s, struct sacct_row *r)
{
    const Pst__JobRecord *j = r->acct->job;

    if (job_line_wanted(s, j))
        sacct_fmt_row(&s->fmt, r, &s->out);
    for (size_t i = 0; i < r->acct->n_steps; i++) {
        r->step = r->acct->steps[i];
        if (filter_ids_match_step(&s->filter.ids, j->job_id, job_group_id(j), j->has_array_task_id,
                                  j->array_task_id, r->step->step_id))
            sacct_fmt_row(&s->fmt, r, &s->out);
    }
    r->step = NULL;
}

struct task_walk {
    struct sacct *s;
    struct sacct_row *row;
    Pst__JobRecord *job;
};

static int on_task(void *ctx, uint32_t task)
{
    struct task_walk *w = ctx;

    w->job->has_array_task_id = true;
    w->job->array_task_id = task;
    put_job(w->s, w->row);
    return 0;
}

static void put_efficiency(struct sacct *s, const Pst__AcctJob *a, int64_t now_us)
{
    if (!job_line_wanted(s, a->job))
        return;
    if (s->json.wanted)
        efficiency_json(a, now_us, &s->js);
    else if (!s->report)
        efficiency_row(a, now_us, s->fmt.style != SACCT_FIXED, &s->out);
    else
        efficiency_report(a, now_us, &s->out);
    if (s->report && !s->json.wanted)
        strbuf_addc(&s->out, '\n');
}

/* Its script or environment is asked for when the list is complete. */
static void name_job(struct sacct *s, const Pst__AcctJob *a)
{
    const Pst__JobRecord *j = a->job;
    struct named_job *n;

    s->named = xrealloc_or_die(s->named, s->n_named + 1, sizeof(*s->named));
    n = &s->named[s->n_named++];
    n->job_id = j->job_id;
    n->cluster = xstrdup_or_die(a->cluster ? a->cluster : s->cluster);
    if (j->array_job_id && j->has_array_task_id)
        (void)snprintf(n->name, sizeof(n->name), "%u_%u", j->array_job_id, j->array_task_id);
    else if (j->array_tasks) /* those that wait */
        (void)snprintf(n->name, sizeof(n->name), "%u_[%s]", j->job_id, j->array_tasks);
    else
        (void)snprintf(n->name, sizeof(n->name), "%u", j->job_id);
}

/* The job of a federation that another cluster runs: its record tells of the run.  With --state
 * this one is shown by REVOKED alone, with --federation the other's is shown. */
static bool told_elsewhere(const struct sacct *s, const struct sacct_row *r)
{
    const uint32_t revoked = 1u << PST__JOB_FLAG__JOB_FLAG_REVOKED;
    const struct job_row job = { .job = r->acct->job, .cluster = r->cluster };

    if (s->filter.have_states && !s->filter.states.all && job.job->state_flags & revoked)
        return !(s->filter.states.flags & revoked);
    return s->federated && !s->request.duplicates && job_is_copy(&job);
}

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct sacct *s = ctx;
    Pst__AcctJob *a = (Pst__AcctJob *)record; /* ours until the next one comes */
    struct sacct_row row = { .acct = a,
                             .now_us = info->now_us,
                             .cluster = a->cluster ? a->cluster : s->cluster,
                             .unit = s->unit,
                             .noconvert = s->noconvert,
                             .expand = s->expand,
                             .bitstr_len = s->bitstr_len };

    if (!a->job ||
        !acct_wanted(&(struct acct_choice){ &s->filter, s->assocs, s->whole_het }, a->job) ||
        (s->flags && !(s->flags & acctflags_of(a->job))) || told_elsewhere(s, &row))
        return 0;
    if (s->local_uid && a->job->user_name) /* unknown here: as it was stored */
        (void)user_id_of(a->job->user_name, &a->job->uid);
    acct_sort_steps(a);
    if (s->truncate)
        acct_truncate(a, s->start_us, s->end_us);
    s->njobs++;
    if (s->scripts || s->env_vars) {
        if (job_line_wanted(s, a->job))
            name_job(s, a);
        return 0;
    }
    if (s->efficiency) {
        put_efficiency(s, a, info->now_us);
    } else if (s->json.wanted) {
        json_acct_job(&s->js, a, info->now_us, row.cluster, NULL);
    } else if (s->array && a->job->array_tasks) {
        struct task_walk w = { s, &row, a->job };
        const char *set = a->job->array_tasks;

        if (!a->job->array_job_id)
            a->job->array_job_id = a->job->job_id;
        a->job->array_tasks = NULL;
        if (filter_each_task(set, on_task, &w) < 0)
            return -E2BIG;
    } else {
        put_job(s, &row);
    }
    cli_write_out(&s->out, false);
    return 0;
}

/* ---- other output ---------------------------------------------------------------------------- */

/* From the controller, which has the scripts of jobs it still knows. */
static bool print_known_script(struct sacct *s, uint32_t job_id)
{
    Pst__JobIdRequest request = PST__JOB_ID_REQUEST__INIT;
    Pst__ScriptReply *reply = NULL;
    struct client *c = NULL;
    struct err err = { .text = "" };
    bool found = false;

    request.has_job_id = true;
    request.job_id = job_id;
    if (cli_connect(&s->cli, &c, &err) == 0 &&
        client_call(c, OP_QUERY_SCRIPT, &request.base, (ProtobufCMessage **)&reply) == 0) {
        found = reply->has_script;
        if (found)
            (void)fwrite(reply->script.data, 1, reply->script.len, stdout);
        pst__script_reply__free_unpacked(reply, NULL);
    }
    client_free(c);
    return found;
}

static void print_environment(const ProtobufCBinaryData *env)
{
    for (size_t at = 0; at < env->len;) {
        size_t len = strnlen((const char *)env->data + at, env->len - at);

        (void)printf("%.*s\n", (int)len, (const char *)env->data + at);
        at += len + 1;
    }
}

static void print_blob(struct sacct *s, const struct named_job *j, bool env)
{
    Pst__AcctBlobRequest request = PST__ACCT_BLOB_REQUEST__INIT;
    Pst__AcctBlobReply *reply = NULL;
    int r;

    request.cluster = j->cluster;
    request.has_job_id = request.has_env = true;
    request.job_id = j->job_id;
    request.env = env;
    r = client_call(s->client, OP_ACCT_BLOB, &request.base, (ProtobufCMessage **)&reply);
    if (r < 0)
        cli_die(CLI_EXIT_FAILED, "%s of job %s: %s", env ? "Environment" : "Batch script", j->name,
                client_strerror(s->client, r));
    (void)printf(env ? "Environment used for %s (must be batch to display)\n%s"
                     : "Batch Script for %s\n%s",
                 j->name, RULE);
    if (reply->has_data && env)
        print_environment(&reply->data);
    else if (reply->has_data)
        (void)fwrite(reply->data.data, 1, reply->data.len, stdout);
    else if (env || strcmp(j->cluster, s->cluster) != 0 || !print_known_script(s, j->job_id))
        (void)printf("NONE\n");
    pst__acct_blob_reply__free_unpacked(reply, NULL);
}

static void print_blobs(struct sacct *s)
{
    for (size_t i = 0; i < s->n_named; i++) {
        if (s->scripts)
            print_blob(s, &s->named[i], false);
        if (s->env_vars)
            print_blob(s, &s->named[i], true);
        free(s->named[i].cluster);
    }
    free(s->named);
}

static void print_jobs(struct sacct *s, int argc, char **argv)
{
    const struct conf *conf = cli_conf(&s->cli);
    struct query_info info = { 0 };
    int r;

    make_filter(s);
    if (s->scripts || s->env_vars) {
        s->noheader = true;
        s->json.wanted = false;
        s->request.has_allocations_only = s->request.allocations_only = true;
    }
    if (s->json.wanted) {
        json_begin_option(&s->js, &s->out, &s->json);
        json_list(&s->js, "jobs");
    } else if (!s->noheader && s->efficiency) {
        if (!s->report)
            efficiency_header(&s->out, s->fmt.style != SACCT_FIXED);
    } else if (!s->noheader) {
        sacct_fmt_header(&s->fmt, &s->out);
    }
    r = query_run(s->client, OP_QUERY_ACCT, &s->request.base, &pst__acct_job__descriptor, on_job, s,
                  &info);
    if (r < 0) {
        cli_write_out(&s->out, true);
        cli_die(CLI_EXIT_FAILED, "Problem getting jobs: %s", client_strerror(s->client, r));
    }
    if (s->json.wanted) {
        json_list_end(&s->js);
        json_meta(&s->js, argc, argv, s->cluster, conf_str(conf, CONF_ACCOUNTING_STORAGE_TYPE));
        json_end(&s->js);
    }
    cli_write_out(&s->out, true);
    if (s->scripts || s->env_vars)
        print_blobs(s);
    if (s->report && !s->njobs)
        cli_die(CLI_EXIT_FAILED, "accounting knows no such job");
}

static void make_format(struct sacct *s)
{
    struct err err = { .text = "" };
    int r = sacct_fmt_parse(&s->fmt, s->format.list ? s->format.list : SACCT_DEFAULT, &err);

    if (r == -EINVAL)
        cli_die(CLI_EXIT_FAILED, "%s", err.text);
    check_mem_or_die(r);
}

/* ---- --completion ---------------------------------------------------------------------------- */

#define COMPLETION_FORMAT "jobid,uid,jobname,partition,nnodes,nodelist,state,end"
#define COMPLETION_FILE "/var/log/slurm_jobcomp.log" /* without JobCompLoc */

/* The file of the log, or the end of the program. */
static const char *find_completion_file(struct sacct *s)
{
    const struct conf *conf = cli_conf(&s->cli);
    const char *type = conf_str(conf, CONF_JOB_COMP_TYPE),
               *where = conf_str(conf, CONF_JOB_COMP_LOC);

    if (s->file)
        return s->file;
    if (!type || strcasecmp(type, "jobcomp/none") == 0) {
        (void)fprintf(stderr, "Slurm job completion is disabled\n");
        exit(CLI_EXIT_FAILED);
    }
    if (strcasecmp(type, "jobcomp/filetxt") != 0)
        cli_die(CLI_EXIT_FAILED,
                "JobCompType=%s keeps no log that sacct can read; "
                "jobcomp/filetxt does, and --file names such a log",
                type);
    return where && *where ? where : COMPLETION_FILE;
}

/* Jobs, partitions, users, states and times that are asked for; other filters are accounting's. */
static bool run_wanted(const struct sacct *s, const Pst__JobRecord *j)
{
    const Pst__JobFilter *f = &s->filter.request;
    bool user = f->n_uids == 0, part = f->n_partitions == 0;

    for (size_t i = 0; i < f->n_uids; i++)
        user = user || f->uids[i] == j->uid;
    for (size_t i = 0; i < f->n_partitions; i++)
        part = part || (j->partition && wordlist_has(j->partition, f->partitions[i]));
    return user && part && job_line_wanted(s, j) &&
           (!s->filter.have_states || jobfilter_match_state(&s->filter, j)) &&
           (!s->have_start || j->end_us >= s->start_us) &&
           (!s->have_end || j->start_us <= s->end_us);
}

static int on_run(void *ctx, Pst__AcctJob *a)
{
    struct sacct *s = ctx;
    struct sacct_row row = { .acct = a,
                             .now_us = now_us(),
                             .cluster = a->cluster ? a->cluster : s->cluster,
                             .unit = s->unit,
                             .noconvert = s->noconvert,
                             .bitstr_len = s->bitstr_len };

    if (run_wanted(s, a->job))
        sacct_fmt_row(&s->fmt, &row, &s->out);
    cli_write_out(&s->out, false);
    return 0;
}

static void print_completions(struct sacct *s)
{
    const char *path = find_completion_file(s);
    size_t bad = 0;
    int r;

    if (s->json.wanted || s->efficiency || s->scripts || s->env_vars)
        cli_die(CLI_EXIT_FAILED,
                "--completion prints a table alone: the log has no JSON, no steps, "
                "no scripts and no environments");
    if (!s->format.list)
        opt_fields_add(&s->format, COMPLETION_FORMAT, OPT_FROM_DEFAULTS);
    make_format(s);
    if (!s->noheader)
        sacct_fmt_header(&s->fmt, &s->out);
    r = complog_read(path, on_run, s, &bad);
    cli_write_out(&s->out, true);
    if (r < 0)
        cli_die(CLI_EXIT_FAILED, "cannot read the log of completed jobs %s: %s", path,
                strerror(-r));
    if (bad)
        cli_warning("%s: %zu lines are no records of jobs", path, bad);
}

/* The controller's own store has one cluster. */
static bool other_cluster(struct sacct *s)
{
    return !cli_acct_is_dbd(&s->cli) && s->clusters && strcasecmp(s->clusters, "all") != 0 &&
           s->cluster && !wordlist_has(s->clusters, s->cluster);
}

static void run_command(struct sacct *s, int argc, char **argv)
{
    if (s->helpformat) {
        sacct_fmt_help(&sacct_table, &s->out);
        cli_write_out(&s->out, true);
        return;
    }
    if (s->completion || s->file) {
        s->cluster = conf_str(cli_conf(&s->cli), CONF_CLUSTER_NAME);
        print_completions(s);
        return;
    }
    if ((s->scripts || s->env_vars) && !s->filter.ids.n)
        cli_fatal(
            "When requesting job %s you must also request specific jobs with the '-j' option.",
            s->scripts ? "scripts" : "environment");
    make_format(s);
    s->cluster = conf_str(cli_conf(&s->cli), CONF_CLUSTER_NAME);
    if (other_cluster(s)) {
        if (!s->noheader)
            sacct_fmt_header(&s->fmt, &s->out);
        cli_write_out(&s->out, true);
        return;
    }
    s->client = cli_connect_acct_or_die(&s->cli);
    print_jobs(s, argc, argv);
}

int main(int argc, char **argv)
{
    struct sacct s = { .request = PST__ACCT_FILTER__INIT,
                       .fmt.delimiter = "|",
                       .bitstr_len = job_bitstr_len() };
    _cleanup_free_ char **words = xmalloc_or_die(((size_t)argc + 1) * sizeof(*words));
    int first, status;

    memcpy(words, argv, (size_t)argc * sizeof(*words)); /* before getopt reorders them */
    cli_init(&s.cli, "sacct");
    jobfilter_init(&s.filter, refuse_user);
    opts_env(&command, &s);
    s.format_given = false;
    first = opts_parse(&command, argc, argv, &s);
    if (s.format_given && s.long_given)
        cli_fatal("Options -o(--format) and -l(--long) are mutually exclusive. "
                  "Please remove one and retry.");
    if (first < argc) {
        cli_error("Unknown arguments:");
        for (; first < argc; first++)
            cli_error(" %s", argv[first]);
        return CLI_EXIT_FAILED;
    }
    s.cli.keeps_text = s.json.wanted;
    status = json_option_done(&s.json);
    if (status >= 0)
        exit(status);
    run_command(&s, argc, words);
    argwords_free(s.request.clusters, s.request.n_clusters);
    jobfilter_done(&s.filter);
    sacct_fmt_done(&s.fmt);
    free(s.format.list);
    strbuf_done(&s.out);
    client_free(s.client);
    cli_done(&s.cli);
    return 0;
}
