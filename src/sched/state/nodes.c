/* nodes.c - the nodes, what jobs hold on them, and the bitmaps that index both.
 *
 * Invariants: free_cpus, free_cores and nrun follow busy; free_ge[k] holds the nodes with at least
 * 2^k free CPUs; idle those without a job on their CPUs; up those that are schedulable.  Every
 * change of what is held goes through node_take() and node_release(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/plan/plan.h"
#include "sched/sched_int.h"

/* Every bitmap over nodes, one after the other, for resizing. */
static int resize_all(struct sched *s, uint32_t nbits)
{
    int r = 0;

    for (uint32_t k = 0; r == 0 && k < SCHED_SPANS; k++)
        r = bitmap_resize(&s->free_ge[k], nbits);
    for (uint32_t i = 0; r == 0 && i < s->nwclasses; i++)
        r = bitmap_resize(&s->wclasses[i].nodes, nbits);
    for (uint32_t i = 0; r == 0 && i < s->nfeatures; i++)
        r = bitmap_resize(&s->features[i], nbits);
    for (uint32_t i = 0; r == 0 && i < s->nparts; i++) {
        struct part *p = s->parts[i];

        r = bitmap_resize(&p->nodes, nbits);
        if (r == 0 && p->node_cpus) {
            uint32_t *grown = realloc(p->node_cpus, nbits * sizeof(*grown));

            if (!grown)
                return -ENOMEM;
            memset(grown + s->nbits, 0, (nbits - s->nbits) * sizeof(*grown));
            p->node_cpus = grown;
        }
    }
    struct bitmap **const single[] = { &s->up, &s->idle, &s->cand, &s->withheld, &s->dup };

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(single); i++)
        r = bitmap_resize(single[i], nbits);
    return r;
}

int nodes_reserve(struct sched *s, uint32_t id)
{
    uint32_t nbits = s->nbits ? s->nbits : 64;
    struct node *grown;
    int r;

    if (id >= BITMAP_MAX_BITS)
        return -EINVAL;
    while (nbits <= id)
        nbits *= 2;
    if (nbits == s->nbits)
        return 0;
    grown = realloc(s->nodes, nbits * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    s->nodes = grown;
    memset(grown + s->nbits, 0, (nbits - s->nbits) * sizeof(*grown));
    r = resize_all(s, nbits);
    if (r < 0)
        return r;
    s->nbits = nbits;
    s->config_gen++;
    s->up_gen++;
    return 0;
}

static uint32_t count_words(const uint64_t *w, uint32_t n)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += (uint32_t)__builtin_popcountll(w[i]);
    return sum;
}

/* Cores all of whose CPUs are in avail. */
uint32_t count_free_cores(const struct node *n, const uint64_t *avail)
{
    uint32_t t = n->threads, sum = 0;

    if (t == 1)
        return count_words(avail, n->nwords);
    if (t == 2 || t == 4 || t == 8) { /* fold the threads of a core onto its first */
        uint64_t firsts = t == 2   ? UINT64_C(0x5555555555555555)
                          : t == 4 ? UINT64_C(0x1111111111111111)
                                   : UINT64_C(0x0101010101010101);

        for (uint32_t w = 0; w < n->nwords; w++) {
            uint64_t m = avail[w];

            for (uint32_t d = 1; d < t; d *= 2)
                m &= m >> d;
            sum += (uint32_t)__builtin_popcountll(m & firsts);
        }
        return sum;
    }
    for (uint32_t c = 0; c < n->sockets * n->cores_per_socket; c++) {
        uint32_t got = 0;

        for (uint32_t i = c * t; i < (c + 1) * t; i++)
            got += (uint32_t)(avail[i >> 6] >> (i & 63) & 1);
        sum += got == t;
    }
    return sum;
}

static void set_member(struct bitmap *bm, uint32_t id, bool in)
{
    if (in)
        bitmap_set(bm, id);
    else
        bitmap_clear(bm, id);
}

/* Number of spans a free count reaches: 0 for none, k + 1 for 2^k and more. */
static uint32_t spans(uint32_t free_cpus)
{
    uint32_t n = free_cpus ? 32 - (uint32_t)__builtin_clz(free_cpus) : 0;

    return MIN(n, SCHED_SPANS);
}

