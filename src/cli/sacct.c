/* sacct.c - finished and running jobs from accounting
 *
 * The controller selects jobs; the filters that its request cannot express, and the choice of
 * steps, are applied here.  Jobs are printed as they arrive. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "acctop.pb-c.h"
#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/base/cli.h"
#include "cli/format/jsonefficiency.h"
#include "cli/format/fmt_sacct.h"
#include "cli/format/json_job.h"
#include "cli/base/opts.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_query.h"
#include "cli/query/out_sluid.h"
#include "cli/query/out_users.h"
#include "model/words/names.h"
#include "wire/ops.h"

#define FLUSH_BYTES (256u * 1024)
#define RULE "--------------------------------------------------------------------------------\n"

enum option_id {
    O_ACCOUNT,
    O_ALLCLUSTERS,
    O_ALLOCATIONS,
    O_ALLUSERS,
    O_ARRAY,
    O_ASSOCIATIONS,
    O_BATCH_SCRIPT,
    O_BRIEF,
    O_CLUSTERS,
    O_COMPLETION,
    O_CONSTRAINTS,
    O_DELIMITER,
    O_DUPLICATES,
    O_EFFICIENCY,
    O_END,
    O_ENV_VARS,
    O_EXPAND,
    O_FEDERATION,
    O_FILE,
    O_FLAGS,
    O_FORMAT,
    O_GROUP,
    O_HELPFORMAT,
    O_JOBS,
    O_JSON,
    O_LOCAL,
    O_LONG,
    O_NAME,
    O_NNODES,
    O_NCPUS,
    O_NOCONVERT,
    O_NODELIST,
    O_NOHEADER,
    O_PARSABLE,
    O_PARSABLE2,
    O_PARTITION,
    O_QOS,
    O_REASON,
    O_START,
    O_STATE,
    O_LIMIT_MAX,
    O_LIMIT_MIN,
    O_TRUNCATE,
    O_USER,
    O_UNITS,
    O_LOCAL_UID,
    O_VERBOSE,
    O_WCKEYS,
    O_WHOLE_HET,
    O_YAML,
};

static const struct opt rows[] = {
    { "accounts", 'A', OPT_REQ, O_ACCOUNT, 0, NULL, NULL, "names",
      "jobs charged to these accounts" },
    { "allclusters", 'L', OPT_NONE, O_ALLCLUSTERS, 0, NULL, NULL, NULL,
      "jobs of every cluster of the accounting store" },
    { "allocations", 'X', OPT_NONE, O_ALLOCATIONS, 0, NULL, NULL, NULL,
      "jobs without their steps" },
    { "allusers", 'a', OPT_NONE, O_ALLUSERS, 0, NULL, NULL, NULL, "everybody's jobs" },
    { "array", 0, OPT_NONE, O_ARRAY, 0, NULL, NULL, NULL,
      "one line for each pending task of an array" },
    { "associations", 'x', OPT_REQ, O_ASSOCIATIONS, 0, NULL, NULL, "ids", NULL,
      "jobs are not kept by association number; use --accounts and --user" },
    { "batch-script", 'B', OPT_NONE, O_BATCH_SCRIPT, 0, NULL, NULL, NULL,
      "print the batch scripts of --jobs" },
    { "brief", 'b', OPT_NONE, O_BRIEF, 0, NULL, NULL, NULL, "job id, state and exit code" },
    { "clusters", 'M', OPT_REQ, O_CLUSTERS, 0, "SLURM_CLUSTERS", NULL, "names",
      "jobs of these clusters" },
    { "completion", 'c', OPT_NONE, O_COMPLETION, 0, NULL, NULL, NULL,
      "ask the separate log of completed jobs, which is disabled" },
    { "constraints", 'C', OPT_REQ, O_CONSTRAINTS, 0, NULL, NULL, "features",
      "jobs that asked for these features" },
    { "delimiter", 0, OPT_REQ, O_DELIMITER, 0, NULL, NULL, "text", "between values of --parsable" },
    { "duplicates", 'D', OPT_NONE, O_DUPLICATES, 0, NULL, NULL, NULL,
      "also earlier runs of requeued jobs" },
    { "efficiency", 0, OPT_OPT, O_EFFICIENCY, 0, NULL, NULL, "table|report",
      "what runs used of what they held; report: a page and advice for each" },
    { "endtime", 'E', OPT_REQ, O_END, 0, NULL, NULL, "time", "jobs before this time" },
    { "env-vars", 0, OPT_NONE, O_ENV_VARS, 0, NULL, NULL, NULL,
      "print the environments of --jobs" },
    { "expand-patterns", 0, OPT_NONE, O_EXPAND, 0, NULL, NULL, NULL,
      "resolve patterns in file names" },
    { "federation", 0, OPT_NONE, O_FEDERATION, 0, "@FEDERATION", NULL, NULL,
      "taken for compatibility: clusters do not federate here" },
    { "fields", 0, OPT_REQ, O_FORMAT, 0, NULL, NULL, NULL, NULL },
    { "file", 'f', OPT_REQ, O_FILE, 0, NULL, NULL, "file", NULL,
      "there is no file of completed jobs; accounting is the only record" },
    { "flags", 'F', OPT_REQ, O_FLAGS, 0, NULL, NULL, "flags", NULL,
      "which pass of the scheduler started a job is not recorded" },
    { "format", 'o', OPT_REQ, O_FORMAT, 0, "@FORMAT", NULL, "fields",
      "columns as name[%[-]width],..." },
    { "gid", 'g', OPT_REQ, O_GROUP, 0, NULL, NULL, "groups", "jobs of these groups, by number" },
    { "group", 0, OPT_REQ, O_GROUP, 0, NULL, NULL, "groups", NULL },
    { "helpformat", 'e', OPT_NONE, O_HELPFORMAT, 0, NULL, NULL, NULL, "list the fields" },
    { "jobs", 'j', OPT_REQ, O_JOBS, 0, NULL, NULL, "ids", "these jobs or steps" },
    { "json", 0, OPT_OPT, O_JSON, 0, NULL, NULL, "version", "print JSON" },
    { "local", 0, OPT_NONE, O_LOCAL, 0, "@LOCAL", NULL, NULL,
      "taken for compatibility: clusters do not federate here" },
    { "long", 'l', OPT_NONE, O_LONG, 0, NULL, NULL, NULL, "most fields" },
    { "name", 0, OPT_REQ, O_NAME, 0, NULL, NULL, "names", "jobs with these names" },
    { "nnodes", 'i', OPT_REQ, O_NNODES, 0, NULL, NULL, "min[-max]", "jobs with so many nodes" },
    { "ncpus", 'I', OPT_REQ, O_NCPUS, 0, NULL, NULL, "min[-max]", "jobs with so many CPUs" },
    { "noconvert", 0, OPT_NONE, O_NOCONVERT, 0, NULL, NULL, NULL, "sizes as plain numbers" },
    { "nodelist", 'N', OPT_REQ, O_NODELIST, 0, NULL, NULL, "nodes",
      "jobs that ran on any of these nodes" },
    { "noheader", 'n', OPT_NONE, O_NOHEADER, 0, NULL, NULL, NULL, "no headings" },
    { "parsable", 'p', OPT_NONE, O_PARSABLE, 0, NULL, NULL, NULL, "a | after each value" },
    { "parsable2", 'P', OPT_NONE, O_PARSABLE2, 0, NULL, NULL, NULL, "a | between values" },
    { "partition", 'r', OPT_REQ, O_PARTITION, 0, NULL, NULL, "names", "jobs of these partitions" },
    { "qos", 'q', OPT_REQ, O_QOS, 0, NULL, NULL, "names", "jobs with these QOS" },
    { "reason", 'R', OPT_REQ, O_REASON, 0, NULL, NULL, "reasons",
      "jobs that waited for these reasons" },
    { "starttime", 'S', OPT_REQ, O_START, 0, NULL, NULL, "time", "jobs after this time" },
    { "state", 's', OPT_REQ, O_STATE, 0, NULL, NULL, "states", "jobs in these states" },
    { "timelimit-max", 'K', OPT_REQ, O_LIMIT_MAX, 0, NULL, NULL, "time",
      "jobs with at most this limit" },
    { "timelimit-min", 'k', OPT_REQ, O_LIMIT_MIN, 0, NULL, NULL, "time",
      "jobs with at least this limit" },
    { "truncate", 'T', OPT_NONE, O_TRUNCATE, 0, NULL, NULL, NULL, "cut times to the window" },
    { "uid", 0, OPT_REQ, O_USER, 0, NULL, NULL, "names", NULL },
    { "units", 0, OPT_REQ, O_UNITS, 0, NULL, NULL, "KMGTP", "unit of sizes" },
    { "use-local-uid", 0, OPT_NONE, O_LOCAL_UID, 0, NULL, NULL, NULL,
      "taken for compatibility: user names are always those of this machine" },
    { "user", 'u', OPT_REQ, O_USER, 0, NULL, NULL, "names", "jobs of these users" },
    { "verbose", 'v', OPT_NONE, O_VERBOSE, 0, NULL, NULL, NULL, "say more" },
    { "wckeys", 'W', OPT_REQ, O_WCKEYS, 0, NULL, NULL, "keys", "jobs with these workload keys" },
    { "whole-hetjob", 0, OPT_OPT, O_WHOLE_HET, 0, NULL, NULL, "yes|no",
      "with a component of a heterogeneous job show all of it, or that one alone" },
    { "yaml", 0, OPT_OPT, O_YAML, 0, NULL, NULL, "version", "print YAML" },
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
    .names = print_names,
};

struct range {
    bool set;
    uint64_t least, most;
};

struct sacct {
    struct cli cli;
    struct client *client;
    Pst__AcctFilter filter;
    struct filter_ids ids;
    struct filter_states states;
    struct json_option json;
    const char *json_arg;
    int json_result;
    struct sacct_fmt fmt;
    const char *format, *clusters, *constraints, *reasons, *wckeys, *groups;
    bool all_users, noheader, noconvert, expand, helpformat, completion, scripts, array, truncate;
    enum { WHOLE_NAMED, WHOLE_YES, WHOLE_NO } whole_het; /* components of heterogeneous jobs */
    bool have_states, have_start, have_end, env_vars, efficiency, report;
    struct named_job { /* --batch-script, --env-vars */
        uint32_t job_id;
        char name[32], *cluster;
    } * named;
    size_t n_named;
    size_t njobs; /* seen */
    int64_t start_us, end_us;
    char unit;
    struct range nodes, cpus, limit;

    struct strbuf out;
    struct json js;
    unsigned bitstr_len;
    const char *cluster;
};

