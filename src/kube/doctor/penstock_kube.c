/* penstock_kube.c - penstock-kube: what `penstock kube` runs, since libcurl is linked here alone
 *
 * One thread. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/process/inherit.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubeprogram.h"
#include "kube/doctor/doctor.h"
#include "version.h"

#define USAGE 2

struct program {
    struct kubeprogram k;
    struct doctor d;
    struct doctorreport report;
    bool json;
};

static const char usage[] =
    "Usage: penstock kube doctor [OPTIONS]\n"
    "  -k, --kubeconfig=FILE  of the API server; without it KUBECONFIG, then what a pod has\n"
    "      --context=NAME     of the kubeconfig\n"
    "  -n, --namespace=NAME   look at the objects of this namespace alone\n"
    "      --operator-namespace=NAME\n"
    "                         where the operator and its service account are (penstock-operator)\n"
    "      --service-account=NAME\n"
    "                         of the operator (penstock-operator)\n"
    "      --json             one JSON object instead of lines\n"
    "  -V, --version\n"
    "  -h, --help\n"
    "Exit status: 0 nothing fails, 1 something does, 2 the command line is wrong.\n";

static int refuse_name(const char *option, const char *name)
{
    if (kubejson_name_is_good(name))
        return -1;
    (void)fprintf(stderr,
                  "penstock kube: %s: '%.60s' is no name of Kubernetes: a-z, 0-9, '-', '.'\n",
                  option, name);
    return USAGE;
}

static int read_options(struct program *p, int argc, char **argv)
{
    static const struct option longs[] = {
        { "kubeconfig", required_argument, NULL, 'k' },
        { "context", required_argument, NULL, 'c' },
        { "namespace", required_argument, NULL, 'n' },
        { "operator-namespace", required_argument, NULL, 'o' },
        { "service-account", required_argument, NULL, 'a' },
        { "json", no_argument, NULL, 'j' },
        { "version", no_argument, NULL, 'V' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int c, r = -1;

    while (r < 0 && (c = getopt_long(argc, argv, "k:n:Vh", longs, NULL)) >= 0)
        switch (c) {
        case 'k':
            p->k.kubeconfig = optarg;
            break;
        case 'c':
            p->k.context = optarg;
            break;
        case 'n':
            p->d.namespace_ = optarg;
            r = refuse_name("--namespace", optarg);
            break;
        case 'o':
            p->d.operator_namespace = optarg;
            r = refuse_name("--operator-namespace", optarg);
            break;
        case 'a':
            p->d.account = optarg;
            r = refuse_name("--service-account", optarg);
            break;
        case 'j':
            p->json = true;
            break;
        case 'V':
            (void)printf("penstock-kube %s\n", PENSTOCK_VERSION);
            return 0;
        case 'h':
            (void)fputs(usage, stdout);
            return 0;
        default:
            (void)fputs(usage, stderr);
            return USAGE;
        }
    return r;
}

static int run_doctor(struct program *p, struct err *err)
{
    const struct kubeserver_options o = { .program = "penstock-kube/" PENSTOCK_VERSION };
    int r = kubeprogram_load(&p->k, err);

    if (r < 0)
        return r;
    if (doctorreport_init(&p->report) < 0 || kubeloop_new(&p->d.ask.loop) < 0 ||
        kubeserver_new(p->d.ask.loop, &p->k.config, &o, &p->d.ask.server) < 0)
        return err_nomem(err);
    p->d.report = &p->report;
    doctor_run(&p->d);
    doctorreport_write(&p->report, p->json, stdout);
    return 0;
}

static void end_program(struct program *p)
{
    p->d.ask.server = kubeserver_free(p->d.ask.server);
    p->d.ask.loop = kubeloop_free(p->d.ask.loop);
    kubeconfig_done(&p->k.config);
    doctorreport_done(&p->report);
}

int main(int argc, char **argv)
{
    struct program p = { .k = { .signals = -1 },
                         .d = { .operator_namespace = "penstock-operator",
                                .account = "penstock-operator" } };
    struct err err = { .text = "" };
    int r, status;

    inherit_begin(3);
    r = read_options(&p, argc, argv);
    if (r >= 0)
        return r;
    if (optind != argc - 1 || strcmp(argv[optind], "doctor") != 0) {
        (void)fprintf(stderr,
                      optind == argc ? "penstock kube: a command is wanted: doctor\n%s"
                                     : "penstock kube: 'doctor' is the only command\n%s",
                      usage);
        return USAGE;
    }
    (void)log_open("penstock-kube", NULL, LOG_ERROR, false); /* standard error is always there */
    (void)curl_global_init(CURL_GLOBAL_DEFAULT); /* what fails says so at the first request */
    r = run_doctor(&p, &err);
    if (r < 0)
        (void)fprintf(stderr, "penstock kube: %s\n", err.text);
    status = r < 0 ? 1 : doctorreport_status(&p.report);
    end_program(&p);
    curl_global_cleanup();
    if (fflush(stdout) != 0)
        return 1;
    return status;
}
