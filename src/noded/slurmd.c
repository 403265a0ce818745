/* slurmd.c - slurmd's command line
 *
 * Options only; the daemon is daemon.c. */
#include <errno.h>
#include <getopt.h>
#include <sys/resource.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process/inherit.h"
#include "base/safetext.h"
#include "noded/hw/selfline.h"
#include "noded/noded.h"
#include "version.h"

static const char usage[] =
    "Usage: slurmd [OPTIONS]\n"
    "   -b                         Report node rebooted when daemon restarted.\n"
    "   -c                         Force cleanup of slurmd's spool directory.\n"
    "   --ca-cert-file <file>      Trust this authority when the configuration is fetched (TLS).\n"
    "   --check                    Read the configuration, report every problem and exit.\n"
    "   -C                         Print the hardware configuration of this machine and exit.\n"
    "   --conf \"K=V ...\"           Describe a dynamic node, as a NodeName line does; with -Z.\n"
    "   --conf-server <host>[:<port>],...  Get the configuration from slurmctld.\n"
    "   -D                         Run in the foreground.\n"
    "   -d <file>                  Start this program as the step daemon of each step.\n"
    "   --extra <text>             Tell the controller the node's Extra.\n"
    "   -F[feature]                Start as a node of State=FUTURE, one with the feature.\n"
    "   -f <file>                  Read the configuration from the file.\n"
    "   -G                         Print the generic resources of the node and exit.\n"
    "   -h                         Print this help and exit.\n"
    "   --instance-id <text>       Tell the controller the node's InstanceId.\n"
    "   --instance-type <text>     Tell the controller the node's InstanceType.\n"
    "   -L <file>                  Log to the file.\n"
    "   -M                         Keep the daemon's memory from being swapped out.\n"
    "   -n <value>                 Run at this nice value.\n"
    "   -N <name>                  Run as this node.\n"
    "   --parameters <list>        SlurmdParameters of this node; they count before the others.\n"
    "   -s                         Work in the folder of the log, as always.\n"
    "   --systemd                  As -D: readiness is told through NOTIFY_SOCKET.\n"
    "   -v                         Log more; repeat for even more.\n"
    "   -V                         Print the version and exit.\n"
    "   -Z                         Start as a dynamic node, which the controller makes.\n";

enum {
    OPT_CONF = 256,
    OPT_CA,
    OPT_CONF_SERVER,
    OPT_EXTRA,
    OPT_INSTANCE_ID,
    OPT_INSTANCE_TYPE,
    OPT_PARAMETERS
};

static const struct option longs[] = {
    { "check", no_argument, NULL, DAEMON_OPT_CHECK },
    { "conf", required_argument, NULL, OPT_CONF },
    { "ca-cert-file", required_argument, NULL, OPT_CA },
    { "conf-server", required_argument, NULL, OPT_CONF_SERVER },
    { "extra", required_argument, NULL, OPT_EXTRA },
    { "instance-id", required_argument, NULL, OPT_INSTANCE_ID },
    { "instance-type", required_argument, NULL, OPT_INSTANCE_TYPE },
    { "parameters", required_argument, NULL, OPT_PARAMETERS },
    { "systemd", no_argument, NULL, 'D' },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'V' },
    { NULL, 0, NULL, 0 },
};

static enum daemon_taken refuse_with(const char *what)
{
    (void)fprintf(stderr, "slurmd: error: %s\n", what);
    return DAEMON_REFUSE;
}

static enum daemon_taken set_nice(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end || value < -20 || value > 19)
        return refuse_with("-n wants a nice value from -20 to 19");
    if (setpriority(PRIO_PROCESS, 0, (int)value) < 0)
        return refuse_with("-n: the nice value cannot be set");
    return DAEMON_GO_ON;
}

static enum daemon_taken take_text(const char **to, const char *name, const char *text)
{
    if (!safetext_is_line(text)) {
        (void)fprintf(stderr, "slurmd: error: %s must not have control characters\n", name);
        return DAEMON_REFUSE;
    }
    *to = text;
    return DAEMON_GO_ON;
}

static enum daemon_taken take_option(void *ctx, int c, const char *arg)
{
    struct noded_options *opt = ctx;

    switch (c) {
    case 'b':
        opt->report_boot = true;
        return DAEMON_GO_ON;
    case 's':
        return DAEMON_GO_ON; /* it always works in the folder of its log */
    case 'd':
        opt->stepd = arg;
        return DAEMON_GO_ON;
    case 'c':
        opt->clean_start = true;
        return DAEMON_GO_ON;
    case 'C':
    case 'G':
        opt->print = (char)c;
        return DAEMON_GO_ON;
    case 'M':
        opt->lock_memory = true;
        return DAEMON_GO_ON;
    case 'N':
        opt->node_name = arg;
        return DAEMON_GO_ON;
    case 'n':
        return set_nice(arg);
    case OPT_EXTRA:
        return take_text(&opt->extra, "--extra", arg);
    case OPT_INSTANCE_ID:
        return take_text(&opt->instance_id, "--instance-id", arg);
    case OPT_INSTANCE_TYPE:
        return take_text(&opt->instance_type, "--instance-type", arg);
    case OPT_PARAMETERS:
        opt->parameters = arg;
        return DAEMON_GO_ON;
    case OPT_CONF:
        return take_text(&opt->node_conf, "--conf", arg);
    case 'F':
        opt->future = true;
        opt->feature = arg && *arg ? arg : NULL;
        return DAEMON_GO_ON;
    case 'Z':
        opt->dynamic = true;
        return DAEMON_GO_ON;
    case OPT_CONF_SERVER:
        opt->conf_server = arg;
        return DAEMON_GO_ON;
    case OPT_CA:
        opt->ca_file = arg;
        return DAEMON_GO_ON;
    default:
        return DAEMON_SHARED;
    }
}

/* -Z and -F exclude each other; --conf describes a node that is dynamic. */
static bool agree_options(const struct noded_options *opt)
{
    struct err err = { .text = "" };

    if (opt->dynamic && opt->future)
        err_set(&err, -EINVAL, "-Z and -F exclude each other");
    else if (opt->node_conf && !opt->dynamic)
        (void)selfline_check_static(opt->node_conf, &err); /* the text says it */
    if (err.text[0])
        (void)refuse_with(err.text);
    return !err.text[0];
}

static const struct daemon_head head = {
    .name = "slurmd",
    .usage = usage,
    .shorts = "bcCd:Df:F::GhL:Mn:N:svVZ",
    .longs = longs,
    .unexpected = "slurmd: error: Unexpected argument: ",
    .take_own = take_option,
};

int main(int argc, char **argv)
{
    struct noded_options opt = { .print = '\0' };
    int r;

    inherit_begin(3);
    r = daemon_parse_options(&head, argc, argv, &opt.common, &opt);
    if (r >= 0)
        return r;
    if (!agree_options(&opt))
        return 1;
    if (opt.common.check)
        return daemon_check_conf(opt.common.conf_path, NULL);
    return opt.print ? noded_print(&opt, opt.print == 'G') : noded_run(&head, &opt);
}
