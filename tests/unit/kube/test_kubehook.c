/* test_kubehook.c - reviews of webhooks, their answers, and the certificate */
#include "kube_util.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/hook/hookcert.h"
#include "kube/hook/hookhttp.h"
#include "kube/hook/hookkeeper.h"
#include "kube/hook/hookreview.h"
#include "kube/hook/hooktls.h"
#include "kube/hook/ophook.h"
#include "kube/hook/podhook.h"

/* A review with these members of its request. */
static char *write_review(const char *request)
{
    char *text;

    assert_true(asprintf(&text,
                         "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
                         "\"request\":{\"uid\":\"u\",%s}}",
                         request) > 0);
    return text;
}

/* What a review is answered; the caller's. */
static json_t *ask(const char *request, const struct bridgeconf *c, bool change)
{
    _cleanup_free_ char *text = write_review(request);
    _cleanup_val_(hookreview_done) struct hookreview r = { 0 };
    struct hookanswer a = { 0 };
    struct err err = { .text = "" };
    json_t *made;

    if (hookreview_read(text, strlen(text), &r, &err) < 0)
        fail_msg("%s", err.text);
    if (!c)
        ophook_judge(&r, &a);
    else if (change)
        podhook_change(c, &r, &a);
    else
        podhook_judge(c, &r, &a);
    made = hookanswer_make(&a, &r);
    assert_non_null(made);
    assert_string_equal(kubejson_text(made, "response.uid"), "u");
    assert_int_equal(kubejson_true(made, "response.allowed"),
                     !*kubejson_text(made, "response.status.message"));
    return made;
}

static void test_bad_reviews(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        { "{}", "no AdmissionReview of admission.k8s.io/v1 with a request" },
        { "{\"apiVersion\":\"admission.k8s.io/v1beta1\",\"kind\":\"AdmissionReview\","
          "\"request\":{}}",
          "no AdmissionReview of admission.k8s.io/v1 with a request" },
        { "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":[]}",
          "no AdmissionReview of admission.k8s.io/v1 with a request" },
        { "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{}}",
          "request.uid: 1 to 128 characters are wanted" },
        { "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":"
          "{\"uid\":\"u\",\"object\":7}}",
          "request.object, request.oldObject: objects are wanted" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct hookreview r = { 0 };
        struct err err = { .text = "" };

        assert_int_equal(hookreview_read(cases[i].text, strlen(cases[i].text), &r, &err), -EINVAL);
        assert_string_equal(err.text, cases[i].why);
        assert_null(r.tree);
    }
}

#define REF_C "{\"controllerRef\":{\"name\":\"c\"}}"
#define UPDATE_OF(now, before) "\"operation\":\"UPDATE\",\"object\":" now ",\"oldObject\":" before
#define SET(name, spec)                                                                            \
    "{\"apiVersion\":\"operator.penstock/v1beta1\",\"kind\":\"NodeSet\",\"metadata\":{\"name\":"   \
    "\"" name "\",\"namespace\":\"n\"},\"spec\":" spec "}"

#define DELETED                                                                                    \
    "{\"apiVersion\":\"operator.penstock/v1beta1\",\"kind\":\"NodeSet\",\"metadata\":{\"name\":"   \
    "\"w\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{}}"