static int set_states(struct sacct *s, const char *arg)
{
    _cleanup_free_ char *bad = NULL;
    struct filter_states more;

    if (filter_parse_states(arg, &more, &bad) < 0)
        cli_fatal("unrecognized job state value '%s'", bad);
    s->states.base |= more.base; /* each --state adds to the list */
    s->states.flags |= more.flags;
    s->states.all |= more.all;
    s->have_states = true;
    return 0;
}

static int set_time(const char *arg, int64_t *ret_us, bool *ret_have)
{
    if (time_when_parse(arg, now_us(), false, ret_us, NULL) < 0) {
        (void)fprintf(stderr, "Invalid time specification (pos=0): %s\n", arg);
        return CLI_EXIT_FAILED;
    }
    *ret_have = true;
    return 0;
}

static int set_range(const struct opt *opt, const char *arg, struct range *ret, struct err *err)
{
    const char *dash = strchr(arg, '-');
    _cleanup_free_ char *least =
        xasprintf_or_die("%.*s", (int)(dash ? dash - arg : (long)strlen(arg)), arg);
    int r = parse_u64(least, 0, UINT32_MAX, &ret->least);

    ret->most = ret->least;
    if (r == 0 && dash)
        r = parse_u64(dash + 1, ret->least, UINT32_MAX, &ret->most);
    if (r < 0)
        return err_set(err, CLI_EXIT_FAILED, "--%s takes min[-max], not %s", opt->name, arg);
    ret->set = true;
    return 0;
}

