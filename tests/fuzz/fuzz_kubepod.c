/* fuzz_kubepod.c - pods, nodes and slices of strangers, with their annotations, as the bridge reads
 * them: a sentence, or a job and a node line that say no more than they may
 *
 * {"pods":[...], "root":{...}, "node":{...}, "slices":[...], "comment":"...", "there":[pods that
 * have a node], "volumes":[...], "claim":{...}}; all may miss. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubematch.h"
#include "kube/bridge/jobmake.h"
#include "kube/external/nodeshape.h"
#include "kube/claim/podread.h"
#include "kube/claim/devask.h"
#include "kube/claim/devfill.h"
#include "kube/claim/devnode.h"
#include "kube/claim/podnear.h"
#include "kube/claim/podstatic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_pod(const json_t *pod, const json_t *node)
{
    struct podread_wants wants;
    struct err err = { .text = "" };
    _cleanup_val_(strbuf_done) struct strbuf gang = STRBUF_INIT;
    _cleanup_json_ json_t *asks = NULL;

    (void)podread_is_over(pod); /* of any pod these say something */
    (void)podread_is_bound(pod);
    (void)podread_is_waiting(pod);
    (void)podread_rank(pod);
    assert(kubematch_check(json_object_get(pod, "spec"), &err) == 0 || err.text[0]);
    (void)podread_fits(pod, node, "s");
    assert(podread_wants(pod, &wants, &err) == 0 || err.text[0]);
    podread_gang(pod, true, true, &gang);
    assert(gang.failed || strbuf_str(&gang)[0]);
    if (devask_read(pod, &asks, &err) == 0)
        assert(devask_cpus(asks) >= 0);
}

/* What a pod's author wrote stays in its field: the comment that says whose the job is is ours. */
static void make_job(const json_t *pods, const json_t *root)
{
    struct jobmake m = { .bridge = "b",
                         .gang = "pod/7",
                         .pods = pods,
                         .root = root,
                         .name = "n",
                         .partition = "p",
                         .mcs = "kubernetes" };
    struct err err = { .text = "" };
    _cleanup_json_ json_t *body = NULL, *comment = NULL;

    if (jobmake_body(&m, &body, &err) < 0) {
        assert(!body && err.text[0]);
        return;
    }
    comment = jobmake_read_comment(kubejson_text(body, "job.admin_comment"), "b");
    assert(comment && strcmp(kubejson_text(comment, "gang"), m.gang) == 0);
    assert(!kubejson_at(body, "job.script") && !kubejson_at(body, "script"));
}

static void make_node(const json_t *node, const json_t *slices)
{
    struct nodeshape s = NODESHAPE_INIT;
    struct err err = { .text = "" };
    _cleanup_json_ json_t *body = NULL, *cores = devnode_cores(slices);
    const char *line;

    (void)cores;
    if (nodeshape_is_wanted(node) && nodeshape_read(node, slices, NODESHAPE_MARK, &s, &err) < 0)
        assert(err.text[0]);
    else if (nodeshape_is_wanted(node)) {
        body = nodeshape_body(NODESHAPE_CREATE, nodeshape_name(node), &s);
        line = kubejson_text(body, "node_conf");
        assert(!strpbrk(line, "\r\n") && !strpbrk(strbuf_str(&s.features), " \t\"\\#"));
        assert(nodeshape_is_word(nodeshape_name(node), strlen(nodeshape_name(node))));
    }
    nodeshape_done(&s);
}

/* ---- what pods say of others ----------------------------------------------------------------- */

static const json_t *find_node(void *ctx, const char *name)
{
    (void)name;
    return json_object_get(ctx, "node");
}

static void walk_nodes(void *ctx, podnear_node_fn *fn, void *arg)
{
    fn(arg, json_object_get(ctx, "node"));
}

static void walk_pods(void *ctx, podnear_pod_fn *fn, void *arg)
{
    size_t i;
    json_t *pod;

    json_array_foreach(json_object_get(ctx, "there"), i, pod) fn(arg, pod, "n");
}

static void read_near(const json_t *pods, json_t *all)
{
    const struct podnear_facts f = { find_node, walk_nodes, walk_pods, walk_pods, "s", all };
    _cleanup_json_ json_t *names = json_array();
    _cleanup_json_ json_t *places = json_pack("[{s:s}]", "node", "n");
    struct err err = { .text = "" };
    bool none = false;

    if (podnear_check(pods, &err) < 0) {
        assert(err.text[0]);
        return;
    }
    assert(podnear_exclude(&f, pods, names, &none) == 0);
    assert(json_array_size(names) <= 1 && none == (json_array_size(names) == 1));
    (void)podnear_holds(&f, pods, places);
}

static void read_volumes(const json_t *volumes, const json_t *claim, const json_t *node)
{
    const json_t *volume = podstatic_pick(volumes, claim, node, NULL);
    json_t *hosts = podstatic_hosts(volume);

    assert(!volume || podstatic_fits(volume, claim));
    (void)podstatic_is_free(volume);
    (void)podstatic_is_for(volume, claim);
    json_decref(hosts);
}

static const json_t *find_claim(void *ctx, const char *namespace_, const char *name)
{
    return json_object_get(ctx, "device_claim");
}

/* The claim of a pod's template: what is written into it has no more devices than it asks for. */
static void fill_claim(const json_t *pod, json_t *all)
{
    const json_t *claim = json_object_get(all, "device_claim");
    _cleanup_val_(strbuf_done) struct strbuf why = STRBUF_INIT;
    _cleanup_json_ json_t *asks = NULL, *taken = NULL, *want = NULL;
    struct err err = { .text = "" };
    struct devclaim_view v = { pod, NULL, json_object_get(all, "slices"),
                               json_object_get(all, "layout"), "n" };

    if (devfill_judge(pod, find_claim, all, &why) >= PODVOLUME_WAIT ||
        devfill_read(pod, find_claim, all, &asks, &err) < 0)
        return;
    assert(devask_cpus(asks) >= 0);
    if (devask_read(pod, &taken, &err) < 0)
        return;
    v.asks = taken;
    taken = NULL;
    if (devfill_begin(&v, &taken, &err) == 0 &&
        devfill_status(&v, claim, find_claim, all, taken, &want, &err) == 0)
        assert(want && devfill_is_given(want, want));
    json_decref((json_t *)(uintptr_t)v.asks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { .text = "" };
    json_t *all = NULL, *pods, *pod;
    size_t i;

    if (kubejson_parse((const char *)data, size, &all, &err) < 0)
        return 0;
    pods = json_object_get(all, "pods");
    json_array_foreach(pods, i, pod)
    {
        read_pod(pod, json_object_get(all, "node"));
        fill_claim(pod, all);
    }
    if (json_array_size(pods))
        make_job(pods, json_object_get(all, "root"));
    make_node(json_object_get(all, "node"), json_object_get(all, "slices"));
    read_near(pods, all);
    read_volumes(json_object_get(all, "volumes"), json_object_get(all, "claim"),
                 json_object_get(all, "node"));
    json_decref(jobmake_read_comment(kubejson_text(all, "comment"), ""));
    json_decref(all);
    return 0;
}
