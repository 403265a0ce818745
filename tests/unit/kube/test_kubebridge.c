/* test_kubebridge.c - what the bridge decides: pods read, jobs made, the next action of a gang */
#include "kube_util.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubematch.h"
#include "kube/bridge/bridge.h"
#include "kube/bridge/bridgeact.h"
#include "kube/bridge/bridgeconf.h"
#include "kube/bridge/bridgegang.h"
#include "kube/bridge/bridgegroup.h"
#include "kube/claim/bridgekeys.h"
#include "kube/bridge/bridgekinds.h"
#include "kube/bridge/bridgeplace.h"
#include "kube/bridge/bridgesubmit.h"
#include "kube/bridge/bridgework.h"
#include "kube/external/bridgenodes.h"
#include "kube/bridge/exclusion.h"
#include "kube/external/nodeshape.h"
#include "kube/bridge/podgang.h"
#include "kube/bridge/jobmake.h"
#include "kube/bridge/podidentity.h"
#include "kube/bridge/bridgeleave.h"
#include "kube/bridge/bridgevolume.h"
#include "kube/claim/podread.h"
#include "kube/claim/podvolume.h"
#include "kube/bridge/slurmlink.h"

static void test_states(void **state)
{
    static const struct {
        const char *pod;
        bool over, bound, waiting;
    } cases[] = {
        { "{\"spec\":{}}", false, false, true },
        { "{\"spec\":{\"nodeName\":\"n\"}}", false, true, false },
        { "{\"spec\":{\"schedulingGates\":[{\"name\":\"g\"}]}}", false, false, false },
        { "{\"status\":{\"phase\":\"Failed\"}}", true, false, false },
        { "{\"metadata\":{\"deletionTimestamp\":\"t\"}}", true, false, false },
        { "{\"metadata\":{\"deletionTimestamp\":\"t\",\"deletionGracePeriodSeconds\":30},"
          "\"spec\":{\"nodeName\":\"n\"}}",
          false, true, false },
        { "{\"metadata\":{\"deletionTimestamp\":\"t\",\"deletionGracePeriodSeconds\":0},"
          "\"spec\":{\"nodeName\":\"n\"}}",
          true, true, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *pod = read_text(cases[i].pod);

        assert_int_equal(podread_is_over(pod), cases[i].over);
        assert_int_equal(podread_is_bound(pod), cases[i].bound);
        assert_int_equal(podread_is_waiting(pod), cases[i].waiting);
    }
}

static void test_wants(void **state)
{
    _cleanup_json_ json_t *pod =
        read_text("{\"spec\":{\"overhead\":{\"cpu\":\"100m\"},\"initContainers\":["
                  "{\"resources\":{\"requests\":{\"cpu\":\"3\"}}},"
                  "{\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{\"cpu\":\"500m\"}}}],"
                  "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},"
                  "\"limits\":{\"cpu\":\"1500m\",\"nvidia.com/gpu\":2}}},"
                  "{\"resources\":{\"requests\":{\"memory\":\"1\"}}}]}}");
    _cleanup_json_ json_t *bad =
        read_text("{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"x\"}}}]}}");
    struct podread_wants w = { 0 };
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(podread_wants(pod, &w, &err), 0);
    assert_int_equal(w.cpus, 4); /* 3 before the others, and the overhead */
    assert_int_equal(w.mem_mib, 1025);
    assert_int_equal(w.gpus, 2);
    assert_int_equal(podread_wants(bad, &w, &err), -EINVAL);
    assert_string_equal(err.text, "limits.cpu is no quantity");
}

#define AFFINE(terms)                                                                              \
    "{\"spec\":{\"affinity\":{\"nodeAffinity\":{"                                                  \
    "\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[" terms "]}}}}}"

static void test_fits(void **state)
{
    static const struct {
        const char *pod, *node;
        bool fits;
    } cases[] = {
        { "{}", "{}", true },
        { "{}", "{\"spec\":{\"unschedulable\":true}}", false },
        { "{}", "{\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]}}", false },
        { "{}", "{\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"PreferNoSchedule\"}]}}", true },
        { "{}",
          "{\"spec\":{\"taints\":[{\"key\":\"slinky.slurm.net/managed-node\",\"value\":\"s\","
          "\"effect\":\"NoExecute\"}]}}",
          true },
        { "{\"spec\":{\"tolerations\":[{\"key\":\"k\",\"value\":\"v\"}]}}",
          "{\"spec\":{\"taints\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"}]}}",
          true },
        { "{\"spec\":{\"tolerations\":[{\"key\":\"k\",\"value\":\"w\"}]}}",
          "{\"spec\":{\"taints\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"}]}}",
          false },
        { "{\"spec\":{\"tolerations\":[{\"operator\":\"Exists\",\"effect\":\"NoExecute\"}]}}",
          "{\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]}}", false },
        { "{\"spec\":{\"nodeSelector\":{\"a\":\"b\"}}}",
          "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", true },
        { "{\"spec\":{\"nodeSelector\":{\"a\":\"b\"}}}", "{}", false },
        { AFFINE("{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\","
                 "\"values\":[\"x\",\"b\"]}]}"),
          "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", true },
        { AFFINE("{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"NotIn\","
                 "\"values\":[\"b\"]}]}"),
          "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", false },
        { AFFINE("{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"DoesNotExist\"}]},"
                 "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Gt\","
                 "\"values\":[\"5\"]}]}"),
          "{\"metadata\":{\"labels\":{\"a\":\"10\"}}}", true }, /* one of the terms */
        { AFFINE("{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Lt\","
                 "\"values\":[\"5\"]}]}"),
          "{\"metadata\":{\"labels\":{\"a\":\"many\"}}}", false },
        { AFFINE("{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\","
                 "\"values\":[\"n\"]}]}"),
          "{\"metadata\":{\"name\":\"n\"}}", true },
        { AFFINE("{}"), "{}", false }, /* an empty term names no node */
        { AFFINE("{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Like\"}]}"), "{}", false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *pod = read_text(cases[i].pod), *node = read_text(cases[i].node);

        assert_int_equal(podread_fits(pod, node, "s"), cases[i].fits);
    }
}

