/* doctor.c - see doctor.h */
#include "kube/doctor/doctor.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "kube/api/kubeconfig.h"
#include "kube/api/kubejson.h"
#include "kube/doctor/doctorrights.h"
#include "kube/make/opkinds.h"
#include "kube/operator/optoken.h"

#define LEAST_MINOR 29 /* init containers that stay: side containers of slurmctld and slurmd */
#define CLOCK_WARN_S 5
#define CLOCK_FAIL_S 60 /* tokens are believed, or not, by the clock */
#define LEASE_OLD_S 60
#define OPERATOR "penstock-operator"

static const struct kubekind deployments = { "apps", "v1", "deployments", "Deployment", true };
static const struct kubekind secrets = { "", "v1", "secrets", "Secret", true };

/* ---- judgements ------------------------------------------------------------------------------ */

bool doctor_read_version(const json_t *body, int *ret_major, int *ret_minor)
{
    const char *major = kubejson_text(body, "major"), *minor = kubejson_text(body, "minor");

    *ret_major = *ret_minor = 0;
    if (!isdigit((unsigned char)*major) || !isdigit((unsigned char)*minor))
        return false;
    *ret_major = (int)strtol(major, NULL, 10);
    *ret_minor = (int)strtol(minor, NULL, 10); /* "29+" of a vendor */
    return true;
}

enum finding doctor_judge_clock(int64_t ahead_s)
{
    int64_t away = ahead_s < 0 ? -ahead_s : ahead_s;

    return away >= CLOCK_FAIL_S ? FINDING_FAIL : away >= CLOCK_WARN_S ? FINDING_WARN : FINDING_OK;
}

enum finding doctor_judge_object(const json_t *object, const char **ret_text)
{
    const json_t *ready = kubejson_condition(object, "Ready"),
                 *degraded = kubejson_condition(object, "Degraded");
    int64_t generation = kubejson_int(object, "metadata.generation", 0);

    if (!ready || kubejson_int(object, "status.observedGeneration", 0) < generation) {
        *ret_text = "the operator has not looked at it: does one run?";
        return FINDING_FAIL;
    }
    if (strcmp(kubejson_text(degraded, "status"), "True") == 0) {
        *ret_text = kubejson_text(degraded, "message");
        return FINDING_FAIL;
    }
    *ret_text = kubejson_text(ready, "message");
    return strcmp(kubejson_text(ready, "status"), "True") == 0 ? FINDING_OK : FINDING_WARN;
}

/* ---- the server ------------------------------------------------------------------------------ */

static void add_finding(struct doctor *d, enum finding what, const char *check, const char *text)
{
    doctorreport_add(d->report, what, check, "%s", text);
}

/* What was asked is not answered with 200: says why.  A right that we lack is a note. */
static void tell_refusal(struct doctor *d, const char *check, const char *what,
                         const struct doctoranswer *a)
{
    if (a->status == 403)
        doctorreport_add(d->report, FINDING_NOTE, check, "%s: you may not see it", what);
    else if (a->status == 0)
        doctorreport_add(d->report, FINDING_FAIL, check, "%s: no answer: %s", what, a->text);
    else
        doctorreport_add(d->report, FINDING_FAIL, check, "%s: %d %s", what, a->status, a->text);
}

static bool check_server(struct doctor *d)
{
    _cleanup_val_(doctoranswer_done) struct doctoranswer a;
    int major, minor;

    doctorask_path(&d->ask, "GET", "/version", NULL, &a);
    if (a.status == 401) {
        add_finding(d, FINDING_FAIL, "server",
                    "the API server does not believe who we are: the token or certificate of the "
                    "kubeconfig is wrong or has run out");
        return false;
    }
    if (a.status != 200 && a.status != 403) {
        tell_refusal(d, "server", "the API server", &a);
        return false;
    }
    if (!doctor_read_version(a.body, &major, &minor))
        add_finding(d, FINDING_NOTE, "server", "the API server does not tell its version");
    else if (major == 1 && minor < LEAST_MINOR)
        doctorreport_add(
            d->report, FINDING_FAIL, "server",
            "Kubernetes %d.%d is too old: 1.%d or newer is needed, for init containers "
            "that stay",
            major, minor, LEAST_MINOR);
    else
        doctorreport_add(d->report, FINDING_OK, "server", "Kubernetes %d.%d answers", major, minor);
    return true;
}

