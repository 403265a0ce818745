/* nspod.c - see nspod.h */
#include "kube/nodeset/nspod.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/make/mkworkers.h"
#include "kube/make/opkeys.h"
#include "kube/nodeset/slurmstate.h"

#define CONDITION "SlurmNodeState"
#define K8S_FEATURE "k8s/"
#define UNKNOWN_S 30 /* so long slurmctld says that it has no node of a name */

/* Does a record of Slurm belong to the pod that claims its name?  Labels are in the hands of
 * whoever makes pods: a pod that names the node of another worker, or one that no worker
 * registered, has no node. */
static bool is_its_own(const struct nsview *v, const json_t *pod, const json_t *record)
{
    _cleanup_json_ json_t *info = json_loads(kubejson_text(record, "comment"), 0, NULL);
    const char *name = kubejson_text(info, "podName");
    const json_t *other = NULL;
    size_t i;
    json_t *one;

    if (!*name || !*kubejson_text(info, "nodeSetUID"))
        return slurmstate_has_word(json_object_get(record, "state"), "DYNAMIC_NORM");
    if (strcmp(kubejson_text(info, "namespace"), kubejson_namespace(v->f->cr)) != 0)
        return false;
    if (strcmp(name, kubejson_name(pod)) == 0)
        return true;
    json_array_foreach(v->pods, i, one)
    {
        if (strcmp(kubejson_name(one), name) == 0)
            other = one;
    }
    if (!other)
        other = mkbase_find(v->f, "Pod", name);
    return !other || strcmp(mkworkers_slurm_name(other), mkworkers_slurm_name(pod)) != 0;
}

static int64_t read_cost(const json_t *pod)
{
    const char *text = kubejson_annotation(pod, OPKEY_COST);

    return text ? strtoll(text, NULL, 10) : 0;
}

/* A pod is pending until all of its containers could be started: slurmd may run long before. */
static bool has_run(const json_t *pod)
{
    size_t i;
    json_t *one;

    json_array_foreach(kubejson_at(pod, "status.containerStatuses"), i, one)
    {
        if (kubejson_at(one, "state.running") || kubejson_at(one, "state.terminated") ||
            kubejson_at(one, "lastState.terminated") || kubejson_int(one, "restartCount", 0))
            return true;
    }
    return false;
}

void nspod_read(const struct nsview *v, const json_t *pod, struct nspod *ret)
{
    const char *phase = kubejson_text(pod, "status.phase"), *cordon, *revision;
    const json_t *ready = kubejson_condition(pod, "Ready");
    int64_t wait = kubejson_int(v->f->cr, "spec.minReadySeconds", 0) * USEC_PER_SEC;
    char want[MKWORKERS_REVISION];

    *ret = (struct nspod){ .pod = pod, .name = mkworkers_slurm_name(pod) };
    if (!v->revision)
        mkworkers_revision(v->f->cr, want);
    cordon = kubejson_annotation(pod, OPKEY_CORDON);
    revision = kubejson_label(pod, OPKEY_REVISION);
    ret->node = json_object_get(v->nodes, kubejson_text(pod, "spec.nodeName"));
    ret->slurm = json_object_get(v->slurm, ret->name);
    if (ret->slurm && !is_its_own(v, pod, ret->slurm))
        ret->slurm = NULL; /* nothing is known of its own node */
    ret->ending = kubejson_is_deleted(pod);
    ret->finished = strcmp(phase, "Failed") == 0 || strcmp(phase, "Succeeded") == 0;
    ret->begun =
        *kubejson_text(pod, "spec.nodeName") && (strcmp(phase, "Pending") != 0 || has_run(pod));
    ret->ready = strcmp(phase, "Running") == 0 && !ret->ending &&
                 strcmp(kubejson_text(ready, "status"), "True") == 0;
    if (kubejson_read_stamp(kubejson_text(ready, "lastTransitionTime"), &ret->ready_us) < 0)
        ret->ready_us = 0;
    ret->available = ret->ready && ret->ready_us + wait <= v->now_us;
    ret->current = revision && strcmp(revision, v->revision ? v->revision : want) == 0;
    ret->cordoned = cordon && strcmp(cordon, "true") == 0;
    ret->cost = read_cost(pod);
    ret->deadline_s = json_integer_value(json_object_get(v->deadlines, ret->name));
    ret->ordinal = mkworkers_ordinal(v->f->cr, kubejson_name(pod));
}