static void test_kinds(void **state)
{
    static const struct {
        const char *request, *why, *warning;
    } cases[] = {
        { "\"operation\":\"CREATE\",\"object\":" SET("w", "{\"controllerRef\":{\"name\":\"c\"}}"),
          "", "" },
        { "\"operation\":\"CREATE\",\"object\":" SET("w", "{}"),
          "spec.controllerRef.name: required", "" },
        { UPDATE_OF(SET("w", REF_C), SET("w", "{\"controllerRef\":{\"name\":\"d\"}}")),
          "spec.controllerRef: cannot be changed", "" },
        { UPDATE_OF(SET("w", REF_C),
                    SET("w", "{\"controllerRef\":{\"name\":\"c\"},\"replicas\":-1}")),
          "", "" }, /* what was wrong is mended */
        { UPDATE_OF(SET("w", "{}"), SET("w", "{}")), "",
          "spec.controllerRef.name: required" }, /* it is as it was: finalizers may go */
        { UPDATE_OF(SET("w", "{\"replicas\":2}"), SET("w", "{}")),
          "spec.controllerRef.name: required", "" },
        { UPDATE_OF(SET("w", "{\"replicas\":2}"), DELETED), "", "" },
        { "\"operation\":\"DELETE\",\"oldObject\":" SET("w", "{}"), "", "" },
        { "\"operation\":\"UPDATE\",\"subResource\":\"status\",\"object\":" SET("w", "{}"), "",
          "" },
        { "\"operation\":\"CREATE\"", "request.object: an object is wanted", "" },
        { "\"operation\":\"CREATE\",\"object\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}",
          "an object of no kind that is served", "" },
        { "\"operation\":\"CREATE\",\"object\":{\"apiVersion\":\"operator.penstock/v1beta1\","
          "\"kind\":\"RestApi\",\"metadata\":{\"generateName\":\"r-\"},\"spec\":{\"controllerRef\":"
          "{\"name\":\"c\"},\"service\":{\"spec\":{\"externalIPs\":[\"1.2.3.4\"]}}}}",
          "",
          "spec.service.spec.externalIPs: left out, since anybody's addresses could be taken with "
          "them" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *made = ask(cases[i].request, NULL, false);
        const char *warning =
            json_string_value(json_array_get(kubejson_at(made, "response.warnings"), 0));

        assert_string_equal(kubejson_text(made, "response.status.message"), cases[i].why);
        assert_string_equal(warning ? warning : "", cases[i].warning);
    }
}

static void test_pods_changed(void **state)
{
    static const char toleration[] =
        "{\"key\":\"slinky.slurm.net/managed-node\",\"operator\":\"Equal\",\"value\":\"s\","
        "\"effect\":\"NoExecute\"}";
    static const struct {
        const char *request;
        int changes; /* -1: no patch */
    } cases[] = {
        { "\"operation\":\"CREATE\",\"namespace\":\"n\",\"object\":{\"spec\":{}}", 2 },
        { "\"operation\":\"CREATE\",\"namespace\":\"n\",\"object\":{\"spec\":{\"schedulerName\":"
          "\"default-scheduler\",\"nodeName\":\"k\",\"tolerations\":[]}}",
          3 },
        { "\"operation\":\"CREATE\",\"namespace\":\"n\",\"object\":{\"spec\":{\"schedulerName\":"
          "\"other\"}}",
          -1 },
        { "\"operation\":\"CREATE\",\"namespace\":\"m\",\"object\":{\"spec\":{}}", -1 },
        { "\"operation\":\"CREATE\",\"namespace\":\"m\",\"object\":{\"spec\":{\"schedulerName\":"
          "\"s\"}}",
          1 },
        { "\"operation\":\"UPDATE\",\"namespace\":\"n\",\"object\":{\"spec\":{}}", -1 },
    };
    _cleanup_json_ json_t *names = json_pack("[s]", "n");
    const struct bridgeconf c = { .scheduler = (char[]){ "s" }, .namespaces = names };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *made = ask(cases[i].request, &c, true), *patch = NULL;
        const char *coded = kubejson_text(made, "response.patch");
        _cleanup_free_ char *text = NULL;
        size_t len = 0;

        assert_int_equal(*coded != '\0', cases[i].changes >= 0);
        if (cases[i].changes < 0)
            continue;
        assert_string_equal(kubejson_text(made, "response.patchType"), "JSONPatch");
        assert_int_equal(kubeconfig_base64(coded, &text, &len), 0);
        patch = json_loads(text, 0, NULL);
        assert_int_equal(json_array_size(patch), cases[i].changes);
        assert_non_null(strstr(text, toleration));
    }
}

#define UNKNOWN_CLASS                                                                              \
    ",\"containers\":[{\"resources\":{\"limits\":"                                                 \
    "{\"deviceclass.resource.kubernetes.io/fpga\":2}}}]"
#define UNKNOWN_WHY                                                                                \
    "the resource deviceclass.resource.kubernetes.io/fpga: the device classes dra.cpu and gpu.* "  \
    "are known"
#define OURS "\"object\":{\"spec\":{\"schedulerName\":\"s\""

