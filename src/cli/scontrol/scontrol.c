/* scontrol.c - look at and change the cluster: option and command tables, interactive mode
 *
 * libedit is loaded only when commands are
 * typed at a terminal, so that a single command starts as fast as any other client. */
#include "cli/scontrol/scontrol.h"
#include "cli/scontrol/scontrol_reboot.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"
#include "cli/base/opts.h"
#include "cli/query/out_filter.h"
#include "cli/base/clusters.h"
#include "cli/query/out_query.h"
#include "cli/query/out_users.h"
#include "model/words/names.h"
#include "version.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define WORDS_MAX 256 /* words of one typed line */

/* A script that gives a user who is not there goes on as after a change: scontrol leaves with 0. */
static int take_uid(void *settings, const struct opt *opt, const char *arg, struct err *err)
{
    struct scontrol *s = settings;

    (void)opt;
    (void)err;
    if (user_id_of(arg, &s->uid) < 0) {
        cli_error("--uid=\"%s\" invalid", arg);
        exit(0);
    }
    s->has_uid = true;
    return 0;
}

#define OPT_INTO struct scontrol
static const struct opt rows[] = {
    OPT("all", 'a', OPT_NONE, OPT_FLAG(all), "@ALL", NULL, NULL, "also hidden partitions"),
    OPT("changes-only", 0, OPT_NONE, OPT_FLAG(changes_only), NULL, NULL, NULL,
        "watch: no snapshot to begin with", .ours = true),
    OPT("clusters", 'M', OPT_REQ, OPT_TEXT(clusters), "SLURM_CLUSTERS", NULL, "name",
        "ask this cluster"),
    OPT("details", 'd', OPT_NONE, OPT_FLAG(show.details), NULL, NULL, NULL,
        "show more of each record"),
    FEDVIEW_FEDERATION,
    OPT("future", 'F', OPT_NONE, OPT_FLAG(future), "@FUTURE", NULL, NULL,
        "also nodes in state FUTURE"),
    OPT("hide", 0, OPT_NONE, OPT_UNFLAG(all), NULL, NULL, NULL, "leave out hidden partitions"),
    OPT("json", 0, OPT_OPT, OPT_TAKE(json, json_take_json), NULL, NULL, "version", "print JSON"),
    FEDVIEW_LOCAL,
    OPT("map", 0, OPT_NONE, OPT_FLAG(map), NULL, NULL, NULL,
        "show topology: draw nodes and jobs by unit", .ours = true),
    OPT("no-snapshot", 0, OPT_NONE, OPT_FLAG(changes_only), .ours = true),
    OPT("oneliner", 'o', OPT_NONE, OPT_FLAG(show.oneliner), NULL, NULL, NULL,
        "one line for each record"),
    OPT("quiet", 'Q', OPT_NONE, OPT_AND(OPT_QUIET(cli), OPT_GIVEN(quiet)), NULL, NULL, NULL,
        "say nothing but errors and data"),
    OPT("sibling", 0, OPT_NONE, OPT_FLAG(view.sibling), "@SIBLING", NULL, NULL,
        "show job: each cluster's copy"),
    OPT("since", 0, OPT_REQ, OPT_TEXT(since), NULL, NULL, "cursor",
        "watch: go on behind this place", .ours = true),
    OPT("uid", 'u', OPT_REQ, OPT_TAKE_ALL(take_uid), NULL, NULL, "user",
        "update jobs with the rights of this user (root and SlurmUser alone)"),
    OPT("verbose", 'v', OPT_NONE, OPT_VERBOSE(cli), NULL, NULL, NULL, "say more"),
    OPT("yaml", 0, OPT_OPT, OPT_TAKE(json, json_take_yaml), NULL, NULL, "version", "print YAML"),
};

static void print_names(FILE *f);
static void print_commands(FILE *f);

static const struct opt_command command = {
    .name = "scontrol",
    .prefix = "SCONTROL",
    .prefix2 = "SLURM",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS] [COMMAND [ARGUMENTS...]]",
    .usage_status = CLI_EXIT_FAILED,
    .permute = true,
    .help_with_h = true,
    .print_all = print_commands,
    .names = print_names,
};

