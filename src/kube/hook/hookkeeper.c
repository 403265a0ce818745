/* hookkeeper.c - see hookkeeper.h
 *
 * Each round reads the Secret, and mends what is to be mended; what was written is read again, so
 * that of two replicas which make a pair at once the server's choice counts. */
#include "kube/hook/hookkeeper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/owntext.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/hook/hookcert.h"
#include "kube/make/mkbase.h"

#define ROUND_US (60 * USEC_PER_SEC)
#define AGAIN_US (2 * USEC_PER_SEC)
#define KINDS 2u

static const struct kubekind secrets = { "", "v1", "secrets", "Secret", true };
static const struct kubekind kinds[KINDS] = {
    { "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
      "ValidatingWebhookConfiguration", false },
    { "admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
      "MutatingWebhookConfiguration", false },
};

struct hookkeeper {
    struct kubeserver *s;
    struct hookkeeper_options o;
    struct kubetimer timer;
    char dns[300];
    char *cert, *key, *bundle; /* as the Secret has them; bundle: base64 of ca.crt */
    char *used;                /* the certificate of connections; NULL: none yet */
    unsigned kind;             /* whose configuration is looked at */
    bool same;                 /* it had the bundle already */
};

static void look_again(struct hookkeeper *k, int64_t after_us)
{
    kubeloop_arm(kubeserver_loop(k->s), &k->timer, now_mono_us() + after_us);
}

static struct kubeapi_target target_of(const struct hookkeeper *k)
{
    return (struct kubeapi_target){ &secrets, k->o.namespace_, k->o.secret, NULL };
}

static void forget_pair(struct hookkeeper *k)
{
    wipe_text(&k->key);
    free(k->cert);
    free(k->bundle);
    k->cert = k->bundle = NULL;
}

/* ---- the configurations ---------------------------------------------------------------------- */

static void use_pair(struct hookkeeper *k)
{
    if (k->used && strcmp(k->used, k->cert) == 0)
        return;
    free(k->used);
    k->used = strdup(k->cert);
    k->o.use(k->o.ctx, k->cert, k->key);
    log_info("the certificate of %s is in use", k->dns);
}

/* Never the cluster's own pods, nor those of the webhook itself, which then could not begin. */
static json_t *make_selector(const struct hookkeeper *k)
{
    json_t *selector = json_deep_copy(k->o.selector), *rules;
    json_t *rule = json_pack("{s:s, s:s, s:[s, s]}", "key", "kubernetes.io/metadata.name",
                             "operator", "NotIn", "values", "kube-system", k->o.namespace_);

    rules = json_object_get(selector, "matchExpressions");
    if (json_is_array(rules)
            ? json_array_append_new(rules, rule) == 0
            : json_object_set_new(selector, "matchExpressions", json_pack("[o]", rule)) == 0)
        return selector;
    json_decref(selector);
    return NULL;
}

static int edit_selector(struct hookkeeper *k, json_t *hook)
{
    json_t *want, *have = json_object_get(hook, "namespaceSelector");

    if (!k->o.selector || strcmp(kubejson_text(hook, "clientConfig.service.path"), k->o.path) != 0)
        return 0;
    want = make_selector(k);
    if (have && want && json_equal(have, want)) {
        json_decref(want);
        return 0;
    }
    k->same = false;
    return json_object_set_new(hook, "namespaceSelector", want) < 0 ? -ENOMEM : 0;
}

static int edit_bundle(void *ctx, json_t *object)
{
    struct hookkeeper *k = ctx;
    size_t i;
    json_t *hook;

    k->same = true;
    json_array_foreach(json_object_get(object, "webhooks"), i, hook)
    {
        json_t *client = json_object_get(hook, "clientConfig");

        if (strcmp(kubejson_text(client, "service.name"), k->o.service) != 0 ||
            strcmp(kubejson_text(client, "service.namespace"), k->o.namespace_) != 0)
            continue;
        if (edit_selector(k, hook) < 0)
            return -ENOMEM;
        if (strcmp(kubejson_text(client, "caBundle"), k->bundle) == 0)
            continue;
        k->same = false;
        if (json_object_set_new(client, "caBundle", json_string(k->bundle)) < 0)
            return -ENOMEM;
    }
    return k->same ? -EALREADY : 0;
}

static void look_at_kind(struct hookkeeper *k);

static void take_configuration(void *ctx, const struct kubereply *reply)
{
    struct hookkeeper *k = ctx;
    bool done = (reply->status >= 200 && reply->status < 300) || reply->status == 404 ||
                (reply->status == 0 && k->same);

    if (!done) {
        log_seldom(LOG_ERROR, "%s %s: the certificate cannot be told: %d %s", kinds[k->kind].kind,
                   k->o.configuration, reply->status, reply->text);
        look_again(k, AGAIN_US);
        return;
    }
    k->kind++;
    look_at_kind(k);
}

static void look_at_kind(struct hookkeeper *k)
{
    struct kubeapi_target t = { NULL, NULL, k->o.configuration, NULL };

    if (k->kind == KINDS) {
        use_pair(k);
        look_again(k, ROUND_US);
        return;
    }
    t.kind = &kinds[k->kind];
    k->same = false;
    if (kubeapi_change(k->s, &t, edit_bundle, take_configuration, k) < 0)
        look_again(k, AGAIN_US);
}

/* ---- the Secret ------------------------------------------------------------------------------ */