static void test_pods_judged(void **state)
{
    static const struct {
        const char *request, *why;
    } cases[] = {
        { "\"operation\":\"CREATE\"," OURS "}}", "" },
        { "\"operation\":\"CREATE\",\"object\":{\"spec\":{\"schedulerName\":\"o\","
          "\"resourceClaims\":[{}]}}",
          "" }, /* another scheduler's */
        { "\"operation\":\"CREATE\"," OURS ",\"resourceClaims\":[{\"name\":\"x\"}]}}",
          "spec.resourceClaims x: a pod may name the template of a claim, and no claim that is "
          "there already" },
        { "\"operation\":\"CREATE\"," OURS ",\"resourceClaims\":[{\"name\":\"x\","
          "\"resourceClaimTemplateName\":\"t\"}]}}",
          "" },
        { "\"operation\":\"CREATE\"," OURS ",\"topologySpreadConstraints\":[{\"maxSkew\":1,"
          "\"topologyKey\":\"zone\"}]}}",
          "" },
        { "\"operation\":\"CREATE\"," OURS ",\"topologySpreadConstraints\":[{\"maxSkew\":1,"
          "\"topologyKey\":\"zone\",\"minSkew\":1}]}}",
          "topologySpreadConstraints: minSkew is not supported" },
        { "\"operation\":\"CREATE\"," OURS ",\"affinity\":{\"nodeAffinity\":{"
          "\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{"
          "\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Like\"}]}]}}}}}",
          "node affinity: the operator Like is not supported" },
        { "\"operation\":\"CREATE\"," OURS "},\"metadata\":{\"labels\":"
          "{\"scheduler.slinky.slurm.net/slurm-jobid\":\"1\"}}}",
          "the label scheduler.slinky.slurm.net/slurm-jobid is the bridge's own" },
        { "\"operation\":\"CREATE\"," OURS "},\"metadata\":{\"annotations\":"
          "{\"slinky.slurm.net/slurm-node\":\"k\"}}}",
          "the annotation slinky.slurm.net/slurm-node is the bridge's own" },
        { "\"operation\":\"CREATE\"," OURS ",\"containers\":[{\"resources\":{\"limits\":{\"cpu\":1,"
          "\"deviceclass.resource.kubernetes.io/dra.cpu\":2}}}]}}",
          "cpu and deviceclass.resource.kubernetes.io/dra.cpu: one of them, since both count the "
          "same CPUs" },
        { "\"operation\":\"CREATE\"," OURS UNKNOWN_CLASS "}}", UNKNOWN_WHY },
        { "\"operation\":\"CREATE\"," OURS ",\"containers\":[{\"resources\":{\"limits\":"
          "{\"deviceclass.resource.kubernetes.io/gpu.nvidia.com\":2}}}]},\"metadata\":"
          "{\"annotations\":{\"slurmjob.slinky.slurm.net/gres\":\"gpu\"}}}",
          "the annotation slurmjob.slinky.slurm.net/gres: not with a device class of GPUs" },
        { "\"operation\":\"UPDATE\",\"subResource\":\"resize\"," OURS "}}",
          "a pod of a Slurm job cannot be resized: the job holds what it asked for" },
        { "\"operation\":\"UPDATE\",\"subResource\":\"status\"," OURS "}}", "" },
        { "\"operation\":\"UPDATE\"," OURS UNKNOWN_CLASS "}}", UNKNOWN_WHY },
        { "\"operation\":\"UPDATE\"," OURS UNKNOWN_CLASS "}},\"oldObject\":{\"spec\":"
          "{\"schedulerName\":\"s\"" UNKNOWN_CLASS "}}",
          "" }, /* it was so before */
        { "\"operation\":\"UPDATE\"," OURS UNKNOWN_CLASS "}},\"oldObject\":{\"metadata\":"
          "{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{}}",
          "" },
        { "\"operation\":\"UPDATE\"," OURS "}},\"oldObject\":{\"status\":{\"phase\":\"Running\"},"
          "\"metadata\":{\"labels\":{\"scheduler.slinky.slurm.net/slurm-jobid\":\"1\"}}}",
          "the label scheduler.slinky.slurm.net/slurm-jobid of a pod that runs cannot be changed" },
        { "\"operation\":\"UPDATE\"," OURS "}},\"oldObject\":{\"status\":{\"phase\":\"Pending\"},"
          "\"metadata\":{\"labels\":{\"scheduler.slinky.slurm.net/slurm-jobid\":\"1\"}}}",
          "" },
    };
    const struct bridgeconf c = { .scheduler = (char[]){ "s" } };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *made = ask(cases[i].request, &c, false);

        assert_string_equal(kubejson_text(made, "response.status.message"), cases[i].why);
    }
}

/* What the bridge would refuse by its rules is refused when the pod is written. */
static void test_identities(void **state)
{
    static const struct {
        const char *request, *why;
    } cases[] = {
        { "\"operation\":\"CREATE\",\"namespace\":\"n\"," OURS "}}", "" },
        { "\"operation\":\"CREATE\",\"namespace\":\"n\"," OURS "},\"metadata\":{\"annotations\":"
          "{\"slurmjob.slinky.slurm.net/account\":\"b\"}}}",
          "the annotation slurmjob.slinky.slurm.net/account: b is none of the accounts of the "
          "pod's identity" },
        { "\"operation\":\"CREATE\",\"namespace\":\"m\"," OURS "}}",
          "the bridge's identities name nobody for namespace m and service "
          "account default" },
        { "\"operation\":\"UPDATE\",\"namespace\":\"m\"," OURS "}}", "" },
    };
    _cleanup_json_ json_t *rules = json_pack("[{s:s, s:[s]}]", "namespace", "n", "accounts", "a");
    const struct bridgeconf c = { .scheduler = (char[]){ "s" }, .rules = rules };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *made = ask(cases[i].request, &c, false);

        assert_string_equal(kubejson_text(made, "response.status.message"), cases[i].why);
    }
}

