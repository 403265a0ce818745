/* dmnoptions.c - the options that slurmctld, slurmdbd and slurmd share; see daemon.h */
#include <errno.h>
#include <stdio.h>

#include "base/timefmt.h"
#include "conf/conf.h"
#include "daemon/daemon.h"
#include "version.h"

enum { STOP_OK = 0, STOP_ERROR = 1, GO_ON = -1 };

static int take_nice(const struct daemon_head *head, const char *text, struct daemon_options *o)
{
    int64_t value;

    if (parse_i64(text, -20, 19, &value) < 0) {
        (void)fprintf(stderr, "%s: -n wants a nice value from -20 to 19, not %s\n", head->name,
                      text);
        return STOP_ERROR;
    }
    o->nice = (int)value;
    return GO_ON;
}

/* An option with a shared meaning; as daemon_parse_options(). */
static int take_shared(const struct daemon_head *head, int c, struct daemon_options *o)
{
    switch (c) {
    case DAEMON_OPT_CHECK:
        o->check = true;
        return GO_ON;
    case 'D':
        o->foreground = true;
        return GO_ON;
    case 'f':
        o->conf_path = optarg;
        return GO_ON;
    case 'L':
        o->log_path = optarg;
        return GO_ON;
    case 'n':
        return take_nice(head, optarg, o);
    case 'v':
        o->verbose++;
        return GO_ON;
    case 'V':
        (void)printf("slurm %s\n", SLURM_RELEASE);
        return STOP_OK;
    case 'h':
        (void)fputs(head->usage, stdout);
        return STOP_OK;
    default:
        (void)fputs(head->usage, stderr);
        return STOP_ERROR;
    }
}

int daemon_parse_options(const struct daemon_head *head, int argc, char **argv,
                         struct daemon_options *o, void *ctx)
{
    int c, r;

    while ((c = getopt_long(argc, argv, head->shorts, head->longs, NULL)) != -1) {
        enum daemon_taken taken = head->take_own ? head->take_own(ctx, c, optarg) : DAEMON_SHARED;

        if (taken == DAEMON_REFUSE)
            return STOP_ERROR;
        r = taken == DAEMON_SHARED ? take_shared(head, c, o) : GO_ON;
        if (r != GO_ON)
            return r;
    }
    if (optind < argc) {
        (void)fprintf(stderr, "%s%s\n", head->unexpected, argv[optind]);
        if (head->usage_after)
            (void)fputs(head->usage, stderr);
        return STOP_ERROR;
    }
    return GO_ON;
}

/* Print the problems, and the sentence that is not among them. */
static void print_problems(const char *path, int r, struct conf_problems *problems,
                           const struct err *err)
{
    bool told = false;

    conf_report(stdout, problems);
    for (size_t i = 0; i < problems->n; i++)
        told = told || problems->items[i].error;
    if (r < 0 && !told)
        (void)printf("%s: error: %s\n", path, err->text);
    conf_problems_done(problems);
}

int daemon_check_conf(const char *path, daemon_more_fn *more)
{
    struct conf *conf = NULL;
    struct conf_problems problems = { 0 };
    struct err err = { .text = "" };
    int r;

    if (!path)
        path = conf_default_path();
    r = conf_load(path, CONF_FULL, &conf, &problems, &err);
    print_problems(path, r, &problems, &err);
    if (r == 0 && more) {
        r = more(conf, &problems, &err);
        print_problems(path, r, &problems, &err);
    }
    if (r == 0)
        (void)printf("%s: the configuration is good: %zu nodes, %zu partitions\n", path,
                     conf_nodes(conf), conf_parts(conf));
    conf_free(conf);
    return r < 0 ? 1 : 0;
}
