/* sbatch.c - submit a batch script
 *
 * Order matters: the command line is read first, because it names the script, then the script's
 * #SBATCH lines and the environment; jobopts keeps the precedence.  Nothing here asks the name
 * service: the controller knows who we are.  Workflow tools start this program thousands of times.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/bind/membind.h"
#include "base/pb/pbutil.h"
#include "base/safetext.h"
#include "base/timefmt.h"
#include "base/hostlist.h"
#include "cli/base/cli.h"
#include "cli/job/clifilter.h"
#include "cli/job/jobenvlist.h"
#include "cli/job/hetopts.h"
#include "cli/job/jobopts.h"
#include "cli/job/jobshow.h"
#include "cli/job/cliplugins.h"
#include "cli/job/batchscript.h"
#include "cli/job/submit.h"
#include "session/jobcalls.h"
#include "wire/errors.h"

#define FAILED_WHAT "Batch job submission failed"

extern char **environ;

struct sbatch {
    struct cli cli;
    struct hetopts het;
    struct jobopts opts; /* of the first component, or of the job that has none: het's */
    struct script script;
    const char *script_name; /* as given; NULL for standard input and --wrap */
    int argc, first;
    char **argv;
};

static noreturn void die_lines(int status, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");

        cli_error("%.*s", (int)n, text);
        text += n;
        text += *text == '\n';
    }
    exit(status);
}

static void load_script(struct sbatch *s)
{
    const char *wrap = jobopts_get(&s->opts, JO_WRAP);
    _cleanup_free_ char *path = NULL;
    struct err err = { .text = "" };
    int status;

    if (jobopts_has(&s->opts, JO_EXTERNAL)) {
        if (wrap)
            cli_die(CLI_EXIT_FAILED, "--wrap option not permitted with --external option");
        if (s->first < s->argc)
            cli_die(CLI_EXIT_FAILED, "Script arguments not permitted with --external option");
        return;
    }
    if (wrap) {
        if (s->first < s->argc)
            cli_die(CLI_EXIT_FAILED, "Script arguments not permitted with --wrap option");
        script_wrap(wrap, &s->script);
        return;
    }
    if (s->first < s->argc) {
        _cleanup_free_ char *dir = submit_work_dir(&s->opts);

        s->script_name = s->argv[s->first];
        path = script_find(s->script_name, dir);
        if (access(path, R_OK) < 0)
            cli_die(CLI_EXIT_FAILED, "Unable to open file %s", s->script_name);
    }
    status = script_read(path, &s->script, &err);
    if (status == 0)
        status = script_check(&s->script, &err);
    if (status != 0)
        die_lines(status, err.text);
}

/* --wrap belongs to the whole, whichever component it follows. */
static void take_wrap(struct sbatch *s)
{
    struct jobopts *to = hetopts_at(&s->het, 0);

    for (size_t k = 1; k < s->het.n && !jobopts_has(to, JO_WRAP); k++) {
        struct jobopts *from = &s->het.list[k];

        to->value[JO_WRAP] = TAKE_PTR(from->value[JO_WRAP]);
        to->from[JO_WRAP] = from->from[JO_WRAP];
    }
    s->opts = *to; /* load_script() looks at it */
}

static void show_options(struct sbatch *s)
{
    for (size_t k = 0; k < s->het.n; k++) {
        const struct jobopts *jo = &s->het.list[k];

        if (jo->old_separator)
            cli_warning("The \"packjob\" component separator is deprecated. Please use \"hetjob\" "
                        "instead.");
        if (s->cli.verbose > 0)
            jobshow_defined(jo);
        submit_tell_limits(&s->cli, jo);
    }
}

static void collect_options(struct sbatch *s)
{
    int status;

    s->first = hetopts_parse(&s->het, s->argc, s->argv);
    submit_gres_help(&s->cli, &s->het.list[0]);
    take_wrap(s);
    load_script(s);
    status = s->script.text ? script_options(&s->script, s->script_name, &s->het) : 0;
    for (size_t k = 0; k < s->het.n; k++)
        clifilter_defaults(&s->cli, &s->het.list[k]);
    if (status == 0)
        status = hetopts_finish(&s->het);
    for (size_t k = 0; k < s->het.n && status == 0; k++)
        status = clifilter_pre_submit(&s->cli, &s->het.list[k], (unsigned)k);
    s->opts = *hetopts_at(&s->het, 0);
    cli_set_verbosity(&s->cli, s->opts.verbose);
    if (status != 0)
        exit(status);
    show_options(s);
}