static int compare_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* The first that is not 0 decides. */
int nspod_compare(const void *a, const void *b)
{
    const struct nspod *p = a, *q = b;
    const int rules[] = {
        compare_numbers(*kubejson_text(p->pod, "spec.nodeName") != '\0',
                        *kubejson_text(q->pod, "spec.nodeName") != '\0'),
        compare_numbers(p->begun, q->begun),
        compare_numbers(p->ready, q->ready),
        compare_numbers(p->cost, q->cost),
        compare_numbers(p->deadline_s, q->deadline_s),
        compare_numbers(!p->cordoned, !q->cordoned),
        compare_numbers(q->ordinal, p->ordinal),
        compare_numbers(q->ready_us, p->ready_us),
        strcmp(kubejson_name(p->pod), kubejson_name(q->pod)),
    };

    for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
        if (rules[i])
            return rules[i];
    return 0;
}

const char *nspod_reason(const struct nspod *p)
{
    return kubejson_text(p->slurm, "reason");
}

bool nspod_has_state(const struct nspod *p, const char *word)
{
    return slurmstate_has_word(json_object_get(p->slurm, "state"), word);
}

bool nspod_is_busy(const struct nspod *p)
{
    return slurmstate_is_busy(json_object_get(p->slurm, "state"));
}

bool nspod_is_ours(const struct nspod *p)
{
    return strncmp(nspod_reason(p), OPKEY_REASON, strlen(OPKEY_REASON)) == 0;
}

/* ---- labels and annotations ------------------------------------------------------------------ */

/* Note in the patch that the pod's label or annotation should be `want`; NULL: none. */
static void note_text(const struct nspod *p, json_t *patch, const char *part, const char *key,
                      const char *want)
{
    const char *have = strcmp(part, "labels") == 0 ? kubejson_label(p->pod, key)
                                                   : kubejson_annotation(p->pod, key);
    json_t *map = json_object_get(patch, part);

    if ((!have && !want) || (have && want && strcmp(have, want) == 0))
        return;
    if (!map)
        (void)json_object_set_new(patch, part, map = json_object()); /* else noted next time */
    (void)json_object_set_new(map, key, want ? json_string(want) : json_null());
}

/* Down for a reason of its own: what an earlier pod left behind is soon undone. */
static bool is_down(const struct nspod *p)
{
    return nspod_has_state(p, "DOWN") && !nspod_is_ours(p);
}

/* A job may begin in any worker that is not drained, before the operator hears of it; and a drain
 * that no cordon asks for may be undone by anybody. */
static bool may_run_jobs(const struct nspod *p, bool cordon)
{
    bool drained = nspod_has_state(p, "DRAIN") && !nspod_has_state(p, "UNDRAIN");

    return nspod_is_busy(p) || !((drained && cordon) || is_down(p));
}

/* Evictions are refused from the pod's making on, unless Slurm knows of no such node for long. */
static bool is_protected(const struct nsview *v, const struct nspod *p, bool cordon)
{
    if (!kubejson_true(v->f->cr, "spec.workloadDisruptionProtection"))
        return false;
    if (p->slurm)
        return may_run_jobs(p, cordon);
    return json_integer_value(json_object_get(v->missed, p->name)) < UNKNOWN_S;
}

bool nspod_is_marked(const struct nsview *v, const struct nspod *p)
{
    return !kubejson_true(v->f->cr, "spec.workloadDisruptionProtection") ||
           kubejson_label(p->pod, OPKEY_PROTECT);
}

json_t *nspod_patch(const struct nsview *v, const struct nspod *p, bool cordon)
{
    _cleanup_json_ json_t *patch = json_object();
    const char *topology = p->node ? kubejson_annotation(p->node, OPKEY_TOPOLOGY) : NULL;
    char stamp[40];

    note_text(p, patch, "annotations", OPKEY_CORDON, cordon ? "true" : NULL);
    if (topology)
        note_text(p, patch, "annotations", OPKEY_TOPOLOGY, topology);
    if (v->slurm) /* what is not known changes nothing */
        note_text(p, patch, "labels", OPKEY_PROTECT, is_protected(v, p, cordon) ? "true" : NULL);
    if (p->slurm) {
        if (p->deadline_s)
            kubejson_stamp(MIN(p->deadline_s, INT64_C(253402300799)) * USEC_PER_SEC, false, stamp,
                           sizeof(stamp));
        note_text(p, patch, "annotations", OPKEY_DEADLINE, p->deadline_s ? stamp : NULL);
    }
    return json_object_size(patch) ? json_pack("{s:O}", "metadata", patch) : NULL;
}

