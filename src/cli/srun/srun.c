/* srun.c - run tasks of a step, in an allocation of its own or in an existing one
 *
 * The flow: options, allocation or step, launch on the nodes, the loop, release.  The controller's
 * connection stays open meanwhile: it is how the controller sees that we live.  If the controller
 * goes away the step runs on, and the release waits for its return. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/process/findprog.h"
#include "base/safetext.h"
#include "base/timefmt.h"
#include "cli/job/gresopts.h"
#include "cli/job/clifilter.h"
#include "cli/job/jobenvlist.h"
#include "cli/base/ids.h"
#include "cli/job/cliplugins.h"
#include "cli/srun/srun.h"
#include "cli/srun/srun_noalloc.h"
#include "cli/job/jobshow.h"
#include "cli/job/submit.h"
#include "cli/job/tasks.h"
#include "cli/query/out_sluid.h"
#include "cli/x11/x11forward.h"
#include "model/words/alloccpus.h"
#include "wire/errors.h"

#define ALLOC_WHAT "Unable to allocate resources"
#define THREADS_ADVISED 60u
#define MAP_MAX (1u << 20)

extern char **environ;

/* ---- options --------------------------------------------------------------------------------- */

/* Which job it is that --jobid names by its SLUID or as a task of an array. */
static uint32_t find_named_job(struct srun *s, struct ids *ids, const char *text)
{
    struct client *client = cli_connect_or_die(&s->cli, "Unable to confirm allocation");
    struct filter_ids one = { .ids = ids, .n = 1 };
    uint32_t job_id = 0;
    int r;

    if (ids->sluid[0]) {
        r = sluids_find(client, &one);
        job_id = ids->job_id == UINT32_MAX ? 0 : ids->job_id;
    } else {
        r = sluids_task_job(client, ids->job_id, ids->task_id, &job_id);
    }
    if (r < 0)
        cli_die(CLI_EXIT_FAILED, "Unable to confirm allocation for job %s: %s", text,
                client_strerror(client, r));
    client_free(client);
    if (!job_id)
        cli_die(CLI_EXIT_FAILED, "Unable to confirm allocation for job %s: %s", text,
                slurm_err_text(ESLURM_INVALID_JOB_ID));
    return job_id;
}

/* What a step does not inherit from the job around it. */
static void settle_allocation(struct srun *s, struct jobopts *jo)
{
    const char *text = jobopts_get(jo, JO_JOBID);
    struct ids ids = { 0 };

    if (!text || jobopts_has(jo, JO_NO_ALLOCATE))
        return;
    if (ids_parse(text, &ids, NULL) < 0 || ids.has_het ||
        (ids.array != IDS_NO_TASK && ids.array != IDS_ONE_TASK))
        cli_die(CLI_EXIT_FAILED, "--jobid takes the number of a job or of an array's task, not %s",
                text);
    if (ids.sluid[0] || ids.array == IDS_ONE_TASK)
        ids.job_id = find_named_job(s, &ids, text);
    if (!s->het_size)
        s->job_id = ids.job_id;
    jo->in_allocation = true;
    if (jobopts_has(jo, JO_BEGIN))
        cli_error("--begin is ignored because nodes are already allocated.");
    if (jobopts_has(jo, JO_GPUS) && jo->from[JO_GPUS_PER_NODE] == 1 + OPT_FROM_ENV)
        jobopts_clear(jo, JO_GPUS_PER_NODE);
}

static void read_map(struct srun_part *p)
{
    const char *path = p->argv[p->first];
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    size_t n;

    if (!f)
        cli_die(CLI_EXIT_FAILED, "Could not open multi_prog config file %s", path);
    p->multi_prog = xmalloc_or_die(MAP_MAX + 1);
    n = fread(p->multi_prog, 1, MAP_MAX, f);
    if (n == MAP_MAX)
        cli_die(CLI_EXIT_FAILED, "The multi-prog file %s is larger than 1 MiB", path);
    p->multi_prog[n] = '\0';
}