static const char *default_name(const struct sbatch *s, const struct jobopts *jo)
{
    const char *slash;

    if (jobopts_has(jo, JO_EXTERNAL))
        return "external";
    if (jobopts_has(&s->opts, JO_WRAP))
        return "wrap";
    if (!s->script_name)
        return "sbatch";
    slash = strrchr(s->script_name, '/');
    return slash ? slash + 1 : s->script_name;
}

static void set_membind(void *ctx, const char *suffix, const char *value)
{
    _cleanup_free_ char *name = xasprintf_or_die("SBATCH_MEM_BIND%s", suffix);

    envlist_set(ctx, name, value);
}

/* The script is told what was asked for; its steps say it anew. */
static void add_membind(struct envlist *env, const char *text)
{
    struct membind b;

    if (!text || membind_parse(text, &b, NULL) < 0)
        return; /* it was checked when it was given */
    check_mem_or_die(membind_vars(&b, set_membind, env));
    membind_done(&b);
}

/* Any list of variables, also one with ALL in it, says that the user's environment was asked
 * for. */
static bool tells_login(const char *export)
{
    return export && strcasecmp(export, "ALL") != 0 && strcasecmp(export, "NIL") != 0;
}

static void build_environment(struct sbatch *s, ProtobufCBinaryData *ret)
{
    _cleanup_val_(envlist_done) struct envlist env = ENVLIST_INIT;
    const char *file = jobopts_get(&s->opts, JO_EXPORT_FILE);
    struct err err = { .text = "" };

    if (file) {
        int status = envlist_read_file(&env, file, &err);

        if (status != 0)
            cli_die(status, "%s", err.text);
    }
    envlist_export(&env, environ, jobopts_get(&s->opts, JO_EXPORT));
    envlist_add_options(&env, &s->opts);
    if (tells_login(jobopts_get(&s->opts, JO_EXPORT)))
        envlist_set(&env, "SLURM_GET_USER_ENV", "1");
    add_membind(&env, jobopts_get(&s->opts, JO_MEM_BIND));
    submit_env(&s->cli, &env);
    envlist_setf(&env, "SLURM_PRIO_PROCESS", "%d", getpriority(PRIO_PROCESS, 0));
    if (jobopts_has(&s->opts, JO_DEPENDENCY))
        envlist_set(&env, "SLURM_JOB_DEPENDENCY", jobopts_get(&s->opts, JO_DEPENDENCY));
    else
        envlist_unset(&env, "SLURM_JOB_DEPENDENCY"); /* of the job around this command */
    if (!jobopts_has(&s->opts, JO_OOM_KILL_STEP))
        envlist_set(&env, "SLURM_OOM_KILL_STEP", "0");
    envlist_unset(&env, "SLURM_JWT"); /* it outlives the job's owner's wish to share it */
    plugins_add_env(&s->cli, &env);
    envlist_pack(&env, ret);
}

/* The script with its arguments, as lists of jobs show it. */
static char *command_line(const struct sbatch *s)
{
    struct strbuf sb = STRBUF_INIT;
    char *line = NULL;

    strbuf_add(&sb, s->script.path);
    for (int i = s->first + 1; i < s->argc; i++)
        strbuf_addf(&sb, " %s", s->argv[i]);
    check_mem_or_die(strbuf_detach(&sb, &line));
    safetext_clean(line); /* an argument may be anything */
    return line;
}

