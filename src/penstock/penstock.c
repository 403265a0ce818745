/* penstock.c - the newcomer's command: a private cluster, a tour, an operator's tools
 *
 * Owns the table of subcommands; each is a file of its own. */
#include "penstock/penstock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/process/closeout.h"
#include "penstock/topograph.h"
#include "penstock/witness/witnesscmd.h"
#include "version.h"

/* The program penstock-kube, since only programs of src/kube link libcurl. */
static int run_kube(int argc, char **argv)
{
    char path[INSTANCE_PATH_MAX];
    struct err err = { .text = "" };

    (void)argc;
    if (program_find("penstock-kube", path, sizeof(path), &err) < 0)
        return say_error("%s", err.text);
    (void)execv(path, argv);
    return say_error("%s: %s", path, strerror(errno));
}

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *synopsis; /* NULL: works but is not shown */
    const char *help;
    bool helps; /* takes --help itself */
} commands[] = {
    { "up", cmd_up, "up [--nodes N] [--cpus C] [--emulate M] [--dir DIR]",
      "start a private cluster of N nodes on this machine, without root; M more in one process" },
    { "status", cmd_status, "status [--dir DIR]", "say whether it runs, with its nodes and jobs" },
    { "ui", cmd_ui, "ui [--dir DIR]",
      "print an address at which a browser is signed in as you: once, within a minute" },
    { "env", cmd_env, "env [--dir DIR]", "print the shell lines that make commands use it" },
    { "shell", cmd_shell, "shell [--dir DIR]", "start a shell that uses it" },
    { "down", cmd_down, "down [--keep-jobs] [--dir DIR]", "cancel its jobs and stop it" },
    { "demo", cmd_demo, "demo [--keep] [--nodes N] [--cpus C] [--dir DIR]",
      "bring a cluster up, run a small workflow on it, take it down" },
    { "journal", cmd_journal,
      "journal at TIME|LSN -- COMMAND | audit [FILTERS] | dump|verify|repair|downgrade|hash DIR",
      "the cluster as it was, and who changed it; look into a journal, or repair it" },
    { "backup", cmd_backup, "backup [--state DIR] FOLDER",
      "copy log, accounting and keys of a controller, also while it runs" },
    { "restore", cmd_restore, "restore [--state DIR] FOLDER",
      "make a StateSaveLocation of a backup" },
    { "sim", cmd_sim, "sim [OPTIONS...]",
      "run a trace or a made-up workload through the scheduler, and report", true },
    { "topograph", cmd_topograph, "topograph generate|serve [OPTIONS...]",
      "find out which nodes are near each other, and write topology files", true },
    { "kube", run_kube, "kube doctor [OPTIONS...]",
      "look a Kubernetes cluster over, and say what is wrong", true },
    { "report", cmd_report, "report [--json] JOB...",
      "what jobs used of what they held, and what to ask for next time" },
    { "witness", cmd_witness,
      "witness [-f FILE] --state DIR [--listen ADDRESS] [--new HOST | --check | --downgrade]",
      "say which of several controllers may lead, where they send their log to one another", true },
    { "ping", cmd_ping, "ping [--all] [-f FILE]",
      "say how far the log of the controller, or of each, has come" },
};

static void print_folder(FILE *f)
{
    (void)fputs("DIR is the cluster's folder: etc, state, spool, log and run are in it.  Default:\n"
                "$XDG_STATE_HOME/penstock/default, else ~/.local/share/penstock/default.\n",
                f);
}

static void print_help(FILE *f)
{
    (void)fputs("Usage: penstock COMMAND [OPTIONS...]\n\n", f);
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (commands[i].synopsis)
            (void)fprintf(f, "  penstock %s\n      %s\n", commands[i].synopsis, commands[i].help);
    (void)fputs("\n"
                "  --version, -V   print Penstock's own version\n"
                "  --help, -h      print this\n\n",
                f);
    print_folder(f);
}

static void print_command(const struct command *c)
{
    (void)printf("Usage: penstock %s\n\n%s.\n", c->synopsis, c->help);
    if (strstr(c->synopsis, "--dir")) {
        (void)putchar('\n');
        print_folder(stdout);
    }
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    (void)closeout_begin("penstock"); /* without memory nobody is told */
    if (!*name) {
        print_help(stderr);
        return STATUS_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return STATUS_OK;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        (void)printf("penstock %s\n", PENSTOCK_VERSION); /* stdout errors show at exit */
        return STATUS_OK;
    }
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        if (strcmp(name, commands[i].name) == 0) {
            if (!commands[i].helps && argc == 3 && strcmp(argv[2], "--help") == 0) {
                print_command(&commands[i]);
                return STATUS_OK;
            }
            argv[1] = (char *)"penstock"; /* what getopt_long's messages begin with */
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    return usage_error("no such command: %s", name);
}