/* ---- settings of interactive mode ------------------------------------------------------------ */

static void cmd_version(struct scontrol *s, int argc, char **argv)
{
    (void)s;
    (void)argc;
    (void)argv;
    cli_print_version();
}

static void cmd_all(struct scontrol *s, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    s->all = true;
}

static void cmd_hide(struct scontrol *s, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    s->all = false;
}

static void cmd_details(struct scontrol *s, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    s->show.details = true;
}

static void cmd_oneliner(struct scontrol *s, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    s->show.oneliner = true;
}

static void cmd_quiet(struct scontrol *s, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    s->quiet = true;
}

static void cmd_verbose(struct scontrol *s, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    s->quiet = false;
    cli_set_verbosity(&s->cli, s->cli.verbose + 1);
}

/* In interactive mode: the commands that follow ask this cluster. */
static void cmd_cluster(struct scontrol *s, int argc, char **argv)
{
    if (argc > 0)
        clusters_use_one(&s->cli, argv[0]);
}

static void cmd_exit(struct scontrol *s, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    s->leave = true;
}

static void cmd_help(struct scontrol *s, int argc, char **argv);

static const struct keyword {
    const char *name;
    unsigned shortest; /* letters that are enough */
    void (*run)(struct scontrol *s, int argc, char **argv);
    const char *args, *help; /* help NULL = not listed; args "" = it takes none */
    int most;                /* words behind it; 0 = any number */
} keywords[] = {
    { "all", 2, cmd_all, "", "show hidden partitions too" },
    { "cancel_reboot", 3, scontrol_cancel_reboot, "NODES",
      "forget a reboot that was not issued yet" },
    { "cluster", 2, cmd_cluster, "[NAME]", "ask this cluster from here on" },
    { "completing", 2, scontrol_completing, "", "jobs whose nodes are not clean yet" },
    { "create", 2, scontrol_create,
      "nodename=LIST|partitionname=NAME|reservation[=NAME] KEY=VALUE...",
      "make a partition or a reservation" },
    { "delete", 3, scontrol_delete, "nodename=LIST|partitionname=NAME|reservationname=NAME",
      "remove a partition or a reservation" },
    { "details", 2, cmd_details, "", "show more of each record" },
    { "errnumstr", 2, scontrol_errnumstr, "NUMBER", "text of an error number" },
    { "exit", 2, cmd_exit, "", "leave" },
    { "explain", 3, scontrol_explain, "[job] JOBS",
      "why pending jobs wait, and what would start them" },
    { "fsdampeningfactor", 3, scontrol_fsdampeningfactor, "NUMBER",
      "set FairShareDampeningFactor until the next reconfigure" },
    { "getaddrs", 4, scontrol_getaddrs, "NODES", "addresses of nodes" },
    { "getent", 4, scontrol_getent, "NODE",
      "user and groups of the steps of a node on this machine" },
    { "help", 2, cmd_help, "", "this text" },
    { "hide", 2, cmd_hide, "", "leave out hidden partitions" },
    { "hold", 4, scontrol_hold, "JOBS", "keep pending jobs from starting" },
    { "holdu", 5, scontrol_uhold, "JOBS", NULL },
    { "listjobs", 5, scontrol_listjobs, "[NODE]", "jobs with processes on this machine" },
    { "listpids", 5, scontrol_listpids, "[JOB[.STEP]] [NODE]",
      "processes of jobs on this machine" },
    { "liststeps", 5, scontrol_liststeps, "[NODE]", "steps with processes on this machine" },
    { "notify", 1, scontrol_notify, "JOB TEXT", "write a line to a job's standard error" },
    { "oneliner", 1, cmd_oneliner, "", "one line for each record" },
    { "pidinfo", 3, scontrol_pidinfo, "PID", "job of a process on this machine, and when it ends" },
    { "ping", 3, scontrol_ping, "", "ask whether the controller answers" },
    { "power", 2, scontrol_power, "up|down [asap|force] NODES [action=NAME] [reason=TEXT]",
      "switch nodes on and off, where programs for it are configured" },
    { "quiet", 4, cmd_quiet, "", "say nothing but errors and data" },
    { "quit", 4, cmd_exit, "", "leave" },
    { "reboot", 3, scontrol_reboot,
      "[ASAP|FORCE] [nextstate=RESUME|DOWN] [action=NAME] [reason=TEXT] ALL|NODES",
      "reboot nodes when they are idle" },
    { "reconfigure", 3, scontrol_reconfigure, "[NODES]", "read the configuration files again" },
    { "release", 3, scontrol_release, "JOBS", "let held jobs go" },
    { "requeuehold", 11, scontrol_requeuehold, "[Incomplete] [State=SpecialExit] JOBS",
      "requeue and hold" },
    { "requeue", 3, scontrol_requeue, "[Incomplete] JOBS", "put batch jobs back into the queue" },
    { "resume", 3, scontrol_resume, "JOBS", "let suspended jobs go on" },
    { "schedloglevel", 3, scontrol_schedloglevel, "0|1|disable|enable",
      "log of the scheduler, where SlurmSchedLogFile names one" },
    { "setdebug", 2, scontrol_setdebug, "LEVEL [nodes=NODES]",
      "log level of the controller, or of nodes" },
    { "setdebugflags", 9, scontrol_setdebugflags, "+|-FLAG... [nodes=NODES]",
      "set or clear DebugFlags" },
    { "show", 3, scontrol_show, "ENTITY [NAME]",
      "config, daemons, hostlist, hostlistsorted, hostnames, jobs, licenses, nodes, partitions, "
      "reservations, steps" },
    { "shutdown", 8, scontrol_shutdown, "[slurmctld]", "stop all daemons, or the controller only" },
    { "suspend", 2, scontrol_suspend, "JOBS", "stop running jobs for a while" },
    { "takeover", 8, scontrol_takeover, "[INDEX]",
      "let the backup controller of this SlurmctldHost line take over; 1 when not given" },
    { "token", 2, scontrol_token, "[username=NAME] [lifespan=SECONDS]",
      "print a token for SLURM_JWT" },
    { "top", 3, scontrol_top, "JOBS", "first among my pending jobs", 1 },
    { "uhold", 5, scontrol_uhold, "JOBS", "hold so that the owner may release" },
    { "update", 1, scontrol_update, "KEY=VALUE...",
      "change a job, node, partition or reservation" },
    { "verbose", 4, cmd_verbose, "", "say more" },
    { "version", 4, cmd_version, "", "print the release" },
    { "wait_job", 2, scontrol_wait_job, "JOB", "wait until its nodes are ready", 1 },
    { "watch", 3, scontrol_watch, "[jobs|nodes|partitions|job ID|node NAME]",
      "print changes as they happen" },
    { "write", 5, scontrol_write, "batch_script JOB [FILE|-]|config [FILE]",
      "save a job's script, or the configuration", 3 },
};