static void build_job(struct sbatch *s, const struct jobopts *jo, Pst__JobRecord *job)
{
    submit_fill(&s->cli, jo, s->argc, s->argv, s->first, job);
    job->batch = job->has_batch = !jobopts_has(jo, JO_EXTERNAL);
    plugins_fill_job(&s->cli, job);
    if (!job->name) {
        check_mem_or_die(pb_set_str(&job->name, default_name(s, jo)));
        safetext_clean(job->name); /* a file's name may be anything */
    }
    if (s->script.path) {
        free(job->command);
        job->command = command_line(s);
    }
    if (envlist_wants_login(job->export_env))
        job->get_user_env = job->has_get_user_env = true;
}

static void build_components(struct sbatch *s, Pst__SubmitRequest *req)
{
    Pst__JobRecord *job;

    req->components = submit_components(&s->het, &req->n_components);
    for (size_t i = 0; i < req->n_components; i++) {
        job = req->components[i]->job;
        build_job(s, &s->het.list[i + 1], job);
    }
}

static void build_request(struct sbatch *s, Pst__SubmitRequest *req, Pst__JobRecord *job)
{
    build_job(s, &s->opts, job);
    build_components(s, req);
    req->job = job;
    if (s->script.text) {
        req->has_script = true;
        build_environment(s, &req->environment);
        req->has_environment = true;
    }
    req->script.data = (uint8_t *)s->script.text;
    req->script.len = s->script.len;
    req->hold = req->has_hold = jobopts_has(&s->opts, JO_HOLD);
    req->test_only = req->has_test_only = jobopts_has(&s->opts, JO_TEST_ONLY);
    req->array = (char *)jobopts_get(&s->opts, JO_ARRAY);
    if (req->array && !*req->array)
        req->array = NULL; /* no array */
    for (size_t k = 1; k < s->het.n && !req->array; k++)
        req->array = (char *)jobopts_get(&s->het.list[k], JO_ARRAY); /* which is refused */
    req->script_name = (char *)s->script_name;
    submit_identity(&s->opts, req);
}

static void print_test(const Pst__SubmitReply *reply)
{
    char when[64];

    time_fmt_stamp(reply->start_us, "Unknown", now_us(), when, sizeof(when));
    cli_info("Job %u to start at %s a using %u processors on nodes %s in partition %s",
             reply->job_id, when, reply->cpus, reply->nodes ? reply->nodes : "",
             reply->partition ? reply->partition : "");
}

static void print_submitted(struct sbatch *s, uint32_t job_id, bool clusters)
{
    const char *cluster = clusters ? cli_cluster_name(&s->cli) : NULL;

    if (s->cli.verbose < 0)
        return;
    if (jobopts_has(&s->opts, JO_PARSABLE))
        (void)printf(cluster ? "%u;%s\n" : "%u\n", job_id, cluster);
    else
        (void)printf(cluster ? "Submitted batch job %u on cluster %s\n"
                             : "Submitted batch job %u\n",
                     job_id, cluster);
}

static void print_refusal(struct sbatch *s, struct client *client, int r)
{
    if (!jobopts_has(&s->opts, JO_TEST_ONLY)) {
        submit_print_error(FAILED_WHAT, client, r);
        return;
    }
    if (r == -EREMOTEIO) {
        const char *text = NULL;
        int code = client_error(client, &text);

        submit_print_detail(code, text);
        (void)fprintf(stderr, "allocation failure: %s\n", slurm_err_text(code));
        return;
    }
    (void)fprintf(stderr, "allocation failure: %s\n", client_strerror(client, r));
}

/* ---- --wait ---------------------------------------------------------------------------------- */

static int wait_for_job(struct sbatch *s, struct client *client, uint32_t job_id)
{
    for (;;) {
        struct err err = { .text = "" };
        uint32_t status = 0;
        int r = jobcalls_wait_end(client, job_id, JOBCALLS_FOREVER, &status);

        client = client_free(client);
        if (r == 0)
            return WIFEXITED(status) ? WEXITSTATUS(status) : CLI_EXIT_FAILED;
        if (r == -ENOENT)
            return CLI_EXIT_FAILED;
        do { /* the controller is away: the job goes on without it, so do we */
            r = cli_connect(&s->cli, &client, &err);
            cli_verbose(1, "waiting for the controller: %s", r < 0 ? err.text : "connected");
        } while (r < 0 && cli_may_come_back(r));
        if (r < 0)
            cli_die(cli_error_status(), "%s", err.text);
    }
}

