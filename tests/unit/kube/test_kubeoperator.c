/* test_kubeoperator.c - what the operator makes of custom resources
 *
 * tests/golden/operator/NAME.json is what is made of the resources below; test_kubeoperator
 * --update writes the files anew. */
#include "kube_cr_util.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/nodeset/nssched.h"
#include "kube/make/mkbase.h"
#include "kube/make/mkcontroller.h"
#include "kube/make/mkmonitor.h"
#include "kube/make/mkrest.h"
#include "kube/make/mkssh.h"
#include "kube/make/mkworkers.h"
#include "kube/make/nodefit.h"
#include "kube/operator/opapply.h"
#include "kube/operator/opclient.h"
#include "kube/operator/opleader.h"
#include "kube/operator/opreach.h"
#include "kube/make/opconf.h"
#include "kube/operator/operator.h"
#include "kube/make/opkeys.h"
#include "kube/make/opkinds.h"
#include "kube/operator/opnodeset.h"
#include "kube/operator/opreconcile.h"
#include "kube/operator/opschedule.h"
#include "kube/make/opspec.h"
#include "kube/operator/optoken.h"
#include "kube/nodeset/slurmstate.h"
#include "kube/operator/slurmnodes.h"

static bool update;

static void compare_golden(const char *name, const json_t *made)
{
    char path[600];
    _cleanup_json_ json_t *want = NULL;

    (void)snprintf(path, sizeof(path), "%s/tests/golden/operator/%s.json", SOURCE_ROOT, name);
    if (update)
        assert_int_equal(json_dump_file(made, path, JSON_INDENT(1) | JSON_SORT_KEYS), 0);
    want = json_load_file(path, 0, NULL);
    if (!want || !json_equal(want, made))
        fail_msg("%s is not what is made: look at it, then run with --update", path);
}

static void test_objects(void **state)
{
    _cleanup_json_ json_t *world = read_text(
        "{\"ConfigMap/pro\":{\"data\":{\"b.sh\":\"x\",\"a.sh\":\"y\"}},"
        "\"Accounting/db\":{\"spec\":{\"external\":false}},"
        "\"Secret/tls\":{\"data\":{\"ca.crt\":\"YQ==\",\"tls.crt\":\"YQ==\",\"tls.key\":\"YQ==\"}},"
        "\"Secret/key\":{\"data\":{\"k\":\"YQ==\"}}}");
    _cleanup_json_ json_t *c = read_cr(
        "Controller", "c",
        "{\"clusterName\":\"blue\",\"slurmKeyRef\":{\"name\":\"key\",\"key\":\"k\"},"
        "\"accountingRef\":{\"name\":\"db\"},\"prologScriptRefs\":[{\"name\":\"pro\"}],"
        "\"metrics\":{\"enabled\":true},\"inplaceReconfigure\":false,"
        "\"persistence\":{\"resources\":{\"requests\":{\"storage\":\"9Gi\"}}},"
        "\"slurmctld\":{\"image\":\"mine\",\"args\":[\"-vv\"],\"env\":[{\"name\":\"A\",\"value\":\"b\"}],"
        "\"readinessProbe\":{\"tcpSocket\":{\"port\":6817}}},"
        "\"template\":{\"metadata\":{\"labels\":{\"team\":\"x\"}},\"spec\":{\"containers\":"
        "[{\"name\":\"side\",\"image\":\"s\"}]}},\"service\":{\"port\":7000,\"spec\":{\"externalIPs\":"
        "[\"1.2.3.4\"],\"type\":\"LoadBalancer\"}},"
        "\"extraConf\":\"SlurmctldParameters=idle_on_node_suspend,reconfig_on_restart\\n#x\"}");
    _cleanup_json_ json_t *several =
        read_cr("Controller", "c",
                "{\"ha\":{\"enabled\":true,\"backups\":2,\"etcd\":{\"endpoints\":"
                "[\"https://e0:2379\",\"https://e1:2379\"],\"secretRef\":{\"name\":\"tls\"}}},"
                "\"persistence\":{\"enabled\":false}}");
    _cleanup_json_ json_t *set =
        read_cr("NodeSet", "gpu",
                "{\"controllerRef\":{\"name\":\"c\"},\"extraConf\":\"gres=gpu:8 Feature=h100\","
                "\"partition\":{\"enabled\":true,\"config\":\"Default=YES\"},\"ordinalPadding\":3,"
                "\"slurmd\":{\"resources\":{\"limits\":{\"cpu\":\"8\",\"memory\":\"2Gi\"}}},"
                "\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"tmp\"},\"spec\":{}}]}");
    _cleanup_json_ json_t *rest = read_cr("RestApi", "r", "{\"controllerRef\":{\"name\":\"c\"}}");
    _cleanup_json_ json_t *db = read_cr("Accounting", "db",
                                        "{\"storageConfig\":{\"host\":\"sql\",\"username\":\"u\","
                                        "\"passwordKeyRef\":{\"name\":\"p\",\"key\":\"q\"}}}");
    _cleanup_json_ json_t *sets = json_pack("[O]", set), *made = NULL;
    struct mkbase_facts f = { .group = &opgroups[0],
                              .cr = c,
                              .controller = c,
                              .nodesets = sets,
                              .image = "penstock",
                              .find = find_object,
                              .ctx = world };
    json_t *pod;

    (void)state;
    assert_int_equal(mkcontroller_objects(&f, &made), 0);
    compare_golden("controller", made);
    json_decref(made);
    f.cr = several;
    assert_int_equal(mkcontroller_objects(&f, &made), 0);
    compare_golden("controller-etcd", made);
    json_decref(made);
    f.cr = set;
    pod = mkworkers_pod(&f, 7, NULL);
    made = json_pack("[o, o, o]", pod, mkworkers_claims(&f, pod), mkworkers_history(&f, "r1", 3));
    compare_golden("worker", made);
    json_decref(made);
    assert_int_equal(mkworkers_shared(&f, &made), 0);
    compare_golden("shared", made);
    json_decref(made);
    f.cr = rest;
    assert_int_equal(mkrest_objects(&f, &made), 0);
    compare_golden("restapi", made);
    json_decref(made);
    f.cr = db;
    assert_int_equal(mkrest_accounting(&f, "secret", &made), 0);
    compare_golden("accounting", made);
}

