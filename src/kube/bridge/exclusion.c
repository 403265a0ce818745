/* exclusion.c - see exclusion.h */
#include "kube/bridge/exclusion.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "kube/api/kubejson.h"
#include "kube/claim/bridgekeys.h"
#include "kube/claim/podread.h"
#include "kube/claim/podvolume.h"

#define LISTS_MOST 1000u /* what strangers write into pods is kept: no more than so often */

void exclusion_forget(struct exclusion *e)
{
    kubemap_done(&e->lists, free);
}

bool exclusion_changes(const json_t *before, const json_t *now)
{
    static const char *const parts[] = { "spec.unschedulable", "spec.taints", "metadata.labels",
                                         "metadata.deletionTimestamp", "status.allocatable" };

    if (!before || !now)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        const json_t *a = kubejson_at(before, parts[i]), *b = kubejson_at(now, parts[i]);

        if (a != b && !json_equal(a, b))
            return true;
    }
    return false;
}

struct walk {
    const struct exclusion *e;
    const json_t *pod, *needs;
    struct hostlist *out;
    bool failed;
};

static void note_misfit(void *ctx, const json_t *node)
{
    struct walk *w = ctx;
    const char *name = kubejson_label(node, BRIDGE_LABEL_NODE);

    bool meets =
        w->e->meets ? w->e->meets(w->e->ctx, w->needs, node) : podvolume_meets(w->needs, node);

    if ((!podread_fits(w->pod, node, w->e->scheduler) || !meets) &&
        hostlist_push(w->out, name ? name : kubejson_name(node)) < 0)
        w->failed = true;
}

/* All that podread_fits() reads of a pod, and its needs. */
static char *write_key(const json_t *pod, const json_t *needs)
{
    static const char *const parts[] = { "spec.nodeSelector", "spec.tolerations",
                                         "spec.affinity.nodeAffinity" };
    _cleanup_json_ json_t *all = json_array();

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        json_t *part = (json_t *)(uintptr_t)kubejson_at(pod, parts[i]);

        if (json_array_append_new(all, part ? json_incref(part) : json_null()) < 0)
            return NULL;
    }
    if (json_array_append(all, (json_t *)(uintptr_t)needs) < 0)
        return NULL;
    return json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS);
}

/* The list of one pod; borrowed. */
static const char *list_of(struct exclusion *e, const struct kubeinformer *nodes, const json_t *pod)
{
    _cleanup_(hostlist_free) struct hostlist *out = NULL;
    _cleanup_json_ json_t *needs = e->needs ? e->needs(e->ctx, pod) : json_array();
    _cleanup_free_ char *key = needs ? write_key(pod, needs) : NULL, *text = NULL;
    struct walk w = { e, pod, needs, NULL, false };
    const char *have = key ? kubemap_get(&e->lists, key) : NULL;

    if (have || !key || hostlist_new(&out) < 0)
        return have;
    w.out = out;
    kubeinformer_walk(nodes, note_misfit, &w);
    hostlist_uniq(out);
    if (w.failed || hostlist_fold(out, &text) < 0)
        return NULL;
    if (e->lists.n >= LISTS_MOST)
        exclusion_forget(e);
    return kubemap_put(&e->lists, key, text) < 0 ? NULL : TAKE_PTR(text);
}

static int add_list(struct hostlist *all, const char *text)
{
    _cleanup_(hostlist_free) struct hostlist *one = NULL;
    int r = *text ? hostlist_parse(text, &one, NULL) : 0;

    for (size_t i = 0; r == 0 && one && i < hostlist_count(one); i++)
        r = hostlist_push(all, hostlist_nth(one, i));
    return r;
}

char *exclusion_of(struct exclusion *e, const struct kubeinformer *nodes, const json_t *pods,
                   const json_t *more)
{
    _cleanup_(hostlist_free) struct hostlist *all = NULL;
    _cleanup_free_ char *first = NULL;
    char *text = NULL;
    bool alike = json_array_size(more) == 0;
    size_t i;
    json_t *one;

    if (hostlist_new(&all) < 0)
        return NULL;
    json_array_foreach(pods, i, one)
    {
        const char *list = list_of(e, nodes, one);

        if (!list || (!first && !(first = strdup(list))))
            return NULL;
        if (i > 0 && strcmp(first, list) == 0)
            continue;
        alike = alike && i == 0;
        if (add_list(all, list) < 0)
            return NULL;
    }
    if (alike && first)
        return TAKE_PTR(first);
    json_array_foreach(more, i, one)
    {
        if (hostlist_push(all, json_string_value(one)) < 0)
            return NULL;
    }
    hostlist_uniq(all);
    return hostlist_fold(all, &text) < 0 ? NULL : text;
}
