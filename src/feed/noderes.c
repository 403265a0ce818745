/* noderes.c - the devices of a node; see noderes.h
 *
 * A row is a run of devices of one name and type with indexes in a row.  Where the registration
 * has fewer devices than the configuration (an older slurmd, or none yet) the configuration is
 * believed and nothing is near anything. */
#include "feed/noderes.h"

#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/must.h"
#include "base/strbuf.h"
#include "base/gres/grestext.h"

#define DEVICES_MAX 1024u /* told apart by index */
#define SHARES_MAX 4096u

static void *own_copy(struct noderes *res, void *p)
{
    res->owned = must(realloc(res->owned, (res->nowned + 1) * sizeof(*res->owned)));
    res->owned[res->nowned++] = must(p);
    return p;
}

struct noderes *noderes_free(struct noderes *res)
{
    if (!res)
        return NULL;
    for (size_t i = 0; i < res->nowned; i++)
        free(res->owned[i]);
    free(res->owned);
    free(res->rows);
    free(res);
    return NULL;
}

static bool same_type(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static struct sched_gres_spec *add_row(struct noderes *res, const struct gres_text *g)
{
    res->rows = must(realloc(res->rows, (res->n + 1) * sizeof(*res->rows)));
    res->rows[res->n] =
        (struct sched_gres_spec){ .name = g->name, .type = g->type, .no_consume = g->no_consume };
    return &res->rows[res->n++];
}

static struct bitmap *bits_of(const char *list, uint32_t n)
{
    struct bitmap *bm;

    if (bitmap_new(n, &bm) < 0)
        must(NULL);
    if (list)
        (void)bitmap_parse(bm, list, NULL); /* as far as it can be read */
    return bm;
}

/* ---- devices --------------------------------------------------------------------------------- */

/* The line that has the device, of those of its name and type. */
static const Pst__GresTopo *line_of(const Pst__NodeRecord *r, const struct gres_text *g,
                                    uint32_t device)
{
    for (size_t i = 0; i < r->n_gres_topo; i++) {
        const Pst__GresTopo *t = r->gres_topo[i];
        _cleanup_(bitmap_free) struct bitmap *bm = NULL;

        if (!t->name || strcmp(t->name, g->name) != 0 ||
            (g->type && !same_type(t->type, g->type)) || !t->devices)
            continue;
        bm = bits_of(t->devices, DEVICES_MAX);
        if (bitmap_test(bm, device))
            return t;
    }
    return NULL;
}

static uint64_t *core_cpus(struct noderes *res, const Pst__NodeRecord *r, const char *cores)
{
    uint32_t ncores = r->sockets * r->cores_per_socket, threads = ncores ? r->cpus / ncores : 1;
    _cleanup_(bitmap_free) struct bitmap *bm = bits_of(cores, r->cpus);
    uint64_t *words = own_copy(res, calloc((r->cpus + 63) / 64, sizeof(*words)));

    if (!threads || (uint64_t)ncores * threads != r->cpus)
        threads = 1;
    BITMAP_FOREACH (bm, core)
        for (uint32_t c = core * threads; c < (core + 1) * threads && c < r->cpus; c++)
            words[c >> 6] |= UINT64_C(1) << (c & 63);
    return words;
}

static void set_near(struct noderes *res, const Pst__NodeRecord *r, struct sched_gres_spec *row,
                     const Pst__GresTopo *const *lines)
{
    const uint64_t **near = own_copy(res, calloc(row->count + 1, sizeof(*near)));
    bool any = false;

    for (uint64_t d = 0; d < row->count; d++) {
        if (d && lines[d] == lines[d - 1])
            near[d] = near[d - 1];
        else if (lines[d]->cores)
            near[d] = core_cpus(res, r, lines[d]->cores);
        any |= near[d] != NULL;
    }
    if (any)
        row->near_cpus = near;
}

/* "-1,2,0": how well the device is linked to each of its name. */
static void set_links(struct noderes *res, struct sched_gres_spec *row,
                      const Pst__GresTopo *const *lines)
{
    int32_t *links = own_copy(res, calloc(row->count * row->count + 1, sizeof(*links)));

    for (uint64_t d = 0; d < row->count; d++) {
        const char *p = lines[d]->links;

        for (uint64_t i = 0; p && *p && i < row->first_index + row->count; i++) {
            char *end;
            long v = strtol(p, &end, 10);

            if (end == p)
                break;
            if (i >= row->first_index)
                links[d * row->count + i - row->first_index] =
                    v < 0 ? 0 : (int32_t)MIN(v, INT32_MAX);
            p = end + (*end == ',');
        }
        if (lines[d]->links)
            row->links = links;
    }
}

/* Rows for the registered devices, as many as the configuration has.  False: there are fewer. */
static bool registered_rows(struct noderes *res, const Pst__NodeRecord *r,
                            const struct gres_text *g)
{
    const Pst__GresTopo **lines = own_copy(res, calloc(DEVICES_MAX, sizeof(*lines)));
    uint64_t left = g->count, known = 0;
    uint32_t end = 0;

    for (size_t i = 0; i < r->n_gres_topo; i++)
        if (r->gres_topo[i]->name && strcmp(r->gres_topo[i]->name, g->name) == 0)
            known += MIN(r->gres_topo[i]->count, (uint64_t)DEVICES_MAX);
    for (; end < MIN(known, (uint64_t)DEVICES_MAX) && left; end++) {
        lines[end] = line_of(r, g, end);
        left -= lines[end] != NULL;
    }
    if (left)
        return false;
    for (uint32_t d = 0; d < end;) {
        struct sched_gres_spec *row;
        uint32_t first = d;

        while (d < end && lines[d])
            d++;
        if (d == first) {
            d++;
            continue;
        }
        row = add_row(res, g);
        row->count = d - first;
        row->first_index = first;
        row->indexed = true;
        row->explicit_only = lines[first]->has_explicit_only && lines[first]->explicit_only;
        set_near(res, r, row, lines + first);
        set_links(res, row, lines + first);
    }
    return true;
}

static void plain_row(struct noderes *res, const Pst__NodeRecord *r, const struct gres_text *g)
{
    struct sched_gres_spec *row;
    uint64_t first = 0;

    for (size_t i = 0; i < res->n; i++)
        if (strcmp(res->rows[i].name, g->name) == 0)
            first += res->rows[i].count;
    row = add_row(res, g);
    row->count = g->count;
    row->indexed = strcmp(g->name, "gpu") == 0 && first + g->count <= DEVICES_MAX;
    row->first_index = (uint32_t)first;
    for (size_t i = 0; i < r->n_gres_topo; i++) {
        const Pst__GresTopo *t = r->gres_topo[i];

        if (t->name && strcmp(t->name, g->name) == 0 && same_type(t->type, g->type))
            row->explicit_only |= t->has_explicit_only && t->explicit_only;
    }
}

/* ---- shares of GPUs -------------------------------------------------------------------------- */

/* The GPUs that are shared where no line says which: those of the type, or all. */
static struct bitmap *all_gpus(const struct noderes *res, const char *type)
{
    struct bitmap *gpus = bits_of(NULL, DEVICES_MAX);

    for (int pass = 0; pass < 2 && bitmap_empty(gpus); pass++) {
        for (size_t i = 0; i < res->n; i++) {
            const struct sched_gres_spec *row = &res->rows[i];

            if (strcmp(row->name, "gpu") != 0 || !row->indexed ||
                (!pass && !same_type(row->type, type)))
                continue;
            for (uint32_t d = row->first_index; d < row->first_index + row->count; d++)
                bitmap_set(gpus, d);
        }
    }
    return gpus;
}

static void spread_shares(struct sched_gres_share *to, const struct bitmap *gpus, uint64_t count)
{
    uint32_t n = bitmap_count(gpus), i = 0;

    BITMAP_FOREACH (gpus, d) {
        to[d].count += (uint32_t)(count / n + (i < count % n));
        i++;
    }
}

/* The type of the node's GPUs, where all are alike: shares of them are of that type too. */
static const char *gpu_type(const struct noderes *res)
{
    const char *type = NULL;

    for (size_t i = 0; i < res->n; i++) {
        if (strcmp(res->rows[i].name, "gpu") != 0)
            continue;
        if (type && !same_type(type, res->rows[i].type))
            return NULL;
        type = res->rows[i].type;
    }
    return type;
}

static void share_row(struct noderes *res, const Pst__NodeRecord *r, const struct gres_text *g)
{
    struct sched_gres_share *to = own_copy(res, calloc(DEVICES_MAX, sizeof(*to)));
    _cleanup_(bitmap_free) struct bitmap *all = all_gpus(res, g->type);
    struct sched_gres_spec *row;
    uint64_t listed = 0;

    if (bitmap_empty(all) || g->count > SHARES_MAX) {
        plain_row(res, r, g);
        res->rows[res->n - 1].indexed = false;
        return;
    }
    for (size_t i = 0; i < r->n_gres_topo; i++) {
        const Pst__GresTopo *t = r->gres_topo[i];
        _cleanup_(bitmap_free) struct bitmap *gpus = NULL;

        if (!t->name || strcmp(t->name, g->name) != 0 || !same_type(t->type, g->type) ||
            !t->devices || t->count > SHARES_MAX)
            continue;
        gpus = bits_of(t->devices, DEVICES_MAX);
        bitmap_and(gpus, all);
        if (bitmap_empty(gpus))
            continue;
        spread_shares(to, gpus, t->count);
        listed += t->count;
    }
    if (listed != g->count) {
        memset(to, 0, DEVICES_MAX * sizeof(*to));
        spread_shares(to, all, g->count);
    }
    plain_row(res, r, g);
    row = &res->rows[res->n - 1];
    row->indexed = true;
    row->shares = to;
    if (!row->type)
        row->type = gpu_type(res);
    for (uint32_t d = 0; d < DEVICES_MAX; d++)
        if (to[d].count)
            to[row->nshares++] = (struct sched_gres_share){ d, to[d].count };
}

/* ---- CPUs for jobs with GPUs ----------------------------------------------------------------- */

static void take_core(uint64_t *bits, uint32_t core, uint32_t threads, uint32_t cpus)
{
    for (uint32_t c = core * threads; c < (core + 1) * threads && c < cpus; c++)
        bits[c >> 6] |= UINT64_C(1) << (c & 63);
}

/* So many cores near each GPU, the first that no other GPU has. */
static void restrict_cores(struct noderes *res, const Pst__NodeRecord *r)
{
    uint32_t ncores = r->sockets * r->cores_per_socket, threads = ncores ? r->cpus / ncores : 1;

    if (!threads || (uint64_t)ncores * threads != r->cpus) {
        threads = 1;
        ncores = r->cpus;
    }
    res->gpu_bits = own_copy(res, calloc((r->cpus + 63) / 64, sizeof(*res->gpu_bits)));
    for (size_t i = 0; i < res->n; i++) {
        const struct sched_gres_spec *row = &res->rows[i];

        for (uint64_t d = 0; strcmp(row->name, "gpu") == 0 && row->indexed && d < row->count; d++) {
            const uint64_t *near = row->near_cpus ? row->near_cpus[d] : NULL;
            uint32_t left = r->restricted_cores_per_gpu;

            for (uint32_t core = 0; core < ncores && left; core++) {
                uint32_t cpu = core * threads;

                if (res->gpu_bits[cpu >> 6] >> (cpu & 63) & 1 ||
                    (near && !(near[cpu >> 6] >> (cpu & 63) & 1)))
                    continue;
                take_core(res->gpu_bits, core, threads, r->cpus);
                left--;
            }
        }
    }
}

/* ---- together -------------------------------------------------------------------------------- */

struct noderes *noderes_new(const Pst__NodeRecord *r)
{
    struct noderes *res = must(calloc(1, sizeof(*res)));

    for (int shares = 0; shares < 2; shares++) { /* GPUs before what is shared of them */
        char *copy = own_copy(res, strdup(r->gres ? r->gres : "")), *save = NULL;

        for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
            struct gres_text g;

            if (!gres_text_parse(w, &g) || gres_shares_gpu(g.name) != shares)
                continue;
            if (shares)
                share_row(res, r, &g);
            else if (!r->n_gres_topo || !g.count || g.count > DEVICES_MAX ||
                     !registered_rows(res, r, &g))
                plain_row(res, r, &g);
        }
    }
    if (r->has_restricted_cores_per_gpu && r->restricted_cores_per_gpu)
        restrict_cores(res, r);
    return res;
}

bool noderes_shares(const struct noderes *res, const struct sched_alloc_gres *g, char **ret_gpus,
                    char **ret_counts)
{
    struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < res->n; i++) {
        const struct sched_gres_spec *row = &res->rows[i];
        _cleanup_(bitmap_free) struct bitmap *gpus = NULL;
        uint32_t at = row->first_index;

        if (!row->shares || strcmp(row->name, g->name) != 0 ||
            (g->type && !same_type(row->type, g->type)) || !g->devices)
            continue;
        gpus = bits_of(NULL, DEVICES_MAX);
        for (size_t k = 0; k < row->nshares; k++) {
            uint32_t held = 0, end = at + row->shares[k].count;

            for (; at < end; at++)
                held += at / 64 < g->ndevice_words && (g->devices[at >> 6] >> (at & 63) & 1);
            strbuf_addf(&sb, "%s%u/%u", k ? "," : "", held, row->shares[k].count);
            if (held)
                bitmap_set(gpus, row->shares[k].device);
        }
        if (bitmap_format(gpus, ret_gpus) < 0 || strbuf_detach(&sb, ret_counts) < 0)
            must(NULL);
        return true;
    }
    return false;
}
