/* nodeput.c - nodes as they are fed: building, comparing, putting in place, removing.
 *
 * A node whose description did not change is not touched.  A node that is built anew takes back
 * what running jobs hold on it, and keeps its memberships in partitions. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/state/bounds.h"
#include "sched/base/cbits.h"
#include "sched/base/extra.h"
#include "sched/state/gresrow.h"
#include "sched/state/holders.h"
#include "sched/state/jobs.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/planlog.h"
#include "sched/state/sched_obj.h"
#include "sched/base/strtab.h"

static int feature_id(struct sched *s, const char *name, uint32_t *ret)
{
    int r = strtab_intern(&s->feature_tab, name, ret);

    while (r == 0 && s->nfeatures < s->feature_tab.n) {
        struct bitmap **grown = realloc(s->features, (s->nfeatures + 1) * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        s->features = grown;
        r = bitmap_new(s->nbits, &grown[s->nfeatures]);
        if (r == 0)
            s->nfeatures++;
    }
    return r;
}

static int add_feature(struct sched *s, const char *name, struct node *n)
{
    uint32_t *grown = realloc(n->features, (n->nfeatures + 1) * sizeof(*grown));
    int r;

    if (!grown)
        return -ENOMEM;
    n->features = grown;
    r = feature_id(s, name, &grown[n->nfeatures]);
    if (r == 0)
        n->nfeatures++;
    return r;
}

/* boot: those that the node has after a boot, which have names of their own. */
static int parse_features(struct sched *s, const char *list, bool boot, struct node *n)
{
    int r = 0;

    for (const char *p = list; r == 0 && p && *p;) {
        size_t len = strcspn(p, ",");
        _cleanup_free_ char *name = malloc(len + 2);

        if (!name)
            return -ENOMEM;
        memcpy(name, FEATURE_BOOT, boot);
        memcpy(name + boot, p, len);
        name[boot + len] = '\0';
        if (len)
            r = add_feature(s, name, n);
        p += len + (p[len] == ',');
    }
    return r;
}

static int build_gres(struct sched *s, const struct sched_node *in, struct node *n)
{
    int r = 0;

    n->gres = in->ngres ? calloc(in->ngres, sizeof(*n->gres)) : NULL;
    if (in->ngres && !n->gres)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < in->ngres; i++) {
        r = gres_row_build(s, n, &in->gres[i], &n->gres[i]);
        if (r < 0)
            break;
        n->ngres++;
        n->shares |= n->gres[i].shares != NULL;
        n->near |= n->gres[i].near != NULL;
    }
    return r;
}

static bool node_valid(const struct sched_node *in)
{
    if (!in->cpus || in->cpus > SCHED_MAX_CPUS || in->id >= BITMAP_MAX_BITS ||
        in->ngres > SCHED_MAX_NODE_GRES)
        return false;
    for (size_t i = 0; i < in->ngres; i++) {
        const struct sched_gres_spec *g = &in->gres[i];

        if (!g->name ||
            (g->indexed && (g->count > SCHED_MAX_DEVICES || g->first_index > SCHED_MAX_DEVICES)))
            return false;
    }
    return true;
}

/* Geometry as the CPUs really come: threads only where every thread is a CPU. */
static void set_geometry(const struct sched_node *in, struct node *n)
{
    uint64_t cores = (uint64_t)in->sockets * in->cores_per_socket;

    n->cpus = in->cpus;
    n->nwords = (in->cpus + 63) / 64;
    n->raw_threads = MAX(in->threads_per_core, 1u);
    n->sockets = in->sockets;
    n->cores_per_socket = in->cores_per_socket;
    n->threads = 1;
    if (cores == in->cpus && in->sockets <= SCHED_MAX_SOCKETS)
        return;
    if (cores && in->sockets <= SCHED_MAX_SOCKETS && cores * n->raw_threads == in->cpus) {
        n->threads = n->raw_threads;
        return;
    }
    n->sockets = 1; /* the numbers do not agree: a flat row of CPUs */
    n->cores_per_socket = in->cpus;
}

/* CPUs kept from jobs are held like a job's that does not share.  Cores go as a whole; a node of
 * which nothing would be left keeps none. */
