/* gres.c - devices of nodes: what is free of them, and how much of a job they allow.
 *
 * A row is what a node has of one name and type.  Shares of GPUs (shard, mps) are devices of a
 * row of their own, in segments, one for each GPU.  Invariant: a GPU that is held as a whole has
 * no share held, and its shares are of one row; gres_free() is where that is decided, from the
 * held devices of all rows, so that it holds for what runs now, for what is reserved and for
 * what is planned alike. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/select/gres_int.h"
#include "sched/plan/profile.h"

/* ---- rows ------------------------------------------------------------------------------------ */

void gres_row_done(struct gres_row *row)
{
    cbits_done(&row->dev);
    free(row->shares);
    free(row->near);
    free(row->links);
}

static int build_shares(const struct sched_gres_spec *in, struct gres_row *row)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < in->nshares; i++)
        sum += in->shares[i].count;
    if (!in->indexed || sum != in->count)
        return -EINVAL;
    row->shares = malloc((in->nshares + 1) * sizeof(*row->shares));
    if (!row->shares)
        return -ENOMEM;
    memcpy(row->shares, in->shares, in->nshares * sizeof(*row->shares));
    row->nshares = (uint32_t)in->nshares;
    return 0;
}

static int build_near(const struct node *n, const struct sched_gres_spec *in, struct gres_row *row)
{
    row->near = malloc((in->count * n->nwords + 1) * sizeof(*row->near));
    if (!row->near)
        return -ENOMEM;
    for (uint64_t d = 0; d < in->count; d++) {
        uint64_t *to = row->near + d * n->nwords;

        if (in->near_cpus[d])
            memcpy(to, in->near_cpus[d], n->nwords * sizeof(*to));
        else
            memset(to, 0xff, n->nwords * sizeof(*to));
    }
    return 0;
}

int gres_row_build(struct sched *s, const struct node *n, const struct sched_gres_spec *in,
                   struct gres_row *row)
{
    int r;

    *row = (struct gres_row){ .total = in->count,
                              .indexed = in->indexed,
                              .explicit_only = in->explicit_only,
                              .first = in->first_index,
                              .type = STRTAB_NONE };
    row->gpu = !in->shares && strcmp(in->name, "gpu") == 0;
    r = strtab_intern(&s->gres_tab, in->name, &row->name);
    if (r == 0 && in->type)
        r = strtab_intern(&s->gres_tab, in->type, &row->type);
    if (r == 0 && in->indexed)
        r = cbits_init(&row->dev, (uint32_t)in->count);
    if (r == 0 && in->shares)
        r = build_shares(in, row);
    if (r == 0 && in->near_cpus && in->indexed)
        r = build_near(n, in, row);
    if (r == 0 && in->links && in->indexed) {
        size_t size = in->count * in->count * sizeof(*row->links);

        row->links = malloc(size + 1);
        if (row->links)
            memcpy(row->links, in->links, size);
        else
            r = -ENOMEM;
    }
    if (r < 0)
        gres_row_done(row);
    return r;
}

static bool same_block(const void *a, const void *b, size_t size)
{
    return !a == !b && (!a || memcmp(a, b, size) == 0);
}

bool gres_row_alike(const struct node *n, const struct gres_row *a, const struct gres_row *b)
{
    return a->name == b->name && a->type == b->type && a->total == b->total &&
           a->indexed == b->indexed && a->explicit_only == b->explicit_only &&
           a->first == b->first && a->nshares == b->nshares &&
           same_block(a->shares, b->shares, a->nshares * sizeof(*a->shares)) &&
           same_block(a->near, b->near, a->total * n->nwords * sizeof(*a->near)) &&
           same_block(a->links, b->links, a->total * a->total * sizeof(*a->links));
}

/* ---- what is free ---------------------------------------------------------------------------- */

static void hold_reserved(const struct pick *p, uint32_t id, uint32_t at, uint64_t *held)
{
    struct node *n = &p->s->nodes[id];
    const struct gres_row *row = &n->gres[at];
    const struct resv_node *spare;

    for (uint32_t i = 0; i < p->s->nresvs; i++) {
        const struct sched_alloc_node *an = pick_conflict(p, &p->s->resvs[i], id, &spare);

        for (size_t k = 0; an && k < an->ngres; k++) {
            const struct sched_alloc_gres *g = &an->gres[k];

            if (!g->devices || node_gres_row(p->s, n, g) != row)
                continue;
            for (uint32_t d = 0; d < row->dev.n; d++)
                if (bit_in(g->devices, g->ndevice_words, row->first + d))
                    held[d >> 6] |= UINT64_C(1) << (d & 63);
        }
    }
}