/* Without -n a map says how many tasks there are. */
static void count_map_tasks(struct srun_part *p)
{
    uint32_t n = tasks_multi_prog_count(p->multi_prog);
    char text[16];

    if (jobopts_has(&p->opts, JO_NTASKS) || n == 0)
        return;
    (void)snprintf(text, sizeof(text), "%u", n);
    (void)jobopts_set(&p->opts, opts_find(jobopts_command(JOBOPTS_SRUN), JO_NTASKS), text,
                      OPT_FROM_ARGV, NULL); /* a number */
}

/* SLURM_TEST_EXEC, LaunchParameters=test_exec, --bcast: the program must be one here too. */
static int test_command(struct srun *s, const struct srun_part *p)
{
    const char *name = p->argv[p->first];
    _cleanup_free_ char *path = NULL;

    if (p->multi_prog ||
        !(getenv("SLURM_TEST_EXEC") || jobopts_has(&p->opts, JO_BCAST) ||
          conf_option(cli_conf(&s->cli), CONF_LAUNCH_PARAMETERS, "test_exec", NULL, NULL)))
        return 0;
    path = findprog(name);
    if (path)
        return 0;
    cli_print_fatal("Can not execute %s", name);
    return CLI_EXIT_FAILED;
}

static void check_part(struct srun *s, struct srun_part *p)
{
    int status;

    if (jobopts_has(&p->opts, JO_RELATIVE) &&
        (jobopts_has(&p->opts, JO_NODELIST) || jobopts_has(&p->opts, JO_EXCLUDE))) {
        cli_error("-r,--relative not allowed with -w,--nodelist or -x,--exclude.");
        exit(CLI_EXIT_FAILED);
    }
    settle_allocation(s, &p->opts);
    srun_arbitrary(p);
    if (jobopts_has(&p->opts, JO_MULTI_PROG)) {
        read_map(p);
        count_map_tasks(p);
        status = tasks_multi_prog_check(p->multi_prog, p->argv[p->first],
                                        (uint32_t)jobopts_num(&p->opts, JO_NTASKS, 0));
        if (status != 0)
            exit(status);
    }
    status = gresopts_check(&p->opts);
    if (status == 0)
        status = test_command(s, p);
    if (status == 0 && jobopts_has(&p->opts, JO_RELATIVE) && !p->opts.in_allocation) {
        cli_print_fatal("--relative option invalid for job allocation request");
        status = CLI_EXIT_FAILED;
    }
    if (status == 0 && jobopts_has(&p->opts, JO_WAIT_FOR_CHILDREN) &&
        !strstr(conf_str(cli_conf(&s->cli), CONF_PROCTRACK_TYPE), "cgroup")) {
        cli_print_fatal("--wait-for-children only compatible with proctrack/cgroup plugin");
        status = CLI_EXIT_FAILED;
    }
    if (status == 0 && jobopts_num(&p->opts, JO_THREADS, 0) > THREADS_ADVISED)
        cli_error("Thread value --threads=%s exceeds recommended limit of %u",
                  jobopts_get(&p->opts, JO_THREADS), THREADS_ADVISED);
    if (status == 0)
        status = clifilter_pre_submit(&s->cli, &p->opts, p->offset);
    if (status != 0)
        exit(status);
    if (s->cli.verbose > 0) {
        jobshow_defined(&p->opts);
        submit_tell_limits(&s->cli, &p->opts);
    }
}