static int set_spec(const struct sched_node *in, struct node *n)
{
    n->nspec = 0;
    if (!in->spec_bits)
        return 0;
    n->spec = calloc(n->nwords, sizeof(*n->spec));
    if (!n->spec)
        return -ENOMEM;
    for (uint32_t c = 0; c < n->cpus; c++) {
        uint32_t first = c - c % n->threads;

        for (uint32_t t = first; t < first + n->threads; t++)
            if (in->spec_bits[t >> 6] >> (t & 63) & 1)
                n->spec[c >> 6] |= UINT64_C(1) << (c & 63);
    }
    n->nspec = count_words(n->spec, n->nwords);
    if (n->nspec == 0 || n->nspec == n->cpus) {
        free(n->spec);
        n->spec = NULL;
        n->nspec = 0;
        return 0;
    }
    cbits_take(&n->busy, n->spec, n->nwords);
    cbits_take(&n->firm, n->spec, n->nwords);
    return 0;
}

/* Cores that only jobs with GPUs use go as a whole too. */
static int set_gpu_cpus(const struct sched_node *in, struct node *n)
{
    if (!in->gpu_bits)
        return 0;
    n->gpu_cpus = calloc(n->nwords, sizeof(*n->gpu_cpus));
    if (!n->gpu_cpus)
        return -ENOMEM;
    for (uint32_t c = 0; c < n->cpus; c++) {
        uint32_t first = c - c % n->threads;

        if (in->gpu_bits[c >> 6] >> (c & 63) & 1)
            for (uint32_t t = first; t < first + n->threads; t++)
                n->gpu_cpus[t >> 6] |= UINT64_C(1) << (t & 63);
    }
    return 0;
}

static int node_build(struct sched *s, const struct sched_node *in, struct node *n)
{
    int r;

    set_geometry(in, n);
    n->mem_mib = in->mem_mib;
    n->weight = in->weight;
    n->schedulable = in->schedulable;
    n->external = in->external;
    n->off = in->off;
    n->exists = true;
    r = cbits_init(&n->busy, n->cpus);
    if (r == 0)
        r = cbits_init(&n->firm, n->cpus);
    if (r == 0)
        r = set_spec(in, n);
    n->units = n->cpus / n->threads;
    n->per_socket = n->units / n->sockets;
    n->spec_units = n->nspec / n->threads;
    if (r == 0)
        r = set_gpu_cpus(in, n);
    if (r == 0)
        r = parse_features(s, in->features, false, n);
    if (r == 0)
        r = parse_features(s, in->boot_features, true, n);
    if (r == 0)
        r = build_gres(s, in, n);
    n->extra = extra_data(in->extra);
    return r;
}

static bool same_config(const struct node *a, const struct node *b)
{
    return a->exists && a->external == b->external && a->off == b->off && a->weight == b->weight &&
           a->nfeatures == b->nfeatures &&
           (!a->nfeatures ||
            !memcmp(a->features, b->features, a->nfeatures * sizeof(*a->features))) &&
           node_alike(a, b);
}