/* The review is an object that is never stored: it says who we are, and what time it is there. */
static void check_identity(struct doctor *d)
{
    _cleanup_val_(doctoranswer_done) struct doctoranswer a;
    _cleanup_json_ json_t *body = json_pack("{s:s, s:s}", "apiVersion", "authentication.k8s.io/v1",
                                            "kind", "SelfSubjectReview");
    int64_t before = now_us(), ahead_s, us;

    doctorask_path(&d->ask, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body, &a);
    if (a.status != 201 && a.status != 200) {
        tell_refusal(d, "identity", "who we are", &a);
        return;
    }
    doctorreport_add(d->report, FINDING_OK, "identity", "the API server knows us as %s",
                     kubejson_text(a.body, "status.userInfo.username"));
    if (kubejson_read_stamp(kubejson_text(a.body, "metadata.creationTimestamp"), &us) < 0) {
        add_finding(d, FINDING_NOTE, "clock", "the API server does not tell its time");
        return;
    }
    d->server_us = us;
    ahead_s = (before / 2 + now_us() / 2 - us) / USEC_PER_SEC;
    doctorreport_add(d->report, doctor_judge_clock(ahead_s), "clock",
                     "our clock is %lld s %s the API server's%s",
                     (long long)(ahead_s < 0 ? -ahead_s : ahead_s),
                     ahead_s < 0 ? "behind" : "ahead of",
                     doctor_judge_clock(ahead_s) == FINDING_OK
                         ? ""
                         : ": tokens are believed by the clock, so set it by NTP");
}

static void check_kinds(struct doctor *d)
{
    for (size_t g = 0; g < OPGROUPS; g++) {
        _cleanup_val_(doctoranswer_done) struct doctoranswer a;
        char path[100];
        size_t have = 0;

        (void)snprintf(path, sizeof(path), "/apis/%s/v1beta1", opgroups[g].name);
        doctorask_path(&d->ask, "GET", path, NULL, &a);
        if (a.status != 200 && a.status != 404)
            tell_refusal(d, "kinds", opgroups[g].name, &a);
        for (size_t k = 0; k < OPKIND_MAX_; k++)
            have += a.status == 200 && kubeapi_serves(a.body, &opgroups[g].kinds[k]);
        d->groups[g] = have == OPKIND_MAX_;
        if (have == OPKIND_MAX_)
            doctorreport_add(d->report, FINDING_OK, "kinds", "%s/v1beta1 has every kind",
                             opgroups[g].name);
        else if (have)
            doctorreport_add(d->report, FINDING_FAIL, "kinds",
                             "%s/v1beta1 has %zu of %d kinds: the operator does not serve it; "
                             "install its definitions anew",
                             opgroups[g].name, have, OPKIND_MAX_);
    }
    if (!d->groups[0] && !d->groups[1])
        add_finding(d, FINDING_FAIL, "kinds",
                    "no group of kinds is whole: kubectl apply -f deploy/kubernetes/crds.yaml");
}

