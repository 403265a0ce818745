/* salloc.c - allocate nodes, run a command with them, give them back
 *
 * Signals are blocked and read from a signalfd; the command gets the mask back.  An interactive
 * shell runs in a process group of its own with the terminal, as a job-control shell would start
 * it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <limits.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/process/findprog.h"
#include "base/safetext.h"
#include "base/timefmt.h"
#include "cli/job/allocenv.h"
#include "cli/base/cli.h"
#include "cli/job/clifilter.h"
#include "cli/job/jobenvlist.h"
#include "cli/job/hetopts.h"
#include "cli/job/jobopts.h"
#include "cli/job/jobshow.h"
#include "cli/job/joblink.h"
#include "cli/job/jobtext.h"
#include "cli/job/cliplugins.h"
#include "cli/job/submit.h"
#include "cli/x11/x11forward.h"

#define FAILED_WHAT "Job submit/allocate failed"
#define BELL_AFTER_US (10 * USEC_PER_SEC)

extern char **environ;

struct salloc {
    struct cli cli;
    struct hetopts het;
    struct jobopts opts; /* of the first component, or of the job that has none: het's */
    struct joblink link;
    int argc, first;
    char **argv;
    char **command;   /* NULL-terminated */
    bool interactive; /* a shell */
    int sig_fd;
    sigset_t old_mask;
    pid_t child;
    struct x11forward *x11; /* NULL: not asked for */
    bool revoked;           /* a signal ended the allocation before the command */
};

static bool has_interactive_step(const struct conf *conf)
{
    const char *value;
    size_t len;

    return conf_option(conf, CONF_LAUNCH_PARAMETERS, "use_interactive_step", &value, &len);
}

static void collect_options(struct salloc *s)
{
    int status;

    s->first = hetopts_parse(&s->het, s->argc, s->argv);
    submit_gres_help(&s->cli, &s->het.list[0]);
    for (size_t k = 0; k < s->het.n; k++)
        clifilter_defaults(&s->cli, &s->het.list[k]);
    status = hetopts_finish(&s->het);
    for (size_t k = 0; k < s->het.n && status == 0; k++)
        status = clifilter_pre_submit(&s->cli, &s->het.list[k], (unsigned)k);
    s->opts = *hetopts_at(&s->het, 0);
    cli_set_verbosity(&s->cli, s->opts.verbose);
    if (status != 0)
        exit(status);
    /* the command runs here, and only a step can be in a container */
    if (jobopts_has(&s->opts, JO_CONTAINER) && !has_interactive_step(cli_conf(&s->cli)))
        cli_die(CLI_EXIT_FAILED, "--container requires LaunchParameters=use_interactive_step");
    for (size_t k = 0; s->cli.verbose > 0 && k < s->het.n; k++)
        jobshow_defined(&s->het.list[k]);
}

/* The command to run: the words given, or the user's shell, on the first node if the site says
 * so. */
static void choose_command(struct salloc *s)
{
    const struct conf *conf = cli_conf(&s->cli);
    const char *shell = getenv("SHELL");

    if (s->first < s->argc) {
        s->command = s->argv + s->first;
        return;
    }
    s->interactive = true;
    s->command = xmalloc_or_die(4 * sizeof(char *));
    if (has_interactive_step(conf)) {
        s->command[0] = xstrdup_or_die("/bin/sh");
        s->command[1] = xstrdup_or_die("-c");
        s->command[2] =
            xasprintf_or_die("exec srun %s", conf_str(conf, CONF_INTERACTIVE_STEP_OPTIONS));
        return;
    }
    s->command[0] = xstrdup_or_die(shell && *shell ? shell : "/bin/sh");
}

static void catch_signals(struct salloc *s)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    if (sigprocmask(SIG_BLOCK, &set, &s->old_mask) < 0)
        cli_fatal("signals cannot be blocked: %s", strerror(errno));
    s->sig_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->sig_fd < 0)
        cli_fatal("no signal descriptor: %s", strerror(errno));
    (void)signal(SIGTTOU, SIG_IGN); /* we take the terminal back from the background */
}

static void build_job(struct salloc *s, const struct jobopts *jo, Pst__JobRecord *job)
{
    submit_fill(&s->cli, jo, s->argc, s->argv, s->first, job);
    if (s->first < s->argc) {
        check_mem_or_die(pb_set_str(&job->command, s->argv[s->first]));
        safetext_clean(job->command); /* a file's name may be anything */
    }
    job->interactive = job->has_interactive = true;
    plugins_fill_job(&s->cli, job);
    if (!job->name)
        check_mem_or_die(pb_set_str(
            &job->name, jobopts_has(&s->opts, JO_NO_SHELL) ? "no-shell" : "interactive"));
}

