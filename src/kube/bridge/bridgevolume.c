/* bridgevolume.c - see bridgevolume.h */
#include "kube/bridge/bridgevolume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/bridge/bridgeact.h"
#include "kube/bridge/bridgedevice.h"
#include "kube/bridge/bridgegang.h"
#include "kube/claim/bridgekeys.h"
#include "kube/bridge/bridgekinds.h"
#include "kube/bridge/bridgestatic.h"
#include "kube/claim/podread.h"
#include "kube/claim/podstatic.h"

#define SELECTED "volume.kubernetes.io/selected-node"

/* ---- what is followed ------------------------------------------------------------------------ */

static void write_key(const char *namespace_, const char *name, struct strbuf *out)
{
    strbuf_addf(out, "%s/%s", namespace_, name);
}

static void unref_gangs(void *gangs)
{
    json_decref(gangs);
}

static void wake_gangs(struct bridge *b, const char *namespace_, const char *name)
{
    _cleanup_val_(strbuf_done) struct strbuf key = STRBUF_INIT;
    const char *gang;
    json_t *value;

    write_key(namespace_, name, &key);
    if (!bridgegang_is_ready(b))
        return;
    json_object_foreach((json_t *)kubemap_get(&b->claim_gangs, strbuf_str(&key)), gang, value)
        bridgegang_wake(b, gang, 0);
}

/* So many pods of a gang refer to a claim. */
static void count_pod(json_t *gangs, const char *gang, int change)
{
    json_int_t n = json_integer_value(json_object_get(gangs, gang)) + change;

    if (n > 0)
        (void)json_object_set_new(gangs, gang, json_integer(n)); /* else it wakes with its pods */
    else
        (void)json_object_del(gangs, gang);
}

void bridgevolume_see(struct bridge *b, const json_t *pod, const char *gang, bool there)
{
    size_t i;
    json_t *volume;

    json_array_foreach(kubejson_at(pod, "spec.volumes"), i, volume)
    {
        _cleanup_val_(strbuf_done) struct strbuf key = STRBUF_INIT;
        char name[PODVOLUME_NAME];
        json_t *gangs;

        if (!podvolume_claim(pod, volume, name))
            continue;
        write_key(kubejson_namespace(pod), name, &key);
        gangs = kubemap_get(&b->claim_gangs, strbuf_str(&key));
        if (there && !gangs) {
            gangs = json_object();
            if (!gangs || kubemap_put(&b->claim_gangs, strbuf_str(&key), gangs) < 0) {
                json_decref(gangs);
                log_nomem("a pod waits for its next change");
                continue;
            }
        }
        count_pod(gangs, gang, there ? 1 : -1);
        if (gangs && !json_object_size(gangs))
            json_decref(kubemap_take(&b->claim_gangs, strbuf_str(&key)));
    }
}

static void take_claim(void *ctx, const json_t *before, const json_t *now)
{
    const json_t *claim = now ? now : before;

    wake_gangs(ctx, kubejson_namespace(claim), kubejson_name(claim));
}

static void wake_claim(void *ctx, const char *key, void *gangs)
{
    const char *gang;
    json_t *value;

    (void)key;
    json_object_foreach((json_t *)gangs, gang, value) bridgegang_wake(ctx, gang, 0);
}

static void wake_all_claims(struct bridge *b)
{
    if (bridgegang_is_ready(b))
        kubemap_walk(&b->claim_gangs, wake_claim, b);
}

static void take_volume(void *ctx, const json_t *before, const json_t *now)
{
    struct bridge *b = ctx;
    const json_t *ref = kubejson_at(now ? now : before, "spec.claimRef");

    if (bridgestatic_see(b, before, now)) {
        exclusion_forget(&b->exclusion);
        wake_all_claims(b);
    }
    wake_gangs(b, kubejson_text(ref, "namespace"), kubejson_text(ref, "name"));
}

/* Classes change seldom: whoever has claims looks again. */
static void take_class(void *ctx, const json_t *before, const json_t *now)
{
    (void)before;
    (void)now;
    wake_all_claims(ctx);
}

int bridgevolume_begin(struct bridge *b)
{
    const struct {
        const struct kubekind *kind;
        kubeinformer_fn *fn;
        struct kubeinformer **ret;
    } rows[] = {
        { &bridge_claims, take_claim, &b->claims },
        { &bridge_volumes, take_volume, &b->volumes },
        { &bridge_classes, take_class, &b->classes },
    };
    int r = 0;

    bridgestatic_begin(b);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(rows); i++)
        r = bridgekinds_follow(b, rows[i].kind, NULL, rows[i].fn, rows[i].ret);
    return r;
}

