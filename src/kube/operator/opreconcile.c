/* opreconcile.c - Controller, Accounting, RestApi, LoginSet and Token, made to be what they say */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/make/mkcontroller.h"
#include "kube/make/mkha.h"
#include "kube/make/mklogin.h"
#include "kube/make/mkmonitor.h"
#include "kube/make/mkrest.h"
#include "kube/operator/opapply.h"
#include "kube/operator/opguard.h"
#include "kube/operator/opclient.h"
#include "kube/operator/opleader.h"
#include "kube/operator/opreach.h"
#include "kube/make/opconf.h"
#include "kube/operator/opreconcile.h"
#include "kube/make/opkeys.h"
#include "kube/make/opspec.h"
#include "kube/operator/optoken.h"

#define KEY_BYTES 64u

/* A key is made once and never again: it has no owner, so that workers that run keep theirs when a
 * Controller is made anew. */
static void make_key(struct opwork *w, const struct mkbase_ref *ref)
{
    unsigned char bytes[KEY_BYTES];
    json_t *meta;
    _cleanup_json_ json_t *secret = NULL;

    if (mkbase_find(&w->f, "Secret", ref->name))
        return;
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        opapply_fail(w, "no random bytes for a key");
        return;
    }
    meta = mkbase_meta(&w->f, ref->name, "slurmctld", "controller", NULL);
    (void)json_object_del(meta, "ownerReferences");
    secret = mkbase_object(OPOWNED_SECRETS, meta);
    if (secret) {
        (void)json_object_set_new(
            secret, "data", json_pack("{s:o}", ref->key, mkbase_base64(bytes, sizeof(bytes))));
        (void)json_object_set_new(secret, "immutable", json_true());
    }
    explicit_bzero(bytes, sizeof(bytes));
    opapply_create(w, secret);
}

/* The pair of keys of controllers without a folder that all have: made once, as keys are. */
static void make_identity(struct opwork *w)
{
    char name[300];
    _cleanup_json_ json_t *secret = NULL;

    if (!mkha_in_etcd(w->cr) || mkbase_find(&w->f, "Secret", mkha_identity_name(w->cr, name)))
        return;
    secret = mkha_identity(&w->f);
    if (secret)
        opapply_create(w, secret);
    else
        opapply_fail(w, "the controllers' pair of keys cannot be made");
}

/* NULL: every key is there, or made. */
static const char *see_keys(struct opwork *w)
{
    struct mkbase_keys keys;

    mkbase_keys(w->cr, &keys);
    if (w->f.group->keys_made && !*kubejson_text(w->cr, "spec.slurmKeyRef.name"))
        make_key(w, &keys.slurm);
    else if (!mkbase_find(&w->f, "Secret", keys.slurm.name))
        return "spec.slurmKeyRef: there is no such Secret";
    if (w->f.group->keys_made && !*kubejson_text(w->cr, "spec.jwtKeyRef.name") &&
        !*kubejson_text(w->cr, "spec.jwtHs256KeyRef.name"))
        make_key(w, &keys.jwt);
    else if (!mkbase_find(&w->f, "Secret", keys.jwt.name))
        return "spec.jwtKeyRef: there is no such Secret";
    return NULL;
}

/* Do pods that are not ready take too long?  Since when is what our own condition says, so that it
 * outlives the operator. */
static bool is_overdue(struct opwork *w)
{
    const json_t *was = kubejson_condition(w->raw, "Progressing");
    int64_t since, left;

    if (strcmp(kubejson_text(was, "reason"), OPWORK_OVERDUE) == 0)
        return kubejson_int(was, "observedGeneration", 0) ==
               kubejson_int(w->raw, "metadata.generation", 0);
    if (strcmp(kubejson_text(was, "status"), "True") != 0 ||
        kubejson_read_stamp(kubejson_text(was, "lastTransitionTime"), &since) < 0)
        since = now_us();
    left = since / USEC_PER_SEC + w->op->o.patience_s - now_us() / USEC_PER_SEC;
    if (left > 0 && (!w->wake_s || left < w->wake_s))
        w->wake_s = left;
    return left <= 0;
}

