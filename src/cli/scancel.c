/* scancel.c - cancel or signal jobs and steps
 *
 * One request carries all ids and filters; the controller resolves them.  Only --interactive and
 * --wckey look at the jobs first.  Exit status: 0, 1, or the controller's error number modulo 256.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/base/cli.h"
#include "cli/format/fmt_core.h"
#include "cli/job/jobtext.h"
#include "cli/base/opts.h"
#include "cli/query/out_jobfilter.h"
#include "cli/query/out_job.h"
#include "cli/query/out_query.h"
#include "cli/query/out_sluid.h"
#include "cli/query/out_users.h"
#include "model/words/names.h"
#include "wire/errors.h"
#include "wire/ops.h"

struct scancel {
    struct cli cli;
    struct client *client;
    const char *clusters;
    Pst__JobActionRequest request;
    struct jobfilter filter;
    bool interactive;
    int status;
    /* with --interactive and --wckey: the ids that remain */
    char **chosen;
    size_t n_chosen;
};

static void refuse_user(const char *word)
{
    cli_die(CLI_EXIT_FAILED, "Invalid user name: %s", word);
}

static int take_states(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    static const uint32_t allowed = 1u << PST__JOB_STATE__JOB_PENDING |
                                    1u << PST__JOB_STATE__JOB_RUNNING |
                                    1u << PST__JOB_STATE__JOB_SUSPENDED;
    struct jobfilter *f = at;
    _cleanup_free_ char *bad = NULL;

    (void)opt, (void)err;
    if (filter_parse_states(arg, &f->states, &bad) < 0 || f->states.flags || f->states.all ||
        (f->states.base & ~allowed)) {
        (void)fprintf(stderr, "Invalid job state specified: %s\n", bad ? bad : arg);
        (void)fprintf(stderr, "Valid job states are PENDING, RUNNING, and SUSPENDED\n");
        return CLI_EXIT_FAILED;
    }
    jobfilter_ask_states(f); /* each --state adds to the list */
    return 0;
}

static int take_signal(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    unsigned number = jobtext_signal_number(arg);

    (void)opt, (void)err;
    if (!number) {
        (void)fprintf(stderr, "Unknown job signal: %s\n", arg);
        return CLI_EXIT_FAILED;
    }
    *(uint32_t *)at = number;
    return 0;
}

