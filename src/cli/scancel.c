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
#include "cli/query/out_filter.h"
#include "cli/query/out_job.h"
#include "cli/query/out_query.h"
#include "cli/query/out_sluid.h"
#include "cli/query/out_users.h"
#include "model/words/names.h"
#include "wire/errors.h"
#include "wire/ops.h"

enum option_id {
    O_ACCOUNT,
    O_ADMIN_COMMENT,
    O_BATCH,
    O_CLUSTERS,
    O_CRON,
    O_CTLD,
    O_FULL,
    O_HURRY,
    O_INTERACTIVE,
    O_ME,
    O_NAME,
    O_NODELIST,
    O_PARTITION,
    O_QOS,
    O_QUIET,
    O_RESERVATION,
    O_SIBLING,
    O_SIGNAL,
    O_STATE,
    O_USER,
    O_VERBOSE,
    O_WCKEY,
};

static const struct opt rows[] = {
    { "account", 'A', OPT_REQ, O_ACCOUNT, 0, "@ACCOUNT", NULL, "names",
      "jobs charged to these accounts" },
    { "admin-comment", 0, OPT_REQ, O_ADMIN_COMMENT, 0, NULL, NULL, "text",
      "keep this text with the jobs (administrators)" },
    { "batch", 'b', OPT_NONE, O_BATCH, 0, "@BATCH", NULL, NULL, "signal the batch shell only" },
    { "clusters", 'M', OPT_REQ, O_CLUSTERS, 0, "SLURM_CLUSTERS", NULL, "name", "ask this cluster" },
    { "cron", 'c', OPT_NONE, O_CRON, 0, "@CRON", NULL, NULL,
      "cancel jobs of a crontab too, and take their entries out" },
    { "ctld", 0, OPT_NONE, O_CTLD, 0, "@CTLD", NULL, NULL,
      "let the controller apply the filters (always so)" },
    { "full", 'f', OPT_NONE, O_FULL, 0, "@FULL", NULL, NULL,
      "signal the steps and the batch script" },
    { "hurry", 'H', OPT_NONE, O_HURRY, 0, "@HURRY", NULL, NULL,
      "taken for compatibility: there are no burst buffers to wait for" },
    { "interactive", 'i', OPT_NONE, O_INTERACTIVE, 0, "@INTERACTIVE", NULL, NULL,
      "ask before each job" },
    { "jobname", 0, OPT_REQ, O_NAME, 0, NULL, NULL, "names", "same as --name" },
    { "me", 0, OPT_NONE, O_ME, 0, NULL, NULL, NULL, "my own jobs" },
    { "name", 'n', OPT_REQ, O_NAME, 0, "@NAME", NULL, "names", "jobs with these names" },
    { "nodelist", 'w', OPT_REQ, O_NODELIST, 0, NULL, NULL, "nodes",
      "jobs that hold any of these nodes" },
    { "partition", 'p', OPT_REQ, O_PARTITION, 0, "@PARTITION", NULL, "names",
      "jobs of these partitions" },
    { "qos", 'q', OPT_REQ, O_QOS, 0, "@QOS", NULL, "names", "jobs with these QOS" },
    { "quiet", 'Q', OPT_NONE, O_QUIET, 0, NULL, NULL, NULL, "say nothing but errors" },
    { "reservation", 'R', OPT_REQ, O_RESERVATION, 0, NULL, NULL, "names",
      "jobs in these reservations" },
    { "sibling", 0, OPT_REQ, O_SIBLING, 0, NULL, NULL, "cluster", NULL,
      "clusters do not federate here" },
    { "signal", 's', OPT_REQ, O_SIGNAL, 0, NULL, NULL, "signal",
      "send this signal, a name or a number" },
    { "state", 't', OPT_REQ, O_STATE, 0, "@STATE", NULL, "states",
      "PENDING, RUNNING or SUSPENDED jobs" },
    { "user", 'u', OPT_REQ, O_USER, 0, "@USER", NULL, "names", "jobs of these users" },
    { "verbose", 'v', OPT_NONE, O_VERBOSE, 0, "@VERBOSE", NULL, NULL, "say what is done" },
    { "wckey", 0, OPT_REQ, O_WCKEY, 0, "@WCKEY", NULL, "keys", "jobs with these workload keys" },
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

struct scancel {
    struct cli cli;
    struct client *client;
    const char *clusters;
    Pst__JobActionRequest request;
    Pst__JobFilter filter;
    const char *wckeys;
    bool interactive, have_filter;
    int status;
    /* with --interactive and --wckey: the ids that remain */
    char **chosen;
    size_t n_chosen;
    struct filter_ids ids;
};

static int set_user(struct scancel *s, const char *arg, struct err *err)
{
    char **words = NULL;
    size_t n = 0;
    int r = 0;

    filter_add_words(&words, &n, arg);
    for (size_t i = 0; i < n && r == 0; i++) {
        uint32_t uid;

        if (user_id_of(words[i], &uid) < 0)
            r = err_set(err, CLI_EXIT_FAILED, "Invalid user name: %s", words[i]);
        else
            filter_add_number(&s->filter.uids, &s->filter.n_uids, uid);
    }
    filter_free_words(words, n);
    return r;
}

static int set_state(struct scancel *s, const char *arg)
{
    static const uint32_t allowed = 1u << PST__JOB_STATE__JOB_PENDING |
                                    1u << PST__JOB_STATE__JOB_RUNNING |
                                    1u << PST__JOB_STATE__JOB_SUSPENDED;
    struct filter_states states;
    _cleanup_free_ char *bad = NULL;

    if (filter_parse_states(arg, &states, &bad) < 0 || states.flags || states.all ||
        (states.base & ~allowed)) {
        (void)fprintf(stderr, "Invalid job state specified: %s\n", bad ? bad : arg);
        (void)fprintf(stderr, "Valid job states are PENDING, RUNNING, and SUSPENDED\n");
        return CLI_EXIT_FAILED;
    }
    for (uint32_t i = 0; i < NAMES_JOB_STATES; i++)
        if (states.base & (1u << i))
            filter_add_number(&s->filter.states, &s->filter.n_states, i);
    return 0;
}

static int set_signal(struct scancel *s, const char *arg)
{
    unsigned number = jobtext_signal_number(arg);

    if (!number) {
        (void)fprintf(stderr, "Unknown job signal: %s\n", arg);
        return CLI_EXIT_FAILED;
    }
    s->request.has_signal = true;
    s->request.signal = number;
    return 0;
}

static int set_filter(struct scancel *s, int id, const char *arg, struct err *err)
{
    Pst__JobFilter *f = &s->filter;

    s->have_filter = true;
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
    case O_NODELIST:
        free(f->nodes);
        f->nodes = xstrdup_or_die(arg);
        return 0;
    case O_ME:
        filter_add_number(&f->uids, &f->n_uids, getuid());
        return 0;
    case O_USER:
        return set_user(s, arg, err);
    case O_STATE:
        return set_state(s, arg);
    case O_WCKEY:
    default:
        s->wckeys = arg;
        return 0;
    }
}