/* What a StatefulSet or Deployment says of its pods. */
static void say_workload(struct opwork *w, const char *kind, const char *name, const char *missing)
{
    const json_t *have = mkbase_find(&w->f, kind, name);
    int64_t want = kubejson_int(have, "spec.replicas", 1);
    bool ready = have && kubejson_int(have, "status.readyReplicas", 0) >= want &&
                 kubejson_int(have, "status.updatedReplicas", 0) >= want &&
                 kubejson_int(have, "status.observedGeneration", 0) >=
                     kubejson_int(have, "metadata.generation", 0);
    char text[400];

    (void)snprintf(text, sizeof(text), "%lld of %lld pods of %.250s are ready",
                   (long long)kubejson_int(have, "status.readyReplicas", 0), (long long)want, name);
    if (missing)
        opwork_say(w, false, false, "KeyMissing", missing);
    else if (!ready && is_overdue(w))
        opwork_say(w, false, false, OPWORK_OVERDUE, text);
    else
        opwork_say(w, ready, !ready, ready ? "AsDesired" : "PodsNotReady", text);
}

static bool have_identity(const struct opwork *w)
{
    char name[300];

    return !mkha_in_etcd(w->cr) ||
           mkbase_find(&w->f, "Secret", mkha_identity_name(w->cr, name)) != NULL;
}

/* Daemons wait for their keys, so that they are not replaced when the keys come: the last object is
 * left out. */
static void apply_when_keyed(struct opwork *w, json_t *all)
{
    struct mkbase_keys keys;

    mkbase_keys(w->cr, &keys);
    if (!kubejson_true(w->cr, "spec.external") &&
        (!mkbase_find(&w->f, "Secret", keys.slurm.name) ||
         !mkbase_find(&w->f, "Secret", keys.jwt.name) || !have_identity(w)))
        (void)json_array_remove(all, json_array_size(all) - 1);
    opapply_all(w, all);
}

/* A folder that one node alone may write is no folder of several slurmctld. */
static const char *see_shared_log(const struct opwork *w)
{
    const json_t *claim = mkbase_find(&w->f, "PersistentVolumeClaim",
                                      kubejson_text(w->cr, "spec.persistence.existingClaim"));

    if (mkha_in_etcd(w->cr))
        return mkha_missing(&w->f);
    if (opconf_replicas(w->cr) < 2 ||
        kubejson_has_text(kubejson_at(claim, "spec.accessModes"), "ReadWriteMany"))
        return NULL;
    return claim ? "spec.persistence.existingClaim: several slurmctld need a claim of "
                   "ReadWriteMany"
                 : "spec.persistence.existingClaim: there is no such claim";
}

static void see_monitor(struct opwork *w, const char *name)
{
    const json_t *have = mkbase_find(&w->f, "ServiceMonitor", name);
    const json_t *owner = kubejson_controller(have);
    _cleanup_json_ json_t *object = NULL;

    if (!mkmonitor_is_wanted(w->cr)) {
        if (owner && strcmp(kubejson_text(owner, "uid"), w->uid) == 0 && !kubejson_is_deleted(have))
            opapply_delete(w, &opowned_kinds[OPOWNED_MONITORS], have);
    } else if (!w->op->o.monitors) {
        kubeevents_tell(w->op->events, w->raw, true, "ServiceMonitorMissing",
                        "spec.metrics.serviceMonitor: the API server has no ServiceMonitors; "
                        "install their definition, and start the operator again");
    } else if ((object = mkmonitor_object(&w->f))) {
        opapply_object(w, object);
    } else {
        opapply_fail(w, ERR_NOMEM);
    }
}

void opreconcile_controller(struct opwork *w)
{
    const char *missing;
    char name[300];
    json_t *all;

    if (kubejson_is_deleted(w->raw)) {
        opwork_say(w, false, true, "Deleted", "the Controller is being deleted");
        return;
    }
    missing = see_keys(w);
    make_identity(w);
    missing = missing ? missing : see_shared_log(w);
    if (mkcontroller_objects(&w->f, &all) < 0) {
        opapply_fail(w, ERR_NOMEM);
    } else if (see_shared_log(w)) { /* no pods without their log */
        (void)json_array_remove(all, json_array_size(all) - 1);
        opapply_all(w, all);
    } else {
        apply_when_keyed(w, all);
    }
    opleader_mark(w);
    (void)snprintf(name, sizeof(name), "%s-controller", kubejson_name(w->cr));
    see_monitor(w, name);
    if (!kubejson_true(w->cr, "spec.external")) {
        opreach_forget(w->op, w->uid);
        say_workload(w, "StatefulSet", name, missing);
        return;
    }
    opreach_say(w, "slurmctld");
    if (missing)
        opwork_say(w, false, false, "KeyMissing", missing);
}