/* Where the operator asks which slurmctld leads comes from a pod's status. */
static void test_addresses(void **state)
{
    static const struct {
        const char *text, *url;
    } cases[] = {
        { "10.1.2.3", "http://10.1.2.3:6817" },
        { "fd00::1", "http://[fd00::1]:6817" },
        { "", NULL },
        { "10.1.2.3:80", NULL },
        { "10.1.2.3/x", NULL },
        { "localhost", NULL },
        { "[fd00::1]", NULL },
        { "fd00::1%eth0", NULL },
    };
    char url[120];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(opleader_is_address(cases[i].text, url, sizeof(url)),
                         cases[i].url != NULL);
        if (cases[i].url)
            assert_string_equal(url, cases[i].url);
    }
}

/* A stranger's word gets into no other place of a URL than the host's. */
static void test_addresses_elsewhere(void **state)
{
    static const struct {
        const char *host, *url;
        int port;
    } cases[] = {
        { "ctl.example.org", "http://ctl.example.org:6817", 6817 },
        { "10.1.2.3", "http://10.1.2.3:1", 1 },
        { "fd00::1", "http://[fd00::1]:65535", 65535 },
        { "a_b-c", "http://a_b-c:6817", 6817 },
        { "", NULL, 6817 },
        { "ctl", NULL, 0 },
        { "ctl", NULL, 65536 },
        { "ctl:80", NULL, 6817 },
        { "ctl/x", NULL, 6817 },
        { "ctl?x", NULL, 6817 },
        { "root@ctl", NULL, 6817 },
        { "ctl\r\nX: y", NULL, 6817 },
        { "[fd00::1]", NULL, 6817 },
        { "fd00::1%eth0", NULL, 6817 },
        { "\303\274", NULL, 6817 },
    };
    char url[300], name[300];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        bool good = opreach_write_url(cases[i].host, cases[i].port, url, sizeof(url));

        assert_int_equal(good, cases[i].url != NULL);
        if (good)
            assert_string_equal(url, cases[i].url);
    }
    memset(name, 'n', sizeof(name));
    name[254] = '\0';
    assert_false(opreach_write_url(name, 6817, url, sizeof(url)));
    name[253] = '\0';
    assert_true(opreach_write_url(name, 65535, url, sizeof(url)));
    assert_string_equal(url + strlen(url) - 6, ":65535"); /* it is whole in a buffer of 300 */
}