/* A pod of the gang: its uid, and whether it is bound, over, marked and of which attempt. */
static json_t *make_pod(const char *uid, const char *node, const char *phase, bool marked,
                        const char *attempt)
{
    json_t *pod =
        json_pack("{s:{s:s, s:s, s:s}, s:{s:s*}, s:{s:s}}", "metadata", "uid", uid, "name", uid,
                  "namespace", "d", "spec", "nodeName", node, "status", "phase", phase);
    json_t *meta = json_object_get(pod, "metadata");

    if (marked) {
        (void)json_object_set_new(meta, "labels", json_pack("{s:s}", BRIDGE_LABEL_JOB, "7"));
        (void)json_object_set_new(meta, "finalizers", json_pack("[s]", BRIDGE_FINALIZER));
    }
    if (attempt)
        (void)json_object_set_new(meta, "annotations",
                                  json_pack("{s:s}", BRIDGE_NOTE_ATTEMPT, attempt));
    return pod;
}

static void test_actions(void **state)
{
    enum { NONE = -1 };
    static const struct {
        struct {
            const char *uid, *node, *phase;
            bool marked;
            const char *attempt;
        } pods[2];
        int job; /* its state; NONE: no job */
        bool missed;
        enum podgang_action action;
    } cases[] = {
        { { { "a", NULL, "Pending" } }, NONE, false, GANG_WAIT },
        { { { "a", NULL, "Pending" }, { "b", NULL, "Pending" } }, NONE, false, GANG_SUBMIT },
        { { { "a", "n", "Running" }, { "b", NULL, "Pending" } }, NONE, false, GANG_REST },
        { { { "a", NULL, "Pending" }, { "b", NULL, "Pending" } }, 0, false, GANG_ASK },
        { { { "a", NULL, "Pending" }, { "b", NULL, "Pending" } },
          SLURMJOB_PENDING,
          false,
          GANG_MARK },
        { { { "a", NULL, "Pending", true }, { "b", NULL, "Pending", true } },
          SLURMJOB_PENDING,
          false,
          GANG_REST },
        { { { "a", NULL, "Pending", true }, { "b", NULL, "Pending", true } },
          SLURMJOB_RUNNING,
          false,
          GANG_PLACE },
        { { { "a", "n", "Pending", true }, { "b", NULL, "Pending", true } },
          SLURMJOB_RUNNING,
          false,
          GANG_PLACE },
        { { { "a", "n", "Running", true }, { "b", "m", "Running", true } },
          SLURMJOB_RUNNING,
          false,
          GANG_REST },
        { { { "a", "n", "Running", true }, { "b", "m", "Running", true } },
          SLURMJOB_RUNNING,
          true,
          GANG_ASK }, /* said once not to be there */
        { { { "a", NULL, "Pending", true } }, SLURMJOB_RUNNING, false, GANG_GIVE_UP },
        { { { "a", NULL, "Pending", true, "1" } }, SLURMJOB_RUNNING, false, GANG_CANCEL },
        { { { "a", NULL, "Pending", true, "1" } }, SLURMJOB_ENDED, false, GANG_AGAIN },
        { { { "a", "n", "Running", true, "1" } }, SLURMJOB_ENDED, false, GANG_END },
        { { { "a", "n", "Succeeded", true }, { "b", "m", "Failed", true } },
          SLURMJOB_RUNNING,
          false,
          GANG_CANCEL },
        { { { "a", "n", "Succeeded", true }, { "b", "m", "Running", true } },
          SLURMJOB_RUNNING,
          false,
          GANG_REST },
        { { { "a", "n", "Running", true }, { "b", "m", "Running", true } },
          SLURMJOB_ENDED,
          false,
          GANG_END },
        { { { "a", NULL, "Pending", true }, { "b", NULL, "Pending", true } },
          SLURMJOB_GONE,
          false,
          GANG_END },
        { { { "a", "n", "Succeeded", true } }, SLURMJOB_ENDED, false, GANG_AGAIN },
        { { { "other", NULL, "Pending" } }, SLURMJOB_RUNNING, false, GANG_CANCEL },
        { { { "other", NULL, "Pending" } }, SLURMJOB_ENDED, false, GANG_AGAIN },
        { { { NULL } }, SLURMJOB_PENDING, false, GANG_CANCEL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *pods = json_array();
        _cleanup_json_ json_t *comment =
            jobmake_read_comment("{\"gang\":\"g\",\"attempt\":0,\"uids\":[\"a\",\"b\"]}", "");
        struct slurmjob job = { .id = 7, .comment = comment, .missed_us = cases[i].missed };
        struct podgang_view v = { pods, 2, cases[i].job == NONE ? NULL : &job };

        job.state = cases[i].job == NONE ? 0 : (enum slurmjob_state)cases[i].job;
        for (size_t k = 0; k < 2 && cases[i].pods[k].uid; k++)
            (void)json_array_append_new(
                pods, make_pod(cases[i].pods[k].uid, cases[i].pods[k].node, cases[i].pods[k].phase,
                               cases[i].pods[k].marked, cases[i].pods[k].attempt));
        assert_int_equal(podgang_decide(&v), cases[i].action);
    }
}

/* The finalizer of a pod stays until nothing of its job is needed. */
static void test_whose_job(void **state)
{
    _cleanup_json_ json_t *comment = read_text("{\"gang\":\"pg/ns/a\"}");
    const struct slurmjob ours = { .comment = comment }, unknown = { .id = 1 };

    (void)state;
    assert_true(podgang_owns(&ours, "pg/ns/a"));
    assert_false(podgang_owns(&ours, "pg/ns/ab"));
    assert_true(podgang_owns(&unknown, "pg/ns/a"));
}

static void test_letting_go(void **state)
{
    _cleanup_json_ json_t *pods = json_array();
    _cleanup_json_ json_t *comment =
        jobmake_read_comment("{\"gang\":\"g\",\"attempt\":0,\"uids\":[\"a\",\"b\"]}", "");
    struct slurmjob job = { .id = 7, .comment = comment, .state = SLURMJOB_RUNNING };
    struct podgang_view v = { pods, 2, &job };
    const json_t *first;

    (void)state;
    (void)json_array_append_new(pods, make_pod("a", "n", "Succeeded", true, NULL));
    (void)json_array_append_new(pods, make_pod("b", "m", "Running", true, NULL));
    first = json_array_get(pods, 0);
    assert_true(podgang_lets_go(&v, first));
    assert_false(podgang_lets_go(&v, json_array_get(pods, 1)));
    (void)json_array_remove(pods, 1);
    assert_false(podgang_lets_go(&v, first)); /* the last: its job ends first */
    job.state = SLURMJOB_UNKNOWN;
    assert_false(podgang_lets_go(&v, first));
    job.state = SLURMJOB_ENDED;
    assert_true(podgang_lets_go(&v, first));
}

static void test_body(void **state)
{
    _cleanup_json_ json_t *pods = read_text(
        "[{\"metadata\":{\"name\":\"p-10\",\"namespace\":\"d\",\"uid\":\"u2\"},\"spec\":{}},"
        "{\"metadata\":{\"name\":\"p-9\",\"namespace\":\"d\",\"uid\":\"u1\",\"annotations\":{"
        "\"slurmjob.slinky.slurm.net/timelimit\":\"5\",\"slurmjob.slinky.slurm.net/mem-per-node\":"
        "\"2Gi\",\"slurmjob.slinky.slurm.net/exclusive\":\"false\"}},\"spec\":{\"containers\":["
        "{\"resources\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"1Gi\"}}}]}}]");
    struct jobmake m = { .gang = "g", .pods = pods, .name = "n", .attempt = 3 };
    _cleanup_json_ json_t *body = NULL, *comment = NULL;
    struct err err = { .text = "" };

    (void)state;
    podgang_sort(pods);
    m.root = json_array_get(pods, 0);
    assert_string_equal(kubejson_name(m.root), "p-9");
    assert_int_equal(jobmake_body(&m, &body, &err), 0);
    assert_int_equal(kubejson_int(body, "job.minimum_nodes", 0), 2);
    assert_int_equal(kubejson_int(body, "job.cpus_per_task", 0), 2);
    assert_int_equal(kubejson_int(body, "job.memory_per_node.number", 0), 2048);
    assert_int_equal(kubejson_int(body, "job.time_limit.number", 0), 5);
    assert_null(kubejson_at(body, "job.shared"));
    comment = jobmake_read_comment(kubejson_text(body, "job.admin_comment"), "");
    assert_int_equal(kubejson_int(comment, "attempt", 0), 3);
    assert_int_equal(json_array_size(json_object_get(comment, "uids")), 2);
    assert_null(jobmake_read_comment("{\"pods\":[\"a/b\"]}", ""));
    assert_null(jobmake_read_comment("{\"gang\":\"g\",\"attempt\":0,\"uids\":[1]}", ""));
    assert_null(jobmake_read_comment("hand-written", ""));
}

static json_t *one_note(const char *name)
{
    char key[128];

    (void)snprintf(key, sizeof(key), BRIDGE_NOTE_PREFIX "%s", name);
    return json_pack("{s:s}", key, "7");
}

static int make_with(const char *note, bool identity, json_t **ret, struct err *err)
{
    _cleanup_json_ json_t *pods =
        json_pack("[{s:{s:s, s:s, s:s, s:o}}, {s:{s:s, s:s, s:s}}]", "metadata", "name", "p",
                  "namespace", "d", "uid", "u", "annotations", one_note(note), "metadata", "name",
                  "q", "namespace", "d", "uid", "v");
    struct jobmake m = { .gang = "g", .pods = pods, .name = "n", .identity = identity };

    assert_non_null(pods);
    m.root = json_array_get(pods, 0);
    return jobmake_body(&m, ret, err);
}

/* Each note is 7 here; of two pods. */
static void test_sizes_and_identities(void **state)
{
    static const struct {
        const char *note, *field;
        int least, most;
        bool identity;
    } good[] = { { "min-nodes", NULL, 7, 7, false },
                 { "max-nodes", NULL, 2, 7, false },
                 { "user-id", "job.user_id", 2, 2, true },
                 { "group-id", "job.group_id", 2, 2, true } };
    struct err err = { .text = "" };
    json_t *none = NULL;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        _cleanup_json_ json_t *body = NULL;

        assert_int_equal(make_with(good[i].note, good[i].identity, &body, &err), 0);
        assert_int_equal(kubejson_int(body, "job.minimum_nodes", 0), good[i].least);
        assert_int_equal(kubejson_int(body, "job.maximum_nodes", 0), good[i].most);
        assert_int_equal(kubejson_int(body, "job.tasks", 0), good[i].least);
        if (good[i].field)
            assert_string_equal(kubejson_text(body, good[i].field), "7");
    }
    assert_int_equal(make_with("user-id", false, &none, &err), -EINVAL);
    assert_non_null(strstr(err.text, "user-id: the bridge's identityNamespaces have not"));
    assert_int_equal(make_with("group-id", false, &none, &err), -EINVAL);
    assert_null(none);
}