static void collect_options(struct srun *s)
{
    int status;

    srun_parts(s);
    cli_set_verbosity(&s->cli, s->parts[0].opts.verbose);
    for (size_t i = 0; i < s->n_parts; i++)
        check_part(s, &s->parts[i]);
    s->opts = s->parts[0].opts;
    s->first = s->parts[0].first;
    s->no_job = jobopts_has(&s->opts, JO_NO_ALLOCATE) && !jobopts_has(&s->opts, JO_TEST_ONLY);
    if (jobopts_has(&s->opts, JO_NO_ALLOCATE))
        srun_noalloc_check(s);
    if (jobopts_has(&s->opts, JO_ASYNC))
        srun_async_check(s);
    if (s->n_parts > 1 && (jobopts_has(&s->opts, JO_ASYNC) || jobopts_has(&s->opts, JO_BCAST)))
        cli_die(CLI_EXIT_FAILED, "--async and --bcast are not supported for steps over components");
    s->wait_us =
        (int64_t)jobopts_num(&s->opts, JO_WAIT_TASKS, conf_num(cli_conf(&s->cli), CONF_WAIT_TIME)) *
        USEC_PER_SEC;
    s->kill_on_bad_exit = jobopts_has(&s->opts, JO_KILL_ON_BAD_EXIT)
                              ? jobopts_true(&s->opts, JO_KILL_ON_BAD_EXIT)
                              : conf_bool(cli_conf(&s->cli), CONF_KILL_ON_BAD_EXIT);
    if (jobopts_has(&s->opts, JO_MSG_TIMEOUT))
        s->cli.timeout_ms = (int)MIN(jobopts_num(&s->opts, JO_MSG_TIMEOUT, 10), 3600u) * 1000;
    status = srun_bcast_words(&s->opts);
    if (status != 0)
        exit(status);
}

/* ---- the step -------------------------------------------------------------------------------- */

/* The caller owns it. */
static char *command_name(const struct srun_part *p)
{
    const char *slash = strrchr(p->argv[p->first], '/');
    char *name = xstrdup_or_die(slash ? slash + 1 : p->argv[p->first]);

    safetext_clean(name); /* a file's name may be anything */
    return name;
}

/* LaunchParameters=srun_exclusive_allocation: a plain --exclusive is about the nodes of an
 * allocation, not about the processors of a step in it. */
static void share_cpus(struct cli *c, struct jobopts *jo)
{
    const char *how = jobopts_get(jo, JO_EXCLUSIVE);

    if (jo->in_allocation && how && !*how &&
        conf_option(cli_conf(c), CONF_LAUNCH_PARAMETERS, "srun_exclusive_allocation", NULL, NULL))
        jobopts_clear(jo, JO_EXCLUSIVE);
}

static void build_step(struct srun *s, struct srun_part *p, Pst__StepSpec *spec)
{
    struct err err = { .text = "" };
    int status;

    submit_check_sharing(&s->cli, &p->opts);
    share_cpus(&s->cli, &p->opts);
    status = jobopts_fill_step(&p->opts, conf_str(cli_conf(&s->cli), CONF_GRES_TYPES), spec, &err);
    if (status != 0) {
        if (err.text[0])
            cli_error("%s", err.text);
        exit(status);
    }
    if (!spec->name)
        spec->name = command_name(p);
    spec->submit_line = submit_line(s->argc, s->argv);
    spec->work_dir = submit_work_dir(&p->opts);
}

static void fill_job(struct srun *s, struct srun_part *p, Pst__JobRecord *job)
{
    submit_fill(&s->cli, &p->opts, p->end, p->argv, p->first, job);
    free(job->submit_line);
    job->submit_line = submit_line(s->argc, s->argv);
    if (!job->name)
        job->name = command_name(p);
    job->kill_on_client_loss = job->has_kill_on_client_loss = true;
    job->wait_all_nodes = job->has_wait_all_nodes = true; /* the step needs all of them */
    plugins_fill_job(&s->cli, job);
}

static void fill_components(struct srun *s, Pst__SubmitRequest *req)
{
    Pst__HetComponent *c;

    /* until the process ends */
    req->components = xmalloc_or_die(s->n_parts * sizeof(*req->components));
    for (size_t i = 1; i < s->n_parts; i++) {
        c = req->components[req->n_components++] = xmalloc_or_die(sizeof(*c));
        pst__het_component__init(c);
        c->job = xmalloc_or_die(sizeof(*c->job));
        pst__job_record__init(c->job);
        fill_job(s, &s->parts[i], c->job);
        c->hold = c->has_hold = jobopts_has(&s->parts[i].opts, JO_HOLD);
    }
}

