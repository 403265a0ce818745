/* test_kubeoperator.c - what the operator makes of custom resources, and what it decides
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
#include "kube/nodeset/nsclaims.h"
#include "kube/nodeset/nspin.h"
#include "kube/nodeset/nsplan.h"
#include "kube/nodeset/nsprune.h"
#include "kube/nodeset/nssched.h"
#include "kube/make/mkbase.h"
#include "kube/make/mkcontroller.h"
#include "kube/make/mkmonitor.h"
#include "kube/make/mkrest.h"
#include "kube/make/mkssh.h"
#include "kube/make/mkworkers.h"
#include "kube/make/nodefit.h"
#include "kube/nodeset/nsdecide.h"
#include "kube/nodeset/nspod.h"
#include "kube/operator/opapply.h"
#include "kube/operator/opclient.h"
#include "kube/operator/opleader.h"
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

/* ---- decisions ------------------------------------------------------------------------------- */

struct world {
    json_t *controller, *set, *pods, *slurm, *missed;
    struct mkbase_facts f;
    struct nsview v;
};

static void begin_world(struct world *w, const char *spec)
{
    *w = (struct world){ .controller = read_cr("Controller", "c", "{}"),
                         .set = read_cr("NodeSet", "w", spec),
                         .pods = json_array(),
                         .slurm = json_object(),
                         .missed = json_object() };
    w->f = (struct mkbase_facts){
        .group = &opgroups[0], .cr = w->set, .controller = w->controller, .find = find_object
    };
    w->v = (struct nsview){ .f = &w->f,
                            .pods = w->pods,
                            .slurm = w->slurm,
                            .missed = w->missed,
                            .now_us = INT64_C(1800000000000000) };
}

static void end_world(struct world *w)
{
    json_decref(w->controller);
    json_decref(w->set);
    json_decref(w->pods);
    json_decref(w->slurm);
    json_decref(w->missed);
}

/* A pod that runs, and its node in Slurm; state NULL: there is none. */
static void add_worker(struct world *w, int ordinal, const char *state, const char *reason)
{
    json_t *pod = mkworkers_pod(&w->f, ordinal, NULL);

    assert_non_null(pod);
    (void)json_object_set_new(json_object_get(pod, "spec"), "nodeName", json_string("k"));
    (void)json_object_set_new(
        pod, "status",
        read_text("{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
                  "\"lastTransitionTime\":\"2020-01-01T00:00:00Z\"}]}"));
    if (state) {
        json_t *words = read_text(state);

        (void)json_array_append_new(words, json_string("DYNAMIC_NORM"));
        (void)json_object_set_new(
            w->slurm, mkworkers_slurm_name(pod),
            json_pack("{s:o, s:s, s:[s]}", "state", words, "reason", reason, "features", "w"));
    }
    (void)json_array_append_new(w->pods, pod);
}

/* What is decided, as words: "delete? w-1" asks first, "node w-1 DRAIN". */
static void decide_words(const struct world *w, struct strbuf *out)
{
    _cleanup_json_ json_t *acts = NULL;
    int64_t wake;
    size_t i;
    json_t *act;

    strbuf_reset(out);
    assert_int_equal(nsdecide(&w->v, &acts, &wake), 0);
    json_array_foreach(acts, i, act)
    {
        const char *what = kubejson_text(act, "do");
        const char *state = json_string_value(json_array_get(kubejson_at(act, "body.state"), 0));

        if (strcmp(what, "create") == 0)
            strbuf_addf(out, "create %s;", kubejson_name(json_object_get(act, "object")));
        else if (strcmp(what, "delete") == 0)
            strbuf_addf(out, "delete%s %s;", kubejson_true(act, "ask") ? "?" : "",
                        kubejson_text(act, "name"));
        else if (strcmp(what, "node") == 0 && state)
            strbuf_addf(out, "%s %s;", state, kubejson_text(act, "name"));
    }
}