static void print_commands(FILE *f)
{
    opts_print_help(&command, f);
    (void)fprintf(f, "\nCommands:\n");
    for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
        if (keywords[i].help)
            (void)fprintf(f, "  %s %s\n      %s\n", keywords[i].name, keywords[i].args,
                          keywords[i].help);
}

static void cmd_help(struct scontrol *s, int argc, char **argv)
{
    (void)s;
    (void)argc;
    (void)argv;
    print_commands(stdout);
}

/* For --help-interface. */
static void print_names(FILE *f)
{
    for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
        (void)fprintf(f, "verb\t%s\t%s\n", keywords[i].name, keywords[i].help ? "shown" : "hidden");
    scontrol_show_names(f);
    scontrol_update_names(f);
}

static void run_keyword(struct scontrol *s, const struct keyword *k, int argc, char **argv)
{
    if (argc == 1 || k->run == cmd_help || (k->args[0] && (!k->most || argc - 1 <= k->most))) {
        k->run(s, argc - 1, argv + 1);
    } else if (k->run == cmd_version) {
        cmd_version(s, 0, NULL);
        scontrol_fail(s, "too many arguments for %s keyword", argv[0]);
    } else {
        scontrol_missing(s, stderr, "too many arguments for keyword:%s", argv[0]);
        if (k->run == cmd_exit)
            cmd_exit(s, 0, NULL);
    }
}