static int set_option(void *ctx, const struct opt *opt, const char *arg, enum opt_source source,
                      struct err *err)
{
    struct scancel *s = ctx;

    (void)source; /* lists add up, flags stay */
    switch (opt->id) {
    case O_ADMIN_COMMENT:
        free(s->request.admin_comment);
        s->request.admin_comment = xstrdup_or_die(arg);
        return 0;
    case O_BATCH:
        s->request.has_batch_only = s->request.batch_only = true;
        return 0;
    case O_FULL:
        s->request.has_full = s->request.full = true;
        return 0;
    case O_INTERACTIVE:
        s->interactive = true;
        return 0;
    case O_QUIET:
        cli_set_verbosity(&s->cli, -1);
        return 0;
    case O_VERBOSE:
        cli_set_verbosity(&s->cli, s->cli.verbose + 1);
        return 0;
    case O_SIGNAL:
        return set_signal(s, arg);
    case O_CLUSTERS:
        s->clusters = arg;
        return 0;
    case O_CRON:
        s->request.has_cron = s->request.cron = true;
        return 0;
    case O_CTLD:
    case O_HURRY:
    case O_SIBLING:
        return 0; /* one cluster, no burst buffers */
    default:
        return set_filter(s, opt->id, arg, err);
    }
}

static void take_ids(struct scancel *s, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        struct filter_ids ids = { 0 };

        if (filter_parse_ids(argv[i], &ids, NULL) < 0)
            cli_die(CLI_EXIT_FAILED, "Invalid job id %s", argv[i]);
        s->ids.ids = xrealloc_or_die(s->ids.ids, s->ids.n + ids.n + 1, sizeof(*s->ids.ids));
        for (size_t k = 0; k < ids.n; k++)
            s->ids.ids[s->ids.n++] = ids.ids[k];
        free(ids.ids); /* what they own moved */
        filter_add_ids(&s->request.ids, &s->request.n_ids, argv[i]);
    }
}

/* ---- looking first --------------------------------------------------------------------------- */

