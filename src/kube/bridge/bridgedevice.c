/* bridgedevice.c - see bridgedevice.h */
#include "kube/bridge/bridgedevice.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/bridge/bridgeact.h"
#include "kube/bridge/bridgegang.h"
#include "kube/bridge/bridgegroup.h"
#include "kube/claim/bridgekeys.h"
#include "kube/bridge/bridgekinds.h"
#include "kube/bridge/bridgestatic.h"
#include "kube/claim/podread.h"
#include "kube/claim/devask.h"
#include "kube/claim/devchannel.h"
#include "kube/claim/devclaim.h"
#include "kube/claim/devfill.h"
#include "kube/claim/devnode.h"

#define AGAIN_US (5 * USEC_PER_SEC) /* slices and channels wake nobody */

/* ---- what is followed ------------------------------------------------------------------------ */

static void unref_slices(void *slices)
{
    json_decref(slices);
}

static const json_t *slices_of(const struct bridge *b, const char *node)
{
    return kubemap_get(&b->node_slices, node);
}

static void drop_slice(struct bridge *b, const json_t *slice)
{
    const char *node = kubejson_text(slice, "spec.nodeName");
    json_t *all = kubemap_get(&b->node_slices, node);

    (void)json_object_del(all, kubejson_uid(slice));
    if (all && json_object_size(all) == 0)
        json_decref(kubemap_take(&b->node_slices, node));
}

static void keep_slice(struct bridge *b, const json_t *slice)
{
    const char *node = kubejson_text(slice, "spec.nodeName");
    json_t *all = kubemap_get(&b->node_slices, node);

    if (!*node)
        return; /* devices that are no node's */
    if (!all) {
        all = json_object();
        if (!all || kubemap_put(&b->node_slices, node, all) < 0) {
            json_decref(all);
            log_nomem("a slice of node %.200s is not seen", node);
            return;
        }
    }
    (void)json_object_set(all, kubejson_uid(slice), (json_t *)(uintptr_t)slice); /* only read */
}

static void look_at_node(struct bridge *b, const json_t *slice)
{
    const char *name = kubejson_text(slice, "spec.nodeName");
    const json_t *node = b->nodes ? kubeinformer_by_name(b->nodes, "", name) : NULL;

    if (node)
        bridgenodes_look(b->externals, node);
}

static void take_slice(void *ctx, const json_t *before, const json_t *now)
{
    struct bridge *b = ctx;

    if (before)
        drop_slice(b, before);
    if (now)
        keep_slice(b, now);
    if (before && now && json_equal(json_object_get(before, "spec"), json_object_get(now, "spec")))
        return;
    exclusion_forget(&b->exclusion);
    kubeloop_arm(kubeserver_loop(b->kube), &b->settled, now_mono_us() + USEC_PER_SEC);
    look_at_node(b, now ? now : before);
}

/* A claim wakes the gang of the pod that owns it. */
static void take_claim(void *ctx, const json_t *before, const json_t *now)
{
    struct bridge *b = ctx;
    const json_t *owner = kubejson_controller(now ? now : before);
    const json_t *pod =
        owner && b->pods ? kubeinformer_by_uid(b->pods, kubejson_text(owner, "uid")) : NULL;
    _cleanup_val_(strbuf_done) struct strbuf key = STRBUF_INIT;

    if (!pod || !bridgegang_is_ready(b))
        return;
    podread_gang(pod, bridgegroup_is_labelled(b, pod), bridgegroup_is_native(b, pod), &key);
    if (!key.failed && kubemap_get(&b->gangs, strbuf_str(&key)))
        bridgegang_wake(b, strbuf_str(&key), 0);
}

static void wake_gang(void *ctx, const char *key, void *gang)
{
    const struct gang *g = gang;

    if (!g->job_id)
        bridgegang_wake(ctx, key, 0);
}

/* Classes change seldom: pods without a job may be waiting for one. */
static void take_class(void *ctx, const json_t *before, const json_t *now)
{
    struct bridge *b = ctx;

    if (!(before && now) && bridgegang_is_ready(b))
        kubemap_walk(&b->gangs, wake_gang, b);
}

