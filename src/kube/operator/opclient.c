/* opclient.c - a cluster's slurmrestd: where it is, and the token that the operator signs */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "kube/api/kubeconfig.h"
#include "kube/api/kubejson.h"
#include "kube/make/opconf.h"
#include "kube/operator/opclient.h"
#include "kube/operator/optoken.h"
#include "version.h"

#define TOKEN_S (15 * 60)
#define RENEW_S (12 * 60)
#define FORGET_US (60 * USEC_PER_SEC) /* what was asked is answered by then */
#define SETTLE_US INT64_C(100000)

struct opclient {
    struct operator_ *op;
    struct kubeconfig config;
    struct kubeserver *server;
    struct slurmnodes *nodes;
    char *key; /* of tokens */
    size_t key_len;
    struct kubetimer renew;
    char uid[]; /* of the Controller */
};

int opclient_read_secret(const struct mkbase_facts *f, const struct mkbase_ref *ref, char **ret,
                         size_t *ret_len)
{
    const json_t *secret = mkbase_find(f, "Secret", ref->name);
    const char *text =
        json_string_value(json_object_get(json_object_get(secret, "data"), ref->key));

    return text ? kubeconfig_base64(text, ret, ret_len) : -ENOENT;
}

static void renew_token(void *ctx)
{
    struct opclient *c = ctx;
    char *token = NULL;

    if (optoken_sign(c->key, c->key_len, c->op->o.slurm_user, now_us() / USEC_PER_SEC, TOKEN_S,
                     &token) == 0) {
        free(c->config.token);
        c->config.token = token;
    }
    kubeloop_arm(kubeserver_loop(c->op->kube), &c->renew,
                 now_mono_us() + (token ? RENEW_S : 1) * USEC_PER_SEC);
}

static void free_client(void *client)
{
    struct opclient *c = client;

    kubeloop_disarm(kubeserver_loop(c->op->kube), &c->renew);
    c->server = kubeserver_free(c->server);
    c->nodes = slurmnodes_free(c->nodes);
    kubeconfig_done(&c->config);
    if (c->key)
        explicit_bzero(c->key, c->key_len);
    free(c->key);
    free(c);
}

struct wake {
    struct operator_ *op;
    const char *uid; /* of the Controller */
};

/* NodeSets of the Controller. */
static void wake_nodeset(void *ctx, const json_t *nodeset)
{
    const struct wake *w = ctx;
    const struct opgroup *group = opkinds_group(nodeset);
    const json_t *controller =
        group ? kubeinformer_by_name(w->op->served[group - opgroups][OPKIND_CONTROLLER],
                                     kubejson_namespace(nodeset),
                                     kubejson_text(nodeset, "spec.controllerRef.name"))
              : NULL;

    if (controller && strcmp(kubejson_uid(controller), w->uid) == 0)
        (void)kubequeue_add_after(w->op->queue, kubejson_uid(nodeset), SETTLE_US);
}

static void take_change(void *ctx, const char *name)
{
    struct opclient *c = ctx;
    struct wake w = { c->op, c->uid };

    (void)name;
    for (size_t g = 0; g < OPGROUPS; g++)
        if (c->op->served[g][OPKIND_NODESET])
            kubeinformer_walk(c->op->served[g][OPKIND_NODESET], wake_nodeset, &w);
}

struct search {
    const json_t *controller, *best;
};

/* The oldest RestApi of the Controller. */
static void see_restapi(void *ctx, const json_t *one)
{
    struct search *s = ctx;

    if (strcmp(kubejson_namespace(one), kubejson_namespace(s->controller)) != 0 ||
        strcmp(kubejson_text(one, "spec.controllerRef.name"), kubejson_name(s->controller)) != 0 ||
        kubejson_is_deleted(one))
        return;
    if (!s->best || strcmp(kubejson_text(one, "metadata.creationTimestamp"),
                           kubejson_text(s->best, "metadata.creationTimestamp")) < 0)
        s->best = one;
}