#define HELD "\"finalizers\":[\"" NSSCHED_FINALIZER "\"],"
#define AT(start, flags)                                                                           \
    "\"spec\":{\"updateStrategy\":{\"type\":\"ScheduledUpdate\",\"scheduledUpdate\":{"             \
    "\"startTime\":\"" start "\",\"duration\":\"1h\",\"flags\":[" flags "]}}}"
#define EARLY "2026-01-01T09:30:00Z" /* half an hour before now */
#define LATE "2026-01-01T12:00:00Z"
#define LATE_S "1767268800"
#define RESV(start, nodes) "{\"start_time\":{\"number\":" start "},\"node_list\":\"" nodes "\"}"

static void test_schedules(void **state)
{
    static const struct {
        const char *meta, *spec, *have, *nodes;
        bool wanted;
        enum nssched_act act;
    } cases[] = {
        { "", AT(LATE, ""), NULL, "w-0", true, NSSCHED_HOLD },
        { HELD, AT(LATE, ""), NULL, "w-0", true, NSSCHED_MAKE },
        { HELD, AT(LATE, ""), NULL, "", true, NSSCHED_REST }, /* no worker is there */
        { HELD, AT(LATE, ""), RESV(LATE_S, "w-[0-1]"), "w-[0-1]", true, NSSCHED_REST },
        { HELD, AT(LATE, ""), RESV(LATE_S, "w-1,w-0"), "w-[0-1]", true, NSSCHED_REST },
        { HELD, AT(LATE, ""), RESV(LATE_S, "w-0"), "w-[0-1]", true, NSSCHED_NODES },
        { HELD, AT(LATE, ""), RESV("1767272400", "w-0"), "w-0", true, NSSCHED_MAKE },
        { HELD, AT(LATE, "\"daily\""), RESV("1767272400", "w-0"), "w-0", true, NSSCHED_REST },
        { HELD, AT(LATE, ""), RESV("1", "w-0"), "w-0", true, NSSCHED_REST }, /* it is under way */
        { HELD, AT(EARLY, ""), NULL, "w-0", true, NSSCHED_REST },            /* it was missed */
        { HELD, AT(EARLY, "\"force_start\""), NULL, "w-0", true, NSSCHED_MAKE },
        { HELD, AT("2025-01-01T00:00:00Z", "\"FORCE_START\""), NULL, "w-0", true, NSSCHED_REST },
        { HELD, AT(LATE, ""), RESV(LATE_S, "w-0"), "w-0", false, NSSCHED_DROP },
        { HELD, AT(LATE, ""), NULL, "w-0", false, NSSCHED_LET_GO },
        { "", AT(LATE, ""), RESV(LATE_S, "w-0"), "w-0", false, NSSCHED_REST }, /* not ours */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;
        _cleanup_json_ json_t *raw = NULL, *have = cases[i].have ? read_text(cases[i].have) : NULL;

        strbuf_addf(&text, "{\"metadata\":{%s\"name\":\"w\"},%s}", cases[i].meta, cases[i].spec);
        raw = read_text(strbuf_str(&text));
        assert_int_equal(nssched_decide(raw, cases[i].wanted, have, cases[i].nodes, 1767261600),
                         cases[i].act);
    }
}

static void test_monitors(void **state)
{
    static const struct {
        const char *spec;
        bool wanted;
    } cases[] = {
        { "{}", false },
        { "{\"metrics\":{\"enabled\":true}}", false },
        { "{\"metrics\":{\"serviceMonitor\":{\"enabled\":true}}}", false },
        { "{\"metrics\":{\"enabled\":true,\"serviceMonitor\":{\"enabled\":true}}}", true },
    };
    _cleanup_json_ json_t *world = json_object();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *c = read_cr("Controller", "c", cases[i].spec), *made = NULL;
        struct mkbase_facts f = { &opgroups[0], c, c, NULL, NULL, find_object, world };

        assert_int_equal(mkmonitor_is_wanted(c), cases[i].wanted);
        made = mkmonitor_object(&f);
        assert_int_equal(json_array_size(kubejson_at(made, "spec.endpoints")), 4);
    }
}

