/* scancel.c - cancel or signal jobs and steps
 *
 * One request carries all ids and filters; the controller resolves them.  Only --interactive and
 * --wckey look at the jobs first.  Exit status: 0, 1, or the controller's error number modulo 256.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/base/cli.h"
#include "cli/format/fmt_core.h"
#include "cli/job/jobtext.h"
#include "cli/base/opts.h"
#include "cli/query/arrayanswer.h"
#include "cli/query/elsewhere.h"
#include "cli/query/out_jobfilter.h"
#include "cli/query/out_job.h"
#include "cli/base/clusters.h"
#include "cli/query/out_query.h"
#include "cli/query/out_sluid.h"
#include "cli/query/out_users.h"
#include "cli/query/siblings.h"
#include "model/words/names.h"
#include "session/jobcalls.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define NO_STATE 31u /* the bit of a state that no job has */
#define EXIT_UNREACHED 8

struct scancel {
    struct cli cli;
    struct client *client;
    const char *clusters, *sibling, *user; /* options; NULL: not given */
    Pst__JobActionRequest request;
    struct jobfilter filter;
    bool interactive, ctld;
    bool signalled;   /* --signal was given */
    bool names_steps; /* among the ids */
    int status;
    /* with --interactive and --wckey: the ids that remain, and which of those given were found */
    char **chosen;
    size_t n_chosen;
    bool *found;
    struct strbuf options; /* the filters, for the sentence that nothing matches */
};

static void refuse_user(const char *word)
{
    cli_die(CLI_EXIT_FAILED, "Invalid user name: %s", word);
}

/* Of --user and --me the last counts, and who it is matters only then. */
static int take_user(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct scancel *s = at;

    (void)opt, (void)err;
    s->user = arg;
    s->filter.me = false;
    return 0;
}

static int take_me(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct scancel *s = at;

    s->user = NULL;
    return jobfilter_take_me(&s->filter, opt, arg, err);
}

/* One user: a list is none. */
static void ask_user(struct scancel *s)
{
    Pst__JobFilter *f = &s->filter.request;

    jobfilter_ask_me(&s->filter);
    if (!s->user)
        return;
    if (!*s->user || strchr(s->user, ','))
        refuse_user(s->user);
    filter_add_users(&f->uids, &f->n_uids, s->user, refuse_user);
}

/* One word: a list is none.  A state that no job to cancel has selects nothing. */
static int take_state(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct jobfilter *f = at;
    _cleanup_free_ char *bad = NULL;

    (void)opt, (void)err;
    f->states = (struct filter_states){ 0 };
    if (strpbrk(arg, ", ") || filter_parse_states(arg, &f->states, &bad) < 0 || f->states.all) {
        (void)fprintf(stderr, "Invalid job state specified: %s\n", arg);
        (void)fprintf(stderr, "Valid job states are PENDING, RUNNING, and SUSPENDED\n");
        return CLI_EXIT_FAILED;
    }
    f->request.n_states = 0; /* the last --state counts */
    if (f->states.base)
        jobfilter_ask_states(f);
    else
        filter_add_number(&f->request.states, &f->request.n_states, NO_STATE);
    return 0;
}

/* A name, or any number: what no process can be sent is the controller's to refuse. */
static int take_signal(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    unsigned number = jobtext_signal_number(arg);
    uint64_t any;

    (void)opt, (void)err;
    if (!number && parse_u64(*arg == '-' ? arg + 1 : arg, 1, UINT16_MAX, &any) == 0)
        number = *arg == '-' ? UINT16_MAX : (unsigned)any;
    if (!number) {
        (void)fprintf(stderr, "Unknown job signal: %s\n", arg);
        return CLI_EXIT_FAILED;
    }
    *(uint32_t *)at = number;
    return 0;
}