void opreconcile_accounting(struct opwork *w)
{
    const char *missing = NULL;
    struct mkbase_ref ref = mkbase_ref(w->cr, "spec.storageConfig.passwordKeyRef", "", "");
    _cleanup_free_ char *password = NULL;
    char name[300];
    size_t len = 0;
    json_t *all;

    if (kubejson_true(w->cr, "spec.external")) {
        opreach_say(w, "slurmdbd");
        return;
    }
    opreach_forget(w->op, w->uid);
    if (kubejson_is_deleted(w->raw)) {
        opwork_say(w, false, true, "Deleted", "the Accounting is being deleted");
        return;
    }
    missing = see_keys(w);
    if (opclient_read_secret(&w->f, &ref, &password, &len) < 0 || strlen(password) != len ||
        !opconf_is_password(password)) {
        opwork_say(w, false, false, "KeyMissing",
                   "spec.storageConfig.passwordKeyRef: there is no such Secret with one line at "
                   "the key that slurmdbd.conf can hold");
        return;
    }
    if (mkrest_accounting(&w->f, password, &all) < 0)
        opapply_fail(w, ERR_NOMEM);
    else
        apply_when_keyed(w, all);
    explicit_bzero(password, len);
    (void)snprintf(name, sizeof(name), "%s-accounting", kubejson_name(w->cr));
    say_workload(w, "StatefulSet", name, missing);
}

void opreconcile_restapi(struct opwork *w)
{
    char name[300];
    json_t *all;

    if (kubejson_is_deleted(w->raw)) {
        opwork_say(w, false, true, "Deleted", "the RestApi is being deleted");
        return;
    }
    if (!w->controller) {
        opwork_say(w, false, false, "NoController",
                   "spec.controllerRef: there is no such Controller");
        return;
    }
    if (mkrest_objects(&w->f, &all) < 0)
        opapply_fail(w, ERR_NOMEM);
    else
        opapply_all(w, all);
    (void)snprintf(name, sizeof(name), "%s-restapi", kubejson_name(w->cr));
    say_workload(w, "Deployment", name, NULL);
}

/* ---- login nodes ----------------------------------------------------------------------------- */

/* Host keys are made once.  Those that a user has put there are taken as they are. */
static bool see_host_keys(struct opwork *w, const char *name)
{
    const json_t *have = mkbase_find(&w->f, "Secret", name);
    _cleanup_json_ json_t *secret = NULL;
    json_t *data = NULL;
    int r;

    if (have && !mklogin_keys_are_whole(have)) {
        opwork_say(w, false, false, "KeyMissing",
                   "the Secret of host keys has not every ssh_host_*_key and .pub file");
        return false;
    }
    if (have)
        return true;
    r = opkeymaker_take(w->op->keymaker, &data);
    if (r < 0)
        opapply_fail(w, "host keys of sshd cannot be made");
    if (data)
        opapply_create(w, secret = mklogin_keys(&w->f, data));
    opwork_say(w, false, true, "HostKeys", "host keys of sshd are made");
    return false;
}

static void count_logins(struct opwork *w, const char *name)
{
    const json_t *have = mkbase_find(&w->f, "Deployment", name);
    char selector[600];

    (void)snprintf(selector, sizeof(selector), "%s=login,%s=%s", OPKEY_NAME, OPKEY_INSTANCE, name);
    w->status =
        json_pack("{s:I, s:s}", "replicas", (json_int_t)kubejson_int(have, "status.replicas", 0),
                  "selector", selector);
}

/* NULL: all that the LoginSet refers to is there. */
static const char *see_login_refs(struct opwork *w)
{
    struct mkbase_ref sssd = mkbase_ref(w->cr, "spec.sssdConfRef", "", "");
    const json_t *data = json_object_get(mkbase_find(&w->f, "Secret", sssd.name), "data");
    struct mkbase_keys keys;

    mkbase_keys(w->controller, &keys);
    if (!mkbase_find(&w->f, "Secret", keys.slurm.name))
        return "spec.slurmKeyRef of the Controller: there is no such Secret";
    if (!json_object_get(data, sssd.key) && !kubejson_true(w->cr, "spec.sssdConfRef.optional"))
        return "spec.sssdConfRef: there is no such Secret and key";
    return NULL;
}