static void check_nodes(struct doctor *d)
{
    const struct kubeapi_target t = { &kubekind_nodes, NULL, NULL, NULL };
    _cleanup_val_(doctoranswer_done) struct doctoranswer a;
    size_t i, usable = 0;
    json_t *node;

    doctorask_get(&d->ask, &t, &a);
    if (a.status != 200) {
        tell_refusal(d, "nodes", "the nodes", &a);
        return;
    }
    json_array_foreach(json_object_get(a.body, "items"), i, node)
    {
        const char *kubelet = kubejson_text(node, "status.nodeInfo.kubeletVersion");
        bool ready =
            strcmp(kubejson_text(kubejson_condition(node, "Ready"), "status"), "True") == 0;

        usable += ready && !kubejson_true(node, "spec.unschedulable");
        if (kubejson_after(kubelet, "v1.") &&
            strtol(kubejson_after(kubelet, "v1."), NULL, 10) < LEAST_MINOR)
            doctorreport_add(d->report, FINDING_FAIL, "nodes",
                             "the kubelet of %s is %s: 1.%d or newer is needed there",
                             kubejson_name(node), kubelet, LEAST_MINOR);
    }
    doctorreport_add(d->report, usable ? FINDING_OK : FINDING_FAIL, "nodes",
                     "%zu of %zu nodes are ready and take pods", usable,
                     json_array_size(json_object_get(a.body, "items")));
}

/* ---- the operator ---------------------------------------------------------------------------- */

static void check_lease(struct doctor *d)
{
    const struct kubeapi_target t = { &kubekind_leases, d->operator_namespace, OPERATOR, NULL };
    _cleanup_val_(doctoranswer_done) struct doctoranswer a;
    int64_t renewed, now = d->server_us ? d->server_us : now_us();

    doctorask_get(&d->ask, &t, &a);
    if (a.status == 404)
        add_finding(d, FINDING_NOTE, "operator", "no operator holds a lease: one alone may run");
    else if (a.status != 200)
        tell_refusal(d, "operator", "its lease", &a);
    else if (kubejson_read_stamp(kubejson_text(a.body, "spec.renewTime"), &renewed) < 0 ||
             now - renewed > LEASE_OLD_S * USEC_PER_SEC)
        doctorreport_add(d->report, FINDING_FAIL, "operator",
                         "its lease was renewed at %s the last time: no operator acts",
                         kubejson_text(a.body, "spec.renewTime"));
    else
        doctorreport_add(d->report, FINDING_OK, "operator", "%s holds the lease",
                         kubejson_text(a.body, "spec.holderIdentity"));
}

static void check_operator(struct doctor *d)
{
    const struct kubeapi_target t = { &deployments, d->operator_namespace, OPERATOR, NULL };
    _cleanup_val_(doctoranswer_done) struct doctoranswer a;
    int64_t want, have;

    doctorask_get(&d->ask, &t, &a);
    if (a.status == 404) {
        doctorreport_add(d->report, FINDING_FAIL, "operator",
                         "there is no Deployment " OPERATOR " in namespace %s: kubectl apply -f "
                         "deploy/kubernetes/operator.yaml, or name the place with "
                         "--operator-namespace",
                         d->operator_namespace);
        return;
    }
    if (a.status != 200) {
        tell_refusal(d, "operator", "its Deployment", &a);
        return;
    }
    want = kubejson_int(a.body, "spec.replicas", 1);
    have = kubejson_int(a.body, "status.availableReplicas", 0);
    doctorreport_add(d->report,
                     have == 0     ? FINDING_FAIL
                     : have < want ? FINDING_WARN
                                   : FINDING_OK,
                     "operator", "%lld of %lld pods of the operator are available", (long long)have,
                     (long long)want);
    check_lease(d);
}

struct question {
    const char *group, *namespace_;
    char resource[64], sub[64], verb[64];
};