#define RULES                                                                                      \
    "[{\"namespace\":\"a\",\"serviceAccount\":\"s\",\"userId\":7,\"groupId\":8,"                   \
    "\"accounts\":[\"x\",\"y\"],\"priority\":true},{\"namespace\":\"a\",\"userId\":9}]"

/* What Kubernetes says of a pod decides whose the job is; annotations may only agree. */
static void test_identities(void **state)
{
    static const struct {
        const char *namespace_, *account, *notes, *why, *user, *job_account;
    } cases[] = {
        { "a", "s", "{}", "", "7", "x" },
        { "a", "s", "{\"account\":\"y\",\"user-id\":\"7\",\"priority\":\"5\"}", "", "7", "y" },
        { "a", "s", "{\"account\":\"z\"}", "z is none of the accounts", "", "" },
        { "a", "s", "{\"user-id\":\"9\"}", "user-id: 9 is not the identity", "", "" },
        { "a", "other", "{}", "", "9", "" },
        { "a", "other", "{\"group-id\":\"8\"}", "group-id: 8 is not the identity", "", "" },
        { "a", "other", "{\"account\":\"x\"}", "x is none of the accounts", "", "" },
        { "a", "other", "{\"priority\":\"5\"}", "priority: the pod's identity may not", "", "" },
        { "b", "s", "{}", "name nobody for namespace b and service account s", "", "" },
    };
    _cleanup_json_ json_t *rules = read_text(RULES);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *given = read_text(cases[i].notes), *notes = json_object(),
                              *job = json_object(), *pods = NULL;
        struct err err = { .text = "" };
        const char *key;
        json_t *value;

        json_object_foreach(given, key, value)
        {
            char whole[128];

            (void)snprintf(whole, sizeof(whole), BRIDGE_NOTE_PREFIX "%s", key);
            assert_int_equal(json_object_set(notes, whole, value), 0);
        }
        if (json_object_get(given, "account"))
            assert_int_equal(json_object_set(job, "account", json_object_get(given, "account")), 0);
        pods = json_pack("[{s:{s:s, s:O}, s:{s:s}}]", "metadata", "namespace", cases[i].namespace_,
                         "annotations", notes, "spec", "serviceAccountName", cases[i].account);
        assert_int_equal(podidentity_set(rules, pods, json_array_get(pods, 0), job, &err),
                         *cases[i].why ? -EPERM : 0);
        if (!strstr(err.text, cases[i].why) || (*err.text && !*cases[i].why))
            fail_msg("%zu: %s", i, err.text);
        if (*cases[i].why)
            continue;
        assert_string_equal(kubejson_text(job, "user_id"), cases[i].user);
        assert_string_equal(kubejson_text(job, "account"), cases[i].job_account);
    }
}