#define OPT_INTO struct scancel
static const struct opt rows[] = {
    OPT("account", 'A', OPT_REQ, JOBFILTER_ACCOUNTS(filter), "@ACCOUNT", NULL, "names",
        "jobs charged to these accounts"),
    OPT("admin-comment", 0, OPT_REQ, OPT_COPY(request.admin_comment), NULL, NULL, "text",
        "keep this text with the jobs (administrators)"),
    OPT("batch", 'b', OPT_NONE,
        OPT_AND(OPT_FLAG(request.batch_only), OPT_GIVEN(request.has_batch_only)), "@BATCH", NULL,
        NULL, "signal the batch shell only"),
    OPT("clusters", 'M', OPT_REQ, OPT_TEXT(clusters), "SLURM_CLUSTERS", NULL, "name",
        "ask this cluster"),
    OPT("cron", 'c', OPT_NONE, OPT_AND(OPT_FLAG(request.cron), OPT_GIVEN(request.has_cron)),
        "@CRON", NULL, NULL, "cancel jobs of a crontab too, and take their entries out"),
    OPT("ctld", 0, OPT_NONE, OPT_NOTHING, "@CTLD", NULL, NULL,
        "let the controller apply the filters (always so)"),
    OPT("full", 'f', OPT_NONE, OPT_AND(OPT_FLAG(request.full), OPT_GIVEN(request.has_full)),
        "@FULL", NULL, NULL, "signal the steps and the batch script"),
    OPT("hurry", 'H', OPT_NONE, OPT_NOTHING, "@HURRY", NULL, NULL,
        "taken for compatibility: there are no burst buffers to wait for"),
    OPT("interactive", 'i', OPT_NONE, OPT_FLAG(interactive), "@INTERACTIVE", NULL, NULL,
        "ask before each job"),
    OPT("jobname", 0, OPT_REQ, JOBFILTER_NAMES(filter), NULL, NULL, "names", "same as --name"),
    OPT("me", 0, OPT_NONE, JOBFILTER_ME(filter), NULL, NULL, NULL, "my own jobs"),
    OPT("name", 'n', OPT_REQ, JOBFILTER_NAMES(filter), "@NAME", NULL, "names",
        "jobs with these names"),
    OPT("nodelist", 'w', OPT_REQ, JOBFILTER_NODES(filter), NULL, NULL, "nodes",
        "jobs that hold any of these nodes"),
    OPT("partition", 'p', OPT_REQ, JOBFILTER_PARTITIONS(filter), "@PARTITION", NULL, "names",
        "jobs of these partitions"),
    OPT("qos", 'q', OPT_REQ, JOBFILTER_QOS(filter), "@QOS", NULL, "names", "jobs with these QOS"),
    OPT("quiet", 'Q', OPT_NONE, OPT_QUIET(cli), NULL, NULL, NULL, "say nothing but errors"),
    OPT("reservation", 'R', OPT_REQ, JOBFILTER_RESERVATIONS(filter), NULL, NULL, "names",
        "jobs in these reservations"),
    OPT("sibling", 0, OPT_REQ, OPT_NOTHING, NULL, NULL, "cluster", NULL,
        "clusters do not federate here"),
    OPT("signal", 's', OPT_REQ,
        OPT_AND(OPT_TAKE(request.signal, take_signal), OPT_GIVEN(request.has_signal)), NULL, NULL,
        "signal", "send this signal, a name or a number"),
    OPT("state", 't', OPT_REQ, OPT_AND(OPT_TAKE(filter, take_states), OPT_GIVEN(filter.given)),
        "@STATE", NULL, "states", "PENDING, RUNNING or SUSPENDED jobs"),
    OPT("user", 'u', OPT_REQ, JOBFILTER_USERS(filter), "@USER", NULL, "names",
        "jobs of these users"),
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

static void take_ids(struct scancel *s, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        struct filter_ids ids = { 0 };

        if (filter_parse_ids(argv[i], &ids, NULL) < 0)
            cli_die(CLI_EXIT_FAILED, "Invalid job id %s", argv[i]);
        s->filter.ids.ids = xrealloc_or_die(s->filter.ids.ids, s->filter.ids.n + ids.n + 1,
                                            sizeof(*s->filter.ids.ids));
        for (size_t k = 0; k < ids.n; k++)
            s->filter.ids.ids[s->filter.ids.n++] = ids.ids[k];
        free(ids.ids); /* what they own moved */
        filter_add_ids(&s->request.ids, &s->request.n_ids, argv[i]);
    }
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

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct scancel *s = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;
    struct job_row row = { .job = j, .now_us = info->now_us };
    _cleanup_val_(strbuf_done) struct strbuf id = STRBUF_INIT;

    if (names_job_state_terminal((unsigned)j->state))
        return 0;
    if (!jobfilter_match(&s->filter, &row))
        return 0;
    if (s->filter.ids.n && !j->array_tasks &&
        !filter_ids_match(&s->filter.ids, j->job_id, job_group_id(j), j->has_array_task_id,
                          j->array_task_id))
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
    jobfilter_ask_ids(&s->filter);
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
    argwords_free(s->request.ids, s->request.n_ids);
    s->request.ids = s->chosen;
    s->request.n_ids = s->n_chosen;
    s->filter.given = false;
}

/* ---- the request ----------------------------------------------------------------------------- */

static bool is_step(const char *id)
{
    return strchr(id, '.') != NULL;
}

/* A job that is unknown or has ended needs no more cancelling: that is told with -v only. */
static bool error_silent(const struct scancel *s, const char *id, int code)
{
    return !is_step(id) && !s->request.has_signal &&
           (code == ESLURM_INVALID_JOB_ID || code == ESLURM_ALREADY_DONE ||
            code == ESLURM_JOB_FINISHED);
}