static void build_job(struct srun *s, Pst__SubmitRequest *req, Pst__JobRecord *job)
{
    const char *nodes = jobopts_get(&s->opts, JO_NODES);

    if (nodes && strcmp(nodes, "0") == 0)
        cli_die(CLI_EXIT_FAILED, "Unable to allocate resources: %s",
                slurm_err_text(ESLURM_INVALID_NODE_COUNT));
    fill_job(s, &s->parts[0], job);
    fill_components(s, req);
    req->job = job;
    req->hold = req->has_hold = jobopts_has(&s->opts, JO_HOLD);
    if (jobopts_has(&s->opts, JO_IMMEDIATE)) {
        req->immediate_s = (uint32_t)jobopts_num(&s->opts, JO_IMMEDIATE, 1);
        req->has_immediate_s = true;
    }
    submit_identity(&s->opts, req);
}

static void print_refusal(const char *text, int code)
{
    submit_print_detail(code, text);
    (void)fprintf(stderr, "allocation failure: %s\n", slurm_err_text(code));
}

/* When a component, or the job, would start. */
static int test_component(struct client *client, Pst__SubmitRequest *req)
{
    ProtobufCMessage *msg = NULL;
    const Pst__SubmitReply *reply;
    char when[64];
    int r = client_call(client, OP_JOB_SUBMIT, &req->base, &msg);

    if (r == -EREMOTEIO) {
        const char *text = NULL;
        int code = client_error(client, &text);

        print_refusal(text, code);
        return cli_error_status();
    }
    if (r < 0) {
        submit_print_error(ALLOC_WHAT, client, r);
        return cli_error_status();
    }
    reply = PB_AS(submit_reply, msg);
    time_fmt_stamp(reply->start_us, "Unknown", now_us(), when, sizeof(when));
    cli_info("Job %u to start at %s a using %u processors on nodes %s in partition %s",
             reply->job_id, when, reply->cpus, reply->nodes ? reply->nodes : "",
             reply->partition ? reply->partition : "");
    protobuf_c_message_free_unpacked(msg, NULL);
    return 0;
}

static int test_only(struct srun *s, Pst__SubmitRequest *req)
{
    struct client *client = cli_connect_or_die(&s->cli, ALLOC_WHAT);
    size_t n = req->n_components;
    int status;

    req->test_only = req->has_test_only = true;
    req->n_components = 0; /* each is tried as a job of its own */
    status = test_component(client, req);
    for (size_t k = 0; k < n && status == 0; k++) {
        req->job = req->components[k]->job;
        status = test_component(client, req);
    }
    client_free(client);
    return status;
}

static void take_reply(struct srun *s, Pst__StepReply *reply)
{
    s->reply = reply;
    s->parts[0].reply = reply;
    s->step_id = reply->step->step_id;
    s->job = reply->job ? reply->job : s->grant ? s->grant->job : NULL;
}

static void take_het_reply(struct srun *s)
{
    s->step_id = s->parts[0].reply->step->step_id;
    s->job = s->parts[0].reply->job;
}

static void show_nodes(uint32_t job_id, const Pst__Alloc *alloc)
{
    struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0, next; i < alloc->n_groups; i = next) {
        uint32_t cpus = alloc_task_cpus(alloc->groups[i]), nodes = 0;

        for (next = i; next < alloc->n_groups && alloc_task_cpus(alloc->groups[next]) == cpus;
             next++)
            nodes += alloc->groups[next]->nodes;
        strbuf_addf(&sb, "%s%u(x%u)", i ? "," : "", cpus, nodes);
    }
    cli_verbose(1, "jobid %u: nodes(%zu):`%s', cpu counts: %s", job_id, alloc->n_node_ids,
                alloc->nodes, strbuf_str(&sb));
    strbuf_done(&sb);
}