static void test_identities_read(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        { RULES, "" },
        { "null", "" },
        { "{}", "identities is no list" },
        { "[{\"userId\":1}]", "item 1: namespace is no name" },
        { "[{\"namespace\":\"a\",\"userId\":0}]", "item 1: userId is no number from 1" },
        { "[{\"namespace\":\"a\",\"accounts\":[\"\"]}]", "item 1: account 1 is no name" },
        { "[{\"namespace\":\"a\",\"user\":1}]", "item 1: the key user is unknown" },
        { "[{\"namespace\":\"a\",\"priority\":1}]", "item 1: priority is not true or false" },
        { "[{\"namespace\":\"a\",\"serviceAccount\":\"A\"}]", "serviceAccount is no name" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *list = json_loads(cases[i].text, JSON_DECODE_ANY, NULL), *got = NULL;
        struct err err = { .text = "" };

        assert_int_equal(podidentity_read(list, &got, &err), *cases[i].why ? -EINVAL : 0);
        if (!strstr(err.text, cases[i].why))
            fail_msg("%s", err.text);
    }
}

static void test_fewer_nodes_than_pods(void **state)
{
    _cleanup_json_ json_t *pods = read_text(
        "[{\"metadata\":{\"name\":\"p\",\"uid\":\"u\",\"annotations\":{"
        "\"slurmjob.slinky.slurm.net/max-nodes\":\"1\"}}},{\"metadata\":{\"uid\":\"v\"}}]");
    struct jobmake m = { .gang = "g", .pods = pods, .name = "n" };
    struct err err = { .text = "" };
    json_t *body = NULL;

    (void)state;
    m.root = json_array_get(pods, 0);
    assert_int_equal(jobmake_body(&m, &body, &err), -EINVAL);
    assert_non_null(strstr(err.text, "max-nodes: 1, and 2 are needed"));
    assert_null(body);
}

static void test_exclusions(void **state)
{
    _cleanup_json_ json_t *a = read_text("{\"spec\":{\"taints\":[{\"key\":\"k\"}]}}");
    _cleanup_json_ json_t *b = read_text("{\"spec\":{\"taints\":[{\"key\":\"k\"}]},"
                                         "\"status\":{\"x\":1}}");
    _cleanup_json_ json_t *c = read_text("{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");

    (void)state;
    assert_false(exclusion_changes(a, b)); /* a heartbeat */
    assert_true(exclusion_changes(a, c));
    assert_true(exclusion_changes(NULL, a));
    assert_true(exclusion_changes(a, NULL));
    assert_true(kubematch_selects(NULL, a));
    assert_false(kubematch_tolerates(NULL, json_array_get(kubejson_at(a, "spec.taints"), 0)));
}

static void test_conf(void **state)
{
    static const char good[] = "slurmRestApi: http://h:1\npartition: p\n"
                               "identityNamespaces: [trusted]\n";
    struct bridgeconf c = { 0 };
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(bridgeconf_parse(good, strlen(good), &c, &err), 0);
    assert_string_equal(c.scheduler, "slurm-bridge-scheduler");
    assert_string_equal(c.partition, "p");
    assert_null(c.mcs);
    assert_true(bridgeconf_has(c.identities, "trusted") &&
                !bridgeconf_has(c.namespaces, "trusted"));
    bridgeconf_done(&c);
    assert_int_equal(bridgeconf_parse("identityNamespaces: x", 21, &c, &err), -EINVAL);
    assert_string_equal(err.text, "identityNamespaces is no list");
    assert_int_equal(bridgeconf_parse("partitoin: p", 12, &c, &err), -EINVAL);
    assert_string_equal(err.text, "the key partitoin is unknown");
    assert_int_equal(bridgeconf_parse("schedulerName: a&b", 18, &c, &err), -EINVAL);
    assert_int_equal(bridgeconf_parse("slurmRestApi: h:1", 17, &c, &err), -EINVAL);
}

#define SELECTOR "managedNamespaceSelector: "