static char *read_data(const json_t *secret, const char *key)
{
    const json_t *data = json_object_get(secret, "data");
    const char *text = json_string_value(json_object_get(data, key));
    char *value = NULL;
    size_t len;

    if (!text || kubeconfig_base64(text, &value, &len) < 0)
        return NULL;
    if (strlen(value) != len)
        wipe_text(&value); /* no PEM */
    return value;
}

static void take_written(void *ctx, const struct kubereply *reply)
{
    struct hookkeeper *k = ctx;
    bool done = (reply->status >= 200 && reply->status < 300) || reply->status == 409;

    if (!done)
        log_seldom(LOG_ERROR, "Secret %s/%s cannot be written: %d %s", k->o.namespace_, k->o.secret,
                   reply->status, reply->text);
    look_again(k, done ? 0 : AGAIN_US);
}

/* A new pair, and ca.crt that names the certificate before it too. */
static int make_data(struct hookkeeper *k, const char *earlier, json_t **ret)
{
    _cleanup_free_ char *cert = NULL, *both = NULL;
    struct err err = { .text = "" };
    char *key = NULL;
    int r = hookcert_make(k->dns, k->o.life_s, &cert, &key, &err);

    if (r < 0) {
        log_error("%s", err.text);
        return r;
    }
    if (asprintf(&both, "%s%s", cert, earlier ? earlier : "") < 0)
        both = NULL;
    *ret = both ? json_pack("{s:o, s:o, s:o}", "tls.crt", mkbase_base64(cert, strlen(cert)),
                            "tls.key", mkbase_base64(key, strlen(key)), "ca.crt",
                            mkbase_base64(both, strlen(both)))
                : NULL;
    wipe_text(&key);
    return *ret ? 0 : -ENOMEM;
}

/* have NULL: there is no such Secret. */
static void write_pair(struct hookkeeper *k, const json_t *have, const char *earlier)
{
    struct kubeapi_target t = target_of(k);
    _cleanup_json_ json_t *object = have ? json_deep_copy(have) : NULL;
    json_t *data = NULL;
    int r = make_data(k, earlier, &data);

    if (!have)
        object = json_pack("{s:s, s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", "Secret",
                           "type", "kubernetes.io/tls", "metadata", "name", k->o.secret,
                           "namespace", k->o.namespace_);
    if (r == 0)
        r = json_object_set_new(object, "data", data) < 0 ? -ENOMEM : 0;
    if (r == 0 && have) {
        r = kubeapi_replace(k->s, &t, object, take_written, k);
    } else if (r == 0) {
        t.name = NULL;
        r = kubeapi_create(k->s, &t, object, take_written, k);
    }
    if (r < 0)
        look_again(k, AGAIN_US);
}

/* Does ca.crt name the certificate?  What somebody else put there would be told without end. */
static bool is_believed(const struct hookkeeper *k)
{
    _cleanup_free_ char *pem = NULL;
    size_t len;

    return kubeconfig_base64(k->bundle, &pem, &len) == 0 && strlen(pem) == len &&
           strstr(pem, k->cert);
}

/* Is the pair good for a while?  left_s: of its life. */
static bool is_fresh(const struct hookkeeper *k, int64_t *left_s)
{
    int64_t life_s;
    bool fits;

    *left_s = 0;
    return k->cert && k->key && k->bundle &&
           hookcert_read(k->cert, k->dns, now_us() / USEC_PER_SEC, left_s, &life_s, &fits) == 0 &&
           fits && *left_s > life_s / 3 && is_believed(k);
}

static void take_secret(void *ctx, const struct kubereply *reply)
{
    struct hookkeeper *k = ctx;
    const json_t *data = json_object_get(reply->body, "data");
    const char *bundle = json_string_value(json_object_get(data, "ca.crt"));
    int64_t left_s;

    if (reply->status == 404) {
        write_pair(k, NULL, NULL);
        return;
    }
    if (reply->status != 200) {
        log_seldom(LOG_ERROR, "Secret %s/%s cannot be read: %d %s", k->o.namespace_, k->o.secret,
                   reply->status, reply->text);
        look_again(k, AGAIN_US);
        return;
    }
    forget_pair(k);
    k->cert = read_data(reply->body, "tls.crt");
    k->key = read_data(reply->body, "tls.key");
    k->bundle = bundle ? strdup(bundle) : NULL;
    if (!is_fresh(k, &left_s)) {
        log_info("the certificate of %s is made anew", k->dns);
        write_pair(k, reply->body, left_s > 0 ? k->cert : NULL);
        return;
    }
    if (!k->used)
        use_pair(k); /* nobody is believed less for it */
    k->kind = 0;
    look_at_kind(k);
}

static void read_secret(void *ctx)
{
    struct hookkeeper *k = ctx;
    struct kubeapi_target t = target_of(k);

    if (kubeapi_get(k->s, &t, take_secret, k) < 0)
        look_again(k, AGAIN_US);
}

int hookkeeper_new(struct kubeserver *s, const struct hookkeeper_options *o,
                   struct hookkeeper **ret)
{
    struct hookkeeper *k = calloc(1, sizeof(*k));

    if (!k)
        return -ENOMEM;
    k->s = s;
    k->o = *o;
    k->o.life_s = o->life_s ? o->life_s : HOOKCERT_LIFE_S;
    (void)snprintf(k->dns, sizeof(k->dns), "%s.%s.svc", o->service, o->namespace_);
    k->timer = (struct kubetimer){ .fn = read_secret, .ctx = k };
    look_again(k, 0);
    *ret = k;
    return 0;
}

struct hookkeeper *hookkeeper_free(struct hookkeeper *k)
{
    if (!k)
        return NULL;
    forget_pair(k);
    free(k->used);
    free(k);
    return NULL;
}