static int set_limit(struct sacct *s, const struct opt *opt, const char *arg, struct err *err)
{
    uint32_t minutes;

    if (time_limit_parse(arg, &minutes, err) < 0)
        return CLI_EXIT_FAILED;
    if (!s->limit.set)
        s->limit = (struct range){ .set = true, .least = 0, .most = UINT32_MAX };
    if (opt->id == O_LIMIT_MIN)
        s->limit.least = minutes;
    else
        s->limit.most = minutes;
    return 0;
}

static void bad_user(const char *word)
{
    cli_fatal("Invalid user id: %s", word);
}

static int set_filter(struct sacct *s, const struct opt *opt, const char *arg, struct err *err)
{
    Pst__AcctFilter *f = &s->filter;
    struct filter_ids more = { 0 };

    switch (opt->id) {
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
    case O_USER:
        filter_add_users(&f->uids, &f->n_uids, arg, bad_user);
        return 0;
    case O_NODELIST:
        free(f->nodes);
        f->nodes = xstrdup_or_die(arg);
        return 0;
    case O_JOBS:
        if (filter_parse_ids(arg, &more, NULL) < 0)
            cli_fatal("Bad job/step specified: %s", arg);
        filter_ids_join(&s->ids, &more); /* each --jobs adds to the list */
        return 0;
    case O_STATE:
        return set_states(s, arg);
    case O_START:
        return set_time(arg, &s->start_us, &s->have_start);
    case O_END:
        return set_time(arg, &s->end_us, &s->have_end);
    case O_NNODES:
        return set_range(opt, arg, &s->nodes, err);
    case O_NCPUS:
        return set_range(opt, arg, &s->cpus, err);
    case O_LIMIT_MAX:
    case O_LIMIT_MIN:
        return set_limit(s, opt, arg, err);
    case O_CONSTRAINTS:
        s->constraints = arg;
        return 0;
    case O_REASON:
        s->reasons = arg;
        return 0;
    case O_WCKEYS:
        s->wckeys = arg;
        return 0;
    case O_GROUP:
        s->groups = arg;
        return 0;
    default:
        return 0; /* one cluster, no federation */
    }
}