static void run_words(struct scontrol *s, int argc, char **argv)
{
    size_t len = strlen(argv[0]);

    for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
        if (len >= keywords[i].shortest && len <= strlen(keywords[i].name) &&
            strncasecmp(argv[0], keywords[i].name, len) == 0) {
            run_keyword(s, &keywords[i], argc, argv);
            return;
        }
    scontrol_fail(s, "invalid keyword: %s", argv[0]);
}

/* ---- interactive mode ------------------------------------------------------------------------ */

/* Split a line in place at blanks outside quotes. */
static int split_words(char *line, char **words)
{
    int n = 0;
    char *to = line;

    for (char *p = line; *p && n < WORDS_MAX;) {
        char quote = 0;

        while (isspace((unsigned char)*p))
            p++;
        if (!*p)
            break;
        words[n++] = to;
        for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
            if (quote ? *p == quote : *p == '"' || *p == '\'')
                quote = quote ? 0 : *p;
            else
                *to++ = *p;
        }
        p += *p != '\0';
        *to++ = '\0';
    }
    return n;
}

/* Reads lines: with editing at a terminal when libedit is there, plainly otherwise. */
struct line_reader {
    char *(*readline)(const char *prompt);
    int (*add_history)(const char *line);
};

static struct line_reader line_reader_make(void)
{
    struct line_reader r = { NULL, NULL };
    void *lib = isatty(STDIN_FILENO) ? dlopen("libedit.so.2", RTLD_NOW) : NULL;

    if (lib) {
        *(void **)&r.readline = dlsym(lib, "readline");
        *(void **)&r.add_history = dlsym(lib, "add_history");
    }
    return r;
}

/* The next line, NULL at the end.  Caller frees. */
static char *next_line(const struct line_reader *r)
{
    char *line = NULL;
    size_t size = 0;

    if (r->readline) {
        line = r->readline("scontrol: ");
        if (line && *line && r->add_history)
            (void)r->add_history(line);
        return line;
    }
    (void)printf("scontrol: ");
    (void)fflush(stdout);
    if (getline(&line, &size, stdin) < 0) {
        free(line);
        return NULL;
    }
    (void)printf("%s%s", line, strchr(line, '\n') ? "" : "\n"); /* no terminal echoes it */
    (void)fflush(stdout);
    return line;
}

static void run_interactive(struct scontrol *s)
{
    struct line_reader reader = line_reader_make();
    _cleanup_free_ char *last = NULL;

    while (!s->leave) {
        _cleanup_free_ char *line = next_line(&reader);
        char *words[WORDS_MAX];
        int n;

        if (!line) {
            (void)printf("\n");
            return;
        }
        if (strncmp(line, "!!", 2) == 0 && !last) { /* there is none before it */
            s->status = CLI_EXIT_FAILED;
            continue;
        }
        if (strncmp(line, "!!", 2) == 0) {
            free(line);
            line = xstrdup_or_die(last);
        } else {
            free(last);
            last = xstrdup_or_die(line);
        }
        n = split_words(line, words);
        if (n)
            run_words(s, n, words);
        else
            (void)fprintf(stderr, "no input\n");
    }
}

/* Words behind setdebug and setdebugflags are no options: "-gres". */
static int words_with_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strncasecmp(argv[i], "setdebug", 8) == 0)
            return i + 1;
    return argc;
}

int main(int argc, char **argv)
{
    struct scontrol scontrol = { 0 }, *s = &scontrol;
    _cleanup_free_ char **words = xmalloc_or_die(((size_t)argc + 1) * sizeof(*words));
    int first, status;

    memcpy(words, argv, (size_t)argc * sizeof(*words)); /* before getopt reorders them */
    cli_init(&s->cli, "scontrol");
    s->print_help = print_commands;
    s->argc = argc;
    s->argv = words;
    opts_env(&command, s);
    first = opts_parse(&command, words_with_options(argc, argv), argv, s);
    s->cli.keeps_text = s->json.wanted;
    status = json_option_done(&s->json);
    if (status >= 0)
        exit(status);
    if (s->clusters)
        clusters_use_one(&s->cli, s->clusters);
    if (first < argc)
        run_words(s, argc - first, argv + first);
    else
        run_interactive(s);
    client_free(s->client);
    cli_done(&s->cli);
    return s->status;
}