/* Bring the counters and indexes of node id in line with what is held. */
static void refresh(struct sched *s, uint32_t id)
{
    struct node *n = &s->nodes[id];
    uint32_t had = spans(n->free_cpus), have;

    s->free_cpus -= n->free_cpus;
    n->free_cpus = n->cpus - count_words(n->busy.bits, n->nwords);
    s->free_cpus += n->free_cpus;
    s->busy_gen++;
    if (n->threads == 1) {
        n->free_cores = n->free_cpus;
    } else {
        for (uint32_t w = 0; w < n->nwords; w++)
            s->cpu_words[w] = ~n->busy.bits[w];
        if (n->cpus % 64)
            s->cpu_words[n->nwords - 1] &= (UINT64_C(1) << n->cpus % 64) - 1;
        n->free_cores = count_free_cores(n, s->cpu_words);
    }
    have = spans(n->free_cpus);
    for (uint32_t k = MIN(had, have); k < MAX(had, have); k++)
        set_member(s->free_ge[k], id, have > had);
    set_member(s->idle, id, n->nrun == 0);
}

static void note_growth(struct sched *s, const struct node *n)
{
    if (s->travelling)
        return;
    s->change++;
    for (uint32_t i = 0; i < n->nparts; i++)
        s->parts[n->parts[i]]->grow++;
}

struct gres_row *node_gres_row(struct sched *s, struct node *n, const struct sched_alloc_gres *g)
{
    uint32_t name = strtab_find(&s->gres_tab, g->name, strlen(g->name));
    uint32_t type = g->type ? strtab_find(&s->gres_tab, g->type, strlen(g->type)) : STRTAB_NONE;
    struct gres_row *loose = NULL;

    for (uint32_t i = 0; i < n->ngres; i++) {
        struct gres_row *row = &n->gres[i];

        if (row->name != name || row->type != type)
            continue;
        if (!g->devices)
            return row;
        loose = row; /* several rows of one type: the one whose range holds the first device */
        for (uint32_t d = row->first; d < row->first + row->total && d < g->ndevice_words * 64; d++)
            if (g->devices[d >> 6] >> (d & 63) & 1)
                return row;
    }
    return loose;
}

/* The devices of g that belong to row, counted from the row's first. */
static const uint64_t *row_devices(struct sched *s, const struct gres_row *row,
                                   const struct sched_alloc_gres *g)
{
    memset(s->dev_words, 0, row->dev.nwords * sizeof(uint64_t));
    for (uint32_t i = 0; i < row->dev.n; i++) {
        uint32_t d = row->first + i;

        if (d < g->ndevice_words * 64 && (g->devices[d >> 6] >> (d & 63) & 1))
            s->dev_words[i >> 6] |= UINT64_C(1) << (i & 63);
    }
    return s->dev_words;
}

void node_take(struct sched *s, const struct sched_alloc_node *an, uint32_t part, bool firm,
               bool cpus, bool rest)
{
    struct node *n = an->node_id < s->nnodes ? &s->nodes[an->node_id] : NULL;

    if (!n || !n->exists)
        return;
    if (cpus) {
        cbits_take(&n->busy, an->cpu_bits, an->ncpu_words);
        if (firm)
            cbits_take(&n->firm, an->cpu_bits, an->ncpu_words);
        n->nrun++;
        if (s->parts[part]->node_cpus)
            s->parts[part]->node_cpus[an->node_id] += an->cpus;
        refresh(s, an->node_id);
    }
    if (!rest)
        return;
    n->mem_used += an->mem_mib;
    for (size_t i = 0; i < an->ngres; i++) {
        struct gres_row *row = node_gres_row(s, n, &an->gres[i]);

        if (!row)
            continue;
        row->used += an->gres[i].count;
        if (row->indexed && an->gres[i].devices)
            cbits_take(&row->dev, row_devices(s, row, &an->gres[i]), row->dev.nwords);
    }
}

