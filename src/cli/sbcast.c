/* sbcast.c - copy a file to every node of a job
 *
 * Options and messages; the transfer is in bcastsend.c.  Exit status: 0, 1, 255 when the file
 * cannot be read, or the error number of a node (17: the file exists). */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"
#include "cli/job/bcastsend.h"
#include "cli/base/ids.h"
#include "cli/base/opts.h"

struct sbcast {
    struct cli cli;
    struct bcast b;
    const char *env_job; /* what the environment says, "job" the last word on it */
    const char *job, *nodes;
    bool no_allocation;
    bool compression_given, libs_given;
    bool lz4, send_libs; /* as given */
};

static int take_compression(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    (void)opt;
    (void)err;
    if (bcast_compression(arg && *arg ? arg : NULL, at) < 0) {
        cli_error("Compression type '%.200s' unknown, disabling compression support.", arg);
        *(bool *)at = false;
    }
    return 0;
}

static int take_libs(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    (void)opt;
    if (bcast_libs_word(arg && *arg ? arg : NULL, at) < 0)
        cli_error("Ignoring unrecognized --send-libs value '%.200s'", arg);
    return 0;
}

static int take_size(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    char *end;
    unsigned long long n = strtoull(arg, &end, 10);
    unsigned shift = tolower((unsigned char)*end) == 'k'   ? 10
                     : tolower((unsigned char)*end) == 'm' ? 20
                                                           : 0;

    (void)opt, (void)err;
    if (end == arg || *arg == '-' || (*end && (!shift || end[1])) || n == 0 ||
        n > BCAST_BLOCK_MAX >> shift)
        (void)fprintf(stderr, "size specification is invalid, ignored\n");
    else
        *(size_t *)at = (size_t)n << shift;
    return 0;
}

static int take_timeout(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    char *end;
    unsigned long n = strtoul(arg, &end, 10);

    (void)opt;
    (void)err;
    if (!*end && end != arg && *arg != '-' && n <= 1000000)
        *(int *)at = (int)n * 1000; /* another word asks for nothing */
    return 0;
}

static int take_width(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    uint32_t *width = at;
    uint64_t n;

    (void)opt;
    if (strcmp(arg, "0") == 0)
        return 0; /* as without it */
    if (strcasecmp(arg, "off") == 0) {
        *width = BCAST_DIRECT;
        return 0;
    }
    if (parse_u64(arg, 1, 65533, &n) < 0)
        return err_set(err, CLI_EXIT_FAILED,
                       "--treewidth takes a number up to 65533 or off, not %s", arg);
    *width = (uint32_t)n;
    return 0;
}

#define OPT_INTO struct sbcast
static const struct opt rows[] = {
    OPT("compress", 'C', OPT_OPT,
        OPT_AND(OPT_TAKE(lz4, take_compression), OPT_GIVEN(compression_given)), "@COMPRESS", NULL,
        "library", "compress blocks with lz4 (meant without a word), or none"),
    OPT("exclude", 0, OPT_REQ, OPT_TEXT(b.exclude), "@EXCLUDE", NULL, "paths",
        "folders whose libraries --send-libs leaves out, or NONE"),
    OPT("fanout", 0, OPT_REQ, OPT_TAKE(b.width, take_width), NULL, NULL, "n|off"),
    OPT("force", 'f', OPT_NONE, OPT_FLAG(b.force), "@FORCE", NULL, NULL,
        "replace a file that exists"),
    OPT("jobid", 'j', OPT_REQ, OPT_TEXT(job), "SLURM_JOB_ID,SLURM_JOBID", NULL, "id",
        "nodes of this job or step"),
    OPT("no-allocation", 'Z', OPT_NONE, OPT_FLAG(no_allocation), NULL, NULL, NULL,
        "send to the nodes of --nodelist without a job; for root and SlurmUser"),
    OPT("nodelist", 'w', OPT_REQ, OPT_TEXT(nodes), NULL, NULL, "nodes", "send to these nodes only"),
    OPT("preserve", 'p', OPT_NONE, OPT_FLAG(b.preserve), "@PRESERVE", NULL, NULL,
        "keep the times of the file"),
    OPT("send-libs", 0, OPT_OPT, OPT_AND(OPT_TAKE(send_libs, take_libs), OPT_GIVEN(libs_given)),
        "@SEND_LIBS", NULL, "yes|no",
        "the shared libraries of a program too, into the folder DEST_libs"),
    OPT("size", 's', OPT_REQ, OPT_TAKE(b.block_size, take_size), "@SIZE", NULL, "n[k|m]",
        "bytes sent at a time, 8m at most"),
    OPT("timeout", 't', OPT_REQ, OPT_TAKE(b.timeout_ms, take_timeout), "@TIMEOUT", NULL, "secs",
        "give up on a node after this long"),
    OPT("treewidth", 'F', OPT_REQ, OPT_TAKE(b.width, take_width), "@FANOUT", NULL, "n|off",
        "nodes sent to directly, who pass it on to as many; off: all"),
    OPT("verbose", 'v', OPT_NONE, OPT_VERBOSE(cli), NULL, NULL, NULL, "say what is done"),
};