static void show_job(const Pst__JobRecord *job)
{
    if (!job->alloc)
        return;
    cli_verbose(1, "Nodes %s are ready for job", job->alloc->nodes);
    show_nodes(job->job_id, job->alloc);
}

/* An allocation of our own, with the step in the same request. */
static int allocate_job(struct srun *s, Pst__StepSpec *spec)
{
    Pst__SubmitRequest req = PST__SUBMIT_REQUEST__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__StepReply *reply = NULL;
    struct clusters found = { 0 };
    int status;

    if (!jobopts_has(&s->opts, JO_TEST_ONLY))
        s->x11 = x11forward_new(&s->cli, &s->opts);
    (void)submit_find_clusters(&s->cli, &s->opts, &found);
    build_job(s, &req, &job);
    submit_choose_cluster(&s->cli, &found, &req);
    if (jobopts_has(&s->opts, JO_TEST_ONLY)) {
        status = test_only(s, &req);
        exit(status);
    }
    req.step = s->n_parts > 1 ? NULL : spec;
    s->own_job = true;
    status = joblink_allocate(&s->link, &req, ALLOC_WHAT, &s->grant);
    if (status != 0)
        return status;
    s->job_id = s->link.job_id;
    for (size_t i = 0; i < s->grant->n_het_jobs; i++)
        show_job(s->grant->het_jobs[i]);
    if (s->grant->job && !s->grant->n_het_jobs)
        show_job(s->grant->job);
    if (s->grant->step) {
        take_reply(s, s->grant->step);
        return 0;
    }
    status = s->n_parts > 1 ? srun_het_step(s, build_step)
                            : joblink_step(&s->link, s->job_id, spec, &reply);
    if (status == 0 && s->n_parts > 1)
        take_het_reply(s);
    else if (status == 0)
        take_reply(s, reply);
    else
        (void)joblink_complete(&s->link, (uint32_t)status << 8); /* it said what went wrong */
    return status;
}