#define OPT_INTO struct scancel
/* A name in full, commas too: `-n a -n b` cancels the jobs b alone, as scripts expect. */
#define ONE_WORD(m)                                                                                \
    OPT_AND(OPT_WORD(filter.request.m, filter.request.n_##m), OPT_GIVEN(filter.given))
static const struct opt rows[] = {
    OPT("account", 'A', OPT_REQ, ONE_WORD(accounts), "@ACCOUNT", NULL, "name",
        "jobs charged to this account"),
    OPT("admin-comment", 0, OPT_REQ, OPT_COPY(request.admin_comment), NULL, NULL, "text",
        "keep this text with the jobs (administrators)"),
    OPT("batch", 'b', OPT_NONE,
        OPT_AND(OPT_FLAG(request.batch_only), OPT_GIVEN(request.has_batch_only)), "@BATCH", NULL,
        NULL, "signal the batch shell only"),
    OPT("clusters", 'M', OPT_REQ, OPT_TEXT(clusters), "SLURM_CLUSTERS", NULL, "name",
        "ask this cluster"),
    OPT("cron", 'c', OPT_NONE, OPT_AND(OPT_FLAG(request.cron), OPT_GIVEN(request.has_cron)),
        "@CRON", NULL, NULL, "cancel jobs of a crontab too, and take their entries out"),
    OPT("ctld", 0, OPT_NONE, OPT_FLAG(ctld), "@CTLD", NULL, NULL,
        "let the controller apply the filters (always so), and accept that a job has ended"),
    OPT("full", 'f', OPT_NONE, OPT_AND(OPT_FLAG(request.full), OPT_GIVEN(request.has_full)),
        "@FULL", NULL, NULL, "signal the steps and the batch script"),
    OPT("hurry", 'H', OPT_NONE, OPT_NOTHING, "@HURRY", NULL, NULL,
        "taken for compatibility: there are no burst buffers to wait for"),
    OPT("interactive", 'i', OPT_NONE, OPT_FLAG(interactive), "@INTERACTIVE", NULL, NULL,
        "ask before each job"),
    OPT("jobname", 0, OPT_REQ, ONE_WORD(names), NULL, NULL, "name", "same as --name"),
    OPT("me", 0, OPT_NONE, OPT_AND(OPT_TAKE_ALL(take_me), OPT_GIVEN(filter.given)), NULL, NULL,
        NULL, "my own jobs"),
    OPT("name", 'n', OPT_REQ, ONE_WORD(names), "@NAME", NULL, "name", "jobs with this name"),
    OPT("nodelist", 'w', OPT_REQ, JOBFILTER_NODES(filter), NULL, NULL, "nodes",
        "jobs that hold any of these nodes"),
    OPT("partition", 'p', OPT_REQ, ONE_WORD(partitions), "@PARTITION", NULL, "name",
        "jobs of this partition"),
    OPT("qos", 'q', OPT_REQ, ONE_WORD(qos), "@QOS", NULL, "name", "jobs with this QOS"),
    OPT("quiet", 'Q', OPT_NONE, OPT_QUIET(cli), NULL, NULL, NULL, "say nothing but errors"),
    OPT("reservation", 'R', OPT_REQ, ONE_WORD(reservations), NULL, NULL, "name",
        "jobs in this reservation"),
    OPT("sibling", 0, OPT_REQ, OPT_TEXT(sibling), NULL, NULL, "cluster",
        "take waiting jobs of a federation away from this cluster alone"),
    OPT("signal", 's', OPT_REQ,
        OPT_AND(OPT_TAKE(request.signal, take_signal), OPT_GIVEN(request.has_signal)), NULL, NULL,
        "signal", "send this signal, a name or a number"),
    OPT("state", 't', OPT_REQ, OPT_AND(OPT_TAKE(filter, take_state), OPT_GIVEN(filter.given)),
        "@STATE", NULL, "state", "PENDING, RUNNING or SUSPENDED jobs"),
    OPT("user", 'u', OPT_REQ, OPT_AND(OPT_TAKE_ALL(take_user), OPT_GIVEN(filter.given)), "@USER",
        NULL, "name", "jobs of this user"),
    OPT("verbose", 'v', OPT_NONE, OPT_VERBOSE(cli), "@VERBOSE", NULL, NULL, "say what is done"),
    OPT("wckey", 0, OPT_REQ, JOBFILTER_WCKEYS(filter), "@WCKEY", NULL, "keys",
        "jobs with these workload keys"),
};

static const struct opt_command command = {
    .name = "scancel",
    .prefix = "SCANCEL",
    .prefix2 = "SLURM",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS] [JOB[_TASK][.STEP]...]",
    .usage_status = CLI_EXIT_FAILED,
    .permute = true,
};

/* A job, a task, a component, or a numbered step: the special steps end with their job alone.
 * *ret_text: as the controller reads it. */
static bool id_parsed(const char *word, struct ids *ret, char **ret_text)
{
    size_t len = strlen(word);
    char last = len ? word[len - 1] : '\0';
    /* "12_" names no task, and nothing is done; "12+" names the first component */
    _cleanup_free_ char *parsed = last == '_'   ? xasprintf_or_die("%s*", word)
                                  : last == '+' ? xasprintf_or_die("%s0", word)
                                                : NULL;
    char *text = last == '.' ? xasprintf_or_die("%s0", word) : xstrdup_or_die(word);

    if (ids_parse(parsed ? parsed : text, ret, NULL) < 0) {
        free(text);
        return false;
    }
    if (ret->has_step && (ret->step_id >= STEP_ID_MAX_NORMAL || ret->array > IDS_ONE_TASK)) {
        ids_done(ret);
        free(text);
        return false;
    }
    *ret_text = text;
    return true;
}

/* Which element of "12_[1-3,b]" is no range of task numbers. */
static void tell_range(const char *word)
{
    const char *part = strstr(word, "_["), *end = part ? strchr(part, ']') : NULL;
    char element[64];

    if (!end || end[1])
        return;
    for (part += 2; part < end; part += strcspn(part, ",]") + 1) {
        size_t len = strcspn(part, ",]");

        if (len >= sizeof(element))
            return;
        (void)snprintf(element, sizeof(element), "%.*s", (int)len, part);
        if (!ids_check_set(element)) {
            cli_error("_parse_single_range: Invalid range: `%s'", element);
            return;
        }
    }
}

static bool is_step(const char *id)
{
    return strchr(id, '.') != NULL;
}

static void take_id(struct scancel *s, const char *word)
{
    struct filter_ids *f = &s->filter.ids;
    char *text;

    f->ids = xrealloc_or_die(f->ids, f->n + 1, sizeof(*f->ids));
    if (!id_parsed(word, &f->ids[f->n], &text)) {
        tell_range(word);
        cli_die(CLI_EXIT_FAILED, "Invalid job id %s", word);
    }
    f->n++;
    s->names_steps |= is_step(text);
    s->request.ids = xrealloc_or_die(s->request.ids, s->request.n_ids + 1, sizeof(*s->request.ids));
    s->request.ids[s->request.n_ids++] = text;
}

static void take_ids(struct scancel *s, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        char **words = NULL;
        size_t n = 0;

        filter_add_ids(&words, &n, argv[i]);
        if (!n)
            take_id(s, argv[i]);
        for (size_t k = 0; k < n; k++)
            take_id(s, words[k]);
        argwords_free(words, n);
    }
    s->found = xmalloc_or_die((s->filter.ids.n + 1) * sizeof(*s->found));
    memset(s->found, 0, (s->filter.ids.n + 1) * sizeof(*s->found));
}

