/* bridgestatic.c - see bridgestatic.h
 *
 * Free volumes are found by the host that they name, so that thousands of local volumes cost one
 * look each for each node.  The index is made when somebody asks, and dropped when a free volume
 * comes or goes. */
#include "kube/bridge/bridgestatic.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "kube/api/kubejson.h"
#include "kube/bridge/bridgeact.h"
#include "kube/bridge/bridgekinds.h"
#include "kube/claim/podstatic.h"

#define HOST "kubernetes.io/hostname"
#define BY_US "pv.kubernetes.io/bound-by-controller" /* may be taken back with the claim */

static void unref_list(void *list)
{
    json_decref(list);
}

static void forget_index(struct bridge *b)
{
    kubemap_done(&b->statics, unref_list);
    kubemap_done(&b->set_aside, unref_list);
    b->statics_known = false;
}

void bridgestatic_begin(struct bridge *b)
{
    b->taken = json_object();
}

void bridgestatic_stop(struct bridge *b)
{
    forget_index(b);
    json_decref(b->taken);
    b->taken = NULL;
}

bool bridgestatic_see(struct bridge *b, const json_t *before, const json_t *now)
{
    bool was = before && podstatic_is_free(before), is = now && podstatic_is_free(now);

    forget_index(b);
    if (!is)
        (void)json_object_del(b->taken,
                              kubejson_name(now ? now : before)); /* its own word counts */
    return was || is;
}

/* ---- the index ------------------------------------------------------------------------------- */

static void add_at(struct kubemap *map, const char *key, const json_t *volume)
{
    json_t *list = kubemap_get(map, key);

    if (!list) {
        list = json_array();
        if (!list || kubemap_put(map, key, list) < 0) {
            json_decref(list);
            return; /* a volume less: its claim waits */
        }
    }
    (void)json_array_append(list, (json_t *)(uintptr_t)volume);
}

static void add_volume(void *ctx, const json_t *volume)
{
    struct bridge *b = ctx;
    const json_t *ref = kubejson_at(volume, "spec.claimRef");
    _cleanup_json_ json_t *hosts = NULL;
    size_t i;
    json_t *one;

    if (json_is_object(ref)) {
        _cleanup_val_(strbuf_done) struct strbuf key = STRBUF_INIT;

        strbuf_addf(&key, "%s/%s", kubejson_text(ref, "namespace"), kubejson_text(ref, "name"));
        add_at(&b->set_aside, strbuf_str(&key), volume);
        return;
    }
    if (!podstatic_is_free(volume))
        return;
    hosts = podstatic_hosts(volume);
    json_array_foreach(hosts, i, one)
    {
        if (json_is_string(one))
            add_at(&b->statics, json_string_value(one), volume);
    }
    if (!hosts)
        add_at(&b->statics, "", volume);
}

static void make_index(struct bridge *b)
{
    if (b->statics_known)
        return;
    kubeinformer_walk(b->volumes, add_volume, b);
    b->statics_known = true;
}

static bool is_set_aside(struct bridge *b, const json_t *claim)
{
    _cleanup_val_(strbuf_done) struct strbuf key = STRBUF_INIT;
    const char *name;
    size_t i;
    json_t *one;

    strbuf_addf(&key, "%s/%s", kubejson_namespace(claim), kubejson_name(claim));
    json_array_foreach((json_t *)kubemap_get(&b->set_aside, strbuf_str(&key)), i, one)
    {
        if (podstatic_is_for(one, claim))
            return true;
    }
    json_object_foreach(b->taken, name, one)
    {
        if (strcmp(json_string_value(one), kubejson_uid(claim)) == 0)
            return true;
    }
    return false;
}

struct search {
    const struct bridge *b;
    const json_t *claim;
    bool found;
};

static void look_through(void *ctx, const char *key, void *list)
{
    struct search *s = ctx;
    size_t i;
    json_t *one;

    (void)key;
    json_array_foreach((json_t *)list, i, one)
    {
        s->found = s->found || (!json_object_get(s->b->taken, kubejson_name(one)) &&
                                podstatic_fits(one, s->claim));
    }
}

enum podvolume_static bridgestatic_find(void *ctx, const json_t *claim)
{
    struct bridge *b = ctx;
    struct search s = { b, claim, false };

    make_index(b);
    if (is_set_aside(b, claim))
        return PODVOLUME_SET_ASIDE;
    kubemap_walk(&b->statics, look_through, &s);
    return s.found ? PODVOLUME_SOME : PODVOLUME_NONE;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

const json_t *bridgestatic_pick(struct bridge *b, const json_t *claim, const json_t *node,
                                const json_t *used)
{
    const char *host = kubejson_label(node, HOST);
    _cleanup_json_ json_t *all = json_copy(b->taken);

    make_index(b);
    if (!all || json_object_update(all, (json_t *)(uintptr_t)used) < 0)
        return NULL;
    return podstatic_smaller(
        podstatic_pick(kubemap_get(&b->statics, ""), claim, node, all),
        host && *host ? podstatic_pick(kubemap_get(&b->statics, host), claim, node, all) : NULL);
}

bool bridgestatic_meets(struct bridge *b, const json_t *needs, const json_t *node)
{
    _cleanup_json_ json_t *used = json_object();
    size_t i;
    json_t *need;

    json_array_foreach(needs, i, need)
    {
        const json_t *want = json_object_get(need, "static");
        const json_t *volume = want ? bridgestatic_pick(b, want, node, used) : NULL;

        if (want && (!volume || json_object_set_new(used, kubejson_name(volume), json_true()) < 0))
            return false;
    }
    return true;
}

/* ---- giving one ------------------------------------------------------------------------------ */

struct gift {
    struct gang *g;
    char volume[];
};

static void take_given(void *ctx, const struct kubereply *reply)
{
    struct gift *gift = ctx;
    struct gang *g = gift->g;

    if (reply->status != 200) /* else until its watch tells; what was lost is sent again */
        (void)json_object_del(g->b->taken, gift->volume);
    free(gift);
    bridgeact_take(g, reply);
}

static json_t *make_gift(const json_t *volume, const json_t *claim)
{
    return json_pack("{s:{s:s, s:s, s:{s:s}}, s:{s:{s:s, s:s, s:s, s:s, s:s, s:s}}}", "metadata",
                     "uid", kubejson_uid(volume), "resourceVersion", kubejson_version(volume),
                     "annotations", BY_US, "yes", "spec", "claimRef", "apiVersion", "v1", "kind",
                     "PersistentVolumeClaim", "namespace", kubejson_namespace(claim), "name",
                     kubejson_name(claim), "uid", kubejson_uid(claim), "resourceVersion",
                     kubejson_version(claim));
}

void bridgestatic_give(struct gang *g, const json_t *volume, const json_t *claim)
{
    const char *name = kubejson_name(volume);
    const struct kubeapi_target t = { &bridge_volumes, "", name, NULL };
    _cleanup_json_ json_t *patch = make_gift(volume, claim);
    struct gift *gift = malloc(sizeof(*gift) + strlen(name) + 1);
    int r = -1;

    log_info("%s: the volume %s is given to claim %s", g->key, name, kubejson_name(claim));
    if (gift && patch &&
        json_object_set_new(g->b->taken, name, json_string(kubejson_uid(claim))) == 0) {
        gift->g = g;
        memcpy(gift->volume, name, strlen(name) + 1);
        r = kubeapi_patch(g->b->kube, &t, KUBEAPI_MERGE, patch, NULL, false, take_given, gift);
    }
    if (r < 0) {
        (void)json_object_del(g->b->taken, name);
        free(gift);
    }
    bridgeact_count(g, r);
}
