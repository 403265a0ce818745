/* penstock_webhook.c - penstock-webhook: admission of the operator's kinds and the bridge's pods
 *
 * The loop's thread keeps the certificate; a thread has the connections (hooktls.h), another one
 * HTTP (hookhttp.h).  The judgements are pure, and share nothing that changes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/process/inherit.h"
#include "base/readfile.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubeoptions.h"
#include "kube/hook/hookhttp.h"
#include "kube/hook/hookkeeper.h"
#include "kube/hook/hooktls.h"
#include "kube/hook/ophook.h"
#include "kube/hook/podhook.h"
#include "version.h"

#define MUTATE_PATH "/mutate--v1-pod"
#define FILE_MAX (256u << 10)
#define FILES_US (10 * USEC_PER_SEC)

struct program {
    struct kubeprogram k;
    struct hookkeeper_options keep;
    struct hookkeeper *keeper;
    struct hooktls *tls;
    struct hookhttp *http;
    struct bridgeconf bridge; /* scheduler NULL: pods are not looked at */
    struct kubetimer files;
    const char *listen, *cert_file, *key_file, *conf_path;
    char *shown; /* the certificate of the files that is in use */
};

static const char usage[] =
    "Usage: penstock-webhook [OPTIONS]\n"
    "  -k, --kubeconfig=FILE  of the API server; without it KUBECONFIG, then what a pod has\n"
    "      --context=NAME     of the kubeconfig\n"
    "      --listen=[HOST:]PORT (9443)\n"
    "      --cert-file=FILE --key-file=FILE\n"
    "                         PEM, read again when they change; without them a pair is made\n"
    "  -n, --namespace=NAME   of the Secret and the Service (penstock-operator)\n"
    "      --secret=NAME      of the pair that is made (penstock-webhook-tls)\n"
    "      --service=NAME     whose webhooks are told the certificate (penstock-webhook)\n"
    "      --configuration=NAME\n"
    "                         of the two webhook configurations (penstock-webhook)\n"
    "  -f, --bridge-config=FILE\n"
    "                         of penstock-bridge: its pods are looked at too\n"
    "  -v, --verbose          say more; twice: still more\n"
    "  -V, --version\n"
    "  -h, --help\n";

static int check_options(const struct program *p)
{
    const struct {
        const char *option, *name;
    } names[] = { { "namespace", p->keep.namespace_ },
                  { "secret", p->keep.secret },
                  { "service", p->keep.service },
                  { "configuration", p->keep.configuration } };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (!kubeoptions_check_name(&p->k, names[i].option, names[i].name))
            return KUBEOPTIONS_WRONG;
    if (!p->cert_file != !p->key_file) {
        (void)fprintf(stderr, "penstock-webhook: --cert-file and --key-file: both, or none\n");
        return KUBEOPTIONS_WRONG;
    }
    return -1;
}