/* ---- what is said ---------------------------------------------------------------------------- */

/* Do the options ask for more than a plain cancel, so that jobs are looked for? */
static bool looks_by_option(const struct scancel *s)
{
    return (s->signalled && !s->ctld) || s->request.batch_only || s->interactive || s->filter.given;
}

/* What looks for its jobs says that one is not there; a plain cancel is content that it is not.
 * Steps are looked for, and with them the jobs in the same list. */
static bool looks_first(const struct scancel *s)
{
    return looks_by_option(s) || s->names_steps;
}

static bool is_over(int code)
{
    return code == ESLURM_INVALID_JOB_ID || code == ESLURM_ALREADY_DONE ||
           code == ESLURM_JOB_FINISHED;
}

static void tell_error(struct scancel *s, const char *id, int code, const char *text)
{
    bool quiet = is_over(code) && !is_step(id) && !looks_first(s);

    if (is_over(code) && !quiet)
        code = ESLURM_INVALID_JOB_ID, text = NULL;
    if (!quiet || s->cli.verbose > 0)
        cli_error("Kill job error on job %sid %s: %s", is_step(id) ? "step " : "", id,
                  text ? text : slurm_err_text(code));
    if (code == ESLURM_INVALID_JOB_ID && looks_first(s) && s->status)
        return; /* what is not there was looked for before: what came later counts */
    if (!quiet)
        s->status = code == ESLURM_INVALID_JOB_ID ? CLI_EXIT_FAILED
                    : code > 0                    ? code % 256
                                                  : CLI_EXIT_FAILED;
}

/* The job is there, and has no such step: that is told as of two tries, with the job's number. */
static bool lacks_step(const Pst__JobActionResult *r)
{
    return r->id && is_step(r->id) && r->code == ESLURM_INVALID_JOB_ID && r->job_id;
}

