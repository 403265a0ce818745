/* bridgefit.c - see bridgefit.h */
#include "kube/bridge/bridgefit.h"

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "kube/api/kubejson.h"
#include "kube/claim/bridgekeys.h"
#include "kube/claim/podread.h"

static void add_reason(struct strbuf *out, const char **lead, size_t n, const char *one,
                       const char *more)
{
    if (!n)
        return;
    strbuf_addf(out, "%s%zu %s", *lead, n, n == 1 ? one : more);
    *lead = ", ";
}

void bridgefit_write(const struct bridgefit *f, size_t needed, struct strbuf *out)
{
    const char *lead = ": ";

    if (f->fit)
        strbuf_addf(out, "%zu of %zu nodes %s, and the group needs %zu", f->fit, f->nodes,
                    f->fit == 1 ? "fits" : "fit", needed);
    else if (f->nodes)
        strbuf_addf(out, "None of %zu node%s fits", f->nodes, f->nodes == 1 ? "" : "s");
    else
        strbuf_add(out, "Kubernetes has no nodes");
    add_reason(out, &lead, f->cordoned, "is cordoned", "are cordoned");
    add_reason(out, &lead, f->tainted, "has a taint that is not tolerated",
               "have taints that are not tolerated");
    add_reason(out, &lead, f->unnamed, "is not one of nodeSelector and node affinity",
               "are not those of nodeSelector and node affinity");
    add_reason(out, &lead, f->lacking, "has not the volumes or devices",
               "have not the volumes or devices");
    add_reason(out, &lead, f->kept, "is kept by what pods say of pods",
               "are kept by what pods say of pods");
}

struct walk {
    const struct gang *g;
    const json_t *pods, *others;
    json_t *needs; /* of each pod */
    struct bridgefit f;
};

/* Where one is counted that does not fit; NULL: it fits. */
static size_t *misfit_of(struct walk *w, const json_t *node)
{
    const struct exclusion *e = &w->g->b->exclusion;
    const char *label = kubejson_label(node, BRIDGE_LABEL_NODE);
    size_t i;
    json_t *pod;

    json_array_foreach((json_t *)(uintptr_t)w->pods, i, pod)
    {
        switch (podread_misfit(pod, node, e->scheduler)) {
        case PODREAD_CORDONED:
            return &w->f.cordoned;
        case PODREAD_TAINTED:
            return &w->f.tainted;
        case PODREAD_UNNAMED:
            return &w->f.unnamed;
        case PODREAD_FITS:
            break;
        }
        if (!e->meets(e->ctx, json_array_get(w->needs, i), node))
            return &w->f.lacking;
    }
    return kubejson_has_text(w->others, label ? label : kubejson_name(node)) ? &w->f.kept : NULL;
}

static void count_node(void *ctx, const json_t *node)
{
    struct walk *w = ctx;
    size_t *misfit = misfit_of(w, node);

    w->f.nodes++;
    ++*(misfit ? misfit : &w->f.fit);
}

bool bridgefit_judge(const struct gang *g, const json_t *pods, const json_t *others,
                     const char *excluded, struct strbuf *why)
{
    const struct exclusion *e = &g->b->exclusion;
    _cleanup_(hostlist_free) struct hostlist *out = NULL;
    _cleanup_json_ json_t *needs = json_array();
    struct walk w = { .g = g, .pods = pods, .others = others, .needs = needs };
    size_t needed = json_array_size(pods), i;
    json_t *pod;

    if (!*excluded || hostlist_parse(excluded, &out, NULL) < 0)
        i = 0;
    else
        i = hostlist_count(out);
    if (i + needed <= kubeinformer_count(g->b->nodes))
        return true;
    json_array_foreach((json_t *)(uintptr_t)pods, i, pod)
    {
        if (json_array_append_new(needs, e->needs(e->ctx, pod)) < 0)
            return true; /* no memory: slurmctld says it */
    }
    kubeinformer_walk(g->b->nodes, count_node, &w);
    if (w.f.fit >= needed)
        return true;
    bridgefit_write(&w.f, needed, why);
    return why->failed;
}