int bridgedevice_begin(struct bridge *b)
{
    const struct {
        const struct kubekind *kind;
        kubeinformer_fn *fn;
        struct kubeinformer **ret;
    } rows[] = {
        { &bridge_slices, take_slice, &b->slices },
        { &bridge_device_claims, take_claim, &b->device_claims },
        { &bridge_device_classes, take_class, &b->device_classes },
    };
    int r = 0;

    for (size_t i = 0; b->o.devices && r == 0 && i < ARRAY_SIZE(rows); i++)
        r = bridgekinds_follow(b, rows[i].kind, NULL, rows[i].fn, rows[i].ret);
    return r;
}

void bridgedevice_stop(struct bridge *b)
{
    b->slices = kubeinformer_free(b->slices);
    b->device_claims = kubeinformer_free(b->device_claims);
    b->device_classes = kubeinformer_free(b->device_classes);
    kubemap_done(&b->node_slices, unref_slices);
}

/* ---- what is wanted of a node ---------------------------------------------------------------- */

static int add_driver(json_t *needs, const char *driver)
{
    return json_array_append_new(needs, json_pack("{s:s}", "driver", driver)) < 0 ? -ENOMEM : 0;
}

static const json_t *find_claim(void *ctx, const char *namespace_, const char *name)
{
    const struct bridge *b = ctx;

    return kubeinformer_by_name(b->device_claims, namespace_, name);
}

static const json_t *find_class(void *ctx, const char *namespace_, const char *name)
{
    const struct bridge *b = ctx;

    return kubeinformer_by_name(b->device_classes, namespace_, name);
}

/* Claims that cannot be read have been told, and have no job: the driver of none is needed. */
static bool wants_channel(const struct bridge *b, const json_t *pod)
{
    size_t i;
    json_t *item;

    json_array_foreach(kubejson_at(pod, "spec.resourceClaims"), i, item)
    {
        const char *name = devchannel_claim(pod, item);

        if (b->device_claims && *name &&
            devchannel_wants(kubeinformer_by_name(b->device_claims, kubejson_namespace(pod), name)))
            return true;
    }
    return false;
}

int bridgedevice_read(struct bridge *b, const json_t *pod, json_t **ret, struct err *err)
{
    return b->o.devices ? devfill_read(pod, find_claim, b, ret, err) : devask_read(pod, ret, err);
}

int bridgedevice_add_needs(struct bridge *b, const json_t *pod, json_t *needs)
{
    _cleanup_json_ json_t *asks = NULL;
    size_t i;
    json_t *one;
    int r = wants_channel(b, pod) ? add_driver(needs, DEVCHANNEL_DRIVER) : 0;

    if (r == 0 && bridgedevice_read(b, pod, &asks, NULL) == -ENOMEM)
        return -ENOMEM; /* what cannot be read has been told, and has no job */
    json_array_foreach(asks, i, one)
    {
        if (r == 0)
            r = add_driver(needs, kubejson_text(one, "class"));
    }
    return r;
}

static bool has_driver(const json_t *slices, const char *driver)
{
    _cleanup_json_ json_t *found = strcmp(driver, DEVCHANNEL_DRIVER) == 0
                                       ? devchannel_of(slices)
                                       : devnode_list(slices, driver);

    return json_is_array(found) ? json_array_size(found) > 0 : found != NULL;
}

bool bridgedevice_meets(void *ctx, const json_t *needs, const json_t *node)
{
    size_t i;
    json_t *one;

    json_array_foreach(needs, i, one)
    {
        const char *driver = kubejson_text(one, "driver");

        if (*driver && !has_driver(slices_of(ctx, kubejson_name(node)), driver))
            return false;
    }
    return podvolume_meets(needs, node) && bridgestatic_meets(ctx, needs, node);
}

/* ---- pods that wait -------------------------------------------------------------------------- */

