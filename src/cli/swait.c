/* swait.c - wait until a job has no running step and no queued one
 *
 * One request that the controller answers when it is so; asked again when the controller was
 * restarted meanwhile.  Exit status: 0 drained, 1 --timeout passed, 2 error. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/base/cli.h"
#include "cli/base/ids.h"
#include "cli/base/opts.h"
#include "session/jobcalls.h"

enum { EXIT_TIMEOUT = 1, EXIT_ERROR = 2 };

struct swait {
    struct cli cli;
    int64_t timeout_us; /* 0 = for ever */
};

static int take_timeout(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    char *end;
    unsigned long secs;

    (void)opt;
    errno = 0;
    secs = strtoul(arg, &end, 10);
    if (errno || *end || end == arg || *arg == '-' || secs > 100000000ul)
        return err_set(err, EXIT_ERROR,
                       "--timeout: invalid value '%.200s' (must be a non-negative integer)", arg);
    *(int64_t *)at = (int64_t)secs * USEC_PER_SEC;
    return 0;
}

#define OPT_INTO struct swait
static const struct opt rows[] = {
    OPT("quiet", 'Q', OPT_NONE, OPT_QUIET(cli), NULL, NULL, NULL, "say nothing but errors"),
    OPT("timeout", 0, OPT_REQ, OPT_TAKE(timeout_us, take_timeout), NULL, NULL, "secs",
        "give up after this long; 0 is never"),
    OPT("verbose", 'v', OPT_NONE, OPT_VERBOSE(cli), NULL, NULL, NULL, "say what is done"),
};

static const struct opt_command command = {
    .name = "swait",
    .prefix = "SWAIT",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS] [<jobid>[_<task>] | s<sluid>]",
    .usage = "[-hQvV] [--timeout=SECS] [--usage] [<jobid>[_<task>] | s<sluid>]",
    .names_itself = true,
    .usage_status = EXIT_ERROR,
    .permute = true,
    .help_with_h = true,
};

static const char *read_target(int argc, char **argv, int first)
{
    const char *id = first < argc ? argv[first] : NULL;
    struct ids ids = { 0 };

    if (argc - first > 1)
        cli_die(EXIT_ERROR, "too many positional arguments (expected at most one job id)");
    if (!id || !*id)
        id = getenv("SLURM_JOB_SLUID");
    if (!id || !*id)
        id = getenv("SLURM_JOB_ID");
    if (!id || !*id)
        cli_die(EXIT_ERROR, "no job id given and SLURM_JOB_SLUID/SLURM_JOB_ID are not set");
    if (ids_parse(id, &ids, NULL) < 0)
        cli_die(EXIT_ERROR, "%.200s: cannot parse job id", id);
    if (ids.has_step)
        cli_die(EXIT_ERROR, "%.200s: swait operates on a job, not a step", id);
    if (ids.has_het)
        cli_die(EXIT_ERROR, "%.200s: het-job offsets are not supported", id);
    if (ids.array == IDS_TASK_SET || ids.array == IDS_ALL_TASKS)
        cli_die(EXIT_ERROR, "%.200s: array-task ranges are not supported, pass one task offset",
                id);
    ids_done(&ids);
    return id;
}

int main(int argc, char **argv)
{
    struct swait s = { 0 };
    int64_t deadline;
    const char *id;
    int r;

    cli_init(&s.cli, "swait");
    id = read_target(argc, argv, opts_parse(&command, argc, argv, &s));
    deadline = s.timeout_us ? now_mono_us() + s.timeout_us : JOBCALLS_FOREVER;
    cli_verbose(1, "waiting for the steps of JobId=%s", id);
    do {
        struct client *client = NULL;
        struct err err = { .text = "" };

        if (cli_connect(&s.cli, &client, &err) < 0)
            cli_die(EXIT_ERROR, "cannot load JobId=%s: %s", id, err.text);
        r = jobcalls_wait_steps(client, id, deadline, &err);
        if (r == -ENOTSUP)
            cli_die(EXIT_ERROR, "JobId=%s does not have stepmgr enabled", id);
        if (r == -EBADR)
            cli_die(EXIT_ERROR, "cannot load JobId=%s: %s", id, err.text);
        if (r < 0 && r != -ETIME && !cli_may_come_back(r))
            cli_die(EXIT_ERROR, "cannot load JobId=%s: %s", id, client_strerror(client, r));
        client_free(client);
    } while (r < 0 && r != -ETIME);
    if (r == -ETIME && s.cli.verbose >= 0)
        cli_error("timed out after %lld seconds", (long long)(s.timeout_us / USEC_PER_SEC));
    else if (r == 0)
        cli_verbose(1, "JobId=%s has no steps left", id);
    cli_done(&s.cli);
    return r == -ETIME ? EXIT_TIMEOUT : 0;
}