static void test_decisions(void **state)
{
    static const struct {
        int replicas;
        const char *states[3], *reasons[3];
        const char *words;
    } cases[] = {
        { 2, { NULL }, { NULL }, "create w-0;create w-1;" },
        { 1, { "[\"IDLE\"]", "[\"IDLE\"]" }, { "", "" }, "DRAIN w-1;" },
        { 1,
          { "[\"IDLE\"]", "[\"IDLE\",\"DRAIN\"]" },
          { "", "slurm-operator: Pod (ns/w-1) is "
                "pending termination for scale-in" },
          "delete? w-1;" },
        { 1,
          { "[\"IDLE\"]", "[\"MIXED\",\"DRAIN\"]" },
          { "", "slurm-operator: Pod (ns/w-1) is "
                "pending termination for scale-in" },
          "" },
        { 1, { "[\"IDLE\"]", "[\"IDLE\",\"DRAIN\"]" }, { "", "disk" }, "delete? w-1;" },
        { 2, { "[\"IDLE\"]", "[\"IDLE\",\"DRAIN\"]" }, { "", "disk" }, "" },
        { 2,
          { "[\"IDLE\"]", "[\"IDLE\",\"DRAIN\"]" },
          { "", "slurm-operator: x" },
          "UNDRAIN w-1;" },
        { 2,
          { "[\"IDLE\"]", "[\"DOWN\"]" },
          { "", "slurm-operator: Pod is terminating" },
          "RESUME w-1;" },
        { 2, { "[\"IDLE\"]", "[\"DOWN\",\"DRAIN\"]" }, { "", "Not responding" }, "" },
    };
    struct strbuf words = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct world w;
        char spec[200];

        (void)snprintf(spec, sizeof(spec), "{\"controllerRef\":{\"name\":\"c\"},\"replicas\":%d}",
                       cases[i].replicas);
        begin_world(&w, spec);
        for (int k = 0; cases[i].states[k]; k++)
            add_worker(&w, k, cases[i].states[k], cases[i].reasons[k]);
        decide_words(&w, &words);
        assert_string_equal(strbuf_str(&words), cases[i].words);
        w.v.slurm = NULL; /* not known: nothing is drained, undrained or deleted */
        decide_words(&w, &words);
        assert_null(strstr(strbuf_str(&words), "delete"));
        assert_null(strstr(strbuf_str(&words), "DRAIN"));
        end_world(&w);
    }
    strbuf_done(&words);
}

/* One container that cannot be started makes a pod pending, while slurmd runs jobs in another. */
static void test_pending_with_jobs(void **state)
{
    static const struct {
        const char *containers, *node, *known, *unknown;
    } cases[] = {
        { "[{\"state\":{\"waiting\":{}}}]", NULL, "delete w-0;", "delete w-0;" },
        { "[]", NULL, "delete w-0;", "delete w-0;" },
        { "[{\"state\":{\"waiting\":{}}},{\"state\":{\"running\":{}}}]", "[\"MIXED\"]",
          "DRAIN w-0;", "" },
        { "[{\"state\":{\"running\":{}}}]", NULL, "", "" },
        { "[{\"state\":{\"waiting\":{}},\"restartCount\":2}]", NULL, "", "" },
    };
    struct strbuf words = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct world w;

        begin_world(&w, "{\"controllerRef\":{\"name\":\"c\"},\"replicas\":0}");
        add_worker(&w, 0, cases[i].node, "");
        (void)json_object_set_new(json_array_get(w.pods, 0), "status",
                                  json_pack("{s:s, s:o}", "phase", "Pending", "containerStatuses",
                                            read_text(cases[i].containers)));
        decide_words(&w, &words);
        assert_string_equal(strbuf_str(&words), cases[i].known);
        w.v.slurm = NULL;
        decide_words(&w, &words);
        assert_string_equal(strbuf_str(&words), cases[i].unknown);
        end_world(&w);
    }
    strbuf_done(&words);
}