static const struct opt_command command = {
    .name = "sbcast",
    .prefix = "SBCAST",
    .prefix2 = "SLURM",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS...] SOURCE DEST",
    .usage_status = CLI_EXIT_FAILED,
    .permute = true,
    .help_with_h = true,
};

/* One that ends in a slash gets the name of the source. */
static char *absolute_target(struct sbcast *s, const char *source, const char *dest)
{
    const char *slash = strrchr(source, '/'), *name = slash ? slash + 1 : source;
    size_t n = strlen(dest);
    _cleanup_free_ char *cwd = getcwd(NULL, 0);
    _cleanup_free_ char *file =
        xasprintf_or_die("%s%s", dest, n > 0 && dest[n - 1] == '/' ? name : "");

    if (!cwd && dest[0] != '/')
        cli_die(CLI_EXIT_FAILED, "the working directory has no name: %s", strerror(errno));
    return bcast_target(&s->cli, cwd ? cwd : "/", file);
}

static int access_source(const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        cli_error("Can't mmap file `%s`, No such device.", path);
        return -1;
    }
    if (access(path, R_OK) == 0)
        return 0;
    cli_error("Can't open `%s`: %s", path, strerror(errno));
    return -1;
}

/* Of the job's nodes those that were asked for, in the job's order. */
static void choose_nodes(Pst__StepReply *granted, const char *nodes)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    struct err err = { .text = "" };
    size_t n = 0;

    if (hostlist_parse(nodes, &hl, &err) < 0)
        cli_die(CLI_EXIT_FAILED, "--nodelist: %s", err.text);
    for (size_t i = 0; i < granted->n_nodes; i++) {
        if (granted->nodes[i]->name && hostlist_find(hl, granted->nodes[i]->name) >= 0)
            granted->nodes[n++] = granted->nodes[i];
        else
            pst__node_addr__free_unpacked(granted->nodes[i], NULL);
    }
    granted->n_nodes = n;
    if (n != hostlist_count(hl))
        cli_die(CLI_EXIT_FAILED, "--nodelist: the job has only %zu of the nodes %s", n, nodes);
}

static void check_job(const struct sbcast *s)
{
    if (s->no_allocation && !s->nodes)
        cli_die(CLI_EXIT_FAILED, "--no-allocation needs --nodelist");
    if (!s->no_allocation && (!s->job || !*s->job))
        cli_die(CLI_EXIT_FAILED,
                "Need a job id to run this command.  Run from within a Slurm job or use the "
                "--jobid option.");
}

static Pst__StepReply *ask_access(struct sbcast *s)
{
    struct err err = { .text = "" };
    Pst__StepReply *granted = NULL;

    if (bcast_try_access(&s->cli, s->no_allocation ? NULL : s->job,
                         s->no_allocation ? s->nodes : NULL, &granted, &err) < 0) {
        if (s->no_allocation)
            cli_die(CLI_EXIT_FAILED, "%s: %s", s->nodes, err.text);
        if (s->job != s->env_job && !strchr(s->job, '.'))
            cli_die(CLI_EXIT_FAILED, "Failed to load JobId=%s: '%s'", s->job, err.text);
        cli_die(CLI_EXIT_USAGE, "Slurm job %s lookup error: %s", s->job, err.text);
    }
    if (s->nodes && !s->no_allocation)
        choose_nodes(granted, s->nodes);
    return granted;
}

