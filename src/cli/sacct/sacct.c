/* sacct.c - finished and running jobs from accounting
 *
 * The controller selects jobs; the filters that its request cannot express, and the choice of
 * steps, are applied here.  Jobs are printed as they arrive. */
#include "cli/sacct/sacct.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "cli/format/acctflags.h"
#include "cli/format/jsonefficiency.h"
#include "cli/format/json_job.h"
#include "cli/query/complog.h"
#include "cli/query/out_query.h"
#include "cli/query/out_users.h"
#include "cli/sacct/sacct_ask.h"
#include "cli/sacct/sacct_opts.h"
#include "wire/ops.h"

#define RULE "--------------------------------------------------------------------------------\n"

static void refuse_user(const char *word)
{
    cli_die(CLI_EXIT_FAILED, "Invalid user id: %s", word);
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

    sacct_make_request(s);
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
    opts_env(&sacct_command, &s);
    s.format_given = false;
    first = opts_parse(&sacct_command, argc, argv, &s);
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