void bridgevolume_stop(struct bridge *b)
{
    b->claims = kubeinformer_free(b->claims);
    b->volumes = kubeinformer_free(b->volumes);
    b->classes = kubeinformer_free(b->classes);
    bridgestatic_stop(b);
    kubemap_done(&b->claim_gangs, unref_gangs);
}

static const json_t *find_claim(void *ctx, const char *namespace_, const char *name)
{
    const struct bridge *b = ctx;

    return kubeinformer_by_name(b->claims, namespace_, name);
}

static const json_t *find_volume(void *ctx, const char *name)
{
    const struct bridge *b = ctx;

    return kubeinformer_by_name(b->volumes, "", name);
}

static const json_t *find_class(void *ctx, const char *name)
{
    const struct bridge *b = ctx;

    return kubeinformer_by_name(b->classes, "", name);
}

static struct podvolume_facts bridgevolume_facts(const struct bridge *b)
{
    return (struct podvolume_facts){ find_claim, find_volume, find_class, (void *)(uintptr_t)b,
                                     bridgestatic_find };
}

json_t *bridgevolume_needs(void *ctx, const json_t *pod)
{
    const struct podvolume_facts f = bridgevolume_facts(ctx);
    _cleanup_json_ json_t *needs = podvolume_needs(&f, pod);

    return needs && bridgedevice_add_needs(ctx, pod, needs) < 0 ? NULL : TAKE_PTR(needs);
}

/* ---- pods that wait -------------------------------------------------------------------------- */

bool bridgevolume_is_open(struct gang *g, const json_t *pods)
{
    const struct podvolume_facts f = bridgevolume_facts(g->b);
    size_t i;
    json_t *pod;

    json_array_foreach(pods, i, pod)
    {
        _cleanup_val_(strbuf_done) struct strbuf why = STRBUF_INIT;

        if (podvolume_judge(&f, pod, &why) < PODVOLUME_WAIT)
            continue;
        bridgeact_tell(g, pods, "SlurmWaitingForVolumes", strbuf_str(&why));
        return false;
    }
    return true;
}

/* ---- pods whose job runs --------------------------------------------------------------------- */

/* The server has noted the node: from now on a claim without it has lost it. */
static void take_chosen(void *ctx, const struct kubereply *reply)
{
    struct gang *g = ctx;
    json_t *asked = json_object_get(g->asked_claims, kubejson_uid(reply->body));

    if (reply->status == 200 && asked)
        (void)json_object_set_new(asked, "done", json_true());
    bridgeact_take(ctx, reply);
}

static void choose_node(struct gang *g, const json_t *claim, const char *node)
{
    const struct kubeapi_target t = { &bridge_claims, kubejson_namespace(claim),
                                      kubejson_name(claim), NULL };
    _cleanup_json_ json_t *patch =
        json_pack("{s:{s:s, s:s, s:{s:s}}}", "metadata", "uid", kubejson_uid(claim),
                  "resourceVersion", kubejson_version(claim), "annotations", SELECTED, node);

    log_info("%s: the volume of claim %s is made for node %s", g->key, kubejson_name(claim), node);
    if (!patch || json_object_set_new(
                      g->asked_claims, kubejson_uid(claim),
                      json_pack("{s:s, s:s}", "node", node, "base", kubejson_version(claim))) < 0)
        g->failed = true;
    else
        bridgeact_count(
            g, kubeapi_patch(g->b->kube, &t, KUBEAPI_MERGE, patch, NULL, false, take_chosen, g));
}

/* chosen: claims that this pass has given a node.  Who makes volumes takes the node away when it
 * cannot make one there: then another is tried. */
static enum bridgevolume_answer place_claim(struct gang *g, const json_t *claim, const char *node,
                                            json_t *chosen)
{
    const char *have = kubejson_annotation(claim, SELECTED), *name = kubejson_name(claim);
    const json_t *asked = json_object_get(g->asked_claims, kubejson_uid(claim));
    bool done = kubejson_true(asked, "done");

    if (json_object_get(chosen, name) || (have && strcmp(have, node) == 0))
        return BRIDGEVOLUME_WAIT;
    if (!have && done && strcmp(kubejson_text(asked, "node"), node) == 0) {
        if (strcmp(kubejson_text(asked, "base"), kubejson_version(claim)) == 0)
            return BRIDGEVOLUME_WAIT; /* the change is not told yet */
        log_info("%s: the volume of claim %s cannot be made for node %s", g->key, name, node);
        bridgegang_note_bad(g, node);
        return BRIDGEVOLUME_BAD;
    }
    (void)json_object_set_new(chosen, name, json_true());
    choose_node(g, claim, node);
    return BRIDGEVOLUME_WAIT;
}