static void test_selectors(void **state)
{
    static const struct {
        const char *text, *why; /* NULL: it is good */
    } cases[] = {
        { SELECTOR "{matchLabels: {a: b}}", NULL },
        { SELECTOR "{matchExpressions: [{key: a, operator: In, values: [b]}]}", NULL },
        { SELECTOR "{matchExpressions: [{key: a, operator: Exists}]}", NULL },
        { SELECTOR "{}", SELECTOR "matchLabels or matchExpressions are wanted" },
        { SELECTOR "{matchLabels: {}}", SELECTOR "matchLabels or matchExpressions are wanted" },
        { SELECTOR "{matchLabels: [a]}", SELECTOR "matchLabels or matchExpressions are wanted" },
        { SELECTOR "{matchLabels: {a: [b]}}",
          "managedNamespaceSelector.matchLabels: a is no text" },
        { SELECTOR "{names: [a]}", SELECTOR "the key names is unknown" },
        { SELECTOR "{matchExpressions: [{key: a, operator: Gt, values: [b]}]}",
          "managedNamespaceSelector.matchExpressions: item 1: key, and operator In, NotIn, Exists or "
          "DoesNotExist are wanted" },
        { SELECTOR "{matchExpressions: [{key: a, operator: In}]}",
          "managedNamespaceSelector.matchExpressions: item 1: values do not fit In" },
        { SELECTOR "{matchExpressions: [{key: a, operator: Exists, values: [b]}]}",
          "managedNamespaceSelector.matchExpressions: item 1: values do not fit Exists" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct bridgeconf c = { 0 };
        struct err err = { .text = "" };

        assert_int_equal(bridgeconf_parse(cases[i].text, strlen(cases[i].text), &c, &err),
                         cases[i].why ? -EINVAL : 0);
        assert_string_equal(err.text, cases[i].why ? cases[i].why : "");
        assert_int_equal(c.selector != NULL, cases[i].why == NULL);
        bridgeconf_done(&c);
    }
}

static void hear_job(void *ctx, const struct slurmjob *job)
{
    (void)job;
    ++*(unsigned *)ctx;
}

static void hear_node(void *ctx, const char *name)
{
    (void)name;
    ++*(unsigned *)ctx;
}

static void hear_sync(void *ctx)
{
    ++*(unsigned *)ctx;
}

/* Neither slurmrestd nor the API server is there: nothing is known, and nothing is told. */
static void test_nobody_there(void **state)
{
    const struct bridge_options o = { .scheduler = "s" };
    struct kubeserver *slurm = NULL;
    struct nobody kube;
    struct slurmlink *link = NULL;
    struct bridge *b = NULL;
    unsigned told = 0;
    const struct slurmlink_heard heard = { hear_job, hear_node, hear_sync, hear_sync, &told };

    (void)state;
    nobody_begin(&kube);
    assert_int_equal(
        kubeserver_new(kube.loop, &kube.config, &(struct kubeserver_options){ "test" }, &slurm), 0);
    assert_int_equal(slurmlink_new(slurm, "", &heard, &link), 0);
    assert_int_equal(slurmlink_ask(link, 5), 0);
    assert_int_equal(bridge_new(kube.server, slurm, &o, &b), 0);
    nobody_turn(&kube, 6);
    assert_int_equal(told, 0);
    assert_false(slurmlink_is_synced(link));
    assert_int_equal(slurmlink_job(link, 5)->state, SLURMJOB_UNKNOWN);
    bridge_stop(b);
    nobody_hang_up(&kube);
    slurm = kubeserver_free(slurm);
    b = bridge_free(b);
    link = slurmlink_free(link);
    nobody_end(&kube);
}

static const char external_node[] =
    "{\"metadata\":{\"name\":\"k\",\"labels\":{\"scheduler.slinky.slurm.net/external-node\":\"\"},"
    "\"annotations\":{\"scheduler.slinky.slurm.net/external-node-partitions\":\" a,b ,,a\"}},"
    "\"status\":{\"capacity\":{\"cpu\":\"4\",\"memory\":\"2Gi\"}}}";

static void test_external_shapes(void **state)
{
    static const struct {
        const char *path, *text; /* NULL: the capacity is not there */
    } bad[] = {
        { "annotation", "a\nNodeName=x" },
        { "annotation", "a b" },
        { "annotation", "a=b" },
        { "annotation", "-a" },
        { "name", "k[1-9]" },
        { "name", "../k" },
        { "cpu", "999m" },
        { "cpu", "x" },
        { "cpu", "100000" },
    };
    _cleanup_json_ json_t *node = read_text(external_node);
    _cleanup_json_ json_t *body = NULL;
    struct nodeshape want;
    struct err err = { .text = "" };

    (void)state;
    assert_true(nodeshape_is_wanted(node));
    assert_false(nodeshape_is_wanted(NULL));
    assert_int_equal(nodeshape_read(node, NULL, NODESHAPE_MARK, &want, &err), 0);
    body = nodeshape_body(NODESHAPE_CREATE, "k", &want);
    assert_string_equal(kubejson_text(body, "node_conf"),
                        "NodeName=k Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 CPUs=4 "
                        "RealMemory=2048 State=EXTERNAL Feature=penstock-bridge,a,b");
    nodeshape_done(&want);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        _cleanup_json_ json_t *copy = json_deep_copy(node);
        json_t *text = json_string(bad[i].text);

        if (strcmp(bad[i].path, "annotation") == 0)
            (void)json_object_set_new(kubejson_at(copy, "metadata.annotations"),
                                      BRIDGE_NOTE_PARTITIONS, text);
        else if (strcmp(bad[i].path, "name") == 0)
            (void)json_object_set_new(kubejson_at(copy, "metadata.labels"), BRIDGE_LABEL_NODE,
                                      text);
        else
            (void)json_object_set_new(kubejson_at(copy, "status.capacity"), "cpu", text);
        assert_int_equal(nodeshape_read(copy, NULL, NODESHAPE_MARK, &want, &err), -EINVAL);
    }
}