static int set_units(struct sacct *s, const char *arg, struct err *err)
{
    s->unit = (char)toupper((unsigned char)*arg);
    if (strlen(arg) != 1 || !strchr("KMGTP", s->unit))
        return err_set(err, CLI_EXIT_FAILED, "Invalid unit type: %s", arg);
    return 0;
}

static int set_layout(struct sacct *s, const struct opt *opt, const char *arg, struct err *err)
{
    switch (opt->id) {
    case O_FORMAT:
        s->format = arg;
        return 0;
    case O_BRIEF:
        s->format = SACCT_BRIEF;
        return 0;
    case O_LONG:
        s->format = SACCT_LONG;
        return 0;
    case O_DELIMITER:
        s->fmt.delimiter = arg;
        return 0;
    case O_PARSABLE:
        s->fmt.style = SACCT_PARSABLE;
        return 0;
    case O_PARSABLE2:
        s->fmt.style = SACCT_PARSABLE2;
        return 0;
    case O_NOHEADER:
        s->noheader = true;
        return 0;
    case O_NOCONVERT:
        s->noconvert = true;
        return 0;
    case O_EXPAND:
        s->expand = true;
        return 0;
    case O_HELPFORMAT:
        s->helpformat = true;
        return 0;
    case O_ARRAY:
        s->array = true;
        return 0;
    case O_WHOLE_HET:
        if (arg && strcasecmp(arg, "yes") != 0 && strcasecmp(arg, "no") != 0)
            return err_set(err, CLI_EXIT_FAILED, "Invalid --whole-hetjob argument: %s (yes or no)",
                           arg);
        s->whole_het = arg && strcasecmp(arg, "no") == 0 ? WHOLE_NO : WHOLE_YES;
        return 0;
    case O_TRUNCATE:
        s->truncate = true;
        return 0;
    case O_UNITS:
        return set_units(s, arg, err);
    default:
        return set_filter(s, opt, arg, err);
    }
}

static int set_option(void *ctx, const struct opt *opt, const char *arg, enum opt_source source,
                      struct err *err)
{
    struct sacct *s = ctx;

    (void)source; /* a later source overwrites */
    switch (opt->id) {
    case O_ALLOCATIONS:
        s->filter.has_allocations_only = s->filter.allocations_only = true;
        return 0;
    case O_ALLUSERS:
        s->all_users = true;
        return 0;
    case O_DUPLICATES:
        s->filter.has_duplicates = s->filter.duplicates = true;
        return 0;
    case O_BATCH_SCRIPT:
        s->scripts = true;
        return 0;
    case O_EFFICIENCY:
        if (arg && strcasecmp(arg, "table") != 0 && strcasecmp(arg, "report") != 0)
            return err_set(err, CLI_EXIT_FAILED,
                           "Invalid --efficiency argument: %s (table or report)", arg);
        s->efficiency = true;
        s->report = arg && strcasecmp(arg, "report") == 0;
        return 0;
    case O_ENV_VARS:
        s->env_vars = true;
        return 0;
    case O_COMPLETION:
        s->completion = true;
        return 0;
    case O_ALLCLUSTERS:
        s->clusters = "all";
        return 0;
    case O_CLUSTERS:
        s->clusters = arg;
        return 0;
    case O_JSON:
    case O_YAML:
        s->json_arg = arg;
        s->json_result = json_option_parse(&s->json, opt->id == O_YAML, arg);
        return 0;
    case O_VERBOSE:
        cli_set_verbosity(&s->cli, s->cli.verbose + 1);
        return 0;
    default:
        return set_layout(s, opt, arg, err);
    }
}

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