static int create_step(struct srun *s)
{
    Pst__StepSpec spec = PST__STEP_SPEC__INIT;
    Pst__StepReply *reply = NULL;
    int status;

    build_step(s, &s->parts[0], &spec);
    if (jobopts_has(&s->opts, JO_ASYNC)) {
        status = srun_async(s, &spec);
    } else if (s->no_job) {
        status = srun_noalloc(s, &spec, &reply);
        if (status == 0)
            take_reply(s, reply);
    } else if (!s->job_id) {
        status = allocate_job(s, &spec);
    } else if (s->het_size) {
        status = srun_het_step(s, build_step);
        if (status == 0)
            take_het_reply(s);
    } else if (s->n_parts > 1) {
        status = srun_shared_step(s, build_step);
        if (status == 0)
            take_reply(s, s->parts[0].reply);
        else
            srun_unlaunched(s, (uint32_t)status << 8);
    } else {
        status = joblink_step(&s->link, s->job_id, &spec, &reply);
        if (status == 0)
            take_reply(s, reply);
        if (status == 0 && s->job && s->job->alloc)
            show_nodes(s->job_id, s->job->alloc);
    }
    pb_done(&spec.base);
    if (status == 0)
        clifilter_post_submit(&s->cli, 0, s->job_id,
                              jobopts_has(&s->opts, JO_ASYNC) ? CLIFILTER_NO_STEP : s->step_id);
    return status;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* The tasks find the display, so it comes before them. */
static void forward_x11(struct srun *s)
{
    for (size_t i = 0; s->x11 && i < s->grant->n_het_jobs; i++)
        if (s->grant->het_jobs[i]->x11)
            x11forward_job(s->x11, s->grant->het_jobs[i]->job_id);
    if (s->x11 && !s->grant->n_het_jobs)
        x11forward_job(s->x11, s->job_id);
    x11forward_serve(s->x11);
}

static void run_tasks(struct srun *s)
{
    int status;

    srun_layout(s);
    srun_io_open(s);
    joblink_watch(&s->link, s->own_job);
    status = plugins_step_made(&s->cli, s->job_id, s->step_id, (uint32_t)s->n_nodes, s->n_tasks);
    if (status != 0) {
        srun_note_exit(s, status, (uint32_t)status << 8);
        srun_unlaunched(s, (uint32_t)status << 8);
    } else if (srun_hook(s, JO_PROLOG) != 0) {
        cli_info("StepId=%u.%u aborted before step completely launched.", s->job_id, s->step_id);
        cli_info("Job step aborted: Waiting up to %u seconds for job step to finish.",
                 (unsigned)conf_num(cli_conf(&s->cli), CONF_KILL_WAIT) + 2);
        (void)srun_hook(s, JO_EPILOG); /* it said what went wrong */
        srun_note_exit(s, CLI_EXIT_FAILED, CLI_EXIT_FAILED << 8);
        srun_unlaunched(s, CLI_EXIT_FAILED << 8);
    } else {
        status = jobopts_has(&s->opts, JO_BCAST) ? srun_bcast(s) : 0;
        if (status != 0) {
            srun_note_exit(s, status, (uint32_t)status << 8);
            srun_unlaunched(s, (uint32_t)status << 8);
            srun_io_close(s);
            return;
        }
        forward_x11(s);
        srun_launch(s);
        srun_loop(s);
        (void)srun_hook(s, JO_EPILOG); /* it said what went wrong */
    }
    s->x11 = x11forward_stop(s->x11);
    srun_io_close(s);
    if (s->killed && !s->aborting)
        cli_info("Force Terminated StepId=%u.%u", s->job_id, s->step_id);
}

static void srun_done(struct srun *s)
{
    if (s->reply && (!s->grant || s->reply != s->grant->step))
        protobuf_c_message_free_unpacked(&s->reply->base, NULL);
    if (s->grant)
        protobuf_c_message_free_unpacked(&s->grant->base, NULL);
    for (size_t i = 0; i < s->n_nodes && s->nodes; i++)
        free(s->nodes[i].held);
    for (size_t i = 0; i < s->n_parts && s->fans; i++)
        fanout_done(&s->fans[i]);
    free(s->fans);
    free(s->nodes);
    free(s->ranks);
    free(s->task_state);
    free(s->bcast_target);
    for (size_t i = 1; i < s->n_parts && !s->het_reply; i++)
        if (s->parts[i].reply)
            protobuf_c_message_free_unpacked(&s->parts[i].reply->base, NULL);
    for (size_t i = 0; i < s->n_parts; i++) {
        free(s->parts[i].multi_prog);
        jobopts_done(&s->parts[i].opts);
    }
    if (s->het_reply)
        protobuf_c_message_free_unpacked(&s->het_reply->base, NULL);
    free(s->parts);
    joblink_done(&s->link);
    cli_done(&s->cli);
}

int main(int argc, char **argv)
{
    struct srun s = { .argc = argc, .argv = argv };
    int status;

    cli_init(&s.cli, "srun");
    plugins_load(&s.cli, true);
    collect_options(&s);
    plugins_options_done(&s.cli, s.argv + s.first, s.parts[0].end - s.first);
    srun_sig_open(&s);
    if (s.job_id)
        clusters_use_working(&s.cli);
    joblink_init(&s.link, &s.cli, s.sig_fd);
    status = create_step(&s);
    if (status == 0 && (s.reply || s.het_reply)) {
        run_tasks(&s);
        status = s.interrupted && !s.exit_code ? 128 + SIGINT : s.exit_code;
        if (s.own_job && !s.link.ended)
            (void)joblink_complete(&s.link, s.worst_status); /* it said what went wrong */
    }
    plugins_end(&s.cli);
    clifilter_end(&s.cli);
    srun_done(&s);
    return status;
}