/* Steps of a job of somebody else: told of the job, by its number. */
static bool is_strangers_step(const Pst__JobActionResult *r)
{
    return r->id && is_step(r->id) && r->code == ESLURM_ACCESS_DENIED;
}

static void tell_strangers_step(struct scancel *s, const char *id)
{
    cli_error("Kill job error on job step id %.*s: %s", (int)strcspn(id, "."), id,
              slurm_err_text(ESLURM_ACCESS_DENIED));
    s->status = ESLURM_ACCESS_DENIED % 256;
}

static void tell_no_step(struct scancel *s, const char *id)
{
    cli_error("Kill job error on job step id %.*s: %s", (int)strcspn(id, "."), id,
              slurm_err_text(ESLURM_INVALID_JOB_ID));
    s->status = ESLURM_INVALID_JOB_ID % 256;
}

/* With -v: what is done to the job or step. */
static void tell_deed(const struct scancel *s, const char *id)
{
    const char *kind = is_step(id)                              ? "step"
                       : s->request.batch_only                  ? "batch job"
                       : s->request.has_full && s->request.full ? "full job"
                                                                : "job";

    if (s->signalled)
        cli_verbose(1, "Signal %u to %s %s", s->request.signal, kind, id);
    else
        cli_verbose(1, "Terminating %s %s", is_step(id) ? "step" : "job", id);
}

static void tell_unmatched(const struct scancel *s)
{
    if (s->cli.verbose > 0)
        cli_error("No active jobs match ALL job filters, including: %s", strbuf_str(&s->options));
}

/* ---- looking first --------------------------------------------------------------------------- */

static bool job_confirmed(const struct scancel *s, const Pst__JobRecord *j, const char *id)
{
    char answer[64];

    if (!s->interactive)
        return true;
    for (;;) {
        (void)printf("Cancel job_id=%s name=%s partition=%s [y/n]? ", id, j->name ? j->name : "",
                     j->partition ? j->partition : "");
        (void)fflush(stdout);
        if (!fgets(answer, sizeof(answer), stdin))
            return false;
        if (*answer == 'y' || *answer == 'Y')
            return true;
        if (*answer == 'n' || *answer == 'N')
            return false;
    }
}

/* Is the job one of those asked for?  Marks which. */
static bool note_found(struct scancel *s, const Pst__JobRecord *j)
{
    bool any = s->filter.ids.n == 0;

    for (size_t i = 0; i < s->filter.ids.n; i++) {
        struct filter_ids one = { .ids = &s->filter.ids.ids[i], .n = 1 };

        if (j->array_tasks ? !filter_ids_match_whole(&one, j->job_id, job_group_id(j)) &&
                                 one.ids->array == IDS_NO_TASK
                           : !filter_ids_match(&one, j->job_id, job_group_id(j),
                                               j->has_array_task_id, j->array_task_id))
            continue;
        s->found[i] = true;
        any = true;
    }
    return any || j->array_tasks;
}

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct scancel *s = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;
    struct job_row row = { .job = j, .now_us = info->now_us };
    _cleanup_val_(strbuf_done) struct strbuf id = STRBUF_INIT;

    if (names_job_state_terminal((unsigned)j->state))
        return 0;
    if (!note_found(s, j)) /* before the filter: a job that it leaves out is there all the same */
        return 0;
    if (!jobfilter_match(&s->filter, &row))
        return 0;
    job_put_id(&id, &row);
    if (job_confirmed(s, j, strbuf_str(&id))) {
        s->chosen = xrealloc_or_die(s->chosen, s->n_chosen + 1, sizeof(*s->chosen));
        s->chosen[s->n_chosen++] = xstrdup_or_die(strbuf_str(&id));
    }
    return 0;
}