/* 1: allowed, 0: not, negative: cannot be asked. */
static int ask_right(struct doctor *d, const struct question *q, struct doctoranswer *a)
{
    _cleanup_json_ json_t *body = NULL;
    char user[600], group[300];

    (void)snprintf(user, sizeof(user), "system:serviceaccount:%s:%s", d->operator_namespace,
                   d->account);
    (void)snprintf(group, sizeof(group), "system:serviceaccounts:%s", d->operator_namespace);
    body = json_pack("{s:s, s:s, s:{s:s, s:[s, s, s], s:{s:s, s:s, s:s, s:s, s:s}}}", "apiVersion",
                     "authorization.k8s.io/v1", "kind", "SubjectAccessReview", "spec", "user", user,
                     "groups", "system:serviceaccounts", group, "system:authenticated",
                     "resourceAttributes", "group", q->group, "resource", q->resource,
                     "subresource", q->sub, "verb", q->verb, "namespace", q->namespace_);
    doctorask_path(&d->ask, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body, a);
    if (a->status != 201 && a->status != 200)
        return -EACCES;
    return kubejson_true(a->body, "status.allowed");
}

/* false: rights cannot be asked at all. */
static bool check_right(struct doctor *d, const struct question *q, unsigned *missing)
{
    _cleanup_val_(doctoranswer_done) struct doctoranswer a = { 0 };
    int r = ask_right(d, q, &a);

    if (r < 0)
        tell_refusal(d, "rights", "what the operator may do", &a);
    if (r == 0) {
        ++*missing;
        doctorreport_add(d->report, FINDING_FAIL, "rights",
                         "service account %s of %s may not %s %s%s%s of %s: kubectl apply -f "
                         "deploy/kubernetes/operator.yaml",
                         d->account, d->operator_namespace, q->verb, q->resource,
                         *q->sub ? "/" : "", q->sub, *q->group ? q->group : "the core group");
    }
    return r >= 0;
}

/* Every verb on every resource of a row. */
static bool check_row(struct doctor *d, const struct doctorright *row, const char *group,
                      unsigned *missing)
{
    char resource[64];
    struct question q = { .group = group,
                          .namespace_ = row->operators_own ? d->operator_namespace
                                        : d->namespace_    ? d->namespace_
                                                           : "" };

    for (size_t i = 0; doctorrights_word(row->resources, i, resource); i++) {
        const char *slash = strchr(resource, '/');

        (void)snprintf(q.sub, sizeof(q.sub), "%s", slash ? slash + 1 : "");
        (void)snprintf(q.resource, sizeof(q.resource), "%.*s", (int)strcspn(resource, "/"),
                       resource);
        for (size_t k = 0; doctorrights_word(row->verbs, k, q.verb); k++)
            if (!check_right(d, &q, missing))
                return false;
    }
    return true;
}

static void check_rights(struct doctor *d)
{
    unsigned missing = 0;

    for (size_t i = 0; i < doctorrights_count; i++) {
        const struct doctorright *row = &doctorrights[i];
        bool own = strcmp(row->group, "own") == 0;

        for (size_t g = 0; g < (own ? OPGROUPS : 1); g++)
            if ((!own || d->groups[g]) &&
                !check_row(d, row, own ? opgroups[g].name : row->group, &missing))
                return;
    }
    if (!missing)
        doctorreport_add(d->report, FINDING_OK, "rights",
                         "service account %s of %s may do all that the operator does", d->account,
                         d->operator_namespace);
}

/* ---- objects --------------------------------------------------------------------------------- */