static void tell_error(struct scancel *s, const char *id, int code, const char *text)
{
    bool quiet = error_silent(s, id, code);

    if (!quiet || s->cli.verbose > 0)
        cli_error("Kill job error on job %sid %s: %s", is_step(id) ? "step " : "", id,
                  text ? text : slurm_err_text(code));
    if (!quiet)
        s->status = code == ESLURM_INVALID_JOB_ID ? CLI_EXIT_FAILED
                    : code > 0                    ? code % 256
                                                  : CLI_EXIT_FAILED;
}

static void report_results(struct scancel *s, const Pst__JobActionReply *reply)
{
    for (size_t i = 0; i < reply->n_results; i++) {
        const Pst__JobActionResult *r = reply->results[i];
        char number[16];
        const char *id = r->id;

        if (!id) {
            (void)snprintf(number, sizeof(number), "%u", r->job_id); /* fits */
            id = number;
            cli_verbose(1, "Terminating job %s", id);
        }
        if (r->code)
            tell_error(s, id, r->code, r->text);
    }
}

/* KILL for whole jobs ends them as a cancel does: nothing would be left to run. */
static Pst__JobVerb verb_of(const struct scancel *s)
{
    bool whole = !s->request.batch_only && !s->request.full;

    for (size_t i = 0; i < s->request.n_ids; i++)
        whole = whole && !is_step(s->request.ids[i]);
    if (s->request.batch_only || s->request.full)
        return PST__JOB_VERB__VERB_SIGNAL;
    if (s->request.has_signal && !(whole && s->request.signal == SIGKILL))
        return PST__JOB_VERB__VERB_SIGNAL;
    return PST__JOB_VERB__VERB_CANCEL;
}

static void send_request(struct scancel *s)
{
    Pst__JobActionReply *reply = NULL;
    int r;

    for (size_t i = 0; i < s->request.n_ids; i++)
        cli_verbose(1, "%s job %s%s", s->request.has_signal ? "Signalling" : "Terminating",
                    is_step(s->request.ids[i]) ? "step " : "", s->request.ids[i]);
    s->request.has_verb = true;
    s->request.verb = verb_of(s);
    if (!s->request.has_signal && s->request.verb == PST__JOB_VERB__VERB_SIGNAL) {
        s->request.has_signal = true;
        s->request.signal = SIGTERM;
    }
    if (s->filter.given)
        s->request.filter = &s->filter.request;
    r = client_call(s->client, OP_JOB_ACTION, &s->request.base, (ProtobufCMessage **)&reply);
    if (r < 0)
        cli_die(r == -EREMOTEIO ? MAX(1, client_error(s->client, NULL) % 256) : CLI_EXIT_FAILED,
                "%s", client_strerror(s->client, r));
    report_results(s, reply);
    pst__job_action_reply__free_unpacked(reply, NULL);
}

int main(int argc, char **argv)
{
    struct scancel s = { .request = PST__JOB_ACTION_REQUEST__INIT };
    int first;

    cli_init(&s.cli, "scancel");
    jobfilter_init(&s.filter, refuse_user);
    opts_env(&command, &s);
    first = opts_parse(&command, argc, argv, &s);
    jobfilter_ask_me(&s.filter);
    take_ids(&s, argc - first, argv + first);
    if (!s.request.n_ids && !s.filter.given)
        cli_die(CLI_EXIT_FAILED, "No job identification provided");
    if (s.clusters)
        query_check_clusters(&s.cli, s.clusters, false);
    s.client = cli_connect_or_die(&s.cli, NULL);
    if (s.interactive || s.filter.wckeys)
        choose_jobs(&s);
    if (s.request.n_ids || s.filter.given)
        send_request(&s);
    argwords_free(s.request.ids, s.request.n_ids);
    free(s.request.admin_comment);
    jobfilter_done(&s.filter);
    client_free(s.client);
    cli_done(&s.cli);
    return s.status;
}