/* The window: midnight to now; with --jobs from the beginning; with --state what is so now. */
static void make_window(struct sacct *s)
{
    int64_t now = now_us();
    bool jobs = s->ids.n > 0;

    if (!s->have_start) {
        if (jobs)
            s->start_us = 0;
        else
            s->start_us = s->have_states ? now : midnight_us(now);
        if (s->have_states && s->have_end && s->start_us > s->end_us)
            s->start_us = s->end_us;
    }
    if (!s->have_end) /* states asked for since a moment: what was so at that moment */
        s->end_us = s->have_states && s->have_start ? s->start_us : now;
    if (s->end_us < s->start_us)
        cli_fatal("Start time (%lld) requested is after end time (%lld).",
                  (long long)(s->start_us / USEC_PER_SEC), (long long)(s->end_us / USEC_PER_SEC));
    s->filter.has_start_us = s->start_us > 0;
    s->filter.start_us = s->start_us;
    s->filter.has_end_us = s->have_end || !jobs;
    s->filter.end_us = s->end_us;
}

/* Runs that the controller still knows. */
static void find_sluids(struct sacct *s)
{
    struct client *ctld = NULL;

    if (!cli_acct_is_dbd(&s->cli)) {
        (void)sluids_find(s->client, &s->ids);
    } else if (s->ids.n && cli_connect_once(&s->cli, &ctld, NULL) == 0) {
        (void)sluids_find(ctld, &s->ids);
        (void)client_free(ctld); /* always NULL */
    }
}

/* Of slurmdbd: this cluster's jobs, unless others are asked for. */
static void make_clusters(struct sacct *s)
{
    Pst__AcctFilter *f = &s->filter;

    if (!cli_acct_is_dbd(&s->cli) || (s->clusters && strcasecmp(s->clusters, "all") == 0))
        return;
    if (s->clusters || s->cluster)
        filter_add_words(&f->clusters, &f->n_clusters, s->clusters ? s->clusters : s->cluster);
}

static void make_filter(struct sacct *s)
{
    Pst__AcctFilter *f = &s->filter;

    find_sluids(s);
    make_clusters(s);
    make_window(s);
    for (size_t i = 0; i < s->ids.n && s->whole_het == WHOLE_YES; i++)
        s->ids.ids[i].has_het = false;
    filter_ids_numbers(&s->ids, &f->job_ids, &f->n_job_ids);
    if (!f->n_uids && !s->all_users && !s->ids.n && getuid() != 0)
        filter_add_number(&f->uids, &f->n_uids, getuid());
    if (!s->have_states || s->states.all || s->states.flags)
        return;
    for (uint32_t i = 0; i < NAMES_JOB_STATES; i++)
        if (s->states.base & (1u << i))
            filter_add_number(&f->states, &f->n_states, i);
}