/* Replace ids and filters by the jobs that are meant. */
static void choose_jobs(struct scancel *s)
{
    Pst__QueryRequest query = query_to_print();
    struct pb_fieldset set = { 0 };
    int r;

    (void)sluids_find(s->client, &s->filter.ids); /* what fails here fails again below */
    free(s->filter.request.job_ids);              /* of the cluster before */
    s->filter.request.job_ids = NULL;
    s->filter.request.n_job_ids = 0;
    jobfilter_ask_ids(&s->filter);
    for (size_t i = 0; i < s->filter.ids.n; i++)
        s->found[i] = false;
    query.jobs = &s->filter.request;
    query_need_names(
        "job_id array_job_id array_task_id array_tasks het_job_id het_offset state name partition wckey",
        &pst__job_record__descriptor, &set);
    check_mem_or_die(query_fields(&set, &query.fields, &query.n_fields));
    r = query_run(s->client, OP_QUERY_JOBS, &query.base, &pst__job_record__descriptor, on_job, s,
                  NULL);
    free(query.fields);
    if (r < 0 && r != -EREMOTEIO)
        cli_die(CLI_EXIT_FAILED, "Unable to get job information: %s",
                client_strerror(s->client, r));
    for (size_t i = 0; i < s->filter.ids.n; i++)
        if (!s->found[i])
            tell_error(s, s->request.ids[i], ESLURM_INVALID_JOB_ID, NULL);
    if (!s->n_chosen && !s->interactive && s->filter.given)
        tell_unmatched(s);
    s->request.ids = s->chosen; /* those asked for are the caller's */
    s->request.n_ids = s->n_chosen;
    s->filter.given = false;
}

/* ---- the request ----------------------------------------------------------------------------- */

/* The id as asked for; buf when a filter found the job. */
static const char *result_id(const Pst__JobActionResult *r, char buf[16])
{
    (void)snprintf(buf, 16, "%u", r->job_id); /* fits */
    return r->id ? r->id : buf;
}

struct task_error {
    struct scancel *s;
    const char *id; /* of the array, up to the tasks */
    int code;
    const char *text;
};

static int on_task_error(void *ctx, uint32_t task)
{
    const struct task_error *e = ctx;
    _cleanup_free_ char *id = xasprintf_or_die("%.*s_%u", (int)strcspn(e->id, "_"), e->id, task);

    tell_error(e->s, id, e->code, e->text);
    return 0;
}

/* Errors of n results about the tasks that one id names.  A plain cancel asks once about the whole
 * id.  What looks for its jobs asks task by task, and for the whole array only about live ones. */
static void report_tasks(struct scancel *s, Pst__JobActionResult *const *results, size_t n)
{
    bool whole = !strchr(results[0]->id, '_'), over = true;
    _cleanup_free_ char *unknown = looks_first(s) ? arrayanswer_unknown(results, n) : NULL;
    struct task_error e = { .s = s, .id = results[0]->id, .code = ESLURM_INVALID_JOB_ID };

    for (size_t i = 0; i < n; i++)
        over = over && is_over(results[i]->code);
    for (size_t i = 0; i < n; i++) {
        const Pst__JobActionResult *r = results[i];

        if (!r->code || (!over && is_over(r->code) && whole))
            continue;
        if (!looks_first(s) || (over && whole)) {
            if (i == 0 || results[i - 1]->code != r->code)
                tell_error(s, r->id, r->code, r->text);
            continue;
        }
        e.code = r->code;
        e.text = r->text;
        (void)filter_each_task(r->tasks, on_task_error, &e);
    }
    e.code = ESLURM_INVALID_JOB_ID;
    e.text = NULL;
    if (unknown)
        (void)filter_each_task(unknown, on_task_error, &e);
}

/* "12_[8-9]" of an array without such tasks, which were looked for. */
static bool report_unknown_set(struct scancel *s, const Pst__JobActionResult *r)
{
    _cleanup_free_ char *unknown = NULL;
    struct task_error e = { .s = s, .id = r->id, .code = r->code, .text = r->text };
    Pst__JobActionResult *const one = (Pst__JobActionResult *)r;

    if (!looks_first(s) || r->code != ESLURM_INVALID_JOB_ID || r->job_id || !r->id ||
        is_step(r->id))
        return false;
    unknown = arrayanswer_unknown(&one, 1);
    if (unknown)
        (void)filter_each_task(unknown, on_task_error, &e);
    return unknown != NULL;
}

/* Was a step asked for that is there, or that a job lacks? */
static bool found_step(const Pst__JobActionResult *r)
{
    return r->id && is_step(r->id) && (!is_over(r->code) || lacks_step(r));
}