static void test_external_actions(void **state)
{
    static const struct {
        const char *have; /* NULL: slurmctld has none */
        enum nodeshape_act wanted, unwanted;
    } cases[] = {
        { NULL, NODESHAPE_CREATE, NODESHAPE_NOTHING },
        { "{}", NODESHAPE_NOTHING, NODESHAPE_NOTHING },
        { "{\"state\":[\"IDLE\"],\"features\":[\"penstock-bridge\"]}", NODESHAPE_NOTHING,
          NODESHAPE_NOTHING },
        { "{\"state\":[\"IDLE\",\"EXTERNAL\"],\"features\":[\"a\",\"b\"]}", NODESHAPE_NOTHING,
          NODESHAPE_NOTHING },
        { "{\"state\":[\"IDLE\",\"EXTERNAL\"],\"features\":[\"b\",\"penstock-bridge\",\"a\"],"
          "\"cpus\":4,\"real_memory\":2048}",
          NODESHAPE_NOTHING, NODESHAPE_DRAIN },
        { "{\"state\":[\"IDLE\",\"EXTERNAL\"],\"features\":[\"penstock-bridge\",\"a\"],"
          "\"cpus\":4,\"real_memory\":2048}",
          NODESHAPE_CHANGE, NODESHAPE_DRAIN },
        { "{\"state\":[\"MIXED\",\"EXTERNAL\",\"DRAIN\"],\"features\":[\"penstock-bridge\"],"
          "\"cpus\":5,\"real_memory\":2048}",
          NODESHAPE_WAIT, NODESHAPE_WAIT },
        { "{\"state\":[\"IDLE\",\"EXTERNAL\",\"DRAIN\"],\"features\":[\"penstock-bridge\"],"
          "\"cpus\":5,\"real_memory\":2048}",
          NODESHAPE_DELETE, NODESHAPE_DELETE },
        { "{\"state\":[\"ALLOCATED\",\"EXTERNAL\",\"DRAIN\"],\"features\":[\"penstock-bridge\","
          "\"a\",\"b\"],\"cpus\":4,\"real_memory\":2048,\"reason\":\"" NODESHAPE_REASON "\"}",
          NODESHAPE_RESUME, NODESHAPE_WAIT },
        { "{\"state\":[\"IDLE\",\"EXTERNAL\",\"DRAIN\"],\"features\":[\"penstock-bridge\","
          "\"a\",\"b\"],\"cpus\":4,\"real_memory\":2048,\"reason\":\"a fan\"}",
          NODESHAPE_NOTHING, NODESHAPE_DELETE },
    };
    _cleanup_json_ json_t *node = read_text(external_node);
    struct nodeshape want;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(nodeshape_read(node, NULL, NODESHAPE_MARK, &want, &err), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *have = cases[i].have ? read_text(cases[i].have) : NULL;

        assert_int_equal(nodeshape_decide(&want, have, NODESHAPE_MARK), cases[i].wanted);
        assert_int_equal(nodeshape_decide(NULL, have, NODESHAPE_MARK), cases[i].unwanted);
    }
    nodeshape_done(&want);
}

/* Nodes have the pods that are bound there until these have ended, claims the gangs whose pods
 * refer to them. */
static void test_what_is_there(void **state)
{
    _cleanup_json_ json_t *waits =
        read_text("{\"metadata\":{\"uid\":\"u\",\"namespace\":\"n\"},\"spec\":{"
                  "\"volumes\":[{\"persistentVolumeClaim\":"
                  "{\"claimName\":\"c\"}}]}}");
    _cleanup_json_ json_t *bound = json_deep_copy(waits), *goes = NULL, *over = NULL;
    struct bridge b = { .o = { .name = "" } };

    (void)state;
    (void)json_object_set_new(json_object_get(bound, "spec"), "nodeName", json_string("k"));
    goes = json_deep_copy(bound);
    (void)json_object_set_new(json_object_get(goes, "metadata"), "deletionTimestamp",
                              json_string("2026-01-01T00:00:00Z"));
    over = json_deep_copy(goes);
    (void)json_object_set_new(over, "status", json_pack("{s:s}", "phase", "Failed"));
    bridgeleave_see(&b, NULL, waits);
    assert_int_equal(b.there.n, 0);
    bridgeleave_see(&b, waits, bound);
    bridgeleave_see(&b, bound, goes);
    assert_int_equal(b.there.n, 1);
    bridgeleave_see(&b, goes, over);
    assert_int_equal(b.there.n, 0);
    bridgeleave_see(&b, over, NULL);
    bridgeleave_see(&b, NULL, goes);
    bridgeleave_see(&b, goes, NULL);
    assert_int_equal(b.there.n, 0);
    bridgevolume_see(&b, waits, "g", true);
    bridgevolume_see(&b, waits, "g", true);
    bridgevolume_see(&b, waits, "g", false);
    assert_int_equal(b.claim_gangs.n, 1);
    bridgevolume_see(&b, waits, "g", false);
    assert_int_equal(b.claim_gangs.n, 0);
    bridgevolume_see(&b, waits, "g", true);
    bridgeleave_see(&b, NULL, bound);
    bridgevolume_stop(&b);
    bridgeleave_stop(&b);
}

/* Names, and what priority classes are in Slurm; an annotation counts before the class. */
static void test_classes(void **state)
{
    static const char good[] =
        "name: x\npriorityClasses: [{name: urgent, qos: high, partition: p}]\n";
    static const struct {
        const char *text, *said;
    } bad[] = {
        { "name: X", "name X: a-z, 0-9, '.' and '-', 40 at most" },
        { "priorityClasses: x", "priorityClasses is no list" },
        { "priorityClasses: [{qos: a}]", "priorityClasses: item 1: name is no name" },
        { "priorityClasses: [{name: a, qso: b}]",
          "priorityClasses: item 1: the key qso is unknown" },
        { "priorityClasses: [{name: a, qos: 7}]", "priorityClasses: item 1: qos is no text" },
    };
    static const struct {
        const char *class, *notes, *qos, *partition;
    } cases[] = {
        { "urgent", "{}", "high", "p" },
        { "other", "{}", "", "dflt" },
        { "urgent", "{\"slurmjob.slinky.slurm.net/qos\":\"mine\"}", "mine", "p" },
    };
    struct bridgeconf c;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(bridgeconf_parse(good, strlen(good), &c, &err), 0);
    assert_string_equal(c.name, "x");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *pod = json_pack(
            "{s:{s:s, s:s, s:o}, s:{s:s}}", "metadata", "name", "a", "uid", "u", "annotations",
            read_text(cases[i].notes), "spec", "priorityClassName", cases[i].class);
        _cleanup_json_ json_t *pods = json_pack("[O]", pod), *body = NULL;
        const struct jobmake m = { .bridge = c.name,
                                   .gang = "g",
                                   .pods = pods,
                                   .root = pod,
                                   .name = "n",
                                   .partition = "dflt",
                                   .classes = c.classes };
        _cleanup_json_ json_t *comment = NULL;

        assert_int_equal(jobmake_body(&m, &body, &err), 0);
        assert_string_equal(kubejson_text(body, "job.qos"), cases[i].qos);
        assert_string_equal(kubejson_text(body, "job.partition"), cases[i].partition);
        comment = jobmake_read_comment(kubejson_text(body, "job.admin_comment"), "x");
        assert_non_null(comment);
    }
    bridgeconf_done(&c);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_int_equal(bridgeconf_parse(bad[i].text, strlen(bad[i].text), &c, &err), -EINVAL);
        assert_string_equal(err.text, bad[i].said);
    }
}