static int read_options(struct program *p, int argc, char **argv)
{
    const struct kubeoption own[] = {
        { "listen", '\0', &p->listen, NULL },
        { "cert-file", '\0', &p->cert_file, NULL },
        { "key-file", '\0', &p->key_file, NULL },
        { "namespace", 'n', &p->keep.namespace_, NULL },
        { "secret", '\0', &p->keep.secret, NULL },
        { "service", '\0', &p->keep.service, NULL },
        { "configuration", '\0', &p->keep.configuration, NULL },
        { "bridge-config", 'f', &p->conf_path, NULL },
    };
    int r = kubeoptions_read(&p->k, usage, own, ARRAY_SIZE(own), false, LOG_INFO, argc, argv);

    return r < 0 ? check_options(p) : r;
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool path_begins(const char *path, const char *with)
{
    return strncmp(path, with, strlen(with)) == 0;
}

/* false: there is no such path. */
static bool judge_path(const struct program *p, const char *path, const struct hookreview *r,
                       struct hookanswer *a)
{
    if (path_begins(path, "/validate-operator-penstock-v1beta1-") ||
        path_begins(path, "/validate-slinky-slurm-net-v1beta1-"))
        ophook_judge(r, a);
    else if (p->bridge.scheduler && strcmp(path, MUTATE_PATH) == 0)
        podhook_change(&p->bridge, r, a);
    else if (p->bridge.scheduler && strcmp(path, "/validate--v1-pod") == 0)
        podhook_judge(&p->bridge, r, a);
    else
        return false;
    return true;
}

static unsigned answer_review(void *ctx, const char *path, const char *body, size_t len,
                              json_t **ret, struct err *err)
{
    const struct program *p = ctx;
    _cleanup_val_(hookreview_done) struct hookreview r = { 0 };
    struct hookanswer a = { 0 };

    if (hookreview_read(body, len, &r, err) < 0)
        return 400;
    if (!judge_path(p, path, &r, &a)) {
        (void)err_set(err, -ENOENT, "no such webhook");
        return 404;
    }
    if (a.refused)
        log_info("%.20s of %.60s/%.260s by %.100s is refused: %s", r.operation,
                 kubejson_text(r.object, "kind"), kubejson_name(r.object), r.user, a.text);
    *ret = hookanswer_make(&a, &r);
    return *ret ? 200 : 503;
}

/* ---- the certificate ------------------------------------------------------------------------- */

static void use_pair(void *ctx, const char *cert_pem, const char *key_pem)
{
    struct program *p = ctx;
    struct err err = { .text = "" };

    if (hooktls_set(p->tls, cert_pem, key_pem, &err) < 0)
        log_error("%s", err.text);
}

static int read_pair(struct program *p, struct err *err)
{
    _cleanup_free_ char *cert = NULL;
    char *key = NULL;
    size_t n, m = 0;
    int r = readfile(p->cert_file, FILE_MAX, &cert, &n);

    if (r < 0)
        return err_set(err, r, "%.200s: %s", p->cert_file, strerror(-r));
    if (p->shown && strcmp(p->shown, cert) == 0)
        return 0;
    r = readfile(p->key_file, FILE_MAX, &key, &m);
    if (r < 0)
        return err_set(err, r, "%.200s: %s", p->key_file, strerror(-r));
    r = hooktls_set(p->tls, cert, key, err);
    explicit_bzero(key, m);
    free(key);
    if (r < 0)
        return r;
    free(p->shown);
    p->shown = TAKE_PTR(cert);
    log_info("the certificate of %s is in use", p->cert_file);
    return 0;
}

/* The files change when they are renewed, one after the other: what does not fit yet does later. */
static void look_at_files(void *ctx)
{
    struct program *p = ctx;
    struct err err = { .text = "" };

    if (read_pair(p, &err) < 0)
        log_seldom(LOG_ERROR, "%s", err.text);
    kubeloop_arm(p->k.loop, &p->files, now_mono_us() + FILES_US);
}

static void begin_keeper(void *ctx)
{
    struct program *p = ctx;

    p->k.begun = true;
    if (p->cert_file && p->bridge.selector)
        log_info("managedNamespaceSelector: with --cert-file it has to be the namespaceSelector of "
                 "the MutatingWebhookConfiguration");
    if (p->cert_file)
        return;
    p->keep.selector = p->bridge.selector;
    p->keep.path = MUTATE_PATH;
    if (hookkeeper_new(p->k.kube, &p->keep, &p->keeper) < 0)
        kubeprogram_fail(&p->k);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static int read_bridge(struct program *p, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    size_t len;
    int r = readfile(p->conf_path, FILE_MAX, &text, &len);

    if (r < 0)
        return err_set(err, r, "%.200s: %s", p->conf_path, strerror(-r));
    r = bridgeconf_parse(text, len, &p->bridge, err);
    if (r < 0)
        err_prefix(err, "%.200s: ", p->conf_path);
    return r;
}

static int begin_port(struct program *p, struct err *err)
{
    const char *colon = strrchr(p->listen, ':');
    size_t n = colon ? (size_t)(colon - p->listen) : 0;
    bool bracketed = n > 2 && p->listen[0] == '[' && p->listen[n - 1] == ']'; /* of IPv6 */
    char host[300];
    int r;

    (void)snprintf(host, sizeof(host), "%.*s", (int)(bracketed ? n - 2 : n), p->listen + bracketed);
    if (hookhttp_new(answer_review, p, &p->http) < 0)
        return err_nomem(err);
    r = hooktls_new(host, colon ? colon + 1 : p->listen, hookhttp_take, p->http, &p->tls, err);
    if (r < 0)
        return r;
    if (p->cert_file)
        r = read_pair(p, err);
    if (r == 0)
        log_info("reviews are answered at port %u", hooktls_port(p->tls));
    return r;
}

static int begin_program(void *ctx, struct err *err)
{
    struct program *p = ctx;
    int r = p->conf_path ? read_bridge(p, err) : 0;

    if (r == 0)
        r = kubeprogram_load(&p->k, err);
    if (r == 0)
        r = kubeprogram_begin(&p->k, err);
    if (r == 0)
        r = begin_port(p, err);
    if (r == 0 && p->cert_file) {
        p->files = (struct kubetimer){ .fn = look_at_files, .ctx = p };
        kubeloop_arm(p->k.loop, &p->files, now_mono_us() + FILES_US);
    }
    return r;
}

static void end_program(void *ctx)
{
    struct program *p = ctx;

    p->tls = hooktls_free(p->tls); /* no connection comes any more */
    p->http = hookhttp_free(p->http);
    kubeprogram_hang_up(&p->k);
    p->keeper = hookkeeper_free(p->keeper);
    kubeprogram_end(&p->k);
    bridgeconf_done(&p->bridge);
    free(p->shown);
}

int main(int argc, char **argv)
{
    struct program p = { .k = { .name = "penstock-webhook",
                                .agent = "penstock-webhook/" PENSTOCK_VERSION,
                                .ask = begin_keeper,
                                .ctx = &p,
                                .signals = -1 },
                         .keep = { .namespace_ = "penstock-operator",
                                   .secret = "penstock-webhook-tls",
                                   .service = "penstock-webhook",
                                   .configuration = "penstock-webhook",
                                   .use = use_pair,
                                   .ctx = &p },
                         .listen = "9443" };
    int r;

    inherit_begin(3);
    r = read_options(&p, argc, argv);
    if (r >= 0)
        return r;
    return kubeprogram_live(&p.k, begin_program, end_program);
}
