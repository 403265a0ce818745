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
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubeoptions.h"
#include "kube/doctor/doctor.h"
#include "kube/doctor/podswait.h"
#include "version.h"

struct program {
    struct kubeprogram k;
    struct doctor d;
    struct doctorreport report;
    bool json;
    uint64_t job; /* whose pods are waited for; 0: none */
    uint64_t limit_s;
};

static const char usage[] =
    "Usage: penstock kube doctor [OPTIONS]\n"
    "       penstock kube wait-pods [OPTIONS] JOB\n"
    "wait-pods ends when no pod of the job is on a node: a program for EpilogSlurmctld.\n"
    "  -k, --kubeconfig=FILE  of the API server; without it KUBECONFIG, then what a pod has\n"
    "      --context=NAME     of the kubeconfig\n"
    "  -n, --namespace=NAME   look at the objects of this namespace alone\n"
    "      --operator-namespace=NAME\n"
    "                         where the operator and its service account are (penstock-operator)\n"
    "      --service-account=NAME\n"
    "                         of the operator (penstock-operator)\n"
    "      --json             one JSON object instead of lines\n"
    "      --limit=SECONDS    wait-pods: fail after so long (600)\n"
    "  -v, --verbose          say more on standard error\n"
    "  -V, --version\n"
    "  -h, --help\n"
    "Exit status: 0 nothing fails, 1 something does, 2 the command line is wrong.\n";

#define LIMIT_MOST_S 86400u

static int read_options(struct program *p, int argc, char **argv)
{
    const char *limit = "600";
    const struct kubeoption own[] = {
        { "namespace", 'n', &p->d.namespace_, NULL },
        { "operator-namespace", '\0', &p->d.operator_namespace, NULL },
        { "service-account", '\0', &p->d.account, NULL },
        { "json", '\0', NULL, &p->json },
        { "limit", '\0', &limit, NULL },
    };
    int r = kubeoptions_read(&p->k, usage, own, ARRAY_SIZE(own), true, LOG_ERROR, argc, argv);

    if (r >= 0)
        return r;
    for (size_t i = 0; i < 3; i++) /* those are names */
        if (*own[i].word && !kubeoptions_check_name(&p->k, own[i].name, *own[i].word))
            return KUBEOPTIONS_WRONG;
    if (parse_u64(limit, 1, LIMIT_MOST_S, &p->limit_s) < 0) {
        (void)fprintf(stderr, "penstock kube: --limit: '%.40s' is no number of 1 to %u\n", limit,
                      LIMIT_MOST_S);
        return KUBEOPTIONS_WRONG;
    }
    if (optind == argc - 1 && strcmp(argv[optind], "doctor") == 0)
        return r;
    if (optind == argc - 2 && strcmp(argv[optind], "wait-pods") == 0 &&
        parse_u64(argv[optind + 1], 1, UINT32_MAX, &p->job) == 0)
        return r;
    (void)fprintf(stderr, "penstock kube: %s\n%s",
                  optind == argc ? "a command is wanted: doctor, wait-pods JOB"
                                 : "the commands are doctor, and wait-pods with a job's number",
                  usage);
    return KUBEOPTIONS_WRONG;
}

static int wait_pods(struct program *p, struct err *err)
{
    int r = podswait_run(&p->d.ask, (uint32_t)p->job, (int64_t)p->limit_s * USEC_PER_SEC);

    return r < 0 ? err_set(err, r, "wait-pods: pods of job %u are there yet, or nobody answers",
                           (unsigned)p->job)
                 : 0;
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
    if (p->job)
        return wait_pods(p, err);
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
    struct program p = { .k = { .name = "penstock-kube", .signals = -1 },
                         .d = { .operator_namespace = "penstock-operator",
                                .account = "penstock-operator" } };
    struct err err = { .text = "" };
    int r, status;

    inherit_begin(3);
    r = read_options(&p, argc, argv);
    if (r >= 0)
        return r;
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