/* A pod may say of itself that it is any node: nothing is done to a node that is another's. */
static void test_names_of_others(void **state)
{
    static const char theirs[] = "{\"namespace\":\"ns\",\"podName\":\"x-0\",\"nodeSetUID\":\"u\"}";
    static const struct {
        const char *comment, *pods; /* of the world */
        bool dynamic;
        const char *words;
    } cases[] = {
        { "", "{}", true, "DRAIN x-0;" },
        { "", "{}", false, "" }, /* no worker registered it */
        { "hand-written", "{}", false, "" },
        { theirs, "{\"Pod/x-0\":{\"metadata\":{\"name\":\"x-0\"}}}", true, "" },
        { theirs, "{}", true, "DRAIN x-0;" }, /* it is gone */
        { "{\"namespace\":\"other\",\"podName\":\"x-0\",\"nodeSetUID\":\"u\"}", "{}", true, "" },
        { "{\"namespace\":\"ns\",\"podName\":\"w-0\",\"nodeSetUID\":\"u\"}", "{}", true,
          "DRAIN x-0;" },
    };
    struct strbuf words = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *world = read_text(cases[i].pods);
        struct world w;

        begin_world(&w, "{\"controllerRef\":{\"name\":\"c\"},\"replicas\":0}");
        w.f.ctx = world;
        add_worker(&w, 0, NULL, NULL);
        (void)json_object_set_new(
            (json_t *)(uintptr_t)kubejson_at(json_array_get(w.pods, 0), "metadata.labels"),
            OPKEY_POD_HOSTNAME, json_string("x-0"));
        (void)json_object_set_new(w.slurm, "x-0",
                                  json_pack("{s:[s, s], s:s, s:s}", "state", "IDLE",
                                            cases[i].dynamic ? "DYNAMIC_NORM" : "PLANNED", "reason",
                                            "", "comment", cases[i].comment));
        decide_words(&w, &words);
        assert_string_equal(strbuf_str(&words), cases[i].words);
        end_world(&w);
    }
    strbuf_done(&words);
}

static void test_unregistered(void **state)
{
    struct strbuf words = STRBUF_INIT;
    struct nscount count;
    struct nspod pod;
    struct world w;

    (void)state;
    begin_world(&w, "{\"controllerRef\":{\"name\":\"c\"}}");
    add_worker(&w, 0, NULL, NULL);
    decide_words(&w, &words);
    assert_string_equal(strbuf_str(&words), "");
    (void)json_object_set_new(w.missed, "w-0", json_integer(10));
    decide_words(&w, &words);
    assert_string_equal(strbuf_str(&words), "");
    (void)json_object_set_new(w.missed, "w-0", json_integer(31));
    decide_words(&w, &words);
    assert_string_equal(strbuf_str(&words), "delete? w-0;");
    w.v.slurm = NULL; /* slurmctld is not there: what it did not know once is not known now */
    decide_words(&w, &words);
    assert_string_equal(strbuf_str(&words), "");
    (void)json_object_set_new((json_t *)(uintptr_t)kubejson_at(w.f.cr, "spec"), "replicas",
                              json_integer(0));
    decide_words(&w, &words);
    assert_string_equal(strbuf_str(&words), "");
    w.v.slurm = w.slurm;
    nsdecide_count(&w.v, &count);
    assert_int_equal(count.ready, 1);
    nspod_read(&w.v, json_array_get(w.pods, 0), &pod);
    assert_true(pod.available && pod.current && pod.begun && !pod.slurm);
    end_world(&w);
    strbuf_done(&words);
}

/* ---- parts of decisions ---------------------------------------------------------------------- */

static json_t *make_nodes(const char *const *names)
{
    json_t *nodes = json_object();

    for (; *names; names++)
        (void)json_object_set_new(nodes, *names,
                                  json_pack("{s:{s:s}}", "metadata", "name", *names));
    return nodes;
}

