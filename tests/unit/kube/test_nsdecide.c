/* test_nsdecide.c - what the operator decides about the workers of a NodeSet */
#include "kube_cr_util.h"

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
#include "kube/make/mkworkers.h"
#include "kube/make/opkeys.h"
#include "kube/nodeset/nsclaims.h"
#include "kube/nodeset/nsdecide.h"
#include "kube/nodeset/nspin.h"
#include "kube/nodeset/nsplan.h"
#include "kube/nodeset/nspod.h"
#include "kube/nodeset/nsprune.h"
#include "kube/nodeset/slurmstate.h"

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
        { "[]", "[\"IDLE\"]", "DRAIN w-0;", "delete w-0;" }, /* the kubelet has not said it yet */
        { "[{\"state\":{\"waiting\":{}}}]", "[\"DOWN\"]", "DRAIN w-0;", "delete w-0;" },
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

/* Evictions are refused where a job may run or begin, from the making of the pod on. */
static void test_protection(void **state)
{
    static const struct {
        const char *node, *reason;
        int missed; /* seconds; -1: Slurm was not asked for it */
        bool on, cordon, protected_;
    } cases[] = {
        { "[\"IDLE\"]", "", -1, true, true, true },
        { "[\"IDLE\"]", "", -1, false, true, false },
        { "[\"MIXED\",\"DRAIN\"]", "", -1, true, true, true },
        { "[\"IDLE\",\"DRAIN\"]", "", -1, true, true, false },
        { "[\"IDLE\",\"DRAIN\"]", "", -1, true, false, true }, /* may be undone by anybody */
        { "[\"IDLE\",\"DRAIN\",\"UNDRAIN\"]", "", -1, true, true, true },
        { "[\"IDLE\",\"COMPLETING\",\"DRAIN\"]", "", -1, true, true, true },
        { "[\"DOWN\"]", "", -1, true, false, false },
        { "[\"DOWN\"]", "slurm-operator: Pod is terminating", -1, true, false, true },
        { "[\"DOWN\",\"DRAIN\"]", "", -1, true, true, false },
        { NULL, "", -1, true, false, true },
        { NULL, "", 10, true, false, true },
        { NULL, "", 31, true, false, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *patch = NULL, *again = NULL, *labels;
        struct world w;
        struct nspod pod;
        char spec[200];

        (void)snprintf(spec, sizeof(spec),
                       "{\"controllerRef\":{\"name\":\"c\"},"
                       "\"workloadDisruptionProtection\":%s}",
                       cases[i].on ? "true" : "false");
        begin_world(&w, spec);
        add_worker(&w, 0, cases[i].node, cases[i].reason);
        if (cases[i].missed >= 0)
            (void)json_object_set_new(w.missed, "w-0", json_integer(cases[i].missed));
        nspod_read(&w.v, json_array_get(w.pods, 0), &pod);
        assert_int_equal(kubejson_label(pod.pod, OPKEY_PROTECT) != NULL, cases[i].on);
        patch = nspod_patch(&w.v, &pod, cases[i].cordon);
        labels = json_incref(json_object_get(json_object_get(patch, "metadata"), "labels"));
        assert_int_equal(json_object_get(labels, OPKEY_PROTECT) != NULL,
                         cases[i].on && !cases[i].protected_); /* it is taken away */
        w.v.slurm = NULL;                                      /* not known: it stays as it is */
        again = nspod_patch(&w.v, &pod, false);
        assert_null(json_object_get(json_object_get(json_object_get(again, "metadata"), "labels"),
                                    OPKEY_PROTECT));
        json_decref(labels);
        labels = NULL;
        end_world(&w);
    }
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
        const char *reason;
    } cases[] = {
        { "[\"DOWN\",\"NOT_RESPONDING\"]", SET_UID, "lost", false, true, true },
        { "[\"DOWN\",\"DRAIN\"]", SET_UID, "lost", false, true, false },
        { "[\"DOWN\",\"DRAIN\"]", SET_UID, "lost", false, true, true, OPKEY_ENDED },
        { "[\"DOWN\"]", SET_UID, "lost", true, true, false, OPKEY_ENDED },
        { "[\"DOWN\"]", SET_UID, "lost", false, true, false, OPKEY_REASON "Pod ends" },
        { "[\"IDLE\"]", SET_UID, "lost", false, true, false, OPKEY_ENDED },
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
        _cleanup_json_ json_t *records =
            json_pack("[{s:s, s:o, s:s, s:s}]", "name", "r1", "state", read_text(cases[i].state),
                      "comment", comment, "reason", cases[i].reason ? cases[i].reason : "");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pending_with_jobs),
        cmocka_unit_test(test_protection),
        cmocka_unit_test(test_decisions),
        cmocka_unit_test(test_unregistered),
        cmocka_unit_test(test_names_of_others),
        cmocka_unit_test(test_pins),
        cmocka_unit_test(test_pin_terms),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_claims_go_first),
        cmocka_unit_test(test_prune),
        cmocka_unit_test(test_plan),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