/* What a pod cannot have; NULL: nothing.  wait: it may come. */
static const char *judge_pod(struct bridge *b, const json_t *pod, struct strbuf *why, bool *wait)
{
    _cleanup_json_ json_t *asks = NULL;
    struct err err = { .text = "" };
    enum podvolume_state state;
    size_t i;
    json_t *one;

    *wait = false;
    if (bridgedevice_read(b, pod, &asks, &err) < 0) {
        strbuf_add(why, err.text);
        return strbuf_str(why);
    }
    if (!b->o.devices && (json_array_size(asks) || devchannel_has_claims(pod)))
        return "the API server does not serve resource.k8s.io/v1, where claims for devices are";
    if (!b->o.devices)
        return NULL;
    *wait = true;
    json_array_foreach(asks, i, one)
    {
        if (find_class(b, "", kubejson_text(one, "class")))
            continue;
        strbuf_addf(why, "there is no DeviceClass %s", kubejson_text(one, "class"));
        return strbuf_str(why);
    }
    state = devfill_judge(pod, find_claim, b, why);
    *wait = state == PODVOLUME_WAIT;
    return state >= PODVOLUME_WAIT ? strbuf_str(why) : NULL;
}

bool bridgedevice_is_open(struct gang *g, const json_t *pods)
{
    size_t i;
    json_t *pod;

    json_array_foreach(pods, i, pod)
    {
        _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;
        bool wait;
        const char *why = judge_pod(g->b, pod, &text, &wait);

        if (!why)
            continue;
        bridgeact_tell(g, pods, wait ? "SlurmWaitingForDevices" : "SlurmNotSupported", why);
        return false;
    }
    return true;
}

/* ---- pods whose job runs --------------------------------------------------------------------- */

static void take_layout(void *ctx, const struct kubereply *reply)
{
    struct gang *g = ctx;
    const json_t *nodes = json_object_get(reply->body, "nodes");
    size_t i;
    json_t *one;

    g->requests--;
    if (reply->status != 200 || !json_is_array(nodes)) {
        g->failed = true;
        log_limited(LOG_ERROR, "%s: what job %u holds is not known: %d %s", g->key, g->layout_job,
                    reply->status, reply->text);
    } else {
        json_decref(g->layout);
        g->layout = json_object();
        json_array_foreach(nodes, i, one)
        {
            if (*kubejson_text(one, "node"))
                (void)json_object_set(g->layout, kubejson_text(one, "node"), one);
        }
        bridgegang_wake(g->b, g->key, 0);
    }
    bridgeact_end(g);
}

static const json_t *layout_of(const struct gang *g, const char *node)
{
    const json_t *object = kubeinformer_by_name(g->b->nodes, "", node);
    const char *label = object ? kubejson_label(object, BRIDGE_LABEL_NODE) : NULL;

    return json_object_get(g->layout, label ? label : node);
}

/* A field that the server does not know is dropped without a word. */
static void take_told(void *ctx, const struct kubereply *reply)
{
    struct gang *g = ctx;

    if (reply->status == 200 && !kubejson_at(reply->body, "status.extendedResourceClaimStatus")) {
        log_seldom(LOG_ERROR, "the API server keeps no extendedResourceClaimStatus of pods: its "
                              "feature gate DRAExtendedResource is off");
        g->failed = true;
    }
    bridgeact_take(ctx, reply);
}

static void change_claim(struct gang *g, const json_t *claim, json_t *patch_taken)
{
    const struct kubeapi_target t = { &bridge_device_claims, kubejson_namespace(claim),
                                      kubejson_name(claim), "status" };
    _cleanup_json_ json_t *patch = patch_taken;

    if (patch && !json_object_get(patch, "metadata"))
        (void)json_object_set_new(patch, "metadata",
                                  json_pack("{s:s, s:s}", "uid", kubejson_uid(claim),
                                            "resourceVersion", kubejson_version(claim)));
    if (!json_object_get(patch, "metadata"))
        g->failed = true;
    else
        bridgeact_count(
            g, kubeapi_patch(g->b->kube, &t, KUBEAPI_MERGE, patch, NULL, false, bridgeact_take, g));
}

static void delete_claim(struct gang *g, const json_t *claim)
{
    const struct kubeapi_target t = { &bridge_device_claims, kubejson_namespace(claim),
                                      kubejson_name(claim), NULL };

    bridgeact_count(
        g, kubeapi_delete(g->b->kube, &t, kubejson_uid(claim), NULL, -1, bridgeact_take, g));
}