/* A volume that is there is taken before one is made. */
static enum bridgevolume_answer place_late(struct gang *g, const json_t *claim, const json_t *node,
                                           json_t *chosen, json_t *used)
{
    const struct podvolume_facts f = bridgevolume_facts(g->b);
    const json_t *volume;

    if (f.statics(f.ctx, claim) == PODVOLUME_SET_ASIDE)
        return BRIDGEVOLUME_WAIT;
    volume =
        kubejson_annotation(claim, SELECTED) ? NULL : bridgestatic_pick(g->b, claim, node, used);
    if (volume) {
        if (json_object_set_new(used, kubejson_name(volume), json_true()) == 0)
            bridgestatic_give(g, volume, claim);
        return BRIDGEVOLUME_WAIT;
    }
    if (!podvolume_is_static(&f, claim))
        return place_claim(g, claim, kubejson_name(node), chosen);
    log_info("%s: no volume for claim %s is free at node %s", g->key, kubejson_name(claim),
             kubejson_name(node));
    return BRIDGEVOLUME_BAD; /* volumes that are there exclude the node, as long as it is so */
}

/* The claims of a pod that wait for its node, in the order in which they choose. */
static json_t *late_claims(const struct podvolume_facts *f, const json_t *pod)
{
    json_t *late = json_array(), *volume;
    size_t i, at;

    json_array_foreach(kubejson_at(pod, "spec.volumes"), i, volume)
    {
        char name[PODVOLUME_NAME];
        const json_t *claim = podvolume_claim(pod, volume, name)
                                  ? f->claim(f->ctx, kubejson_namespace(pod), name)
                                  : NULL;

        if (!claim || !podvolume_is_late(f, claim) || kubejson_is_deleted(claim))
            continue;
        for (at = 0;
             at < json_array_size(late) && !podstatic_goes_first(claim, json_array_get(late, at));)
            at++;
        (void)json_array_insert(late, at, (json_t *)(uintptr_t)claim); /* else it is not bound */
    }
    return late;
}

static enum bridgevolume_answer place_pod(struct gang *g, const json_t *pod, const char *node,
                                          json_t *chosen, json_t *used)
{
    const struct podvolume_facts f = bridgevolume_facts(g->b);
    _cleanup_json_ json_t *needs = podvolume_needs(&f, pod), *late = late_claims(&f, pod);
    const json_t *object = kubeinformer_by_name(g->b->nodes, "", node);
    enum bridgevolume_answer all = BRIDGEVOLUME_READY, one;
    size_t i;
    json_t *claim;

    if (!needs)
        return BRIDGEVOLUME_WAIT;
    if (object && !podvolume_meets(needs, object)) {
        bridgegang_note_bad(g, node);
        return BRIDGEVOLUME_BAD;
    }
    json_array_foreach(late, i, claim)
    {
        one = object ? place_late(g, claim, object, chosen, used) : BRIDGEVOLUME_WAIT;
        all = MAX(all, one);
    }
    if (all == BRIDGEVOLUME_READY) {
        _cleanup_val_(strbuf_done) struct strbuf why = STRBUF_INIT;

        if (podvolume_judge(&f, pod, &why) != PODVOLUME_READY)
            all = BRIDGEVOLUME_WAIT;
    }
    return all;
}

enum bridgevolume_answer bridgevolume_place(struct gang *g, const json_t *places)
{
    _cleanup_json_ json_t *chosen = json_object(), *used = json_object();
    enum bridgevolume_answer all = BRIDGEVOLUME_READY;
    size_t i;
    json_t *one;

    json_array_foreach(places, i, one)
    {
        const char *node = kubejson_text(one, "node");
        enum bridgevolume_answer answer =
            place_pod(g, json_object_get(one, "pod"), node, chosen, used);

        all = MAX(all, answer);
    }
    if (all != BRIDGEVOLUME_WAIT) {
        bridgegang_end_wait(g, BRIDGEWAIT_VOLUMES);
        return all;
    }
    if (bridgegang_is_overdue(g, BRIDGEWAIT_VOLUMES))
        return BRIDGEVOLUME_BAD;
    bridgegang_wake(g->b, g->key, g->b->o.wait_us / 20); /* and when a claim changes */
    return all;
}