static bool confirmed(const struct scancel *s, const Pst__JobRecord *j, const char *id)
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
    if (s->wckeys && !(j->wckey && filter_list_has(s->wckeys, j->wckey)))
        return 0;
    if (s->ids.n && !j->array_tasks &&
        !filter_ids_match(&s->ids, j->job_id, job_group_id(j), j->has_array_task_id,
                          j->array_task_id))
        return 0;
    job_put_id(&id, &row);
    if (confirmed(s, j, strbuf_str(&id))) {
        s->chosen = xrealloc_or_die(s->chosen, s->n_chosen + 1, sizeof(*s->chosen));
        s->chosen[s->n_chosen++] = xstrdup_or_die(strbuf_str(&id));
    }
    return 0;
}

/* Replace ids and filters by the jobs that are meant. */
static void choose(struct scancel *s)
{
    Pst__QueryRequest query = PST__QUERY_REQUEST__INIT;
    struct pb_fieldset set = { 0 };
    int r;

    (void)sluids_find(s->client, &s->ids); /* what fails here fails again below */
    filter_ids_numbers(&s->ids, &s->filter.job_ids, &s->filter.n_job_ids);
    query.jobs = &s->filter;
    fmt_need_names(
        "job_id array_job_id array_task_id array_tasks het_job_id het_offset state name partition wckey",
        &pst__job_record__descriptor, &set);
    check_mem_or_die(query_fields(&set, &query.fields, &query.n_fields));
    r = query_run(s->client, OP_QUERY_JOBS, &query.base, &pst__job_record__descriptor, on_job, s,
                  NULL);
    free(query.fields);
    if (r < 0 && r != -EREMOTEIO)
        cli_die(CLI_EXIT_FAILED, "Unable to get job information: %s",
                client_strerror(s->client, r));
    filter_free_words(s->request.ids, s->request.n_ids);
    s->request.ids = s->chosen;
    s->request.n_ids = s->n_chosen;
    s->have_filter = false;
}

/* ---- the request ----------------------------------------------------------------------------- */

static bool is_step(const char *id)
{
    return strchr(id, '.') != NULL;
}

/* A job that is unknown or has ended needs no more cancelling: that is told with -v only. */
static bool silent(const struct scancel *s, const char *id, int code)
{
    return !is_step(id) && !s->request.has_signal &&
           (code == ESLURM_INVALID_JOB_ID || code == ESLURM_ALREADY_DONE ||
            code == ESLURM_JOB_FINISHED);
}

static void told(struct scancel *s, const char *id, int code, const char *text)
{
    bool quiet = silent(s, id, code);

    if (!quiet || s->cli.verbose > 0)
        cli_error("Kill job error on job %sid %s: %s", is_step(id) ? "step " : "", id,
                  text ? text : slurm_err_text(code));
    if (!quiet)
        s->status = code == ESLURM_INVALID_JOB_ID ? CLI_EXIT_FAILED
                    : code > 0                    ? code % 256
                                                  : CLI_EXIT_FAILED;
}

static void report(struct scancel *s, const Pst__JobActionReply *reply)
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
            told(s, id, r->code, r->text);
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
    if (s->have_filter)
        s->request.filter = &s->filter;
    r = client_call(s->client, OP_JOB_ACTION, &s->request.base, (ProtobufCMessage **)&reply);
    if (r < 0)
        cli_die(r == -EREMOTEIO ? MAX(1, client_error(s->client, NULL) % 256) : CLI_EXIT_FAILED,
                "%s", client_strerror(s->client, r));
    report(s, reply);
    pst__job_action_reply__free_unpacked(reply, NULL);
}

int main(int argc, char **argv)
{
    struct scancel s = { .request = PST__JOB_ACTION_REQUEST__INIT,
                         .filter = PST__JOB_FILTER__INIT };
    int first;

    cli_init(&s.cli, "scancel");
    opts_env(&command, set_option, &s);
    first = opts_parse(&command, argc, argv, set_option, &s);
    take_ids(&s, argc - first, argv + first);
    if (!s.request.n_ids && !s.have_filter)
        cli_die(CLI_EXIT_FAILED, "No job identification provided");
    if (s.clusters)
        query_check_clusters(&s.cli, s.clusters, false);
    s.client = cli_connect_or_die(&s.cli, NULL);
    if (s.interactive || s.wckeys)
        choose(&s);
    if (s.request.n_ids || s.have_filter)
        send_request(&s);
    filter_free_words(s.request.ids, s.request.n_ids);
    free(s.request.admin_comment);
    filter_done(&s.filter);
    filter_ids_done(&s.ids);
    client_free(s.client);
    cli_done(&s.cli);
    return s.status;
}