static void report_results(struct scancel *s, const Pst__JobActionReply *reply)
{
    char number[16];
    bool matched = false;

    for (size_t i = 0; i < reply->n_results; i++) {
        const Pst__JobActionResult *r = reply->results[i];

        matched = matched || !is_over(r->code);
        if ((looks_first(s) && !is_over(r->code)) || (!looks_by_option(s) && found_step(r)))
            tell_deed(s, result_id(r, number));
    }
    for (size_t i = 0, n; i < reply->n_results; i += n) {
        const Pst__JobActionResult *r = reply->results[i];

        n = r->id && is_step(r->id) ? 0 : arrayanswer_run(reply->results + i, reply->n_results - i);
        if (n > 0) {
            report_tasks(s, reply->results + i, n);
            continue;
        }
        n = 1;
        if (report_unknown_set(s, r))
            continue;
        if (lacks_step(r)) {
            tell_no_step(s, r->id);
            tell_deed(s, r->id);
            tell_no_step(s, r->id);
        } else if (is_strangers_step(r)) {
            tell_strangers_step(s, r->id);
        } else if (r->code) {
            tell_error(s, result_id(r, number), r->code, r->text);
        }
    }
    if (!matched && s->filter.given)
        tell_unmatched(s);
}

/* No controller answered: that is said of each job that the request names. */
static noreturn void tell_unreached(const struct scancel *s, const char *why)
{
    if (!s->request.n_ids)
        cli_die(CLI_EXIT_FAILED, "%s", why);
    for (size_t i = 0; i < s->request.n_ids; i++)
        cli_error("Kill job error on job %sid %s: %s", is_step(s->request.ids[i]) ? "step " : "",
                  s->request.ids[i], why);
    exit(EXIT_UNREACHED);
}

static void send_request(struct scancel *s)
{
    Pst__JobActionReply *reply = NULL;
    int r;

    for (size_t i = 0; !looks_first(s) && i < s->request.n_ids; i++)
        if (!is_step(s->request.ids[i])) /* steps are looked for first */
            tell_deed(s, s->request.ids[i]);
    jobcalls_choose_kill(&s->request);
    if (s->filter.given)
        s->request.filter = &s->filter.request;
    r = client_call(s->client, OP_JOB_ACTION, &s->request.base, (ProtobufCMessage **)&reply);
    if (r == -EREMOTEIO)
        cli_die(MAX(1, client_error(s->client, NULL) % 256), "%s", client_strerror(s->client, r));
    if (r < 0)
        tell_unreached(s, client_strerror(s->client, r));
    elsewhere_act(&s->cli, &s->request, reply);
    report_results(s, reply);
    pst__job_action_reply__free_unpacked(reply, NULL);
}

/* ---- the filters in words -------------------------------------------------------------------- */

static void add_filter(struct scancel *s, const char *name, char *const *words, size_t n)
{
    if (n)
        strbuf_addf(&s->options, "%s=", name);
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&s->options, "%s%s", i ? "," : "", words[i]);
    if (n)
        strbuf_add(&s->options, " ");
}

static void add_users(struct scancel *s)
{
    const Pst__JobFilter *f = &s->filter.request;

    for (size_t i = 0; i < f->n_uids; i++)
        if (s->filter.me)
            strbuf_addf(&s->options, "%s%u", i ? "," : "user_name=", f->uids[i]);
        else
            strbuf_addf(&s->options, "%s%s", i ? "," : "user_name=", user_name_of(f->uids[i]));
    if (f->n_uids)
        strbuf_add(&s->options, " ");
}

static void name_filters(struct scancel *s)
{
    const Pst__JobFilter *f = &s->filter.request;

    add_filter(s, "account", f->accounts, f->n_accounts);
    add_filter(s, "job_name", f->names, f->n_names);
    add_filter(s, "partition", f->partitions, f->n_partitions);
    add_filter(s, "qos", f->qos, f->n_qos);
    add_filter(s, "reservation", f->reservations, f->n_reservations);
    for (size_t i = 0; i < f->n_states; i++)
        strbuf_addf(&s->options, "state=%s ", names_job_state(f->states[i]));
    add_users(s);
    if (s->filter.wckeys)
        strbuf_addf(&s->options, "wckey=%s ", s->filter.wckeys);
    if (f->nodes)
        strbuf_addf(&s->options, "nodelist=%s ", f->nodes);
}

