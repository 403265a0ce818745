/* gresuse.c - see gresuse.h
 *
 * A row for each name and type.  Of shares of GPUs the bits are shares, of all else devices. */
#include "model/gresuse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/gres/grestext.h"
#include "base/sametext.h"
#include "model/words/nodedevices.h"

#define BITS_MAX 65536u

struct row {
    char *name, *type;
    uint64_t count;
    struct bitmap *bits; /* NULL: counted only */
};

struct gresuse {
    struct row *rows;
    size_t n;
};

static struct row *find_row(const struct gresuse *u, const char *name, const char *type,
                            bool any_type)
{
    for (size_t i = 0; u && i < u->n; i++)
        if (same_text(u->rows[i].name, name) && (any_type || same_text(u->rows[i].type, type)))
            return &u->rows[i];
    return NULL;
}

struct gresuse *gresuse_free(struct gresuse *u)
{
    for (size_t i = 0; u && i < u->n; i++) {
        free(u->rows[i].name);
        free(u->rows[i].type);
        bitmap_free(u->rows[i].bits);
    }
    if (u)
        free(u->rows);
    free(u);
    return NULL;
}

static struct row *make_row(struct gresuse *u, const Pst__GresAlloc *g)
{
    struct row *rows = realloc(u->rows, (u->n + 1) * sizeof(*rows)), *r;

    if (!rows)
        return NULL;
    u->rows = rows;
    r = &rows[u->n];
    *r = (struct row){ .name = strdup(g->name), .type = g->type ? strdup(g->type) : NULL };
    if (!r->name || (g->type && !r->type)) {
        free(r->name);
        free(r->type);
        return NULL;
    }
    u->n++;
    return r;
}

static int change_bits(struct row *r, const char *list, bool add)
{
    _cleanup_(bitmap_free) struct bitmap *bm = NULL;
    int e = bitmap_new(BITS_MAX, &bm);

    if (e == 0 && !r->bits)
        e = bitmap_new(BITS_MAX, &r->bits);
    if (e == 0)
        e = bitmap_parse(bm, list, NULL);
    if (e < 0)
        return e;
    if (add)
        bitmap_or(r->bits, bm);
    else
        bitmap_andnot(r->bits, bm);
    return 0;
}

int gresuse_change(struct gresuse **io_use, const Pst__AllocGroup *group, bool add)
{
    int e = 0;

    for (size_t i = 0; i < group->n_gres; i++) {
        const Pst__GresAlloc *g = group->gres[i];
        const char *list = g->share_counts ? g->shares : g->devices;
        struct row *r;

        if (!g->name)
            continue;
        if (!*io_use && !(*io_use = calloc(1, sizeof(**io_use))))
            return -ENOMEM;
        r = find_row(*io_use, g->name, g->type, false);
        if (!r)
            r = make_row(*io_use, g);
        if (!r)
            return -ENOMEM;
        r->count = add ? r->count + g->count : r->count - MIN(r->count, g->count);
        if (list && e == 0)
            e = change_bits(r, list, add);
    }
    return e;
}

/* ---- text ------------------------------------------------------------------------------------ */

struct entry { /* of the node's Gres= */
    char name[64], type[64];
    uint64_t count;
};

/* False at the end. */
static bool next_entry(const char **text, struct entry *e)
{
    for (;;) {
        size_t len = strcspn(*text, ",");
        char word[256];
        struct gres_text g;

        if (!len)
            return false;
        (void)snprintf(word, sizeof(word), "%.*s", (int)len, *text);
        *text += len + ((*text)[len] == ',');
        if (!gres_text_parse(word, &g))
            continue;
        *e = (struct entry){ .count = g.count };
        (void)snprintf(e->name, sizeof(e->name), "%s", g.name);
        (void)snprintf(e->type, sizeof(e->type), "%s", g.type ? g.type : "");
        return true;
    }
}

static uint64_t gpus_of(const char *gres)
{
    struct entry e;
    uint64_t n = 0;

    while (next_entry(&gres, &e))
        n += strcmp(e.name, "gpu") == 0 ? e.count : 0;
    return n;
}

static bool gpu_taken(const struct gresuse *u, uint64_t gpu)
{
    for (size_t i = 0; u && i < u->n; i++)
        if (strcmp(u->rows[i].name, "gpu") == 0 && u->rows[i].bits &&
            gpu < u->rows[i].bits->nbits && bitmap_test(u->rows[i].bits, (uint32_t)gpu))
            return true;
    return false;
}

/* "(3/4,-/4)": of each GPU; one that a job has alone is not shared. */
static void put_shares(const struct gresuse *u, const struct row *r, const struct entry *e,
                       uint64_t gpus, struct strbuf *out)
{
    uint64_t each = gpus && e->count % gpus == 0 ? e->count / gpus : 0;

    if (!each)
        return;
    for (uint64_t gpu = 0; gpu < gpus; gpu++) {
        uint64_t used = 0;

        for (uint64_t i = gpu * each; r && r->bits && i < (gpu + 1) * each && i < r->bits->nbits;
             i++)
            used += bitmap_test(r->bits, (uint32_t)i);
        strbuf_addf(out, "%c", gpu ? ',' : '(');
        if (gpu_taken(u, gpu))
            strbuf_addf(out, "-/%llu", (unsigned long long)each);
        else
            strbuf_addf(out, "%llu/%llu", (unsigned long long)used, (unsigned long long)each);
    }
    strbuf_addc(out, ')');
}

/* Places of GPUs are known where slurmd brought them with their type. */
static void put_devices(const struct row *r, const struct entry *e, bool placed, struct strbuf *out)
{
    _cleanup_free_ char *list = NULL;

    if (r && r->bits && !bitmap_empty(r->bits) && bitmap_format(r->bits, &list) == 0)
        strbuf_addf(out, "(IDX:%s)", list);
    else if (strcmp(e->name, "gpu") == 0 && e->type[0] && placed)
        strbuf_add(out, "(IDX:N/A)");
}

void gresuse_text(const struct gresuse *u, const Pst__NodeRecord *node, struct strbuf *out)
{
    const char *text = node->gres ? node->gres : "";
    uint64_t gpus = gpus_of(text);
    _cleanup_free_ char *gpu_type = nodedevices_gpu_type(node->gres);
    bool placed = !(node->state_flags & 1u << PST__NODE_FLAG__NODE_FLAG_INVALID_REG);
    struct entry e;

    while (next_entry(&text, &e)) {
        bool shared = gres_shares_gpu(e.name);
        const struct row *r = find_row(u, e.name, e.type[0] ? e.type : NULL, shared);

        if (shared && !e.type[0] && gpu_type)
            (void)snprintf(e.type, sizeof(e.type), "%s", gpu_type);
        strbuf_addf(out, "%s%s%s%s:%llu", out->len ? "," : "", e.name, e.type[0] ? ":" : "", e.type,
                    (unsigned long long)(r ? r->count : 0));
        if (shared)
            put_shares(u, r, &e, gpus, out);
        else
            put_devices(r, &e, placed, out);
    }
}