static int wclass_get(struct sched *s, uint32_t weight, struct wclass **ret)
{
    struct wclass *grown;
    uint32_t i = 0;
    int r;

    while (i < s->nwclasses && s->wclasses[i].weight < weight)
        i++;
    if (i == s->nwclasses || s->wclasses[i].weight != weight) {
        struct bitmap *nodes;

        grown = realloc(s->wclasses, (s->nwclasses + 1) * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        s->wclasses = grown;
        r = bitmap_new(s->nbits, &nodes);
        if (r < 0)
            return r;
        memmove(grown + i + 1, grown + i, (s->nwclasses - i) * sizeof(*grown));
        grown[i] = (struct wclass){ .weight = weight, .nodes = nodes };
        s->nwclasses++;
    }
    *ret = &s->wclasses[i];
    return 0;
}

static void wclass_drop(struct sched *s, uint32_t weight, uint32_t id)
{
    for (uint32_t i = 0; i < s->nwclasses; i++) {
        if (s->wclasses[i].weight != weight)
            continue;
        bitmap_clear(s->wclasses[i].nodes, id);
        if (bitmap_empty(s->wclasses[i].nodes)) {
            bitmap_free(s->wclasses[i].nodes);
            s->nwclasses--;
            memmove(&s->wclasses[i], &s->wclasses[i + 1],
                    (s->nwclasses - i) * sizeof(s->wclasses[0]));
        }
        return;
    }
}

/* Take an existing node out of every index; its memberships in partitions stay. */
static void unindex_node(struct sched *s, uint32_t id)
{
    struct node *n = &s->nodes[id];

    for (uint32_t i = 0; i < n->nfeatures; i++)
        bitmap_clear(s->features[n->features[i]], id);
    for (uint32_t k = 0; k < SCHED_SPANS; k++)
        bitmap_clear(s->free_ge[k], id);
    bitmap_clear(s->up, id);
    bitmap_clear(s->idle, id);
    bitmap_clear(s->external, id);
    for (uint32_t i = 0; i < n->nparts; i++) {
        struct part *p = s->parts[n->parts[i]];

        if (p->node_cpus)
            p->node_cpus[id] = 0;
    }
    s->count_nodes--;
    s->count_cpus -= n->cpus;
    s->free_cpus -= n->free_cpus;
    s->busy_gen++;
    n->free_cpus = 0;
}

/* What running jobs hold on a node that was just built anew. */
static void retake_held(struct sched *s, uint32_t id)
{
    struct holders_iter it = { 0 };

    for (const struct job *j; (j = holders_next(s, &it));)
        for (size_t k = 0; k < j->alloc.nnodes; k++)
            if (j->alloc.nodes[k].node_id == id)
                job_node_take(s, j, k);
}

static void note_changed(struct sched *s, uint32_t id)
{
    struct node *n = &s->nodes[id];

    s->up_gen++;
    node_note_growth(s, n);
    for (uint32_t i = 0; i < n->nparts; i++)
        s->parts[n->parts[i]]->unpark = true;
}

/* Put fresh, built from the same input, in the place of node id. */
static int replace_node(struct sched *s, uint32_t id, struct node *fresh)
{
    struct node *n = &s->nodes[id];
    struct wclass *wc;
    int r = wclass_get(s, fresh->weight, &wc);

    if (r < 0)
        return r;
    bitmap_set(wc->nodes, id); /* before the old class goes, which may be the same */
    if (n->exists) {
        unindex_node(s, id);
        if (n->weight != fresh->weight)
            wclass_drop(s, n->weight, id);
    }
    fresh->parts = n->parts;
    fresh->nparts = n->nparts;
    fresh->cap_parts = n->cap_parts;
    node_clear(n);
    *n = *fresh;
    *fresh = (struct node){ 0 };
    if (id >= s->nnodes)
        s->nnodes = id + 1;
    s->count_nodes++;
    s->count_cpus += n->cpus;
    for (uint32_t i = 0; i < n->nfeatures; i++)
        bitmap_set(s->features[n->features[i]], id);
    set_member(s->external, id, n->external);
    node_refresh(s, id);
    retake_held(s, id);
    s->config_gen++;
    return 0;
}

static bool same_extra(const json_t *a, const json_t *b)
{
    return a == b || (a && b && json_equal(a, b));
}

/* Extra may follow a node's load: the classes that do not ask for it keep their masks. */
static void renew_extra(struct sched *s, uint32_t id, struct node *fresh)
{
    struct node *n = &s->nodes[id];

    json_decref(n->extra);
    n->extra = TAKE_PTR(fresh->extra);
    s->extra_gen++;
    note_changed(s, id);
    planlog_other(s);
}

int sched_node_put(struct sched *s, const struct sched_node *in)
{
    struct node fresh = { 0 };
    bool new_config = false;
    int r;

    if (!node_valid(in))
        return -EINVAL;
    r = nodes_reserve(s, in->id);
    if (r == 0)
        r = node_build(s, in, &fresh);
    if (r == 0 && !same_config(&s->nodes[in->id], &fresh)) {
        r = replace_node(s, in->id, &fresh);
        new_config = r == 0;
    }
    if (r == 0 && !new_config && !same_extra(s->nodes[in->id].extra, fresh.extra))
        renew_extra(s, in->id, &fresh);
    node_clear(&fresh);
    if (r < 0)
        return r;
    if (new_config || bitmap_test(s->up, in->id) != in->schedulable)
        note_changed(s, in->id);
    if (new_config)
        planlog_other(s);
    else if (bitmap_test(s->up, in->id) != in->schedulable)
        planlog_node(s, in->id);
    s->nodes[in->id].schedulable = in->schedulable;
    s->nodes[in->id].awaited = in->awaited && !in->schedulable;
    set_member(s->up, in->id, in->schedulable);
    return 0;
}

void sched_node_remove(struct sched *s, uint32_t id)
{
    struct node *n = id < s->nnodes ? &s->nodes[id] : NULL;

    if (!n || !n->exists)
        return;
    unindex_node(s, id);
    wclass_drop(s, n->weight, id);
    node_clear(n);
    n->exists = n->schedulable = n->awaited = false;
    n->mem_used = 0;
    n->free_cpus = n->free_cores = n->nrun = n->njobs = n->nowned = n->nlabelled = 0;
    n->uid_sum = 0;
    n->uid_squares = 0;
    s->config_gen++;
    planlog_other(s);
    note_changed(s, id);
}