static void test_refusals(void **state)
{
    static const struct {
        const char *kind, *spec, *text;
    } cases[] = {
        { "NodeSet", "{}", "spec.controllerRef.name: required" },
        { "NodeSet", "{\"controllerRef\":{\"name\":\"c\"},\"ssh\":{\"enabled\":true}}",
          "spec.ssh.sssdConfRef: name and key are required with ssh" },
        { "Controller", "{\"ha\":{\"enabled\":true}}",
          "spec.ha.enabled: several slurmctld share a folder or their log is in etcd: "
          "persistence.enabled and persistence.existingClaim are required, or spec.ha.etcd" },
        { "NodeSet", "{\"controllerRef\":{\"name\":\"c\"},\"volumeClaimTemplates\":[{}]}",
          "spec.volumeClaimTemplates: item 1: metadata.name and spec are required" },
        { "Controller",
          "{\"ha\":{\"enabled\":true,\"etcd\":{\"endpoints\":[\"http://a\"]}},"
          "\"persistence\":{\"existingClaim\":\"x\"}}",
          "spec.persistence.existingClaim: with spec.ha.etcd each slurmctld has a folder of its "
          "own" },
        { "Controller", "{\"ha\":{\"enabled\":true,\"etcd\":{\"endpoints\":[]}}}",
          "spec.ha.etcd.endpoints: 0 is not between 1 and 8" },
        { "Controller", "{\"external\":true,\"ha\":{\"enabled\":true}}",
          "spec.ha.enabled: not with external" },
        { "NodeSet", "{\"controllerRef\":7}", "spec.controllerRef: an object is wanted" },
        { "NodeSet", "{\"controllerRef\":{\"name\":\"c\"},\"replicas\":\"x\"}",
          "spec.replicas: a whole number is wanted" },
        { "NodeSet", "{\"controllerRef\":{\"name\":\"c\"},\"scalingMode\":\"Daemon\"}",
          "spec.scalingMode: 'Daemon' is none of StatefulSet, DaemonSet" },
        { "NodeSet",
          "{\"controllerRef\":{\"name\":\"c\"},\"updateStrategy\":{\"rollingUpdate\":"
          "{\"maxUnavailable\":\"0%\"}}}",
          "spec.updateStrategy.rollingUpdate.maxUnavailable: a number from 1, or 1% to 100% is "
          "wanted" },
        { "NodeSet", "{\"controllerRef\":{\"name\":\"c\"},\"extraConf\":\"Gres\"}",
          "spec.extraConf: 'Gres' is not Key=Value" },
        { "NodeSet", "{\"controllerRef\":{\"name\":\"c\"},\"extraConf\":\"A='x\"}",
          "spec.extraConf: 'A='x': no quotes here" },
        { "NodeSet",
          "{\"controllerRef\":{\"name\":\"c\"},\"partition\":{\"config\":\"a\\nSlurmUser=x\"}}",
          "spec.partition.config: one line is wanted" },
        { "NodeSet",
          "{\"controllerRef\":{\"name\":\"c\"},\"partition\":{\"config\":\"State=UP \\\\ \"}}",
          "spec.partition.config: one line is wanted" },
        { "NodeSet", "{\"controllerRef\":{\"name\":\"c\"},\"scalingMode\":\"|\"}",
          "spec.scalingMode: '|' is none of StatefulSet, DaemonSet" },
        { "NodeSet",
          "{\"controllerRef\":{\"name\":\"c\"},\"updateStrategy\":{\"type\":"
          "\"OnDelete|ScheduledUpdate\"}}",
          "spec.updateStrategy.type: 'OnDelete|ScheduledUpdate' is none of RollingUpdate, OnDelete, "
          "ScheduledUpdate" },
        { "Controller", "{\"clusterName\":\"..\"}", "spec.clusterName: more than dots is wanted" },
        { "Controller",
          "{\"external\":true,\"externalConfig\":{\"host\":\"h\\nProlog=/x\",\"port\":1}}",
          "spec.externalConfig.host: no blanks, '#', '\"' and '\\'" },
        { "Accounting",
          "{\"storageConfig\":{\"host\":\"h\",\"database\":\"a\\\\\",\"passwordKeyRef\":"
          "{\"name\":\"a\",\"key\":\"b\"}}}",
          "spec.storageConfig: no blanks, '#', '\"' and '\\' in host, username and database" },
        { "Controller", "{\"clusterName\":\"a\\nb\"}",
          "spec.clusterName: letters, digits, '_', '-' and '.' alone" },
        { "Controller", "{\"external\":true}",
          "spec.externalConfig: host and port are required with external" },
        { "Token", "{\"jwtKeyRef\":{\"name\":\"a\"},\"lifetime\":\"1w\"}",
          "spec.lifetime: '1w' is no duration as 1h30m" },
        { "Token", "{}", "spec.jwtKeyRef: required" },
        { "Accounting", "{\"storageConfig\":{}}",
          "spec.storageConfig.host: required unless external" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *cr = make_cr(cases[i].kind, "x", cases[i].spec);
        struct err err = { .text = "" };
        json_t *ret = NULL;

        assert_int_equal(opspec_read(cr, &ret, &err), -EINVAL);
        assert_string_equal(err.text, cases[i].text);
        assert_null(ret);
    }
}

/* An Accounting that opspec has not seen yet gives slurm.conf one value; no line of a user's takes
 * the next one into itself. */
static void test_lines(void **state)
{
    _cleanup_json_ json_t *c = read_cr("Controller", "c",
                                       "{\"slurmKeyRef\":{\"name\":\"k\",\"key\":\"k\"},"
                                       "\"jwtKeyRef\":{\"name\":\"k\",\"key\":\"k\"},"
                                       "\"accountingRef\":{\"name\":\"a\"},"
                                       "\"extraConf\":\"AuthInfo=x \\\\\"}");
    _cleanup_json_ json_t *world =
        read_text("{\"Accounting/a\":{\"spec\":{\"external\":true,\"externalConfig\":"
                  "{\"host\":\"h\\nProlog=/x\",\"port\":1}}}}");
    struct mkbase_facts f = {
        .cr = c, .group = &opgroups[0], .controller = c, .find = find_object, .ctx = world
    };
    struct strbuf out = STRBUF_INIT;

    (void)state;
    opconf_write_slurm(&f, &out);
    assert_non_null(
        strstr(strbuf_str(&out), "\nAccountingStorageHost=h\nAccountingStoragePort=1\n"));
    assert_null(strstr(strbuf_str(&out), "Prolog="));
    assert_non_null(strstr(strbuf_str(&out), "\nAuthInfo=x \\\n\nAuthInfo="));
    strbuf_done(&out);
}

static void test_passwords(void **state)
{
    static const struct {
        const char *password, *line; /* NULL: refused */
    } cases[] = {
        { "plain", "\nStoragePass=plain\nLogFile" },
        { "a#b", "\nStoragePass=a\\#b\nLogFile" },
        { "a\\#b", "\nStoragePass=a\\\\#b\nLogFile" },
        { "a b#", "\nStoragePass=\"a b\\#\"\nLogFile" },
        { "a\\", "\nStoragePass=\"a\\\"\nLogFile" },
        { "a\"b", "\nStoragePass=a\"b\nLogFile" },
        { "\"a", NULL },
        { "a \"b", NULL },
        { "a\nStorageUser=root", NULL },
        { "a\x7f", NULL },
    };
    _cleanup_json_ json_t *db =
        make_cr("Accounting", "a", "{\"storageConfig\":{\"host\":\"h\",\"database\":\"d\"}}");
    const struct mkbase_facts f = { .cr = db, .group = &opgroups[0] };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct strbuf out = STRBUF_INIT;

        assert_int_equal(opconf_is_password(cases[i].password), cases[i].line != NULL);
        if (!cases[i].line)
            continue;
        opconf_write_dbd(&f, cases[i].password, &out);
        assert_non_null(strstr(strbuf_str(&out), cases[i].line));
        strbuf_done(&out);
    }
}