/* The devices of a row that are taken when the job is looked at. */
static void held_devices(const struct pick *p, uint32_t id, uint32_t at, uint64_t *held)
{
    const struct gres_row *row = &p->s->nodes[id].gres[at];
    const struct prof_view *v = p->plan ? prof_view(p->s, id, p->from, p->until, p->end_us) : NULL;
    const uint64_t *from = v ? v->dev : row->dev.bits;

    for (const struct gres_row *r = p->s->nodes[id].gres; v && r < row; r++)
        from += r->dev.nwords;
    if (p->idle)
        memset(held, 0, row->dev.nwords * sizeof(*held));
    else
        memcpy(held, from, row->dev.nwords * sizeof(*held));
    if (p->overlay && !p->idle)
        hold_reserved(p, id, at, held);
}

static bool any_in(const uint64_t *words, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        if (words[i >> 6] >> (i & 63) & 1)
            return true;
    return false;
}

static void clear_range(uint64_t *words, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        words[i >> 6] &= ~(UINT64_C(1) << (i & 63));
}

/* Does something of row hold the GPU with that index? */
static bool holds_gpu(const struct gres_row *row, const uint64_t *held, uint32_t device)
{
    uint32_t first = 0;

    if (row->gpu)
        return row->indexed && device - row->first < row->dev.n &&
               any_in(held, device - row->first, 1);
    for (uint32_t i = 0; i < row->nshares; first += row->shares[i++].count)
        if (row->shares[i].device == device && any_in(held, first, row->shares[i].count))
            return true;
    return false;
}

/* Take from `avail` what other rows hold of the same GPUs. */
static void leave_shared(const struct pick *p, uint32_t id, uint32_t at, uint64_t *avail)
{
    const struct node *n = &p->s->nodes[id];
    const struct gres_row *row = &n->gres[at];
    uint64_t held[SCHED_MAX_DEVICES / 64];

    for (uint32_t k = 0; k < n->ngres; k++) {
        const struct gres_row *other = &n->gres[k];
        uint32_t first = 0;

        if (k == at || !other->indexed || (!other->shares && !(row->shares && other->gpu)))
            continue;
        held_devices(p, id, k, held);
        for (uint32_t d = 0; row->gpu && d < row->dev.n; d++)
            if (holds_gpu(other, held, row->first + d))
                clear_range(avail, d, 1);
        for (uint32_t i = 0; i < row->nshares; first += row->shares[i++].count)
            if (holds_gpu(other, held, row->shares[i].device))
                clear_range(avail, first, row->shares[i].count);
    }
}

uint64_t gres_free(const struct pick *p, uint32_t id, uint32_t at, uint64_t *dev)
{
    const struct node *n = &p->s->nodes[id];
    const struct gres_row *row = &n->gres[at];
    const struct prof_view *v = p->plan ? prof_view(p->s, id, p->from, p->until, p->end_us) : NULL;
    uint64_t used = p->idle ? 0 : v ? v->used[at] : row->used, devices = 0;
    uint64_t avail = row->total > used ? row->total - used : 0, scratch[SCHED_MAX_DEVICES / 64];
    uint64_t *words = dev ? dev : scratch;
    const struct resv_node *spare;

    for (uint32_t i = 0; p->overlay && i < p->s->nresvs; i++)
        if (pick_conflict(p, &p->s->resvs[i], id, &spare))
            avail = MIN(avail, spare->spare_gres[at]);
    if (!row->indexed)
        return avail;
    held_devices(p, id, at, words);
    for (uint32_t w = 0; w < row->dev.nwords; w++)
        words[w] = ~words[w];
    if (row->dev.n % 64)
        words[row->dev.nwords - 1] &= (UINT64_C(1) << row->dev.n % 64) - 1;
    if (n->shares && !p->idle && (row->gpu || row->shares))
        leave_shared(p, id, at, words);
    for (uint32_t w = 0; w < row->dev.nwords; w++)
        devices += (uint32_t)__builtin_popcountll(words[w]);
    return MIN(avail, devices);
}

uint32_t gres_count(const uint64_t *words, uint32_t first, uint32_t count)
{
    uint32_t n = 0;

    for (uint32_t i = first; i < first + count; i++)
        n += (uint32_t)(words[i >> 6] >> (i & 63) & 1);
    return n;
}

bool gres_row_matches(const struct pick *p, const struct gres_row *row, uint32_t req)
{
    return row->name == p->gname[req] &&
           (p->k->gres[req].type_off == UINT32_MAX || row->type == p->gtype[req]);
}

/* ---- how much of the job a node's devices allow ---------------------------------------------- */