static void filter_free(Pst__AcctFilter *f)
{
    free(f->job_ids);
    free(f->uids);
    free(f->states);
    filter_free_words(f->partitions, f->n_partitions);
    filter_free_words(f->names, f->n_names);
    filter_free_words(f->accounts, f->n_accounts);
    filter_free_words(f->qos, f->n_qos);
    filter_free_words(f->clusters, f->n_clusters);
    free(f->nodes);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool in_range(const struct range *r, uint64_t n)
{
    return !r->set || (n >= r->least && n <= r->most);
}

static bool group_wanted(const struct sacct *s, uint32_t gid)
{
    char number[16];

    (void)snprintf(number, sizeof(number), "%u", gid); /* fits */
    return !s->groups || filter_list_has(s->groups, number) ||
           filter_list_has(s->groups, group_name_of(gid));
}

/* --whole-hetjob=no: the leader's id is that of the first component. */
static bool component_named(const struct sacct *s, const Pst__JobRecord *j)
{
    bool named = !j->het_job_id || !s->ids.n;

    for (size_t i = 0; i < s->ids.n && !named; i++)
        named = s->ids.ids[i].has_het || s->ids.ids[i].job_id == j->job_id;
    return named;
}

static bool wanted(const struct sacct *s, const Pst__JobRecord *j)
{
    bool held = j->state == PST__JOB_STATE__JOB_PENDING && j->has_priority && j->priority == 0;

    if (s->whole_het == WHOLE_NO && !component_named(s, j))
        return false;
    if (!in_range(&s->nodes, job_nodes(j)) || !in_range(&s->cpus, job_cpus(j)))
        return false;
    if (s->limit.set && !in_range(&s->limit, j->time_unlimited ? UINT32_MAX : j->time_limit_min))
        return false;
    if (s->constraints && !(j->features && filter_list_has(s->constraints, j->features)))
        return false;
    if (s->wckeys && !(j->wckey && filter_list_has(s->wckeys, j->wckey)))
        return false;
    if (s->reasons && !filter_list_has(s->reasons, names_reason((unsigned)j->reason)))
        return false;
    if (s->have_states && !filter_state_match(&s->states, (unsigned)j->state, j->state_flags) &&
        !(s->states.base & 1u << PST__JOB_STATE__JOB_RUNNING))
        return false;
    /* Not eligible yet: shown only when asked for by number. */
    if (!s->ids.n && held && j->eligible_us <= 0)
        return false;
    return group_wanted(s, j->gid);
}

static void flush_out(struct sacct *s, bool always)
{
    if (s->out.failed)
        cli_die(CLI_EXIT_FAILED, "Out of memory");
    if (s->out.len < FLUSH_BYTES && !always)
        return;
    if (fwrite(strbuf_str(&s->out), 1, s->out.len, stdout) != s->out.len ||
        (always && fflush(stdout)))
        exit(CLI_EXIT_FAILED);
    strbuf_reset(&s->out);
}

/* batch, extern, interactive, then the numbered ones. */
static int compare_steps(const void *pa, const void *pb)
{
    const Pst__StepRecord *a = *(Pst__StepRecord *const *)pa, *b = *(Pst__StepRecord *const *)pb;
    bool special_a = names_step_special(a->step_id), special_b = names_step_special(b->step_id);

    if (special_a != special_b)
        return special_a ? -1 : 1;
    return a->step_id < b->step_id ? -1 : a->step_id > b->step_id;
}

/* Is the job named as a whole, rather than some of its steps? */
static bool job_line_wanted(const struct sacct *s, const Pst__JobRecord *j)
{
    for (size_t i = 0; i < s->ids.n; i++) {
        const struct filter_ids one = { &s->ids.ids[i], 1 };

        if (!s->ids.ids[i].has_step && filter_ids_match(&one, j->job_id, job_group_id(j),
                                                        j->has_array_task_id, j->array_task_id))
            return true;
    }
    return s->ids.n == 0;
}

static void put_job(struct sacct *s, struct sacct_row *r)
{
    const Pst__JobRecord *j = r->acct->job;

    if (job_line_wanted(s, j))
        sacct_fmt_row(&s->fmt, r, &s->out);
    for (size_t i = 0; i < r->acct->n_steps; i++) {
        r->step = r->acct->steps[i];
        if (filter_ids_match_step(&s->ids, j->job_id, job_group_id(j), j->has_array_task_id,
                                  j->array_task_id, r->step->step_id))
            sacct_fmt_row(&s->fmt, r, &s->out);
    }
    r->step = NULL;
}

static int64_t clamp(int64_t us, int64_t least, int64_t most)
{
    return us <= 0 ? us : MIN(MAX(us, least), most);
}

static void truncate_times(const struct sacct *s, Pst__AcctJob *a)
{
    a->job->start_us = clamp(a->job->start_us, s->start_us, s->end_us);
    a->job->end_us = clamp(a->job->end_us, s->start_us, s->end_us);
    for (size_t i = 0; i < a->n_steps; i++) {
        a->steps[i]->start_us = clamp(a->steps[i]->start_us, s->start_us, s->end_us);
        a->steps[i]->end_us = clamp(a->steps[i]->end_us, s->start_us, s->end_us);
    }
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
    else
        (void)snprintf(n->name, sizeof(n->name), "%u", j->job_id);
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

    if (!a->job || !wanted(s, a->job))
        return 0;
    if (a->n_steps > 1)
        qsort(a->steps, a->n_steps, sizeof(*a->steps), compare_steps);
    if (s->truncate)
        truncate_times(s, a);
    s->njobs++;
    if (s->scripts || s->env_vars) {
        name_job(s, a);
        return 0;
    }
    if (s->efficiency) {
        put_efficiency(s, a, info->now_us);
    } else if (s->json.wanted) {
        json_acct_job(&s->js, a, info->now_us, row.cluster);
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
    flush_out(s, false);
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
        s->filter.has_allocations_only = s->filter.allocations_only = true;
    }
    if (s->json.wanted) {
        json_begin(&s->js, &s->out, json_option_style(&s->json));
        s->js.plain_null = s->json.complex;
        json_list(&s->js, "jobs");
    } else if (!s->noheader && s->efficiency) {
        if (!s->report)
            efficiency_header(&s->out, s->fmt.style != SACCT_FIXED);
    } else if (!s->noheader) {
        sacct_fmt_header(&s->fmt, &s->out);
    }
    r = query_run(s->client, OP_QUERY_ACCT, &s->filter.base, &pst__acct_job__descriptor, on_job, s,
                  &info);
    if (r < 0) {
        flush_out(s, true);
        cli_die(CLI_EXIT_FAILED, "Problem getting jobs: %s", client_strerror(s->client, r));
    }
    if (s->json.wanted) {
        json_list_end(&s->js);
        json_meta(&s->js, argc, argv, s->cluster, conf_str(conf, CONF_ACCOUNTING_STORAGE_TYPE));
        json_end(&s->js);
    }
    flush_out(s, true);
    if (s->scripts || s->env_vars)
        print_blobs(s);
    if (s->report && !s->njobs)
        cli_die(CLI_EXIT_FAILED, "accounting knows no such job");
}

/* The controller's own store has one cluster. */
static bool other_cluster(struct sacct *s)
{
    return !cli_acct_is_dbd(&s->cli) && s->clusters && strcasecmp(s->clusters, "all") != 0 &&
           s->cluster && !filter_list_has(s->clusters, s->cluster);
}

static void make_format(struct sacct *s)
{
    struct err err = { .text = "" };
    int r = sacct_fmt_parse(&s->fmt, s->format ? s->format : SACCT_DEFAULT, &err);

    if (r == -EINVAL)
        cli_die(CLI_EXIT_FAILED, "%s", err.text);
    check_mem_or_die(r);
}

static void run(struct sacct *s, int argc, char **argv)
{
    if (s->helpformat) {
        sacct_fmt_help(&sacct_table, &s->out);
        flush_out(s, true);
        return;
    }
    if (s->completion) {
        (void)fprintf(stderr, "Slurm job completion is disabled\n");
        exit(CLI_EXIT_FAILED);
    }
    if ((s->scripts || s->env_vars) && !s->ids.n)
        cli_fatal("%s needs --jobs", s->scripts ? "--batch-script" : "--env-vars");
    make_format(s);
    s->cluster = conf_str(cli_conf(&s->cli), CONF_CLUSTER_NAME);
    if (other_cluster(s)) {
        if (!s->noheader)
            sacct_fmt_header(&s->fmt, &s->out);
        flush_out(s, true);
        return;
    }
    s->client = cli_connect_acct_or_die(&s->cli);
    print_jobs(s, argc, argv);
}

int main(int argc, char **argv)
{
    struct sacct s = { .filter = PST__ACCT_FILTER__INIT,
                       .fmt.delimiter = "|",
                       .bitstr_len = job_bitstr_len() };
    _cleanup_free_ char **words = xmalloc_or_die(((size_t)argc + 1) * sizeof(*words));
    int first, status;

    memcpy(words, argv, (size_t)argc * sizeof(*words)); /* before getopt reorders them */
    cli_init(&s.cli, "sacct");
    opts_env(&command, set_option, &s);
    first = opts_parse(&command, argc, argv, set_option, &s);
    if (first < argc) {
        cli_error("Unknown arguments:");
        for (; first < argc; first++)
            cli_error(" %s", argv[first]);
        return CLI_EXIT_FAILED;
    }
    status = s.json.wanted ? json_option_done(&s.json, s.json_result, s.json_arg) : -1;
    if (status >= 0)
        exit(status);
    run(&s, argc, words);
    filter_free(&s.filter);
    filter_ids_done(&s.ids);
    sacct_fmt_done(&s.fmt);
    strbuf_done(&s.out);
    client_free(s.client);
    cli_done(&s.cli);
    return 0;
}