static void tell_pod(struct gang *g, const json_t *pod, const json_t *mappings)
{
    const struct kubeapi_target t = { &kubekind_pods, kubejson_namespace(pod), kubejson_name(pod),
                                      "status" };
    _cleanup_json_ json_t *patch = json_deep_copy(mappings);

    if (!patch ||
        json_object_set_new(patch, "metadata", json_pack("{s:s}", "uid", kubejson_uid(pod))) < 0)
        g->failed = true;
    else
        bridgeact_count(
            g, kubeapi_patch(g->b->kube, &t, KUBEAPI_STRATEGIC, patch, NULL, false, take_told, g));
}

static enum bridgevolume_answer place_asks(struct gang *g, const json_t *pod, const json_t *asks,
                                           const char *node, struct err *err)
{
    const struct devclaim_view v = { pod, asks, slices_of(g->b, node), layout_of(g, node), node };
    const struct kubeapi_target all = { &bridge_device_claims, kubejson_namespace(pod), NULL,
                                        NULL };
    _cleanup_val_(devclaim_done) struct devclaim want = { 0 };
    char name[DEVCLAIM_NAME];
    const json_t *have;

    if (devclaim_make(&v, &want, err) < 0)
        return BRIDGEVOLUME_WAIT;
    devclaim_write_name(pod, name);
    have = kubeinformer_by_name(g->b->device_claims, kubejson_namespace(pod), name);
    switch (devclaim_decide(&want, have, pod)) {
    case DEVCLAIM_READY:
        return BRIDGEVOLUME_READY;
    case DEVCLAIM_CREATE:
        bridgeact_count(g, kubeapi_create(g->b->kube, &all, want.claim, bridgeact_take, g));
        break;
    case DEVCLAIM_ALLOCATE:
        change_claim(g, have, json_deep_copy(want.status));
        break;
    case DEVCLAIM_TELL:
        tell_pod(g, pod, want.mappings);
        break;
    case DEVCLAIM_DELETE:
        delete_claim(g, have);
        break;
    case DEVCLAIM_WAIT:
        break;
    case DEVCLAIM_FOREIGN:
        (void)err_set(err, -EEXIST, "the claim %.250s is somebody else's", name);
        break;
    }
    return BRIDGEVOLUME_WAIT;
}

struct search {
    const json_t *channel, *claim;
    bool found;
};

static void find_holder(void *ctx, const json_t *claim)
{
    struct search *s = ctx;

    s->found = s->found || (strcmp(kubejson_uid(claim), kubejson_uid(s->claim)) != 0 &&
                            devchannel_holds(claim, s->channel));
}

/* A claim that was given otherwise, for a job that was given up, is taken back first. */
static void take_back(struct gang *g, const json_t *claim)
{
    change_claim(g, claim, json_pack("{s:{s:n, s:n}}", "status", "allocation", "reservedFor"));
}

static enum bridgevolume_answer place_channel(struct gang *g, const json_t *pod,
                                              const json_t *claim, const char *node,
                                              struct err *err)
{
    _cleanup_json_ json_t *channel = devchannel_of(slices_of(g->b, node));
    struct search s = { channel, claim, false };

    if (devchannel_is_given(claim, pod, node))
        return BRIDGEVOLUME_READY;
    if (kubejson_at(claim, "status.allocation")) {
        take_back(g, claim);
        return BRIDGEVOLUME_WAIT;
    }
    if (channel)
        kubeinformer_walk(g->b->device_claims, find_holder, &s);
    if (!channel || s.found)
        (void)err_set(err, -EAGAIN, "node %.200s has no channel of a ComputeDomain that is free",
                      node);
    else
        change_claim(
            g, claim,
            devchannel_status(claim, find_class(g->b, "", DEVCHANNEL_CLASS), channel, pod, node));
    return BRIDGEVOLUME_WAIT;
}

static enum bridgevolume_answer place_claim(struct gang *g, const struct devclaim_view *v,
                                            const json_t *claim, json_t *taken, struct err *err)
{
    _cleanup_json_ json_t *want = NULL;

    if (devfill_status(v, claim, find_class, g->b, taken, &want, err) < 0)
        return BRIDGEVOLUME_WAIT;
    if (devfill_is_given(claim, want))
        return BRIDGEVOLUME_READY;
    if (kubejson_at(claim, "status.allocation"))
        take_back(g, claim);
    else
        change_claim(g, claim, json_incref(want));
    return BRIDGEVOLUME_WAIT;
}