/* What comes with the GPUs of the job: CPUs and memory are counted by them, or tasks. */
static bool fit_gpus(const struct pick *p, uint32_t id, uint32_t req, uint64_t cpus, struct fit *f)
{
    const struct shape_key *k = p->k;
    const struct shape_gres *g = &k->gres[req];
    uint64_t most = UINT64_MAX;

    if (k->cpus_per_gpu)
        most = cpus / k->cpus_per_gpu;
    if (k->mem_per_gpu_mib && p->s->params.select_memory)
        most = MIN(most, pick_free_mem(p, id) / k->mem_per_gpu_mib);
    if (most < g->per_node || (g->per_job && !most))
        return false;
    if (g->per_job) {
        f->gres[req] = (uint32_t)MIN((uint64_t)f->gres[req], most);
        if (k->tasks_per_gpu)
            f->tasks = (uint32_t)MIN((uint64_t)f->tasks, (uint64_t)f->gres[req] * k->tasks_per_gpu);
    }
    if (g->per_task)
        f->tasks = (uint32_t)MIN((uint64_t)f->tasks, most / g->per_task);
    if (g->per_node && k->tasks_per_gpu)
        f->tasks = (uint32_t)MIN((uint64_t)f->tasks, g->per_node * k->tasks_per_gpu);
    return true;
}

/* What the job can have of shares: of one device, unless several may serve it.  *ret_tasks:
 * tasks it is enough for. */
static uint64_t free_shares(const struct pick *p, uint32_t id, uint32_t at, uint64_t per_task,
                            uint64_t *ret_tasks)
{
    const struct gres_row *row = &p->s->nodes[id].gres[at];
    bool apart = p->k->flags & SHAPE_TASK_SHARE, several = p->s->params.several_shared;
    uint64_t words[SCHED_MAX_DEVICES / 64], sum = 0, most = 0, tasks = 0, most_tasks = 0;
    uint32_t first = 0;

    (void)gres_free(p, id, at, words); /* for the devices it writes */
    for (uint32_t i = 0; i < row->nshares; first += row->shares[i++].count) {
        uint64_t here = gres_count(words, first, row->shares[i].count);
        uint64_t fit = per_task ? here / per_task : 0;

        fit = apart ? MIN(fit, 1u) : fit;
        sum += here;
        most = MAX(most, here);
        tasks += fit;
        most_tasks = MAX(most_tasks, fit);
    }
    *ret_tasks += several || apart ? tasks : most_tasks;
    return several || (apart && per_task) ? sum : most;
}

/* Free for a request, over all rows that serve it. */
static uint64_t free_for(const struct pick *p, uint32_t id, uint32_t req, uint64_t *ret_tasks)
{
    const struct node *n = &p->s->nodes[id];
    uint64_t avail = 0, per_task = p->k->gres[req].per_task, loose = 0;

    *ret_tasks = 0;
    for (uint32_t row = 0; row < n->ngres; row++) {
        if (!gres_row_matches(p, &n->gres[row], req))
            continue;
        if (!n->gres[row].shares)
            loose += gres_free(p, id, row, NULL);
        else if (p->s->params.several_shared)
            avail += free_shares(p, id, row, per_task, ret_tasks);
        else
            avail = MAX(avail, free_shares(p, id, row, per_task, ret_tasks));
    }
    if (per_task)
        *ret_tasks += loose / per_task;
    return avail + loose;
}

static bool fit_request(const struct pick *p, uint32_t id, uint32_t i, uint64_t cpus, struct fit *f)
{
    const struct shape_key *k = p->k;
    const struct shape_gres *g = &k->gres[i];
    uint64_t tasks, avail = free_for(p, id, i, &tasks), typed = 0;

    for (uint32_t j = 0; g->type_off == UINT32_MAX && j < k->ngres; j++)
        if (j != i && k->gres[j].type_off != UINT32_MAX && p->gname[j] == p->gname[i])
            typed += k->gres[j].per_node; /* of the same name; served first */
    avail = avail > typed ? avail - typed : 0;
    if (avail < g->per_node || (g->per_job && !avail))
        return false;
    if (g->per_job)
        f->gres[i] = (uint32_t)MIN(avail, (uint64_t)UINT32_MAX);
    if (g->per_task)
        f->tasks = (uint32_t)MIN((uint64_t)f->tasks, MIN(tasks, avail / g->per_task));
    return i != p->gpu || fit_gpus(p, id, i, cpus, f);
}

bool gres_fit(const struct pick *p, uint32_t id, const struct geometry *g, uint32_t units,
              struct fit *f)
{
    const struct node *n = &p->s->nodes[id];

    for (uint32_t i = 0; i < p->k->ngres; i++)
        if (!fit_request(p, id, i, (uint64_t)units * g->usable, f))
            return false;
    return !n->near || !(p->k->flags & SHAPE_BIND) || p->whole || gres_fit_bound(p, id, g, f);
}