/* When a job with components would start: each is tried as a job of its own, and the last of them
 * tells.  Returns the exit status. */
static int test_components(struct sbatch *s, struct client *client, Pst__SubmitRequest *req)
{
    _cleanup_(hostlist_free) struct hostlist *all = NULL;
    _cleanup_free_ char *nodes = NULL;
    size_t n = req->n_components;
    int64_t start_us = 0;
    uint32_t job_id = 0, cpus = 0;
    struct err err = { .text = "" };
    char when[64];

    check_mem_or_die(hostlist_new(&all));
    req->n_components = 0;
    for (size_t k = 0; k <= n; k++) {
        ProtobufCMessage *msg = NULL;
        const Pst__SubmitReply *reply;
        int r;

        req->job = k ? req->components[k - 1]->job : req->job;
        r = client_call(client, OP_JOB_SUBMIT, &req->base, &msg);
        if (r < 0) {
            print_refusal(s, client, r);
            return cli_error_status();
        }
        reply = PB_AS(submit_reply, msg);
        submit_print_messages(reply->message);
        job_id = k ? job_id : reply->job_id;
        start_us = MAX(start_us, reply->start_us);
        cpus += reply->cpus;
        if (reply->nodes && hostlist_push_list(all, reply->nodes, &err) < 0)
            cli_die(CLI_EXIT_FAILED, "the controller's answer: %s", err.text);
        protobuf_c_message_free_unpacked(msg, NULL);
    }
    hostlist_sort(all);
    hostlist_uniq(all);
    check_mem_or_die(hostlist_fold(all, &nodes));
    time_fmt_stamp(start_us, "Unknown", now_us(), when, sizeof(when));
    cli_info("Job %u to start at %s a using %u processors on %s", job_id, when, cpus, nodes);
    return 0;
}

static int submit_job(struct sbatch *s)
{
    Pst__SubmitRequest req = PST__SUBMIT_REQUEST__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    struct clusters found = { 0 };
    bool clusters = submit_find_clusters(&s->cli, &s->opts, &found);
    ProtobufCMessage *msg = NULL;
    const Pst__SubmitReply *reply;
    struct client *client;
    uint32_t job_id;
    int r;

    build_request(s, &req, &job);
    submit_choose_cluster(&s->cli, &found, &req);
    client = cli_connect_or_die(&s->cli, FAILED_WHAT);
    if (req.test_only && req.n_components)
        return test_components(s, client, &req);
    r = client_call(client, OP_JOB_SUBMIT, &req.base, &msg);
    if (r < 0) {
        print_refusal(s, client, r);
        return cli_error_status();
    }
    reply = PB_AS(submit_reply, msg);
    job_id = reply->job_id;
    submit_print_messages(reply->message);
    if (req.test_only)
        print_test(reply);
    else
        print_submitted(s, job_id, clusters);
    if (!req.test_only)
        clifilter_post_submit(&s->cli, 0, job_id, CLIFILTER_NO_STEP);
    protobuf_c_message_free_unpacked(msg, NULL);
    if (!jobopts_has(&s->opts, JO_WAIT_JOB) || req.test_only)
        return CLI_EXIT_OK; /* the process ends: its memory needs no tidying */
    (void)fflush(stdout);   /* whoever reads the number does not want to wait for the job */
    return wait_for_job(s, client, job_id);
}

int main(int argc, char **argv)
{
    struct sbatch s = { .argc = argc, .argv = argv };
    int status;

    cli_init(&s.cli, "sbatch");
    hetopts_init(&s.het, JOBOPTS_SBATCH);
    plugins_load(&s.cli, false);
    s.het.more = plugins_options(&s.cli);
    collect_options(&s);
    plugins_options_done(&s.cli, NULL, 0);
    status = submit_job(&s);
    plugins_end(&s.cli);
    clifilter_end(&s.cli);
    if (fflush(stdout) != 0 && status == CLI_EXIT_OK)
        status = CLI_EXIT_FAILED;
    return status;
}