static void build_request(struct salloc *s, Pst__SubmitRequest *req, Pst__JobRecord *job)
{
    build_job(s, &s->opts, job);
    req->components = submit_components(&s->het, &req->n_components);
    for (size_t i = 0; i < req->n_components; i++)
        build_job(s, &s->het.list[i + 1], req->components[i]->job);
    req->job = job;
    req->hold = req->has_hold = jobopts_has(&s->opts, JO_HOLD);
    if (jobopts_has(&s->opts, JO_IMMEDIATE)) {
        req->immediate_s = (uint32_t)jobopts_num(&s->opts, JO_IMMEDIATE, 1);
        req->has_immediate_s = true;
    }
    submit_identity(&s->opts, req);
}

static void ring_bell(const struct salloc *s, int64_t since_mono_us)
{
    bool asked = jobopts_has(&s->opts, JO_BELL);

    if (jobopts_has(&s->opts, JO_NO_BELL) || s->cli.verbose < 0 || !isatty(STDOUT_FILENO))
        return; /* a file or a pipe gets what the program writes alone */
    if (asked || now_mono_us() - since_mono_us > BELL_AFTER_US) {
        (void)fputc('\a', stdout);
        (void)fflush(stdout);
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

static void build_environment(struct salloc *s, const Pst__JobStatus *grant, struct envlist *env)
{
    envlist_export(env, environ, NULL);
    if (!grant->n_het_jobs)
        envlist_add_options(env, &s->opts);
    submit_env(&s->cli, env);
    plugins_add_env(&s->cli, env);
    allocenv_add_launchers(env, cli_conf(&s->cli));
    if (grant->n_het_jobs)
        allocenv_add_het(env, grant->het_jobs, grant->n_het_jobs);
    else
        allocenv_add(env, grant->job);
}

static int spawn_command(struct salloc *s, const char *path, char **env)
{
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t actions;
    sigset_t defaults;
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    int r;

    (void)posix_spawnattr_init(&attr);             /* fails only for lack of memory, which */
    (void)posix_spawn_file_actions_init(&actions); /* posix_spawn() reports as well */
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGTTOU);
    sigaddset(&defaults, SIGINT); /* Ctrl-C ends it, also where our caller ignores it */
    (void)posix_spawnattr_setsigdefault(&attr, &defaults);
    (void)posix_spawnattr_setsigmask(&attr, &s->old_mask);
    if (isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp()) {
        flags |= POSIX_SPAWN_SETPGROUP;
        (void)posix_spawnattr_setpgroup(&attr, 0);
        (void)posix_spawn_file_actions_addtcsetpgrp_np(&actions, STDIN_FILENO);
    }
    (void)posix_spawnattr_setflags(&attr, flags);
    r = posix_spawn(&s->child, path, &actions, &attr, s->command, env);
    (void)posix_spawnattr_destroy(&attr);
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
}

static int start_command(struct salloc *s, const Pst__JobStatus *grant)
{
    _cleanup_val_(envlist_done) struct envlist env = ENVLIST_INIT;
    _cleanup_free_ char *path = findprog(s->command[0]);
    int r;

    if (!path) {
        cli_error("_fork_command: Unable to find command \"%s\"", s->command[0]);
        return -ENOENT;
    }
    build_environment(s, grant, &env);
    r = spawn_command(s, path, env.items);
    if (r < 0)
        cli_error("Unable to run command \"%s\": %s", s->command[0], strerror(-r));
    return r;
}

/* The allocation goes at once; the command ends when it likes. */
static void revoke_allocation(struct salloc *s)
{
    if (s->link.ended || s->revoked)
        return;
    s->revoked = true;
    cli_info("Job allocation %u has been revoked.", s->link.job_id);
    (void)joblink_complete(&s->link, 0); /* it said what went wrong */
}

static void pass_signals(struct salloc *s)
{
    struct signalfd_siginfo info;

    while (read(s->sig_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        int sig = (int)info.ssi_signo;

        if (sig == SIGTERM || (sig == SIGINT && !s->interactive && !isatty(STDIN_FILENO)))
            revoke_allocation(s);
        else if (sig != SIGINT && sig != SIGQUIT) /* the terminal sends those to the command */
            (void)kill(s->child, sig);
        else if (info.ssi_code <= 0)
            (void)kill(s->child, sig); /* sent to us alone by kill(2) */
    }
}

static void tell_revoked(struct salloc *s)
{
    const char *text = jobopts_get(&s->opts, JO_KILL_COMMAND);

    if (text)
        (void)kill(s->child, *text            ? (int)jobtext_signal_number(text)
                             : s->interactive ? SIGHUP
                                              : SIGTERM);
    cli_info("Job allocation %u has been revoked.", s->link.job_id);
}

/* Until the command ended.  Gives its wait(2) status. */
static int watch_command(struct salloc *s)
{
    _cleanup_close_ int pid_fd = pidfd_open(s->child, 0);
    int status = 0;

    if (pid_fd < 0)
        cli_error("the command cannot be watched: %s", strerror(errno));
    while (pid_fd >= 0) {
        struct pollfd fds[] = {
            { .fd = pid_fd, .events = POLLIN },
            { .fd = s->sig_fd, .events = POLLIN },
            { .fd = joblink_fd(&s->link), .events = POLLIN },
        };

        if (poll(fds, ARRAY_SIZE(fds), joblink_timeout_ms(&s->link)) < 0 && errno != EINTR)
            break;
        if (fds[0].revents)
            break;
        if (fds[1].revents)
            pass_signals(s);
        if (joblink_process(&s->link))
            tell_revoked(s);
    }
    while (waitpid(s->child, &status, 0) < 0 && errno == EINTR)
        ;
    if (isatty(STDIN_FILENO))
        (void)tcsetpgrp(STDIN_FILENO,
                        getpgrp()); /* not ours to take when we run in the background */
    return status;
}

/* Signals that users send to end the command are no failure of it. */
static int exit_status(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    switch (WTERMSIG(status)) {
    case SIGHUP:
    case SIGINT:
    case SIGQUIT:
    case SIGKILL:
        return CLI_EXIT_OK;
    default:
        return CLI_EXIT_FAILED;
    }
}

static int run_command(struct salloc *s, const Pst__JobStatus *grant)
{
    int status;

    if (start_command(s, grant) < 0)
        status = CLI_EXIT_FAILED << 8;
    else
        status = watch_command(s);
    if (!s->link.ended && !s->revoked) {
        cli_info("Relinquishing job allocation %u", s->link.job_id);
        (void)joblink_complete(&s->link, (uint32_t)status); /* it said what went wrong */
    }
    return exit_status(status);
}

/* The command runs in --chdir. */
static void change_dir(struct salloc *s)
{
    _cleanup_free_ char *dir = jobopts_get(&s->opts, JO_CHDIR) ? submit_work_dir(&s->opts) : NULL;

    if (dir && chdir(dir) < 0)
        cli_die(CLI_EXIT_FAILED, "chdir(%s): %s", dir, strerror(errno));
}

static void tell_ready(const Pst__JobRecord *job)
{
    cli_info("Nodes %s are ready for job",
             job->alloc && job->alloc->nodes ? job->alloc->nodes : "");
}

/* Only while a command runs is somebody there to pass windows on. */
static void forward_x11(struct salloc *s, const Pst__JobStatus *grant)
{
    for (size_t i = 0; s->x11 && i < grant->n_het_jobs; i++)
        if (grant->het_jobs[i]->x11)
            x11forward_job(s->x11, grant->het_jobs[i]->job_id);
    if (s->x11 && !grant->n_het_jobs)
        x11forward_job(s->x11, s->link.job_id);
    x11forward_serve(s->x11);
}

static int allocate_and_run(struct salloc *s)
{
    Pst__SubmitRequest req = PST__SUBMIT_REQUEST__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__JobStatus *grant = NULL;
    int64_t since_mono_us = now_mono_us();
    struct clusters found = { 0 }; /* kept until the process ends, as of all below */
    int status;

    s->x11 = x11forward_new(&s->cli, &s->opts);
    (void)submit_find_clusters(&s->cli, &s->opts, &found);
    build_request(s, &req, &job);
    submit_choose_cluster(&s->cli, &found, &req);
    change_dir(s);
    status = joblink_allocate(&s->link, &req, FAILED_WHAT, &grant);
    if (status != 0) {
        if (s->link.refused_id && !jobopts_has(&s->opts, JO_NO_SHELL))
            cli_info("Job allocation %u has been revoked.", s->link.refused_id);
        return status;
    }
    clifilter_post_submit(&s->cli, 0, s->link.job_id, CLIFILTER_NO_STEP);
    ring_bell(s, since_mono_us);
    for (size_t i = 0; i < MAX(grant->n_het_jobs, 1u); i++)
        tell_ready(grant->n_het_jobs ? grant->het_jobs[i] : grant->job);
    if (!jobopts_has(&s->opts, JO_NO_SHELL)) {
        joblink_watch(&s->link, true);
        forward_x11(s, grant);
        status = run_command(s, grant);
        s->x11 = x11forward_stop(s->x11);
    }
    protobuf_c_message_free_unpacked(&grant->base, NULL);
    return status;
}

int main(int argc, char **argv)
{
    struct salloc s = { .argc = argc, .argv = argv };
    int status;

    cli_init(&s.cli, "salloc");
    hetopts_init(&s.het, JOBOPTS_SALLOC);
    plugins_load(&s.cli, false);
    s.het.more = plugins_options(&s.cli);
    collect_options(&s);
    plugins_options_done(&s.cli, NULL, 0);
    choose_command(&s);
    catch_signals(&s);
    joblink_init(&s.link, &s.cli, s.sig_fd);
    status = allocate_and_run(&s);
    joblink_done(&s.link);
    plugins_end(&s.cli);
    clifilter_end(&s.cli);
    return status;
}