static void test_values(void **state)
{
    struct strbuf out = STRBUF_INIT;
    _cleanup_json_ json_t *part = json_string("25%"), *map = read_text("{\"b\":\"2\",\"a\":\"1\"}");
    _cleanup_json_ json_t *a = read_cr("NodeSet", "x", "{\"controllerRef\":{\"name\":\"c\"}}");
    _cleanup_json_ json_t *b = read_cr("NodeSet", "x", "{\"controllerRef\":{\"name\":\"d\"}}");
    struct err err = { .text = "" };
    int64_t issued, ends;
    char hash[MKBASE_HASH];
    char *token = NULL;

    (void)state;
    assert_int_equal(opspec_seconds("1h30m"), 5400);
    assert_int_equal(opspec_seconds("x"), -1);
    assert_int_equal(opspec_budget(part, 3), 1);
    assert_int_equal(opspec_budget(part, 9), 3);
    assert_int_equal(opspec_check_change(a, b, &err), -EPERM);
    assert_string_equal(err.text, "spec.controllerRef: cannot be changed");
    opconf_merge_options("a=1,b", "A=2,c,B,c", &out);
    assert_string_equal(strbuf_str(&out), "a=1,b,c");
    strbuf_reset(&out);
    opconf_find_options("x=1\n Key = a,b # no\nkey=c,\\\nd\n", "Key", &out);
    assert_string_equal(strbuf_str(&out), "a,b,c,d");
    strbuf_done(&out);
    mkbase_hash(map, hash); /* of "12" */
    assert_string_equal(hash, "6b51d431df5d7f141cbececcf79edf3dd861c3b4069f0b11661a3eefacbba918");
    assert_int_equal(optoken_sign("k", 1, "u", 1000, 60, &token), 0);
    assert_int_equal(optoken_read(token, "u", &issued, &ends), 0);
    assert_int_equal(issued, 1000);
    assert_int_equal(ends, 1060);
    assert_int_equal(optoken_read(token, "v", &issued, &ends), -EINVAL);
    assert_int_equal(optoken_read("a.b", "u", &issued, &ends), -EINVAL);
    free(token);
    assert_int_equal(optoken_sign("k", 1, "u", INT64_MAX - 60, 60, &token), 0);
    assert_int_equal(optoken_read(token, "u", &issued, &ends), -EINVAL);
    free(token);
}