/* ---- conditions ------------------------------------------------------------------------------ */

static const char *const state_words[][2] = {
    { "ALLOCATED", "Allocated" },
    { "DOWN", "Down" },
    { "ERROR", "Error" },
    { "FUTURE", "Future" },
    { "IDLE", "Idle" },
    { "MIXED", "Mixed" },
    { "UNKNOWN", "Unknown" },
    { "COMPLETING", "Completing" },
    { "DRAIN", "Drain" },
    { "FAIL", "Fail" },
    { "INVALID", "Invalid" },
    { "INVALID_REG", "InvalidReg" },
    { "MAINTENANCE", "Maintenance" },
    { "NOT_RESPONDING", "NotResponding" },
    { "UNDRAIN", "Undrain" },
};

json_t *nspod_conditions(const struct nsview *v, const struct nspod *p)
{
    _cleanup_json_ json_t *list = json_array();
    const char *reason = nspod_reason(p);
    char stamp[40];

    kubejson_stamp(v->now_us, false, stamp, sizeof(stamp));
    for (size_t i = 0; i < ARRAY_SIZE(state_words); i++) {
        bool want = nspod_has_state(p, state_words[i][0]);
        char type[64];
        const json_t *have;

        (void)snprintf(type, sizeof(type), CONDITION "%s", state_words[i][1]);
        have = kubejson_condition(p->pod, type);
        if (want && (!have || strcmp(kubejson_text(have, "message"), reason) != 0))
            (void)mkbase_push(list, json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", type, "status",
                                              "True", "reason", CONDITION, "message", reason,
                                              "lastTransitionTime", stamp));
        else if (!want && have)
            (void)mkbase_push(list, json_pack("{s:s, s:s}", "$patch", "delete", "type", type));
    }
    return json_array_size(list) ? json_pack("{s:{s:O}}", "status", "conditions", list) : NULL;
}

/* ---- the record in Slurm --------------------------------------------------------------------- */

/* Others' features stay; those that begin with k8s/ are what the node's annotation says. */
static json_t *want_features(const json_t *have, const char *text)
{
    json_t *want = json_array(), *one;
    size_t i;

    json_array_foreach(have, i, one)
    {
        if (strncmp(json_string_value(one) ? json_string_value(one) : K8S_FEATURE, K8S_FEATURE,
                    strlen(K8S_FEATURE)) != 0)
            (void)json_array_append(want, one); /* the list is compared afterwards */
    }
    while (*text) {
        size_t n = strcspn(text, ", ");
        char feature[256];

        (void)snprintf(feature, sizeof(feature), K8S_FEATURE "%.*s", (int)MIN(n, 200u), text);
        if (n)
            (void)json_array_append_new(want, json_string(feature));
        text += n + (text[n] != '\0');
    }
    return want;
}

static void add_info(const struct nsview *v, const struct nspod *p, json_t *body)
{
    _cleanup_json_ json_t *info =
        json_pack("{s:s, s:s, s:s, s:s, s:s}", "namespace", kubejson_namespace(p->pod), "podName",
                  kubejson_name(p->pod), "node", kubejson_text(p->pod, "spec.nodeName"),
                  "nodeSetName", kubejson_name(v->f->cr), "nodeSetUID", kubejson_uid(v->f->cr));
    _cleanup_free_ char *text = json_dumps(info, JSON_COMPACT);

    if (text && strcmp(kubejson_text(p->slurm, "comment"), text) != 0)
        (void)json_object_set_new(body, "comment", json_string(text));
}

json_t *nspod_record(const struct nsview *v, const struct nspod *p)
{
    _cleanup_json_ json_t *body = json_object(), *features = NULL;
    const char *topology = p->node ? kubejson_annotation(p->node, OPKEY_TOPOLOGY) : NULL;
    const char *wanted = p->node ? kubejson_annotation(p->node, OPKEY_FEATURES) : NULL;

    add_info(v, p, body);
    if (topology && *topology && strcmp(kubejson_text(p->slurm, "topology"), topology) != 0)
        (void)json_object_set_new(body, "topology_str", json_string(topology));
    if (p->node) {
        const json_t *have = json_object_get(p->slurm, "features");

        features = want_features(have, wanted ? wanted : "");
        if (!json_equal(features, have) && (have || json_array_size(features))) {
            (void)json_object_set(body, "features", features);
            (void)json_object_set(body, "features_act", features);
        }
    }
    return json_object_size(body) ? json_incref(body) : NULL;
}