/* The node that a pod which is made is pinned to; "": none. */
static const char *pin_of(const struct world *w, const char *name)
{
    _cleanup_json_ json_t *acts = NULL;
    static char found[64];
    int64_t wake;
    size_t i;
    json_t *act;

    found[0] = '\0';
    assert_int_equal(nsdecide(&w->v, &acts, &wake), 0);
    json_array_foreach(acts, i, act)
    {
        const json_t *terms =
            kubejson_at(act, "object.spec.affinity.nodeAffinity."
                             "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
        const json_t *fields =
            json_array_get(json_object_get(json_array_get(terms, 0), "matchFields"), 0);

        if (strcmp(kubejson_name(json_object_get(act, "object")), name) == 0)
            (void)snprintf(
                found, sizeof(found), "%s",
                fields ? json_string_value(json_array_get(json_object_get(fields, "values"), 0))
                       : "");
    }
    return found;
}

static void test_pins(void **state)
{
    static const char *const names[] = { "k", "k1", "k2", NULL };
    struct world w;
    _cleanup_json_ json_t *nodes = make_nodes(names), *map = NULL, *patch = NULL;
    json_t *have = read_text("{\"1\":\"k1\",\"2\":\"gone\",\"3\":\"k\"}");

    (void)state;
    begin_world(&w, "{\"controllerRef\":{\"name\":\"c\"},\"replicas\":3,\"pinToNode\":true}");
    (void)json_object_set_new(w.set, "status", json_pack("{s:o}", "ordinalToNode", have));
    w.v.nodes = nodes;
    add_worker(&w, 0, "[\"IDLE\"]", ""); /* on k */
    map = nspin_map(&w.v);
    assert_int_equal(json_object_size(map), 2);
    assert_string_equal(nspin_node(map, 0), "k");
    assert_string_equal(nspin_node(map, 1), "k1");
    assert_null(nspin_node(map, 2)); /* its node is gone */
    assert_null(nspin_node(map, 3)); /* another worker is there */
    patch = nspin_patch(map, have);
    assert_true(json_is_null(json_object_get(patch, "2")) &&
                json_is_null(json_object_get(patch, "3")));
    assert_string_equal(pin_of(&w, "w-1"), "k1");
    assert_string_equal(pin_of(&w, "w-2"), "");
    end_world(&w);
}

/* A user's terms are alternatives: each is cut down to the node, and none is lost. */
static void test_pin_terms(void **state)
{
    _cleanup_json_ json_t *spec = read_text(
        "{\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":"
        "{\"nodeSelectorTerms\":[{\"matchExpressions\":[1]},{\"matchExpressions\":[2]}]}}}}");
    const json_t *terms;

    (void)state;
    assert_int_equal(mkworkers_pin(spec, "k1"), 0);
    terms = kubejson_at(spec, "affinity.nodeAffinity."
                              "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
    assert_int_equal(json_array_size(terms), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(json_array_size(json_object_get(json_array_get(terms, i), "matchFields")),
                         1);
        assert_non_null(json_object_get(json_array_get(terms, i), "matchExpressions"));
    }
}

#define SET_UID "00000000-0000-4000-8000-000000000001"
#define CLAIM                                                                                      \
    "\"metadata\":{\"name\":\"d-w-0\",\"uid\":\"c\",\"resourceVersion\":\"7\",\"labels\":{"        \
    "\"app.kubernetes.io/instance\":\"w\"},\"ownerReferences\":"

static void test_claims(void **state)
{
    static const struct {
        const char *deleted, *scaled, *refs;
        bool leaves;
        enum nsclaims_state state;
        const char *owner; /* of the patch; "": none */
    } cases[] = {
        { "Retain", "Retain", "[]", true, NSCLAIMS_GOOD, NULL },
        { "Retain", "Delete", "[]", true, NSCLAIMS_CHANGE, "p" },
        { "Retain", "Delete", "[]", false, NSCLAIMS_GOOD, NULL },
        { "Retain", "Delete",
          "[{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"name\":\"w-0\",\"uid\":\"p\"}]", true,
          NSCLAIMS_GOOD, NULL },
        { "Retain", "Delete",
          "[{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"name\":\"w-0\",\"uid\":\"p\"}]", false,
          NSCLAIMS_CHANGE, "" },
        { "Retain", "Delete",
          "[{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"name\":\"w-0\",\"uid\":\"old\"}]", true,
          NSCLAIMS_CHANGE, "p" },
        { "Delete", "Retain", "[]", false, NSCLAIMS_CHANGE, SET_UID },
        { "Delete", "Delete", "[{\"uid\":\"" SET_UID "\",\"controller\":true}]", true,
          NSCLAIMS_CHANGE, "p" },
        { "Delete", "Retain", "[{\"uid\":\"" SET_UID "\",\"controller\":true}]", true,
          NSCLAIMS_GOOD, NULL },
        { "Delete", "Retain", "[{\"uid\":\"x\",\"controller\":true}]", false, NSCLAIMS_FOREIGN,
          NULL },
        { "Retain", "Retain", "[{\"uid\":\"x\",\"controller\":true}]", false, NSCLAIMS_GOOD, NULL },
    };
    _cleanup_json_ json_t *template_ = read_text("{\"metadata\":{\"name\":\"d\"}}");

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct world w;
        char text[700];
        _cleanup_json_ json_t *claims = NULL, *patch = NULL;
        const json_t *refs;

        (void)snprintf(
            text, sizeof(text),
            "{\"controllerRef\":{\"name\":\"c\"},\"persistentVolumeClaimRetentionPolicy\":"
            "{\"whenDeleted\":\"%s\",\"whenScaled\":\"%s\"}}",
            cases[i].deleted, cases[i].scaled);
        begin_world(&w, text);
        add_worker(&w, 0, "[\"IDLE\"]", "");
        (void)json_object_set_new(json_object_get(json_array_get(w.pods, 0), "metadata"), "uid",
                                  json_string("p"));
        (void)snprintf(text, sizeof(text), "{\"d-w-0\":{" CLAIM "%s}}}", cases[i].refs);
        w.v.claims = claims = read_text(text);
        assert_int_equal(
            nsclaims_judge(&w.v, template_, json_array_get(w.pods, 0), cases[i].leaves, &patch),
            cases[i].state);
        refs = kubejson_at(patch, "metadata.ownerReferences");
        if (cases[i].owner) {
            assert_string_equal(kubejson_text(patch, "metadata.resourceVersion"), "7");
            assert_int_equal(json_array_size(refs), *cases[i].owner != '\0');
            assert_string_equal(kubejson_text(json_array_get(refs, 0), "uid"), cases[i].owner);
        } else {
            assert_null(patch);
        }
        end_world(&w);
    }
}

/* A pod that is scaled in stays until its claims go with it. */
static void test_claims_go_first(void **state)
{
    static const char reason[] = "slurm-operator: Pod (ns/w-0) is pending termination for scale-in";
    struct strbuf words = STRBUF_INIT;
    _cleanup_json_ json_t *claims = read_text("{\"d-w-0\":{" CLAIM "[]}}}");
    struct world w;

    (void)state;
    begin_world(
        &w,
        "{\"controllerRef\":{\"name\":\"c\"},\"replicas\":0,\"volumeClaimTemplates\":"
        "[{\"metadata\":{\"name\":\"d\"},\"spec\":{}}],\"persistentVolumeClaimRetentionPolicy\":"
        "{\"whenScaled\":\"Delete\"}}");
    add_worker(&w, 0, "[\"IDLE\",\"DRAIN\"]", reason);
    (void)json_object_set_new(json_object_get(json_array_get(w.pods, 0), "metadata"), "uid",
                              json_string("p"));
    w.v.claims = claims;
    decide_words(&w, &words);
    assert_string_equal(strbuf_str(&words), "");
    (void)json_object_set_new(
        json_object_get(json_object_get(claims, "d-w-0"), "metadata"), "ownerReferences",
        read_text("[{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"name\":\"w-0\",\"uid\":\"p\"}]"));
    decide_words(&w, &words);
    assert_string_equal(strbuf_str(&words), "delete? w-0;");
    end_world(&w);
    strbuf_done(&words);
}

static void test_prune(void **state)
{
    static const struct {
        const char *state, *uid, *node;
        bool pod, known, gone;
    } cases[] = {
        { "[\"DOWN\",\"NOT_RESPONDING\"]", SET_UID, "lost", false, true, true },
        { "[\"DOWN\",\"NOT_RESPONDING\"]", SET_UID, "lost", false, false, false }, /* not known */
        { "[\"DOWN\",\"NOT_RESPONDING\"]", SET_UID, "lost", true, true, false },
        { "[\"DOWN\",\"NOT_RESPONDING\"]", "another", "lost", false, true, false },
        { "[\"DOWN\",\"NOT_RESPONDING\"]", SET_UID, "r1", false, true, false }, /* it may return */
        { "[\"DOWN\",\"NOT_RESPONDING\"]", SET_UID, "k1", false, true, true },  /* it is k1 now */
        { "[\"DOWN\",\"NOT_RESPONDING\",\"COMPLETING\"]", SET_UID, "lost", false, true, false },
        { "[\"DOWN\"]", SET_UID, "lost", false, true, false },
        { "[\"IDLE\"]", SET_UID, "lost", false, true, false },
    };
    static const char *const names[] = { "k1", "r1", NULL };
    _cleanup_json_ json_t *nodes = make_nodes(names);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *world = cases[i].pod ? read_text("{\"Pod/w-x\":{}}") : json_object();
        _cleanup_json_ json_t *info =
            json_pack("{s:s, s:s, s:s, s:s, s:s}", "namespace", "ns", "podName", "w-x", "node",
                      cases[i].node, "nodeSetName", "w", "nodeSetUID", cases[i].uid);
        char *comment = json_dumps(info, JSON_COMPACT);
        _cleanup_json_ json_t *records = json_pack("[{s:s, s:o, s:s}]", "name", "r1", "state",
                                                   read_text(cases[i].state), "comment", comment);
        struct strbuf words = STRBUF_INIT;
        struct world w;

        begin_world(&w, "{\"controllerRef\":{\"name\":\"c\"},\"scalingMode\":\"DaemonSet\","
                        "\"pruneSlurmNodeRecords\":\"NodeNotFound\","
                        "\"template\":{\"spec\":{\"nodeSelector\":{\"no\":\"node\"}}}}");
        w.f.ctx = world;
        w.v.nodes = nodes;
        w.v.records = records;
        if (!cases[i].known)
            w.v.slurm = NULL;
        assert_true(nsprune_is_wanted(w.set));
        assert_int_equal(nsprune_is_defunct(&w.v, json_array_get(records, 0)), cases[i].gone);
        end_world(&w);
        free(comment);
        strbuf_done(&words);
    }
}