/* Cordons, places, and the marks of several bridges. */
static void test_external_words(void **state)
{
#define ALIKE "\"features\":[\"penstock-bridge-x\",\"a\",\"b\"],\"cpus\":4,\"real_memory\":2048"
    static const struct {
        bool cordoned;
        const char *have;
        enum nodeshape_act act;
    } cases[] = {
        { false, "{\"state\":[\"IDLE\",\"EXTERNAL\"],\"topology\":\"t:s1\"," ALIKE "}",
          NODESHAPE_NOTHING },
        { false, "{\"state\":[\"IDLE\",\"EXTERNAL\"],\"topology\":\"t:s2\"," ALIKE "}",
          NODESHAPE_TOPOLOGY },
        { true, "{\"state\":[\"IDLE\",\"EXTERNAL\"],\"topology\":\"t:s1\"," ALIKE "}",
          NODESHAPE_CORDON },
        { true,
          "{\"state\":[\"IDLE\",\"EXTERNAL\",\"DRAIN\"],\"reason\":\"slurm-bridge: x\","
          "\"topology\":\"t:s1\"," ALIKE "}",
          NODESHAPE_NOTHING },
        { true,
          "{\"state\":[\"IDLE\",\"EXTERNAL\",\"DRAIN\"],\"reason\":\"a fan\","
          "\"topology\":\"t:s1\"," ALIKE "}",
          NODESHAPE_NOTHING },
        { false,
          "{\"state\":[\"IDLE\",\"EXTERNAL\",\"DRAIN\"],\"reason\":\"slurm-bridge: x\","
          "\"topology\":\"t:s1\"," ALIKE "}",
          NODESHAPE_RESUME },
        { false,
          "{\"state\":[\"IDLE\",\"EXTERNAL\",\"DRAIN\"],\"reason\":\"a fan\","
          "\"topology\":\"t:s1\"," ALIKE "}",
          NODESHAPE_NOTHING },
        { false, "{\"state\":[\"IDLE\",\"EXTERNAL\"],\"features\":[\"penstock-bridge\"]}",
          NODESHAPE_NOTHING }, /* another bridge's */
    };
    _cleanup_json_ json_t *node = read_text(external_node), *body = NULL, *bad = NULL;
    json_t *notes = (json_t *)(uintptr_t)kubejson_at(node, "metadata.annotations");
    char mark[NODESHAPE_MARK_SIZE];
    struct err err = { .text = "" };
    struct nodeshape want;

    (void)state;
    nodeshape_write_mark("x", mark);
    (void)json_object_set_new(notes, BRIDGE_NOTE_TOPOLOGY, json_string("t:s1"));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *have = read_text(cases[i].have);

        (void)json_object_set_new(node, "spec",
                                  json_pack("{s:b}", "unschedulable", cases[i].cordoned));
        assert_int_equal(nodeshape_read(node, NULL, mark, &want, &err), 0);
        assert_int_equal(nodeshape_decide(&want, have, mark), cases[i].act);
        nodeshape_done(&want);
    }
    assert_int_equal(nodeshape_read(node, NULL, mark, &want, &err), 0);
    body = nodeshape_body(NODESHAPE_CREATE, "k", &want);
    assert_non_null(
        strstr(kubejson_text(body, "node_conf"), " Feature=penstock-bridge-x,a,b Topology=t:s1"));
    nodeshape_done(&want);
    bad = json_deep_copy(node);
    (void)json_object_set_new((json_t *)(uintptr_t)kubejson_at(bad, "metadata.annotations"),
                              BRIDGE_NOTE_TOPOLOGY, json_string("t:s1 State=UP"));
    assert_int_equal(nodeshape_read(bad, NULL, mark, &want, &err), -EINVAL);
    assert_null(jobmake_read_comment("{\"gang\":\"g\",\"attempt\":0,\"uids\":[\"a\"]}", "x"));
    assert_null(jobmake_read_comment(
        "{\"gang\":\"g\",\"attempt\":0,\"uids\":[\"a\"],\"bridge\":\"y\"}", ""));
#undef ALIKE
}

/* ---- volumes --------------------------------------------------------------------------------- */

static const json_t *find_claim(void *ctx, const char *namespace_, const char *name)
{
    (void)namespace_;
    return json_object_get(json_object_get(ctx, "claims"), name);
}

static const json_t *find_volume(void *ctx, const char *name)
{
    return json_object_get(json_object_get(ctx, "volumes"), name);
}

static const json_t *find_class(void *ctx, const char *name)
{
    return json_object_get(json_object_get(ctx, "classes"), name);
}

static enum podvolume_static find_none(void *ctx, const json_t *claim)
{
    (void)ctx;
    (void)claim;
    return PODVOLUME_NONE;
}

#define BOUND                                                                                      \
    "\"metadata\":{\"name\":\"c\",\"annotations\":{\"pv.kubernetes.io/bind-completed\":\"yes\"}}"