static int write_url(struct operator_ *op, const struct mkbase_facts *f, char *buf, size_t size)
{
    struct search s = { f->controller, NULL };

    if (op->o.rest_url) {
        (void)snprintf(buf, size, "%s", op->o.rest_url);
        return 0;
    }
    kubeinformer_walk(op->served[f->group - opgroups][OPKIND_RESTAPI], see_restapi, &s);
    if (!s.best)
        return -ENOENT;
    (void)snprintf(buf, size, "http://%s-restapi.%s:%d", kubejson_name(s.best),
                   kubejson_namespace(s.best), OPCONF_REST_PORT);
    return 0;
}

static struct opclient *begin_client(struct operator_ *op, const struct mkbase_facts *f,
                                     const char *url, const char *key, size_t len)
{
    static const struct kubeserver_options o = { "penstock-operator/" PENSTOCK_VERSION,
                                                 "X-SLURM-USER-TOKEN", 0, 0, 16 };
    const char *uid = kubejson_uid(f->controller);
    struct opclient *c = calloc(1, sizeof(*c) + strlen(uid) + 1);
    char cluster[64];

    if (!c)
        return NULL;
    opconf_cluster_name(f->controller, cluster, sizeof(cluster));
    c->op = op;
    memcpy(c->uid, uid, strlen(uid) + 1);
    c->config.server = strdup(url);
    c->key = malloc(len + 1);
    c->renew = (struct kubetimer){ .fn = renew_token, .ctx = c };
    if (c->key) {
        memcpy(c->key, key, len);
        c->key_len = len;
    }
    if (!c->key || !c->config.server ||
        kubeserver_new(kubeserver_loop(op->kube), &c->config, &o, &c->server) < 0 ||
        slurmnodes_new(c->server, cluster, take_change, c, &c->nodes) < 0 ||
        kubemap_put(&op->clients, uid, c) < 0) {
        free_client(c);
        return NULL;
    }
    renew_token(c);
    log_info("slurmrestd of a Controller is %s", url);
    return c;
}

struct slurmnodes *opclient_get(struct operator_ *op, const struct mkbase_facts *f)
{
    const char *uid = kubejson_uid(f->controller);
    struct opclient *c = kubemap_get(&op->clients, uid);
    _cleanup_free_ char *key = NULL;
    struct mkbase_keys keys;
    char url[700];
    size_t len = 0;

    mkbase_keys(f->controller, &keys);
    if (write_url(op, f, url, sizeof(url)) < 0 ||
        opclient_read_secret(f, &keys.jwt, &key, &len) < 0 || !len)
        return c ? c->nodes : NULL; /* what was known of a key goes on until there is another */
    if (c && c->key_len == len && memcmp(c->key, key, len) == 0) {
        char *copy = strcmp(c->config.server, url) != 0 ? strdup(url) : NULL;

        if (copy) {
            free(c->config.server);
            c->config.server = copy;
        }
    } else if (c) { /* the key is another one: sign anew */
        char *copy = malloc(len);

        if (copy) {
            memcpy(copy, key, len);
            explicit_bzero(c->key, c->key_len);
            free(c->key);
            c->key = copy;
            c->key_len = len;
            renew_token(c);
        }
    } else {
        c = begin_client(op, f, url, key, len);
    }
    explicit_bzero(key, len);
    return c ? c->nodes : NULL;
}

static void drop_client(void *ctx)
{
    struct opclient *c = ctx;

    free_client(kubemap_take(&c->op->clients, c->uid));
}

void opclient_forget(struct operator_ *op, const char *uid)
{
    struct opclient *c = kubemap_get(&op->clients, uid);

    if (!c)
        return;
    kubeloop_disarm(kubeserver_loop(op->kube), &c->renew);
    c->renew.fn = drop_client;
    kubeloop_arm(kubeserver_loop(op->kube), &c->renew, now_mono_us() + FORGET_US);
}

void opclient_stop(struct operator_ *op)
{
    kubemap_done(&op->clients, free_client);
}
