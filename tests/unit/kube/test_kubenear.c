/* test_kubenear.c - what pods say of other pods, and volumes that are there */
#include "kube_util.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "kube/api/kubematch.h"
#include "kube/bridge/bridgenear.h"
#include "kube/bridge/bridgestatic.h"
#include "kube/claim/podnear.h"
#include "kube/claim/podstatic.h"
#include "kube/claim/podvolume.h"

/* ---- a small world --------------------------------------------------------------------------- */

#define REQUIRED "\"requiredDuringSchedulingIgnoredDuringExecution\""

/* Zones a (n1, n2), b (n3, n4, n5) and none (n6). */
static json_t *make_nodes(void)
{
    static const char *const zones[] = { "a", "a", "b", "b", "b", NULL };
    json_t *nodes = json_object();

    for (size_t i = 0; i < ARRAY_SIZE(zones); i++) {
        char name[8];

        (void)snprintf(name, sizeof(name), "n%zu", i + 1);
        (void)json_object_set_new(nodes, name,
                                  json_pack("{s:{s:s, s:{s:s, s:s*}}}", "metadata", "name", name,
                                            "labels", "kubernetes.io/hostname", name, "zone",
                                            zones[i]));
    }
    return nodes;
}

static const json_t *find_node(void *ctx, const char *name)
{
    return json_object_get(json_object_get(ctx, "nodes"), name);
}

static void walk_nodes(void *ctx, podnear_node_fn *fn, void *arg)
{
    const char *name;
    json_t *node;

    json_object_foreach(json_object_get(ctx, "nodes"), name, node) fn(arg, node);
}

static void walk_pods(void *ctx, podnear_pod_fn *fn, void *arg)
{
    size_t i;
    json_t *pod;

    json_array_foreach(json_object_get(ctx, "there"), i, pod)
        fn(arg, pod, kubejson_text(pod, "spec.nodeName"));
}

static void walk_repellers(void *ctx, podnear_pod_fn *fn, void *arg)
{
    size_t i;
    json_t *pod;

    json_array_foreach(json_object_get(ctx, "there"), i, pod)
    {
        if (podnear_repels(pod))
            fn(arg, pod, kubejson_text(pod, "spec.nodeName"));
    }
}

static struct podnear_facts facts_of(json_t *world)
{
    return (struct podnear_facts){ find_node, walk_nodes, walk_pods, walk_repellers, "s", world };
}

/* n pods with the label app=APP; spec: what else they say. */
static json_t *make_pods(const char *app, size_t n, const char *spec)
{
    json_t *pods = json_array();

    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(pods, json_pack("{s:{s:s, s:o, s:{s:s}}, s:o}", "metadata",
                                                    "namespace", "d", "uid",
                                                    json_sprintf("%s%zu", app, i), "labels", "app",
                                                    app, "spec", read_text(spec)));
    return pods;
}

/* "app@node app@node": pods that are there; spec: what they say beside their node. */
static json_t *make_there(const char *text, const char *spec)
{
    json_t *there = json_array();
    unsigned n = 0;

    while (*text) {
        size_t len = strcspn(text, " ");
        const char *at = strchr(text, '@');
        json_t *said = read_text(spec);

        (void)json_object_set_new(said, "nodeName",
                                  json_stringn(at + 1, len - (size_t)(at + 1 - text)));
        (void)json_array_append_new(
            there, json_pack("{s:{s:s, s:o, s:{s:o}}, s:o}", "metadata", "namespace", "d", "uid",
                             json_sprintf("there%u", n++), "labels", "app",
                             json_stringn(text, (size_t)(at - text)), "spec", said));
        text += len + (text[len] == ' ');
    }
    return there;
}

#define TERM(key, app)                                                                             \
    "{\"topologyKey\":\"" key "\",\"labelSelector\":{\"matchLabels\":{\"app\":\"" app "\"}}}"
#define AWAY(term) "{\"affinity\":{\"podAntiAffinity\":{" REQUIRED ":[" term "]}}}"
#define NEAR(term) "{\"affinity\":{\"podAffinity\":{" REQUIRED ":[" term "]}}}"
#define SPREAD(more)                                                                               \
    "{\"topologySpreadConstraints\":[{\"maxSkew\":1,\"whenUnsatisfiable\":\"DoNotSchedule\","      \
    "\"labelSelector\":{\"matchLabels\":{\"app\":\"x\"}}," more "}]}"
#define ZONE "zone"
#define HOST "kubernetes.io/hostname"