/* The token in the Secret of a Token: is it there, and still good? */
static void check_token(struct doctor *d, const json_t *token)
{
    const json_t *ref = kubejson_at(token, "spec.secretRef");
    const char *key = *kubejson_text(ref, "key") ? kubejson_text(ref, "key") : "SLURM_JWT";
    const char *ns = kubejson_namespace(token), *user = kubejson_text(token, "spec.username");
    _cleanup_val_(doctoranswer_done) struct doctoranswer a;
    struct kubeapi_target t = { &secrets, ns, NULL, NULL };
    int64_t issued, ends, now = (d->server_us ? d->server_us : now_us()) / USEC_PER_SEC;
    _cleanup_free_ char *text = NULL;
    const char *coded;
    char name[600];
    size_t len;

    (void)snprintf(name, sizeof(name), "%s-jwt-%s", kubejson_name(token), *user ? user : "nobody");
    t.name = *kubejson_text(ref, "name") ? kubejson_text(ref, "name") : name;
    doctorask_get(&d->ask, &t, &a);
    coded = json_string_value(json_object_get(json_object_get(a.body, "data"), key));
    if (a.status != 200 && a.status != 404) {
        tell_refusal(d, "tokens", t.name, &a);
    } else if (!coded || kubeconfig_base64(coded, &text, &len) < 0 ||
               optoken_read(text, NULL, &issued, &ends) < 0) {
        doctorreport_add(d->report, FINDING_FAIL, "tokens",
                         "Secret %s/%s has no token at key %s: the Token's status says why", ns,
                         t.name, key);
    } else {
        doctorreport_add(d->report, ends > now ? FINDING_OK : FINDING_FAIL, "tokens",
                         ends > now ? "the token in Secret %s/%s is good for %lld s more"
                                    : "the token in Secret %s/%s ran out %lld s ago",
                         ns, t.name, (long long)(ends > now ? ends - now : now - ends));
    }
    if (text)
        explicit_bzero(text, strlen(text));
}

/* slurmrestd answers through the API server: with 401 too, since we show no token. */
static void check_rest(struct doctor *d, const json_t *rest)
{
    const char *ns = kubejson_namespace(rest), *name = kubejson_name(rest);
    _cleanup_val_(doctoranswer_done) struct doctoranswer a;
    char path[1000];
    int64_t port = kubejson_int(rest, "spec.service.port", 6820);

    if (!kubejson_name_is_good(ns) || !kubejson_name_is_good(name))
        return;
    (void)snprintf(path, sizeof(path),
                   "/api/v1/namespaces/%s/services/%s-restapi:%lld/proxy/slurm/v0.0.45/ping/", ns,
                   name, (long long)port);
    doctorask_path(&d->ask, "GET", path, NULL, &a);
    if (a.status == 200 || a.status == 401)
        doctorreport_add(d->report, FINDING_OK, "reach", "slurmrestd of RestApi %s/%s answers", ns,
                         name);
    else if (a.status == 403)
        doctorreport_add(d->report, FINDING_NOTE, "reach",
                         "slurmrestd of RestApi %s/%s: you may not reach services/proxy", ns, name);
    else
        doctorreport_add(d->report, FINDING_FAIL, "reach",
                         "slurmrestd of RestApi %s/%s does not answer: %d %s", ns, name, a.status,
                         a.text);
}

static void check_object(struct doctor *d, enum opkind kind, const json_t *object)
{
    const char *text = "";
    enum finding what = doctor_judge_object(object, &text);

    doctorreport_add(d->report, what, "objects", "%s %s/%s: %s", opgroups[0].kinds[kind].kind,
                     kubejson_namespace(object), kubejson_name(object), text);
    if (kind == OPKIND_TOKEN)
        check_token(d, object);
    if (kind == OPKIND_RESTAPI)
        check_rest(d, object);
}

static void check_objects(struct doctor *d)
{
    for (size_t g = 0; g < OPGROUPS; g++)
        for (size_t k = 0; d->groups[g] && k < OPKIND_MAX_; k++) {
            const struct kubeapi_target t = { &opgroups[g].kinds[k], d->namespace_, NULL, NULL };
            _cleanup_val_(doctoranswer_done) struct doctoranswer a;
            size_t i;
            json_t *one;

            doctorask_get(&d->ask, &t, &a);
            if (a.status != 200)
                tell_refusal(d, "objects", opgroups[g].kinds[k].plural, &a);
            json_array_foreach(json_object_get(a.body, "items"), i, one)
                check_object(d, (enum opkind)k, one);
        }
}

void doctor_run(struct doctor *d)
{
    if (!check_server(d))
        return;
    check_identity(d);
    check_kinds(d);
    check_nodes(d);
    check_operator(d);
    check_rights(d);
    check_objects(d);
}
