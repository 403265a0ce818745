/* main.c - slurmd's command line
 *
 * Options only; the daemon is daemon.c. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "noded.h"
#include "version.h"

static void usage(FILE *f)
{
    (void)fputs(
        "Usage: slurmd [OPTIONS]\n"
        "   -b                         Report node rebooted when daemon restarted.\n"
        "   -c                         Force cleanup of slurmd's spool directory.\n"
        "   -C                         Print the hardware configuration of this machine and exit.\n"
        "   --conf \"K=V ...\"           Node configuration for dynamic nodes (with -Z).\n"
        "   -D                         Run in the foreground.\n"
        "   -f <file>                  Read the configuration from the file.\n"
        "   -h                         Print this help and exit.\n"
        "   -L <file>                  Log to the file.\n"
        "   -N <name>                  Run as this node.\n"
        "   -s                         Change nothing else; kept for existing start scripts.\n"
        "   -v                         Log more; repeat for even more.\n"
        "   -V                         Print the version and exit.\n"
        "   -Z                         Start as a dynamic node (not supported).\n",
        f);
}

enum { OPT_CONF = 256 };

static const struct option long_options[] = {
    { "conf", required_argument, NULL, OPT_CONF },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'V' },
    { NULL, 0, NULL, 0 },
};

static int refuse(const char *what)
{
    (void)fprintf(stderr, "slurmd: error: %s\n", what);
    return 1;
}

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct options *opt)
{
    int c;

    while ((c = getopt_long(argc, argv, "bcCd:Df:hL:N:svVZ", long_options, NULL)) >= 0) {
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
            return hw_print();
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
        case OPT_CONF:
        case 'Z':
            return refuse(
                "dynamic nodes (-Z, --conf) are not supported: add a NodeName line to slurm.conf");
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
    int r = parse(argc, argv, &opt);

    return r >= 0 ? r : noded_run(&opt);
}