/* A text of a few bytes a value would be many times as much in memory. */
static void test_too_many_values(void **state)
{
    enum { N = HOOKREVIEW_VALUES };
    char *text = malloc(2 * N + 3);
    struct hookreview r = { 0 };
    struct err err = { .text = "" };

    (void)state;
    assert_non_null(text);
    memset(text, '[', 1);
    for (size_t i = 0; i < N; i++)
        memcpy(text + 1 + 2 * i, "1,", 2);
    memcpy(text + 2 * N, "]", 2);
    assert_int_equal(hookreview_read(text, 2 * N + 1, &r, &err), -EINVAL);
    assert_string_equal(err.text, "more than 100000 values");
    text[0] = text[2 * N] = '"'; /* commas of a text are none */
    assert_int_equal(hookreview_read(text, 2 * N + 1, &r, &err), -EINVAL);
    assert_non_null(strstr(err.text, "no AdmissionReview"));
    free(text);
}

static void test_certificate(void **state)
{
    struct err err = { .text = "" };
    _cleanup_free_ char *cert = NULL, *key = NULL;
    int64_t left = 0, life = 0, now;
    bool fits = false;

    (void)state;
    assert_int_equal(hookcert_make("w.ns.svc", 3 * 86400, &cert, &key, &err), 0);
    now = now_us() / USEC_PER_SEC; /* not before it was made */
    assert_int_equal(hookcert_read(cert, "w.ns.svc", now, &left, &life, &fits), 0);
    assert_true(fits && left > 3 * 86400 - 60 && left <= 3 * 86400 && life == 3 * 86400 + 3600);
    assert_int_equal(hookcert_read(cert, "w.other.svc", now + 4 * 86400, &left, &life, &fits), 0);
    assert_true(!fits && left < -86400 + 60);
    assert_int_equal(hookcert_read("no PEM", "x", now, &left, &life, &fits), -EINVAL);
}

static unsigned answer_any(void *ctx, const char *path, const char *body, size_t len, json_t **ret,
                           struct err *err)
{
    (void)ctx;
    (void)path;
    (void)body;
    (void)len;
    (void)err;
    *ret = json_object();
    return 200;
}

static void forget_fd(void *ctx, int fd)
{
    (void)ctx;
    (void)close(fd);
}

static void use_nothing(void *ctx, const char *cert_pem, const char *key_pem)
{
    (void)ctx;
    (void)cert_pem;
    (void)key_pem;
    fail();
}

/* All begin and end; what is no pair is refused, and nothing is used that nobody gave. */
static void test_parts(void **state)
{
    struct err err = { .text = "" };
    _cleanup_free_ char *cert = NULL, *key = NULL, *other = NULL, *wrong = NULL;
    const struct hookkeeper_options ko = {
        .namespace_ = "n", .secret = "s", .service = "w", .configuration = "c", .use = use_nothing
    };
    struct hookhttp *http = NULL;
    struct hooktls *tls = NULL;
    struct nobody n;
    struct hookkeeper *k = NULL;

    (void)state;
    assert_int_equal(hookhttp_new(answer_any, NULL, &http), 0);
    http = hookhttp_free(http);
    assert_int_equal(hooktls_new("127.0.0.1", "x", forget_fd, NULL, &tls, &err), -EINVAL);
    assert_int_equal(hooktls_new("127.0.0.1", "0", forget_fd, NULL, &tls, &err), 0);
    assert_true(hooktls_port(tls) > 0);
    assert_int_equal(hookcert_make("w", 86400, &cert, &key, &err), 0);
    assert_int_equal(hookcert_make("w", 86400, &other, &wrong, &err), 0);
    assert_int_equal(hooktls_set(tls, cert, key, &err), 0);
    assert_int_equal(hooktls_set(tls, cert, wrong, &err), -EINVAL);
    assert_int_equal(hooktls_set(tls, "", "", &err), -EINVAL);
    tls = hooktls_free(tls);
    nobody_begin(&n);
    assert_int_equal(hookkeeper_new(n.server, &ko, &k), 0);
    nobody_turn(&n, 1);
    nobody_end(&n);
    k = hookkeeper_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_reviews),     cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_pods_changed),    cmocka_unit_test(test_pods_judged),
        cmocka_unit_test(test_certificate),     cmocka_unit_test(test_parts),
        cmocka_unit_test(test_too_many_values), cmocka_unit_test(test_identities),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