void node_release(struct sched *s, const struct sched_alloc_node *an, uint32_t part, bool firm,
                  bool cpus, bool rest)
{
    struct node *n = an->node_id < s->nnodes ? &s->nodes[an->node_id] : NULL;

    if (!n || !n->exists)
        return;
    if (cpus) {
        cbits_release(&n->busy, an->cpu_bits, an->ncpu_words);
        if (firm)
            cbits_release(&n->firm, an->cpu_bits, an->ncpu_words);
        n->nrun--;
        if (s->parts[part]->node_cpus)
            s->parts[part]->node_cpus[an->node_id] -= an->cpus;
        refresh(s, an->node_id);
    }
    if (rest) {
        n->mem_used -= an->mem_mib;
        for (size_t i = 0; i < an->ngres; i++) {
            struct gres_row *row = node_gres_row(s, n, &an->gres[i]);

            if (!row)
                continue;
            row->used -= an->gres[i].count;
            if (row->indexed && an->gres[i].devices)
                cbits_release(&row->dev, row_devices(s, row, &an->gres[i]), row->dev.nwords);
        }
    }
    note_growth(s, n);
}

uint32_t node_would_take(const struct sched *s, const struct sched_alloc_node *an)
{
    const struct node *n = &s->nodes[an->node_id];
    uint32_t sum = 0;

    for (uint32_t w = 0; n->exists && w < n->nwords && w < an->ncpu_words; w++)
        sum += (uint32_t)__builtin_popcountll(an->cpu_bits[w] & ~n->busy.bits[w]);
    return sum;
}

void node_own(struct sched *s, uint32_t id, const struct job *j, bool add)
{
    struct node *n = id < s->nnodes ? &s->nodes[id] : NULL;
    unsigned __int128 square = (unsigned __int128)j->uid * j->uid;

    if (!n || !n->exists)
        return;
    n->njobs += add ? 1 : -1u;
    n->nowned += !j->owned ? 0 : add ? 1 : -1u;
    n->uid_sum += add ? j->uid : -(uint64_t)j->uid;
    n->uid_squares += add ? square : -square;
    if (j->label) { /* selection sees to it that a node has one label at most */
        n->nlabelled += add ? 1 : -1u;
        n->label = j->label;
    }
}

static void node_clear(struct node *n)
{
    cbits_done(&n->busy);
    cbits_done(&n->firm);
    for (uint32_t i = 0; i < n->ngres; i++)
        gres_row_done(&n->gres[i]);
    free(n->gres);
    free(n->features);
    free(n->spec);
    free(n->gpu_cpus);
    n->spec = n->gpu_cpus = NULL;
    n->shares = n->near = false;
    n->gres = NULL;
    n->features = NULL;
    n->ngres = n->nfeatures = 0;
}

void nodes_done(struct sched *s)
{
    for (uint32_t i = 0; i < s->nnodes; i++) {
        node_clear(&s->nodes[i]);
        free(s->nodes[i].parts);
    }
    free(s->nodes);
    for (uint32_t k = 0; k < SCHED_SPANS; k++)
        bitmap_free(s->free_ge[k]);
    for (uint32_t i = 0; i < s->nwclasses; i++)
        bitmap_free(s->wclasses[i].nodes);
    for (uint32_t i = 0; i < s->nfeatures; i++)
        bitmap_free(s->features[i]);
    free(s->wclasses);
    free(s->features);
    bitmap_free(s->up);
    bitmap_free(s->idle);
    bitmap_free(s->cand);
    bitmap_free(s->withheld);
    bitmap_free(s->dup);
}

/* ---- configuration --------------------------------------------------------------------------- */

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

static int parse_features(struct sched *s, const char *list, struct node *n)
{
    _cleanup_free_ char *copy = list ? strdup(list) : NULL;
    char *save = NULL;

    if (list && !copy)
        return -ENOMEM;
    for (char *f = copy ? strtok_r(copy, ",", &save) : NULL; f; f = strtok_r(NULL, ",", &save)) {
        uint32_t *grown = realloc(n->features, (n->nfeatures + 1) * sizeof(*grown));
        int r;

        if (!grown)
            return -ENOMEM;
        n->features = grown;
        r = feature_id(s, f, &grown[n->nfeatures]);
        if (r < 0)
            return r;
        n->nfeatures++;
    }
    return 0;
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
        r = parse_features(s, in->features, n);
    if (r == 0)
        r = build_gres(s, in, n);
    return r;
}