static void test_volumes(void **state)
{
    static const char world_text[] =
        "{\"claims\":{\"bound\":{" BOUND ",\"spec\":{\"volumeName\":\"v\"}},"
        "\"lost\":{" BOUND ",\"spec\":{\"volumeName\":\"none\"}},"
        "\"half\":{\"spec\":{\"volumeName\":\"v\"}},"
        "\"late\":{\"spec\":{\"storageClassName\":\"zonal\"}},"
        "\"local\":{\"spec\":{\"storageClassName\":\"static\"}},"
        "\"now\":{\"spec\":{\"storageClassName\":\"now\"}},"
        "\"ends\":{\"metadata\":{\"deletionTimestamp\":\"x\"}},"
        "\"p-own\":{\"metadata\":{\"ownerReferences\":[{\"controller\":true,\"uid\":\"u\"}]},"
        "\"spec\":{\"storageClassName\":\"zonal\"}},"
        "\"p-else\":{\"spec\":{\"storageClassName\":\"zonal\"}}},"
        "\"volumes\":{\"v\":{\"spec\":{\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{"
        "\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"In\",\"values\":[\"a\"]}]}]}}}}},"
        "\"classes\":{\"now\":{\"volumeBindingMode\":\"Immediate\"},"
        "\"static\":{\"volumeBindingMode\":\"WaitForFirstConsumer\",\"provisioner\":"
        "\"kubernetes.io/no-provisioner\"},\"zonal\":{\"volumeBindingMode\":"
        "\"WaitForFirstConsumer\",\"allowedTopologies\":[{\"matchLabelExpressions\":[{\"key\":"
        "\"zone\",\"values\":[\"a\",\"b\"]}]}]}}}";
    static const struct {
        const char *volume;
        enum podvolume_state state;
        const char *why;
        bool a, b, c; /* may it be in these zones? */
    } cases[] = {
        { "\"emptyDir\":{}", PODVOLUME_READY, "", true, true, true },
        { "\"persistentVolumeClaim\":{\"claimName\":\"bound\"}", PODVOLUME_READY, "", true, false,
          false },
        { "\"persistentVolumeClaim\":{\"claimName\":\"late\"}", PODVOLUME_LATE, "", true, true,
          false },
        { "\"persistentVolumeClaim\":{\"claimName\":\"none\"}", PODVOLUME_WAIT,
          "the claim none is not there", true, true, true },
        { "\"persistentVolumeClaim\":{\"claimName\":\"lost\"}", PODVOLUME_WAIT,
          "the volume of the claim lost is not there", true, true, true },
        { "\"persistentVolumeClaim\":{\"claimName\":\"half\"}", PODVOLUME_WAIT,
          "the claim half is not bound yet", true, true, true },
        { "\"persistentVolumeClaim\":{\"claimName\":\"now\"}", PODVOLUME_WAIT,
          "the claim now is not bound yet", true, true, true },
        { "\"persistentVolumeClaim\":{\"claimName\":\"ends\"}", PODVOLUME_WAIT,
          "the claim ends is being deleted", true, true, true },
        { "\"persistentVolumeClaim\":{\"claimName\":\"local\"}", PODVOLUME_WAIT,
          "no volume that is free does for the claim local", true, true, true },
        { "\"name\":\"own\",\"ephemeral\":{}", PODVOLUME_LATE, "", true, true, false },
        { "\"name\":\"else\",\"ephemeral\":{}", PODVOLUME_WAIT, "the claim p-else is not the pod's",
          true, true, false },
    };
    _cleanup_json_ json_t *world = read_text(world_text);
    const struct podvolume_facts f = { find_claim, find_volume, find_class, world, find_none };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct strbuf why = STRBUF_INIT;
        const bool want[] = { cases[i].a, cases[i].b, cases[i].c };
        char text[300];
        _cleanup_json_ json_t *pod = NULL, *needs = NULL;

        (void)snprintf(
            text, sizeof(text),
            "{\"metadata\":{\"name\":\"p\",\"uid\":\"u\"},\"spec\":{\"volumes\":[{%s}]}}",
            cases[i].volume);
        pod = read_text(text);
        assert_int_equal(podvolume_judge(&f, pod, &why), cases[i].state);
        assert_string_equal(strbuf_str(&why), cases[i].why);
        needs = podvolume_needs(&f, pod);
        for (size_t k = 0; k < 3; k++) {
            _cleanup_json_ json_t *node = NULL;

            (void)snprintf(text, sizeof(text), "{\"metadata\":{\"labels\":{\"zone\":\"%c\"}}}",
                           (char)('a' + k));
            node = read_text(text);
            assert_int_equal(podvolume_meets(needs, node), want[k]);
        }
        strbuf_done(&why);
    }
}

static void test_devices(void **state)
{
    _cleanup_json_ json_t *pod = read_text(
        "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"x.com/nic\":\"2\",\"cpu\":\"99\","
        "\"nvidia.com/gpu\":\"8\"}}},{\"resources\":{\"limits\":{\"x.com/nic\":1}}}]}}");
    _cleanup_json_ json_t *few = read_text("{\"status\":{\"allocatable\":{\"x.com/nic\":\"2\"}}}");
    _cleanup_json_ json_t *many = read_text("{\"status\":{\"allocatable\":{\"x.com/nic\":\"3\"}}}");
    _cleanup_json_ json_t *none = read_text("{}"), *needs = NULL;
    const struct podvolume_facts f = { find_claim, find_volume, find_class, none, find_none };

    (void)state;
    needs = podvolume_needs(&f, pod);
    assert_false(podvolume_meets(needs, few));
    assert_false(podvolume_meets(needs, none));
    assert_true(podvolume_meets(needs, many));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_external_words),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_what_is_there),
        cmocka_unit_test(test_volumes),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_external_shapes),
        cmocka_unit_test(test_external_actions),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_wants),
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_actions),
        cmocka_unit_test(test_letting_go),
        cmocka_unit_test(test_whose_job),
        cmocka_unit_test(test_body),
        cmocka_unit_test(test_sizes_and_identities),
        cmocka_unit_test(test_identities),
        cmocka_unit_test(test_identities_read),
        cmocka_unit_test(test_fewer_nodes_than_pods),
        cmocka_unit_test(test_exclusions),
        cmocka_unit_test(test_conf),
        cmocka_unit_test(test_selectors),
        cmocka_unit_test(test_nobody_there),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
