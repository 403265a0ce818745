/* slurmd.c - slurmd's command line
 *
 * Options only; the daemon is daemon.c. */
#include <getopt.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/inherit.h"
#include "noded.h"
#include "version.h"

static void usage(FILE *f)
{
    (void)fputs(
        "Usage: slurmd [OPTIONS]\n"
        "   -b                         Report node rebooted when daemon restarted.\n"
        "   -c                         Force cleanup of slurmd's spool directory.\n"
        "   -C                         Print the hardware configuration of this machine and exit.\n"
        "   --conf \"K=V ...\"           Configure a dynamic node (not supported).\n"
        "   -D                         Run in the foreground.\n"
        "   -f <file>                  Read the configuration from the file.\n"
        "   -G                         Print the generic resources of the node and exit.\n"
        "   -h                         Print this help and exit.\n"
        "   -L <file>                  Log to the file.\n"
        "   -n <value>                 Run at this nice value.\n"
        "   -N <name>                  Run as this node.\n"
        "   -s                         Change nothing else; kept for existing start scripts.\n"
        "   --systemd                  As -D: readiness is told through NOTIFY_SOCKET.\n"
        "   -v                         Log more; repeat for even more.\n"
        "   -V                         Print the version and exit.\n"
        "   -Z                         Start as a dynamic node (not supported).\n",
        f);
}

enum { OPT_CONF = 256, OPT_CA, OPT_CONF_SERVER, OPT_EXTRA, OPT_INSTANCE, OPT_PARAMETERS };

static const struct option long_options[] = {
    { "conf", required_argument, NULL, OPT_CONF },
    { "ca-cert-file", required_argument, NULL, OPT_CA },
    { "conf-server", required_argument, NULL, OPT_CONF_SERVER },
    { "extra", required_argument, NULL, OPT_EXTRA },
    { "instance-id", required_argument, NULL, OPT_INSTANCE },
    { "instance-type", required_argument, NULL, OPT_INSTANCE },
    { "parameters", required_argument, NULL, OPT_PARAMETERS },
    { "systemd", no_argument, NULL, 'D' },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'V' },
    { NULL, 0, NULL, 0 },
};

static int refuse(const char *what)
{
    (void)fprintf(stderr, "slurmd: error: %s\n", what);
    return 1;
}

/* Options of slurmd that do not exist here, each with its sentence; 1 as refuse(). */
static int refuse_option(int c)
{
    switch (c) {
    case OPT_CA:
        return refuse(
            "--ca-cert-file is not supported: daemons know each other by the cluster key");
    case OPT_CONF_SERVER:
        return refuse("--conf-server is not supported: give the configuration file with -f");
    case OPT_EXTRA:
    case OPT_INSTANCE:
        return refuse("--extra, --instance-id and --instance-type are not supported: set them with "
                      "scontrol update NodeName=");
    case OPT_PARAMETERS:
        return refuse("--parameters is not supported: set SlurmdParameters in slurm.conf");
    case 'F':
        return refuse("-F is not supported: add a NodeName line with State=FUTURE to slurm.conf");
    case 'M':
        return refuse("-M is not supported: memory of the daemon is not locked");
    default:
        return refuse(
            "dynamic nodes (-Z, --conf) are not supported: add a NodeName line to slurm.conf");
    }
}

static int set_nice(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end || value < -20 || value > 19)
        return refuse("-n wants a nice value from -20 to 19");
    if (setpriority(PRIO_PROCESS, 0, (int)value) < 0)
        return refuse("-n: the nice value cannot be set");
    return -1;
}

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct options *opt)
{
    int c;

    while ((c = getopt_long(argc, argv, "bcCd:Df:F::GhL:Mn:N:svVZ", long_options, NULL)) >= 0) {
        switch (c) {
        case 'b':
            opt->report_boot = true;
            break;
        case 's':
        case 'd':
            break; /* the step daemon is found by itself */
        case 'c':
            opt->clean_start = true;
            break;
        case 'C':
        case 'G':
            opt->print = (char)c;
            break;
        case 'D':
            opt->foreground = true;
            break;
        case 'f':
            opt->conf_path = optarg;
            break;
        case 'h':
            usage(stdout);
            return 0;
        case 'L':
            opt->log_file = optarg;
            break;
        case 'N':
            opt->node_name = optarg;
            break;
        case 'v':
            opt->verbose++;
            break;
        case 'V':
            (void)printf("slurm %s\n", SLURM_RELEASE);
            return 0;
        case 'n':
            if (set_nice(optarg) != -1)
                return 1;
            break;
        case OPT_CONF:
        case OPT_CA:
        case OPT_CONF_SERVER:
        case OPT_EXTRA:
        case OPT_INSTANCE:
        case OPT_PARAMETERS:
        case 'F':
        case 'M':
        case 'Z':
            return refuse_option(c);
        default:
            usage(stderr);
            return 1;
        }
    }
    if (optind < argc) {
        (void)fprintf(stderr, "slurmd: error: Unexpected argument: %s\n", argv[optind]);
        return 1;
    }
    return -1;
}

int main(int argc, char **argv)
{
    struct options opt = { 0 };
    int r;

    inherit_begin(3);
    r = parse(argc, argv, &opt);
    if (r >= 0)
        return r;
    return opt.print ? noded_print(&opt, opt.print == 'G') : noded_run(&opt);
}