static bool same_gres(const struct node *a, const struct node *b)
{
    if (a->ngres != b->ngres)
        return false;
    for (uint32_t i = 0; i < a->ngres; i++) {
        if (!gres_row_alike(a, &a->gres[i], &b->gres[i]))
            return false;
    }
    return true;
}

uint32_t node_part_index(const struct node *n, uint32_t part)
{
    uint32_t i = 0;

    while (i < n->nparts && n->parts[i] != part)
        i++;
    return i;
}

bool node_alike(const struct node *a, const struct node *b)
{
    return a->cpus == b->cpus && a->sockets == b->sockets &&
           a->cores_per_socket == b->cores_per_socket && a->threads == b->threads &&
           a->raw_threads == b->raw_threads && a->mem_mib == b->mem_mib && a->nspec == b->nspec &&
           (!a->nspec || !memcmp(a->spec, b->spec, a->nwords * sizeof(*a->spec))) &&
           !a->gpu_cpus == !b->gpu_cpus &&
           (!a->gpu_cpus || !memcmp(a->gpu_cpus, b->gpu_cpus, a->nwords * sizeof(*a->gpu_cpus))) &&
           same_gres(a, b);
}

static bool same_config(const struct node *a, const struct node *b)
{
    return a->exists && a->weight == b->weight && a->nfeatures == b->nfeatures &&
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
static void unindex(struct sched *s, uint32_t id)
{
    struct node *n = &s->nodes[id];

    for (uint32_t i = 0; i < n->nfeatures; i++)
        bitmap_clear(s->features[n->features[i]], id);
    for (uint32_t k = 0; k < SCHED_SPANS; k++)
        bitmap_clear(s->free_ge[k], id);
    bitmap_clear(s->up, id);
    bitmap_clear(s->idle, id);
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
static void retake(struct sched *s, uint32_t id)
{
    struct holders_iter it = { 0 };

    for (const struct job *j; (j = holders_next(s, &it));)
        for (size_t k = 0; k < j->alloc.nnodes; k++)
            if (j->alloc.nodes[k].node_id == id)
                job_node_take(s, j, k);
}

static void changed(struct sched *s, uint32_t id)
{
    struct node *n = &s->nodes[id];

    s->up_gen++;
    note_growth(s, n);
    for (uint32_t i = 0; i < n->nparts; i++)
        s->parts[n->parts[i]]->unpark = true;
}

/* Put fresh, built from the same input, in the place of node id. */
static int replace(struct sched *s, uint32_t id, struct node *fresh)
{
    struct node *n = &s->nodes[id];
    struct wclass *wc;
    int r = wclass_get(s, fresh->weight, &wc);

    if (r < 0)
        return r;
    bitmap_set(wc->nodes, id); /* before the old class goes, which may be the same */
    if (n->exists) {
        unindex(s, id);
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
    refresh(s, id);
    retake(s, id);
    s->config_gen++;
    return 0;
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
        r = replace(s, in->id, &fresh);
        new_config = r == 0;
    }
    node_clear(&fresh);
    if (r < 0)
        return r;
    if (new_config || bitmap_test(s->up, in->id) != in->schedulable)
        changed(s, in->id);
    if (new_config)
        planlog_other(s);
    else if (bitmap_test(s->up, in->id) != in->schedulable)
        planlog_node(s, in->id);
    s->nodes[in->id].schedulable = in->schedulable;
    set_member(s->up, in->id, in->schedulable);
    return 0;
}

void sched_node_remove(struct sched *s, uint32_t id)
{
    struct node *n = id < s->nnodes ? &s->nodes[id] : NULL;

    if (!n || !n->exists)
        return;
    unindex(s, id);
    wclass_drop(s, n->weight, id);
    node_clear(n);
    n->exists = n->schedulable = false;
    n->mem_used = 0;
    n->free_cpus = n->free_cores = n->nrun = n->njobs = n->nowned = n->nlabelled = 0;
    n->uid_sum = 0;
    n->uid_squares = 0;
    s->config_gen++;
    planlog_other(s);
    changed(s, id);
}
