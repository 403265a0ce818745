/* nodes.c - the nodes, what jobs hold on them, and the bitmaps that index both.
 *
 * Invariants: free_cpus, free_cores and nrun follow busy; free_ge[k] holds the nodes with at least
 * 2^k free CPUs; idle those without a job on their CPUs; up those that are schedulable.  Every
 * change of what is held goes through node_take() and node_release(). */
#include "sched/state/nodes.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/state/bounds.h"
#include "sched/base/cbits.h"
#include "sched/state/gresrow.h"
#include "sched/state/jobs.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"
#include "sched/base/strtab.h"

void job_node_take(struct sched *s, const struct job *j, size_t i)
{
    node_take(s, &j->alloc.nodes[i], j->part, j->firm, j->state != JOB_SUSPENDED, true);
    node_own(s, j->alloc.nodes[i].node_id, j, true);
}

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
    struct bitmap **const single[] = { &s->up,   &s->idle,     &s->external,
                                       &s->cand, &s->withheld, &s->dup };

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

/* Number of spans a free count reaches: 0 for none, k + 1 for 2^k and more. */
static uint32_t count_spans(uint32_t free_cpus)
{
    uint32_t n = free_cpus ? 32 - (uint32_t)__builtin_clz(free_cpus) : 0;

    return MIN(n, SCHED_SPANS);
}

void node_refresh(struct sched *s, uint32_t id)
{
    struct node *n = &s->nodes[id];
    uint32_t had = count_spans(n->free_cpus), have;

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
    have = count_spans(n->free_cpus);
    for (uint32_t k = MIN(had, have); k < MAX(had, have); k++)
        set_member(s->free_ge[k], id, have > had);
    set_member(s->idle, id, n->nrun == 0);
}

void node_note_growth(struct sched *s, const struct node *n)
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

        if (row->name != name || (row->type != type && !(row->shares && !g->type)))
            continue; /* an older record does not say of which GPUs shares are */
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
        node_refresh(s, an->node_id);
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
        node_refresh(s, an->node_id);
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
    node_note_growth(s, n);
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

void node_clear(struct node *n)
{
    cbits_done(&n->busy);
    cbits_done(&n->firm);
    for (uint32_t i = 0; i < n->ngres; i++)
        gres_row_done(&n->gres[i]);
    free(n->gres);
    free(n->features);
    free(n->spec);
    free(n->gpu_cpus);
    json_decref(n->extra);
    n->extra = NULL;
    n->spec = n->gpu_cpus = NULL;
    n->shares = n->near = false;
    n->gres = NULL;
    n->features = NULL;
    n->ngres = n->nfeatures = 0;
}

void nodes_done(struct sched *s)
{
    for (uint32_t i = 0; i < s->nnodes; i++)
        node_clear(&s->nodes[i]);
    for (uint32_t i = 0; i < s->nbits; i++) /* partitions name nodes that never came, too */
        free(s->nodes[i].parts);
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
    bitmap_free(s->external);
    bitmap_free(s->cand);
    bitmap_free(s->withheld);
    bitmap_free(s->dup);
}

/* ---- configuration --------------------------------------------------------------------------- */

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

/* ---- classes --------------------------------------------------------------------------------- */

const struct bitmap *feature_nodes(void *arg, const char *name, size_t len)
{
    const struct sched *s = arg;
    uint32_t id = strtab_find(&s->feature_tab, name, len);

    return id < s->nfeatures ? s->features[id] : NULL;
}

const struct bitmap *feature_boot_nodes(void *arg, const char *name, size_t len)
{
    _cleanup_free_ char *other = malloc(len + sizeof(FEATURE_BOOT));
    const struct bitmap *now = feature_nodes(arg, name, len), *then = NULL;
    struct sched *s = arg;

    if (other) {
        other[0] = FEATURE_BOOT[0];
        memcpy(other + 1, name, len);
        then = feature_nodes(arg, other, len + 1);
    }
    if (!now || !then)
        return now ? now : then;
    bitmap_copy(s->dup, now);
    bitmap_or(s->dup, then);
    return s->dup;
}
