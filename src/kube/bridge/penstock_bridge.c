/* penstock_bridge.c - penstock-bridge: pods of Kubernetes, placed by the cluster's scheduler
 *
 * One thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/process/inherit.h"
#include "base/readfile.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubeoptions.h"
#include "kube/bridge/bridge.h"
#include "kube/bridge/bridgeconf.h"
#include "kube/bridge/bridgekinds.h"
#include "version.h"

#define CONF_MAX (64u << 10)
#define TOKEN_FILE "/var/run/secrets/slurm/auth-token"

#define KINDS 5u
#define QPS_MOST 100000

struct program {
    struct kubeprogram k;
    const char *conf_path;
    struct bridgeconf conf;
    struct kubeconfig slurm_config;
    struct kubeserver *slurm;
    struct bridge *bridge;
    bool served[KINDS]; /* kinds that the API server knows */
    struct kind_asked {
        struct program *p;
        unsigned at;
    } kinds[KINDS];
    unsigned asked;  /* about so many just now */
    bool unanswered; /* about one */
};

static const char usage[] =
    "Usage: penstock-bridge [OPTIONS]\n"
    "  -f, --config=FILE      schedulerName, slurmRestApi, partition, mcsLabel\n"
    "                         (/etc/slurm-bridge/config.yaml)\n"
    "  -k, --kubeconfig=FILE  of the API server; without it KUBECONFIG, then what a pod has\n"
    "      --context=NAME     of the kubeconfig\n"
    "      --kube-api-qps=N   requests a second to the API server (2000)\n"
    "  -l, --lease=NAMESPACE  act only while the lease penstock-bridge there is held\n"
    "  -v, --verbose          say more; twice: still more\n"
    "  -V, --version\n"
    "  -h, --help\n"
    "SLURM_JWT_FILE names the file of the token for slurmrestd.\n";

static int read_options(struct program *p, int argc, char **argv)
{
    const char *rate = NULL;
    const struct kubeoption own[] = {
        { "config", 'f', &p->conf_path, NULL },
        { "kube-api-qps", '\0', &rate, NULL },
        { "lease", 'l', &p->k.lease_namespace, NULL },
    };
    uint64_t qps = 0;
    int r = kubeoptions_read(&p->k, usage, own, ARRAY_SIZE(own), false, LOG_INFO, argc, argv);

    if (r >= 0 || !rate)
        return r;
    if (parse_u64(rate, 1, QPS_MOST, &qps) < 0) {
        (void)fprintf(stderr, "penstock-bridge: --kube-api-qps: '%.40s' is no number of 1 to %d\n",
                      rate, QPS_MOST);
        return KUBEOPTIONS_WRONG;
    }
    p->k.qps = (unsigned)qps;
    return r;
}

static int read_files(struct program *p, struct err *err)
{
    const char *token = getenv("SLURM_JWT_FILE");
    _cleanup_free_ char *text = NULL;
    size_t len;
    int r = readfile(p->conf_path, CONF_MAX, &text, &len);

    if (r < 0)
        return err_set(err, r, "%.200s: %s", p->conf_path, strerror(-r));
    r = bridgeconf_parse(text, len, &p->conf, err);
    if (r < 0) {
        err_prefix(err, "%.200s: ", p->conf_path);
        return r;
    }
    p->slurm_config.server = strdup(p->conf.rest);
    p->slurm_config.token_file = strdup(token && *token ? token : TOKEN_FILE);
    if (!p->slurm_config.server || !p->slurm_config.token_file)
        return err_nomem(err);
    return kubeprogram_load(&p->k, err);
}

/* ---- the way to the bridge ------------------------------------------------------------------- */

static void begin_bridge(struct program *p)
{
    const struct bridge_options o = {
        .name = p->conf.name,
        .scheduler = p->conf.scheduler,
        .partition = p->conf.partition,
        .mcs = p->conf.mcs,
        .identities = p->conf.identities,
        .classes = p->conf.classes,
        .rules = p->conf.rules,
        .taint = p->conf.taint,
        .wait_us = p->conf.wait_s * USEC_PER_SEC,
        .groups = p->served[0],
        .native = p->served[1],
        .jobsets = p->served[2],
        .devices = p->served[3],
        .workloads = p->served[4],
    };

    if (bridge_new(p->k.kube, p->slurm, &o, &p->bridge) < 0) {
        log_error("%s", ERR_NOMEM);
        kubeprogram_fail(&p->k);
        return;
    }
    p->k.begun = true;
    log_info("pods of scheduler %s are placed by %s", p->conf.scheduler, p->conf.rest);
}

static const struct kubekind *const optional[KINDS] = { &bridge_groups, &bridge_native,
                                                        &bridge_jobsets, &bridge_slices,
                                                        &bridge_workloads };

static void take_kind(void *ctx, const struct kubereply *reply)
{
    struct kind_asked *k = ctx;
    struct program *p = k->p;

    if (reply->status != 200 && reply->status != 404) {
        log_seldom(LOG_ERROR, "the API server: %d %s", reply->status, reply->text);
        p->unanswered = true;
    }
    p->served[k->at] = reply->status == 200 && kubeapi_serves(reply->body, optional[k->at]);
    if (--p->asked > 0)
        return;
    if (p->unanswered)
        kubeprogram_again(&p->k, USEC_PER_SEC);
    else
        begin_bridge(p);
}

/* Which kinds does the server know?  Only its answer counts. */
static void ask_kinds(void *ctx)
{
    struct program *p = ctx;

    p->unanswered = false;
    for (unsigned i = 0; i < KINDS; i++) {
        p->kinds[i] = (struct kind_asked){ p, i };
        if (kubeapi_discover(p->k.kube, optional[i]->group, optional[i]->version, take_kind,
                             &p->kinds[i]) == 0)
            p->asked++;
        else
            p->unanswered = true;
    }
    if (!p->asked)
        kubeprogram_again(&p->k, USEC_PER_SEC);
}

static int begin_program(void *ctx, struct err *err)
{
    struct program *p = ctx;
    const struct kubeserver_options slurm = { p->k.agent, "X-SLURM-USER-TOKEN", 0, 0, 16 };
    int r = read_files(p, err);

    if (r == 0)
        r = kubeprogram_begin(&p->k, err);

    if (r == 0 && kubeserver_new(p->k.loop, &p->slurm_config, &slurm, &p->slurm) < 0)
        return err_nomem(err);
    p->k.beside = p->slurm;
    return r;
}

static void end_program(void *ctx)
{
    struct program *p = ctx;

    if (p->bridge)
        bridge_stop(p->bridge);
    kubeprogram_hang_up(&p->k);
    p->slurm = kubeserver_free(p->slurm);
    p->bridge = bridge_free(p->bridge);
    kubeprogram_end(&p->k);
    kubeconfig_done(&p->slurm_config);
    bridgeconf_done(&p->conf);
}

int main(int argc, char **argv)
{
    struct program p = { .k = { .name = "penstock-bridge",
                                .agent = "penstock-bridge/" PENSTOCK_VERSION,
                                .ask = ask_kinds,
                                .ctx = &p,
                                .signals = -1,
                                .qps = 2000 },
                         .conf_path = "/etc/slurm-bridge/config.yaml" };
    int r;

    inherit_begin(3);
    r = read_options(&p, argc, argv);
    if (r >= 0)
        return r;
    return kubeprogram_live(&p.k, begin_program, end_program);
}