static void join_names(const json_t *names, char *buf, size_t size)
{
    size_t i, at = 0;
    json_t *one;

    buf[0] = '\0';
    json_array_foreach(names, i, one) at +=
        (size_t)snprintf(buf + at, size - at, "%s%s", i ? " " : "", json_string_value(one));
}

/* ---- pods ------------------------------------------------------------------------------------ */

static void test_excluded_nodes(void **state)
{
    static const struct {
        size_t pods;
        const char *spec, *there, *says; /* of pods x; what is there, and what that says */
        const char *excluded;
        bool all;
    } cases[] = {
        { 1, "{}", "x@n1", "{}", "", false },
        { 1, AWAY(TERM(ZONE, "y")), "", "{}", "", false },
        { 1, AWAY(TERM(ZONE, "y")), "y@n1", "{}", "n1 n2", false },
        { 1, AWAY(TERM(ZONE, "y")), "y@n1 y@n3", "{}", "n1 n2 n3 n4 n5", false },
        { 1, AWAY(TERM(HOST, "y")), "y@n1 z@n2", "{}", "n1", false },
        { 2, AWAY(TERM(HOST, "x")), "x@n4", "{}", "n4", false },
        { 1, AWAY("{\"topologyKey\":\"zone\",\"labelSelector\":{}}"), "z@n3", "{}", "n3 n4 n5",
          false },
        { 1, AWAY("{\"topologyKey\":\"zone\"}"), "z@n3", "{}", "", false }, /* nothing is meant */
        { 1, AWAY("{\"topologyKey\":\"zone\",\"namespaces\":[\"e\"],\"labelSelector\":{}}"), "z@n3",
          "{}", "", false },
        { 1, AWAY("{\"topologyKey\":\"zone\",\"namespaceSelector\":{},\"labelSelector\":{}}"),
          "z@n3", "{}", "n3 n4 n5", false },
        { 1, AWAY("{\"topologyKey\":\"zone\",\"labelSelector\":{},\"matchLabelKeys\":[\"app\"]}"),
          "z@n3 x@n1", "{}", "n1 n2", false },
        { 1,
          AWAY("{\"topologyKey\":\"zone\",\"labelSelector\":{},\"mismatchLabelKeys\":[\"app\"]}"),
          "z@n3 x@n1", "{}", "n3 n4 n5", false },
        /* those that are there keep it away */
        { 1, "{}", "y@n1", AWAY(TERM(ZONE, "x")), "n1 n2", false },
        { 1, "{}", "y@n1", AWAY(TERM(ZONE, "z")), "", false },
        { 3, "{}", "y@n6", AWAY(TERM(HOST, "x")), "n6", false },
        /* near */
        { 1, NEAR(TERM(ZONE, "y")), "", "{}", "n1 n2 n3 n4 n5 n6", true },
        { 1, NEAR(TERM(ZONE, "y")), "y@n4", "{}", "n1 n2 n6", false },
        { 1, NEAR(TERM(ZONE, "y") "," TERM(ZONE, "z")), "y@n4 z@n5", "{}", "n1 n2 n3 n4 n5 n6",
          true },                                            /* one pod must be both */
        { 1, NEAR(TERM(ZONE, "x")), "", "{}", "n6", false }, /* the first of its kind */
        { 1, NEAR(TERM(ZONE, "x")), "x@n1", "{}", "n3 n4 n5 n6", false },
        { 2, NEAR(TERM(ZONE, "x")), "", "{}", "n1 n2 n6", false }, /* b is larger */
        { 2, NEAR(TERM(ZONE, "x")), "x@n1", "{}", "n3 n4 n5 n6", false },
        /* spread */
        { 1, SPREAD("\"topologyKey\":\"zone\""), "", "{}", "n6", false },
        { 1, SPREAD("\"topologyKey\":\"zone\""), "x@n1", "{}", "n1 n2 n6", false },
        { 1, SPREAD("\"topologyKey\":\"zone\""), "x@n1 x@n3", "{}", "n6", false },
        { 1, SPREAD("\"topologyKey\":\"zone\",\"minDomains\":3"), "x@n1 x@n3", "{}",
          "n1 n2 n3 n4 n5 n6", true },
        { 1, SPREAD("\"topologyKey\":\"" HOST "\""), "x@n1", "{}", "n1", false },
        { 3, SPREAD("\"topologyKey\":\"" HOST "\""), "x@n1 x@n2", "{}", "n1 n2", false },
        /* only zone a is looked at, and it has one already */
        { 1, SPREAD("\"topologyKey\":\"zone\",\"maxSkew\":1"), "x@n1 x@n2 x@n3", "{}", "n1 n2 n6",
          false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *pods = make_pods("x", cases[i].pods, cases[i].spec);
        _cleanup_json_ json_t *names = json_array();
        _cleanup_json_ json_t *world = json_pack("{s:o, s:o}", "nodes", make_nodes(), "there",
                                                 make_there(cases[i].there, cases[i].says));
        const struct podnear_facts f = facts_of(world);
        struct err err = { .text = "" };
        char text[100];
        bool all = !cases[i].all;

        assert_int_equal(podnear_check(pods, &err), 0);
        assert_int_equal(podnear_exclude(&f, pods, names, &all), 0);
        join_names(names, text, sizeof(text));
        if (strcmp(text, cases[i].excluded) != 0)
            fail_msg("case %zu: %s and not %s", i, text, cases[i].excluded);
        assert_int_equal(all, cases[i].all);
    }
}

/* What is said of nodes that the pod cannot have counts too: nodeAffinityPolicy. */
static void test_spread_of_chosen_nodes(void **state)
{
    static const struct {
        const char *policy, *excluded;
    } cases[] = {
        { "", "n6" }, /* b is not looked at, and a alone is even */
        { ",\"nodeAffinityPolicy\":\"Honor\"", "n6" },
        { ",\"nodeAffinityPolicy\":\"Ignore\"", "n1 n2 n6" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char spec[400], text[100];
        struct err err = { .text = "" };
        bool all;
        _cleanup_json_ json_t *pods = NULL, *names = json_array();
        _cleanup_json_ json_t *world =
            json_pack("{s:o, s:o}", "nodes", make_nodes(), "there", make_there("x@n1", "{}"));
        const struct podnear_facts f = facts_of(world);

        (void)snprintf(spec, sizeof(spec),
                       "{\"nodeSelector\":{\"zone\":\"a\"},\"topologySpreadConstraints\":[{"
                       "\"maxSkew\":1,\"topologyKey\":\"zone\",\"labelSelector\":{}%s}]}",
                       cases[i].policy);
        pods = make_pods("x", 1, spec);
        assert_int_equal(podnear_check(pods, &err), 0);
        assert_int_equal(podnear_exclude(&f, pods, names, &all), 0);
        join_names(names, text, sizeof(text));
        assert_string_equal(text, cases[i].excluded);
    }
}

static void test_refused(void **state)
{
    static const struct {
        size_t pods;
        const char *spec, *why;
    } cases[] = {
        { 1, AWAY(TERM(ZONE, "x")), "" },
        { 2, AWAY(TERM(ZONE, "y")), "" },
        { 2, AWAY(TERM(ZONE, "x")),
          "podAntiAffinity between pods of a gang by zone is not supported: each has a node of its "
          "own" },
        { 2, SPREAD("\"topologyKey\":\"zone\""),
          "topologySpreadConstraints of a gang by zone are not supported: each pod has a node of "
          "its own" },
        { 2,
          "{\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone\","
          "\"whenUnsatisfiable\":\"ScheduleAnyway\",\"more\":1}]}",
          "" },
        { 1, SPREAD("\"topologyKey\":\"zone\",\"minPods\":1"),
          "topologySpreadConstraints: minPods is not supported" },
        { 1, SPREAD("\"topologyKey\":\"zone\",\"nodeTaintsPolicy\":\"Guess\""),
          "topologySpreadConstraints: nodeTaintsPolicy: Guess is not supported" },
        { 1, "{\"topologySpreadConstraints\":[{\"topologyKey\":\"zone\"}]}",
          "topologySpreadConstraints: maxSkew is at least 1" },
        { 1, AWAY("{\"labelSelector\":{}}"), "podAntiAffinity: a term has no topologyKey" },
        { 1,
          NEAR("{\"topologyKey\":\"zone\",\"namespaceSelector\":{\"matchLabels\":{\"a\":\"b\"}"
               "}}"),
          "podAffinity: a namespaceSelector with labels is not supported" },
        { 1,
          NEAR("{\"topologyKey\":\"zone\",\"labelSelector\":{\"matchExpressions\":[{\"key\":\"a\","
               "\"operator\":\"Gt\",\"values\":[\"1\"]}]}}"),
          "podAffinity: the operator Gt is not supported" },
        { 1, NEAR("{\"topologyKey\":\"zone\",\"strength\":1}"),
          "podAffinity: strength is not supported" },
        { 1, NEAR("7"), "podAffinity is not what it should be" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *pods = make_pods("x", cases[i].pods, cases[i].spec);
        struct err err = { .text = "" };
        int r = podnear_check(pods, &err);

        assert_string_equal(err.text, cases[i].why);
        assert_int_equal(r < 0, *cases[i].why != '\0');
    }
}

/* Looked at again before the first is bound. */
static void test_places_hold(void **state)
{
    static const struct {
        const char *spec, *there, *places;
        bool holds;
    } cases[] = {
        { AWAY(TERM(ZONE, "y")), "", "n1 n2", true },
        { AWAY(TERM(ZONE, "y")), "y@n2", "n1 n3", false },
        { AWAY(TERM(ZONE, "y")), "y@n2", "n4 n3", true },
        { NEAR(TERM(ZONE, "x")), "", "n1 n2", true }, /* together, if not where most would be */
        { NEAR(TERM(ZONE, "x")), "", "n1 n3", false },
        { NEAR(TERM(ZONE, "x")), "x@n1 x@n5", "n2 n3", true },
        { SPREAD("\"topologyKey\":\"" HOST "\""), "x@n1", "n1 n2", false },
        { "{}", "x@n1", "n1 n2", true },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *pods = make_pods("x", 2, cases[i].spec), *places = NULL;
        _cleanup_json_ json_t *world = json_pack("{s:o, s:o}", "nodes", make_nodes(), "there",
                                                 make_there(cases[i].there, "{}"));
        const struct podnear_facts f = facts_of(world);

        places = json_pack("[{s:s%}, {s:s}]", "node", cases[i].places, (size_t)2, "node",
                           cases[i].places + 3);
        assert_int_equal(podnear_holds(&f, pods, places), cases[i].holds);
    }
}

static bool may_be_there(void *ctx, const json_t *node)
{
    return strcmp(kubejson_name(node), ctx) != 0;
}

/* The emptiest domain, where the pod may be; its job is to have no node of another one. */
/* The later ones of the nodes have less; n6 is in no zone, and has none. */
static size_t count_load(void *ctx, const json_t *node)
{
    (void)ctx;
    return 9 - (size_t)(kubejson_name(node)[1] - '0') / 2;
}

static void test_choice(void **state)
{
    static const struct {
        const char *spec, *there, *except, *node, *excluded;
        bool hosts;
    } cases[] = {
        { SPREAD("\"topologyKey\":\"zone\",\"maxSkew\":2"), "x@n1", "n3", "n4", "n1 n2 n6" },
        { SPREAD("\"topologyKey\":\"zone\",\"maxSkew\":2"), "x@n3 x@n4 x@n1", "", "n1",
          "n3 n4 n5 n6" },
        { AWAY(TERM(ZONE, "x")), "x@n1", "", "n3", "n1 n2 n6" },
        { AWAY(TERM(ZONE, "x")), "x@n1 x@n3", "", "", "n1 n2 n3 n4 n5" },
        { AWAY(TERM(ZONE, "y")), "x@n1", "", "", "" }, /* it does not mean itself */
        { SPREAD("\"topologyKey\":\"" HOST "\""), "", "", "", "" },
        /* Where single nodes are planned: one where none is, that has the least. */
        { SPREAD("\"topologyKey\":\"" HOST "\""), "x@n4", "n5", "n6", "n1 n2 n3 n4 n5", true },
        { AWAY(TERM(HOST, "x")), "x@n5 x@n4", "n6", "n2", "n1 n3 n4 n5 n6", true },
        { "{}", "", "", "", "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *pods = make_pods("x", 1, cases[i].spec), *names = json_array();
        _cleanup_json_ json_t *world = json_pack("{s:o, s:o}", "nodes", make_nodes(), "there",
                                                 make_there(cases[i].there, "{}"));
        struct podnear_facts f = facts_of(world);
        char text[100];
        bool all;

        f.hosts = cases[i].hosts;
        f.load = cases[i].hosts ? count_load : NULL;
        f.plan = podnear_choose(&f, pods, may_be_there, (void *)(uintptr_t)cases[i].except);
        assert_string_equal(f.plan ? f.plan : "", cases[i].node);
        assert_int_equal(podnear_exclude(&f, pods, names, &all), 0);
        join_names(names, text, sizeof(text));
        assert_string_equal(text, cases[i].excluded);
    }
}

static void test_node_affinity_words(void **state)
{
    static const struct {
        const char *terms, *why;
    } cases[] = {
        { "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Gt\",\"values\":[\"1\"]}]}", "" },
        { "{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"NotIn\"}]}", "" },
        { "{\"matchFields\":[{\"key\":\"spec.x\",\"operator\":\"In\"}]}",
          "node affinity: the field spec.x is not supported" },
        { "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Near\"}]}",
          "node affinity: the operator Near is not supported" },
        { "{\"matchPods\":[]}", "node affinity: matchPods is not supported" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct err err = { .text = "" };
        char text[300];
        _cleanup_json_ json_t *spec = NULL;

        (void)snprintf(text, sizeof(text),
                       "{\"affinity\":{\"nodeAffinity\":{" REQUIRED
                       ":{\"nodeSelectorTerms\":[%s]}}}}",
                       cases[i].terms);
        spec = read_text(text);
        assert_int_equal(kubematch_check(spec, &err) < 0, *cases[i].why != '\0');
        assert_string_equal(err.text, cases[i].why);
    }
}

/* A toleration's operator of a later release covers nothing, not what Equal would. */
static void test_unknown_toleration(void **state)
{
    static const struct {
        const char *op;
        bool covers;
    } cases[] = { { "Equal", true }, { "", true }, { "Exists", true }, { "Gt", false } };
    _cleanup_json_ json_t *taint = read_text("{\"key\":\"k\",\"value\":\"5\",\"effect\":\"NoX\"}");

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *list =
            json_pack("[{s:s, s:s, s:s}]", "key", "k", "value", "5", "operator", cases[i].op);

        assert_int_equal(kubematch_tolerates(list, taint), cases[i].covers);
    }
}

/* ---- volumes that are there ------------------------------------------------------------------ */

#define LOCAL(node)                                                                                \
    "\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"      \
    "\"" HOST "\",\"operator\":\"In\",\"values\":[\"" node "\"]}]}]}}"
#define VOLUME(name, size, more)                                                                   \
    "{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"kind\":\"ssd\"}},\"spec\":{"               \
    "\"storageClassName\":\"l\",\"capacity\":{\"storage\":\"" size                                 \
    "\"},\"accessModes\":[\"ReadWriteOnce\"]," more "},\"status\":{\"phase\":\"Available\"}}"

static void test_volumes_picked(void **state)
{
    static const struct {
        const char *claim, *node, *name;
    } cases[] = {
        { "\"storageClassName\":\"l\",\"resources\":{\"requests\":{\"storage\":\"5Gi\"}}", "n1",
          "mid" },
        { "\"storageClassName\":\"l\",\"resources\":{\"requests\":{\"storage\":\"15Gi\"}}", "n1",
          "big" },
        { "\"storageClassName\":\"l\",\"resources\":{\"requests\":{\"storage\":\"50Gi\"}}", "n1",
          "" },
        { "\"storageClassName\":\"l\",\"resources\":{\"requests\":{\"storage\":\"5Gi\"}}", "n2",
          "" },
        { "\"storageClassName\":\"l\"", "n2", "any" },
        { "\"storageClassName\":\"m\"", "n1", "" },
        { "\"storageClassName\":\"l\",\"accessModes\":[\"ReadWriteMany\"]", "n1", "" },
        { "\"storageClassName\":\"l\",\"volumeMode\":\"Block\"", "n1", "raw" },
        { "\"storageClassName\":\"l\",\"selector\":{\"matchLabels\":{\"kind\":\"hdd\"}}", "n1",
          "" },
    };
    _cleanup_json_ json_t *nodes = make_nodes(), *used = json_pack("{s:b}", "small", 1);
    _cleanup_json_ json_t *volumes = read_text(
        "[" VOLUME("big", "20Gi", LOCAL("n1")) "," VOLUME("mid", "10Gi", LOCAL("n1")) "," VOLUME(
            "small", "5Gi", LOCAL("n1")) "," VOLUME("any", "1Gi",
                                                    "\"x\":1") "," VOLUME("raw", "5Gi",
                                                                          "\"volumeMo"
                                                                          "de\":"
                                                                          "\"Block\"") "]");

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[300];
        _cleanup_json_ json_t *claim = NULL;

        (void)snprintf(text, sizeof(text), "{\"spec\":{%s}}", cases[i].claim);
        claim = read_text(text);
        assert_string_equal(kubejson_name(podstatic_pick(
                                volumes, claim, json_object_get(nodes, cases[i].node), used)),
                            cases[i].name);
    }
}

static void test_volumes_free(void **state)
{
    static const struct {
        const char *volume;
        bool is_free, is_for;
    } cases[] = {
        { "{\"spec\":{},\"status\":{\"phase\":\"Available\"}}", true, false },
        { "{\"spec\":{},\"status\":{\"phase\":\"Failed\"}}", false, false },
        { "{\"metadata\":{\"deletionTimestamp\":\"x\"},\"spec\":{},\"status\":{\"phase\":"
          "\"Available\"}}",
          false, false },
        { "{\"spec\":{\"claimRef\":{\"namespace\":\"d\",\"name\":\"c\"}},\"status\":{\"phase\":"
          "\"Available\"}}",
          false, true },
        { "{\"spec\":{\"claimRef\":{\"namespace\":\"d\",\"name\":\"c\",\"uid\":\"u\"}}}", false,
          true },
        { "{\"spec\":{\"claimRef\":{\"namespace\":\"d\",\"name\":\"c\",\"uid\":\"v\"}}}", false,
          false },
    };
    _cleanup_json_ json_t *claim =
        read_text("{\"metadata\":{\"namespace\":\"d\",\"name\":\"c\",\"uid\":\"u\"}}");

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *volume = read_text(cases[i].volume);

        assert_int_equal(podstatic_is_free(volume), cases[i].is_free);
        assert_int_equal(podstatic_is_for(volume, claim), cases[i].is_for);
    }
}

static void test_volume_hosts(void **state)
{
    _cleanup_json_ json_t *local = read_text(VOLUME("v", "1Gi", LOCAL("n1")));
    _cleanup_json_ json_t *zonal = read_text(
        "{\"spec\":{\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":"
        "[{\"key\":\"zone\",\"operator\":\"In\",\"values\":[\"a\"]}]}]}}}}");
    _cleanup_json_ json_t *any = read_text("{}"), *hosts = podstatic_hosts(local);

    (void)state;
    assert_int_equal(json_array_size(hosts), 1);
    assert_string_equal(json_string_value(json_array_get(hosts, 0)), "n1");
    assert_null(podstatic_hosts(zonal));
    assert_null(podstatic_hosts(any));
}

/* Two claims of a pod want two volumes; what is being given to another is none. */
static void test_nodes_with_volumes(void **state)
{
    _cleanup_json_ json_t *any = read_text("[" VOLUME("any", "9Gi", "\"x\":1") "]");
    _cleanup_json_ json_t *here = read_text("[" VOLUME("here", "2Gi", LOCAL("n1")) "]");
    _cleanup_json_ json_t *nodes = make_nodes();
    _cleanup_json_ json_t *needs =
        read_text("[{\"static\":{\"spec\":{\"storageClassName\":\"l\"}}},{\"terms\":[]},"
                  "{\"static\":{\"spec\":{\"storageClassName\":\"l\"}}}]");
    struct bridge b = { .statics_known = true, .taken = json_object() };

    (void)state;
    assert_int_equal(kubemap_put(&b.statics, "", any), 0);
    assert_int_equal(kubemap_put(&b.statics, "n1", here), 0);
    assert_true(bridgestatic_meets(&b, needs, json_object_get(nodes, "n1")));
    assert_false(bridgestatic_meets(&b, needs, json_object_get(nodes, "n2")));
    (void)json_object_set_new(b.taken, "here", json_string("u"));
    assert_false(bridgestatic_meets(&b, needs, json_object_get(nodes, "n1")));
    json_decref(b.taken);
    kubemap_done(&b.statics, NULL);
}

static void test_pods_being_bound(void **state)
{
    _cleanup_json_ json_t *pod = read_text("{\"metadata\":{\"uid\":\"u\"}}");
    struct bridge b = { .near_gangs = NULL };

    (void)state;
    bridgenear_give(&b, pod, "n1");
    assert_string_equal((const char *)kubemap_get(&b.given, "u"), "n1");
    bridgenear_give(&b, pod, "n2");
    assert_string_equal((const char *)kubemap_get(&b.given, "u"), "n2");
    bridgenear_give(&b, pod, NULL);
    assert_null(kubemap_get(&b.given, "u"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_excluded_nodes),
        cmocka_unit_test(test_spread_of_chosen_nodes),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_places_hold),
        cmocka_unit_test(test_node_affinity_words),
        cmocka_unit_test(test_unknown_toleration),
        cmocka_unit_test(test_volumes_picked),
        cmocka_unit_test(test_volumes_free),
        cmocka_unit_test(test_volume_hosts),
        cmocka_unit_test(test_nodes_with_volumes),
        cmocka_unit_test(test_pods_being_bound),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