static enum bridgevolume_answer place_pod(struct gang *g, const json_t *pod, const char *node,
                                          struct err *err)
{
    enum bridgevolume_answer all = BRIDGEVOLUME_READY, one;
    _cleanup_json_ json_t *asks = NULL, *taken = NULL;
    struct devclaim_view v = { pod, NULL, slices_of(g->b, node), layout_of(g, node), node };
    size_t i;
    json_t *item;

    if (devask_read(pod, &asks, err) < 0)
        return BRIDGEVOLUME_WAIT;
    v.asks = asks;
    if (json_array_size(asks))
        all = place_asks(g, pod, asks, node, err);
    if (devfill_begin(&v, &taken, err) < 0)
        return BRIDGEVOLUME_WAIT;
    json_array_foreach(kubejson_at(pod, "spec.resourceClaims"), i, item)
    {
        const json_t *claim =
            find_claim(g->b, kubejson_namespace(pod), devchannel_claim(pod, item));

        if (!claim)
            one = BRIDGEVOLUME_WAIT;
        else if (devchannel_wants(claim))
            one = place_channel(g, pod, claim, node, err);
        else
            one = place_claim(g, &v, claim, taken, err);
        all = MAX(all, one);
    }
    return all;
}

static bool wants_devices(const json_t *places)
{
    size_t i;
    json_t *one;

    json_array_foreach(places, i, one)
    {
        const json_t *pod = json_object_get(one, "pod");
        _cleanup_json_ json_t *asks = NULL;

        if (devchannel_has_claims(pod) || devask_read(pod, &asks, NULL) < 0 ||
            json_array_size(asks))
            return true;
    }
    return false;
}

static enum bridgevolume_answer wait_more(struct gang *g, const json_t *pods, const char *why)
{
    if (*why)
        bridgeact_tell(g, pods, "SlurmWaitingForDevices", why);
    if (bridgegang_is_overdue(g, BRIDGEWAIT_DEVICES))
        return BRIDGEVOLUME_BAD;
    bridgegang_wake(g->b, g->key, AGAIN_US); /* and when a claim changes */
    return BRIDGEVOLUME_WAIT;
}

enum bridgevolume_answer bridgedevice_place(struct gang *g, const struct slurmjob *job,
                                            const json_t *pods, const json_t *places)
{
    enum bridgevolume_answer all = BRIDGEVOLUME_READY;
    _cleanup_json_ json_t *late = json_array();
    struct err err = { .text = "" };
    size_t i;
    json_t *one;

    if (!g->b->o.devices || !wants_devices(places))
        return BRIDGEVOLUME_READY;
    if (!g->layout || g->layout_job != job->id) {
        json_decref(g->layout);
        g->layout = NULL;
        g->layout_job = job->id;
        if (bridgegang_is_overdue(g, BRIDGEWAIT_DEVICES))
            return BRIDGEVOLUME_BAD;
        bridgeact_count(g, slurmlink_resources(g->b->slurm, job->id, take_layout, g));
        return BRIDGEVOLUME_WAIT;
    }
    json_array_foreach(places, i, one)
    {
        if (place_pod(g, json_object_get(one, "pod"), kubejson_text(one, "node"), &err) ==
            BRIDGEVOLUME_READY)
            continue;
        all = BRIDGEVOLUME_WAIT;
        (void)json_array_append(late, json_object_get(one, "node"));
    }
    if (all == BRIDGEVOLUME_READY) {
        bridgegang_end_wait(g, BRIDGEWAIT_DEVICES);
        return all;
    }
    all = wait_more(g, pods, err.text);
    json_array_foreach(late, i, one)
    {
        if (all == BRIDGEVOLUME_BAD)
            bridgegang_note_bad(g, json_string_value(one));
    }
    return all;
}

void bridgedevice_release(struct gang *g, const json_t *pods)
{
    size_t i;
    json_t *pod;

    json_array_foreach(pods, i, pod)
    {
        char name[DEVCLAIM_NAME];
        const json_t *claim;

        if (!g->b->o.devices || !podread_is_over(pod))
            continue;
        devclaim_write_name(pod, name);
        claim = kubeinformer_by_name(g->b->device_claims, kubejson_namespace(pod), name);
        if (claim && devclaim_is_of(claim, pod) && !kubejson_is_deleted(claim))
            delete_claim(g, claim);
    }
}
