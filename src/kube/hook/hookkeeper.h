/* hookkeeper.h - the webhook's own certificate: made, shared, renewed, told to the API server
 *
 * The pair is in a Secret (tls.crt, tls.key, ca.crt), which the first replica makes and all use.
 * When a third of its life is left a new one is made; ca.crt then has the earlier certificate too,
 * so that replicas with either are believed.  ca.crt becomes the caBundle of those webhooks of the
 * configurations whose service is ours; one of them is told its namespaces likewise.  One thread:
 * the loop's. */
#pragma once

#include "kube/api/kubeapi.h"

struct hookkeeper;

struct hookkeeper_options {
    const char *namespace_, *secret, *service;
    const char *configuration; /* of both kinds of webhooks */
    int64_t life_s;            /* 0: HOOKCERT_LIFE_S */
    /* A LabelSelector: of the namespaces whose pods the webhook at `path` is asked about; NULL:
     * what the configuration says. */
    const json_t *selector;
    const char *path;
    /* Certificate and key (PEM) of connections from now on. */
    void (*use)(void *ctx, const char *cert_pem, const char *key_pem);
    void *ctx;
};

/* The texts of o are borrowed.  -ENOMEM. */
int hookkeeper_new(struct kubeserver *s, const struct hookkeeper_options *o,
                   struct hookkeeper **ret);
/* After kubeserver_free(), which drops the request under way.  Always NULL. */
struct hookkeeper *hookkeeper_free(struct hookkeeper *k);