void opreconcile_loginset(struct opwork *w)
{
    char config[300], host_keys[300];
    const char *name = kubejson_name(w->cr), *missing;
    json_t *all;

    count_logins(w, name);
    if (kubejson_is_deleted(w->raw)) {
        opwork_say(w, false, true, "Deleted", "the LoginSet is being deleted");
        return;
    }
    if (!w->controller) {
        opwork_say(w, false, false, "NoController",
                   "spec.controllerRef: there is no such Controller");
        return;
    }
    mklogin_names(w->cr, config, host_keys);
    missing = see_login_refs(w);
    if (mklogin_objects(&w->f, &all) < 0) {
        opapply_fail(w, ERR_NOMEM);
        return;
    }
    if (!see_host_keys(w, host_keys) || missing)
        (void)json_array_remove(all, json_array_size(all) - 1); /* no pods without their files */
    else
        say_workload(w, "Deployment", name, NULL);
    opapply_all(w, all);
    if (missing)
        opwork_say(w, false, false, "KeyMissing", missing);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* The Secret of a token is owned by the key's: who takes the key away takes the tokens away. */
static json_t *make_token(struct opwork *w, const struct mkbase_ref *to,
                          const struct mkbase_ref *signs, const char *token)
{
    const json_t *key = mkbase_find(&w->f, "Secret", signs->name);
    json_t *meta = mkbase_meta(&w->f, to->name, "token", "token", NULL), *secret;

    if (meta)
        (void)json_object_set_new(meta, "ownerReferences",
                                  json_pack("[{s:s, s:s, s:s, s:s}]", "apiVersion", "v1", "kind",
                                            "Secret", "name", signs->name, "uid",
                                            kubejson_uid(key)));
    secret = mkbase_object(OPOWNED_SECRETS, meta);
    if (secret) {
        (void)json_object_set_new(secret, "data",
                                  json_pack("{s:o}", to->key, mkbase_base64(token, strlen(token))));
        if (json_is_false(kubejson_at(w->cr, "spec.refresh")))
            (void)json_object_set_new(secret, "immutable", json_true());
    }
    return secret;
}

/* Is the token that is there good for a while?  Says when it must be made anew. */
static bool is_fresh(struct opwork *w, const struct mkbase_ref *to, int64_t lifetime_s)
{
    _cleanup_free_ char *have = NULL;
    int64_t issued, ends, now = now_us() / USEC_PER_SEC, again;
    const char *user = kubejson_text(w->cr, "spec.username");
    char stamp[40];
    size_t len;

    if (opclient_read_secret(&w->f, to, &have, &len) < 0 ||
        optoken_read(have, user, &issued, &ends) < 0)
        return false;
    again = ends - lifetime_s / 5;
    kubejson_stamp(issued * USEC_PER_SEC, false, stamp, sizeof(stamp));
    w->status = json_pack("{s:s}", "issuedAt", stamp);
    if (json_is_false(kubejson_at(w->cr, "spec.refresh")))
        return true;
    w->wake_s = MAX(MIN(again - now, lifetime_s), 1);
    return now < again;
}

void opreconcile_token(struct opwork *w)
{
    struct mkbase_ref signs = mkbase_ref(w->cr, "spec.jwtHs256KeyRef", "", "jwt.key"), to;
    const char *user = kubejson_text(w->cr, "spec.username");
    int64_t lifetime_s = opspec_seconds(kubejson_text(w->cr, "spec.lifetime"));
    _cleanup_free_ char *key = NULL, *token = NULL;
    _cleanup_json_ json_t *secret = NULL;
    char name[700];
    size_t len = 0;

    opguard_write_token(w->cr, name, sizeof(name));
    signs = mkbase_ref(w->cr, "spec.jwtKeyRef", signs.name, signs.key);
    to = mkbase_ref(w->cr, "spec.secretRef", name, "SLURM_JWT");
    if (kubejson_is_deleted(w->raw)) {
        opwork_say(w, false, false, "Deleted", "the Token is being deleted");
        return;
    }
    if (opclient_read_secret(&w->f, &signs, &key, &len) < 0 || !len) {
        opwork_say(w, false, false, "KeyMissing",
                   "spec.jwtKeyRef: there is no such Secret and key");
        return;
    }
    if (is_fresh(w, &to, lifetime_s)) {
        opwork_say(w, true, false, "Issued", "the Secret holds a token");
    } else if (kubejson_true(mkbase_find(&w->f, "Secret", to.name), "immutable")) {
        opwork_say(w, false, false, "SecretImmutable",
                   "the Secret cannot be changed: delete it for a new token");
        w->wake_s = 0; /* what happens to the Secret is told */
    } else if (optoken_sign(key, len, user, now_us() / USEC_PER_SEC, lifetime_s, &token) < 0) {
        opapply_fail(w, "the token cannot be signed");
    } else {
        opwork_say(w, false, true, "Issuing", "the token is made");
        secret = make_token(w, &to, &signs, token);
        opapply_object(w, secret);
        w->wake_s = 1;
    }
    explicit_bzero(key, len);
}