/* Flags of the environment are "true" or "false"; another value is told and has no effect. */
static void read_env(void)
{
    static const char *const flags[] = { "SCANCEL_BATCH", "SCANCEL_FULL", "SCANCEL_INTERACTIVE",
                                         "SCANCEL_VERBOSE" };

    for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
        const char *value = getenv(flags[i]);

        if (!value)
            continue;
        if (strcasecmp(value, "true") == 0 || strcasecmp(value, "t") == 0) {
            (void)setenv(flags[i], "1", 1); /* out of memory: "true" is no flag either */
            continue;
        }
        if (strcasecmp(value, "false") != 0 && strcasecmp(value, "f") != 0)
            cli_error("Unrecognized %s value: %s", flags[i], value);
        (void)unsetenv(flags[i]);
    }
}

static void check_env_state(void)
{
    const char *value = getenv("SCANCEL_STATE");
    _cleanup_free_ char *bad = NULL;
    struct filter_states states;

    if (!value || !*value || filter_parse_states(value, &states, &bad) == 0)
        return;
    (void)fprintf(stderr, "Unrecognized SCANCEL_STATE value: %s\n", value);
    (void)fprintf(stderr, "Valid job states are PENDING, RUNNING, and SUSPENDED\n");
    exit(CLI_EXIT_FAILED);
}

/* --sibling: the jobs wait on in their other clusters. */
static void leave_sibling(struct scancel *s)
{
    (void)sluids_find(s->client, &s->filter.ids); /* what fails here fails again below */
    for (size_t i = 0; i < s->filter.ids.n; i++) {
        const struct ids *id = &s->filter.ids.ids[i];
        struct err err = { .text = "" };
        int code;

        if (id->has_step || id->has_het || id->array != IDS_NO_TASK) {
            tell_error(s, s->request.ids[i], ESLURM_JOB_NOT_FEDERATED, NULL);
            continue;
        }
        code = siblings_leave(&s->cli, s->client, id->job_id, s->sibling, &err);
        if (code)
            tell_error(s, s->request.ids[i], code, err.text[0] ? err.text : NULL);
    }
}

/* In the cluster that is asked now.  What was asked for is kept for the next one. */
static void cancel_there(struct scancel *s)
{
    struct err err = { .text = "" };
    char **ids = s->request.ids;
    size_t n = s->request.n_ids;
    bool given = s->filter.given;
    int r = cli_connect(&s->cli, &s->client, &err);

    if (r < 0)
        tell_unreached(s, err.text[0] ? err.text : strerror(-r));
    if (!s->sibling && (s->interactive || s->filter.wckeys))
        choose_jobs(s);
    if (s->sibling)
        leave_sibling(s);
    else if (s->request.n_ids || s->filter.given)
        send_request(s);
    if (s->request.ids != ids) {
        argwords_free(s->request.ids, s->request.n_ids);
        s->chosen = NULL;
        s->n_chosen = 0;
    }
    s->request.ids = ids;
    s->request.n_ids = n;
    s->request.filter = NULL;
    s->filter.given = given;
    s->client = client_free(s->client);
}

int main(int argc, char **argv)
{
    struct scancel s = { .request = PST__JOB_ACTION_REQUEST__INIT, .options = STRBUF_INIT };
    struct clusters clusters = { 0 };
    int first;

    cli_init(&s.cli, "scancel");
    jobfilter_init(&s.filter, refuse_user);
    read_env();
    check_env_state();
    opts_env(&command, &s);
    first = opts_parse(&command, argc, argv, &s);
    s.signalled = s.request.has_signal;
    ask_user(&s);
    take_ids(&s, argc - first, argv + first);
    if (!s.request.n_ids && !s.filter.given)
        cli_die(CLI_EXIT_FAILED, "No job identification provided");
    if (s.sibling && (s.filter.given || s.interactive || s.signalled))
        cli_die(CLI_EXIT_FAILED, "--sibling goes with numbers of jobs alone, not with --signal, "
                                 "--interactive or filters");
    if (s.clusters)
        clusters_find_or_die(&s.cli, s.clusters, &clusters);
    name_filters(&s);
    for (size_t i = 0; i < MAX(clusters.n, (size_t)1); i++) {
        if (clusters.n)
            clusters_use(&s.cli, &clusters, i);
        cancel_there(&s);
    }
    clusters_done(&s.cli, &clusters);
    argwords_free(s.request.ids, s.request.n_ids);
    free(s.request.admin_comment);
    free(s.found);
    strbuf_done(&s.options);
    jobfilter_done(&s.filter);
    client_free(s.client);
    cli_done(&s.cli);
    return s.status;
}