static void test_plan(void **state)
{
    static const struct {
        int replicas;
        const char *states[3];
        const char *pending; /* NULL: not known */
        int64_t want;
    } cases[] = {
        { 0, { NULL }, "{}", 0 },
        { 0, { NULL }, NULL, -1 },
        { 0, { NULL }, "{\"1\":{\"partition\":\"w\",\"nodes\":3,\"cpus\":3}}", 3 },
        { 0, { NULL }, "{\"1\":{\"partition\":\"other\",\"nodes\":3}}", 0 },
        { 0,
          { NULL },
          "{\"1\":{\"partition\":\"a,w\",\"nodes\":1,\"cpus\":4},"
          "\"2\":{\"partition\":\"w\",\"nodes\":1,\"cpus\":4}}",
          1 },
        { 0,
          { NULL },
          "{\"1\":{\"partition\":\"w\",\"nodes\":1,\"cpus\":1,\"exclusive\":true},"
          "\"2\":{\"partition\":\"w\",\"nodes\":1,\"cpus\":1}}",
          2 },
        { 0,
          { NULL },
          "{\"1\":{\"partition\":\"w\",\"nodes\":1,\"cpus\":8,\"tasks\":\"1-9:2\"}}",
          5 },
        { 0,
          { NULL },
          "{\"1\":{\"partition\":\"w\",\"nodes\":1,\"cpus\":8,\"tasks\":\"1-999\"}}",
          6 },
        { 0, { NULL }, "{\"1\":{\"partition\":\"w\",\"nodes\":7}}", 0 }, /* would never start */
        { 0, { NULL }, "{\"1\":{\"partition\":\"w\",\"cpus\":17}}", 3 },
        { 0, { NULL }, "{\"1\":{\"partition\":\"w\",\"features\":\"gpu\"}}", 0 },
        { 1, { "[\"ALLOCATED\"]" }, "{\"1\":{\"partition\":\"w\",\"nodes\":2,\"cpus\":2}}", 3 },
        { 2, { "[\"ALLOCATED\"]", "[\"IDLE\"]" }, "{\"1\":{\"partition\":\"w\",\"cpus\":2}}", 2 },
        { 2, { "[\"ALLOCATED\"]", "[\"IDLE\"]" }, "{}", 1 }, /* idle for years */
        { 2,
          { "[\"IDLE\",\"DRAIN\"]", "[\"IDLE\"]" },
          "{\"1\":{\"partition\":\"w\",\"nodes\":2,\"cpus\":2}}",
          3 },
        { 2, { "[\"MIXED\"]", "[\"ALLOCATED\"]" }, "{}", 2 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *pending = cases[i].pending ? read_text(cases[i].pending) : NULL;
        struct world w;
        char spec[300];
        int64_t wake;

        (void)snprintf(spec, sizeof(spec),
                       "{\"controllerRef\":{\"name\":\"c\"},\"replicas\":%d,\"autoscale\":"
                       "{\"maxReplicas\":6},\"slurmd\":{\"resources\":{\"limits\":{\"cpu\":8}}}}",
                       cases[i].replicas);
        begin_world(&w, spec);
        for (int k = 0; k < 3 && cases[i].states[k]; k++)
            add_worker(&w, k, cases[i].states[k], "");
        assert_true(nsplan_is_wanted(w.set));
        assert_int_equal(nsplan_replicas(&w.v, pending, &wake), cases[i].want);
        w.v.slurm = NULL;
        assert_int_equal(nsplan_replicas(&w.v, pending, &wake), -1);
        end_world(&w);
    }
    assert_int_equal(nsplan_count_tasks("", 9), 1);
    assert_int_equal(nsplan_count_tasks("1,3,5-7%2", 99), 5);
    assert_int_equal(nsplan_count_tasks("1-2,...", 99), 2);
    assert_int_equal(nsplan_count_tasks("x", 99), 1);
    assert_int_equal(nsplan_count_tasks("0-9223372036854775807", 99), 99);
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
        cmocka_unit_test(test_pending_with_jobs),
        cmocka_unit_test(test_objects),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_monitors),
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_decisions),
        cmocka_unit_test(test_unregistered),
        cmocka_unit_test(test_names_of_others),
        cmocka_unit_test(test_within),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_passwords),
        cmocka_unit_test(test_pins),
        cmocka_unit_test(test_pin_terms),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_claims_go_first),
        cmocka_unit_test(test_prune),
        cmocka_unit_test(test_plan),
    };

    update = argc > 1 && strcmp(argv[1], "--update") == 0;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