static void test_fits(void **state)
{
    static const struct {
        const char *spec, *node;
        bool fits, stays;
    } cases[] = {
        { "{}", "{}", true, true },
        { "{}", "{\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]}}", false,
          true },
        { "{}", "{\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"NoExecute\"}]}}", false,
          false },
        { "{\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}]}",
          "{\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"NoExecute\"}]}}", true, true },
        { "{\"nodeSelector\":{\"a\":\"b\"}}", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", true,
          true },
        { "{\"nodeSelector\":{\"a\":\"b\"}}", "{\"metadata\":{\"labels\":{\"a\":\"c\"}}}", false,
          false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *spec = read_text(cases[i].spec), *node = read_text(cases[i].node);

        assert_int_equal(nodefit_fits(spec, node, false), cases[i].fits);
        assert_int_equal(nodefit_fits(spec, node, true), cases[i].stays);
    }
}

static void test_within(void **state)
{
    _cleanup_json_ json_t *a = read_text("{\"x\":{\"y\":[{\"z\":1}]},\"e\":{}}");
    _cleanup_json_ json_t *b = read_text("{\"x\":{\"y\":[{\"z\":1,\"w\":2}]},\"o\":1}");
    _cleanup_json_ json_t *drained = read_text("[\"IDLE\",\"DRAIN\"]");
    _cleanup_json_ json_t *ends = read_text("[\"IDLE\",\"COMPLETING\",\"DRAIN\"]");

    _cleanup_json_ json_t *host =
        read_text("{\"spec\":{\"hostNetwork\":true,\"nodeName\":\"k1\"}}");

    (void)state;
    assert_string_equal(mkworkers_slurm_name(host), "k1");
    assert_true(kubejson_is_within(a, b));
    assert_false(kubejson_is_within(b, a));
    assert_true(slurmstate_is_drained(drained));
    assert_false(slurmstate_is_drained(ends));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_addresses_elsewhere),
        cmocka_unit_test(test_monitors),
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_within),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_passwords),
    };

    update = argc > 1 && strcmp(argv[1], "--update") == 0;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