static void settle_defaults(struct sbcast *s)
{
    s->b.cli = &s->cli;
    bcast_defaults(&s->b);
    if (s->compression_given)
        s->b.lz4 = s->lz4;
    if (s->libs_given)
        s->b.send_libs = s->send_libs;
}

/* ---- what -v says ---------------------------------------------------------------------------- */

static void show_options(struct sbcast *s, const char *target)
{
    const char *exclude =
        s->b.exclude ? s->b.exclude : conf_str(cli_conf(&s->cli), CONF_BCAST_EXCLUDE);

    cli_info("-----------------------------");
    cli_info("block_size = %zu", s->b.block_size ? s->b.block_size : (size_t)BCAST_BLOCK_MAX);
    cli_info("compress   = %d", s->b.lz4);
    cli_info("exclude    = %s", exclude);
    cli_info("force      = %s", s->b.force ? "true" : "false");
    cli_info("treewidth     = %u", s->b.width);
    cli_info("preserve   = %s", s->b.preserve ? "true" : "false");
    cli_info("send_libs  = %s", s->b.send_libs ? "true" : "false");
    cli_info("timeout    = %d", s->b.timeout_ms / 1000);
    cli_info("verbose    = %d", s->cli.verbose);
    cli_info("source     = %s", s->b.source);
    cli_info("dest       = %s", target);
    cli_info("-----------------------------");
}

static void show_time(const char *name, time_t when)
{
    struct tm tm;
    char text[64] = "";

    if (localtime_r(&when, &tm))
        (void)strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &tm);
    cli_info("%s    = %s", name, text);
}

static void show_file(const struct sbcast *s, const Pst__StepReply *granted)
{
    _cleanup_free_ const char **names = xmalloc_or_die((granted->n_nodes + 1) * sizeof(*names));
    _cleanup_free_ char *list = NULL;
    struct stat st;

    if (stat(s->b.source, &st) == 0) {
        cli_info("modes    = %o", st.st_mode);
        cli_info("uid      = %u", st.st_uid);
        cli_info("gid      = %u", st.st_gid);
        show_time("atime", st.st_atime);
        show_time("mtime", st.st_mtime);
        show_time("ctime", st.st_ctime);
        cli_info("size     = %lld", (long long)st.st_size);
    }
    for (size_t i = 0; i < granted->n_nodes; i++)
        names[i] = granted->nodes[i]->name;
    check_mem_or_die(hostlist_fold_names(names, granted->n_nodes, &list));
    if (!s->no_allocation)
        cli_info("jobid      = %s", s->job);
    cli_info("node_list  = %s", list);
}

int main(int argc, char **argv)
{
    struct sbcast s = { 0 };
    _cleanup_free_ char *target = NULL;
    Pst__StepReply *granted;
    int first, status;

    cli_init(&s.cli, "sbcast");
    (void)signal(SIGPIPE, SIG_IGN);
    opts_env(&command, &s);
    s.env_job = s.job;
    first = opts_parse(&command, argc, argv, &s);
    settle_defaults(&s);
    if (argc - first != 2) {
        (void)fprintf(stderr, "Need two file names, have %d names\n", argc - first);
        (void)fprintf(stderr, "Try \"sbcast --help\" for more information\n");
        return CLI_EXIT_FAILED;
    }
    check_job(&s);
    s.b.source = argv[first];
    target = absolute_target(&s, argv[first], argv[first + 1]);
    if (s.cli.verbose > 0)
        show_options(&s, target);
    if (access_source(argv[first]) < 0)
        return CLI_EXIT_USAGE;
    granted = ask_access(&s);
    s.b.target = target;
    s.b.access = granted;
    if (s.cli.verbose > 0)
        show_file(&s, granted);
    status = bcast_send(&s.b);
    protobuf_c_message_free_unpacked(&granted->base, NULL);
    cli_done(&s.cli);
    return status;
}
