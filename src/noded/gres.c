/* gres.c - what gres.conf says about this node's devices, as the node registers it.
 *
 * Devices of a name are numbered through the lines that apply to the node.  Shares of GPUs (shard, mps) have none
 * of their own: a line with File says which GPUs are shared, one without shares all of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pbutil.h"
#include "base/strbuf.h"
#include "noded/noded.h"
#include "stepd/env.h"

#define GPUS_MAX 1024u /* of a node */

static bool row_applies(const struct conf_gres *row, const char *node)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    if (!row->name)
        return false;
    if (!row->node_names)
        return true;
    return hostlist_parse(row->node_names, &hl, NULL) == 0 && hostlist_find(hl, node) >= 0;
}

/* Devices of a name are numbered through the rows: the first row's are 0 and up. */
static uint64_t devices_before(const struct noded *d, size_t row, const char *name)
{
    uint64_t n = 0;

    for (size_t i = 0; i < row; i++) {
        const struct conf_gres *g = conf_gres_row(d->conf, i);

        if (g->file && row_applies(g, d->name) && strcmp(g->name, name) == 0)
            n += g->count;
    }
    return n;
}

int gres_text(const struct noded *d, char **ret_text)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < conf_gres_rows(d->conf); i++) {
        const struct conf_gres *g = conf_gres_row(d->conf, i);
        uint64_t first;

        if (!row_applies(g, d->name))
            continue;
        strbuf_addf(&sb, "%s%s%s%s:%llu", sb.len ? "," : "", g->name, g->type ? ":" : "",
                    g->type ? g->type : "", (unsigned long long)g->count);
        if (!g->file || !g->count)
            continue;
        first = devices_before(d, i, g->name);
        strbuf_addf(&sb, g->count > 1 ? "(%llu-%llu)" : "(%llu)", (unsigned long long)first,
                    (unsigned long long)(first + g->count - 1));
    }
    if (!sb.len)
        strbuf_add(&sb, d->node->gres ? d->node->gres : "");
    return strbuf_detach(&sb, ret_text);
}

uint32_t hw_gpu_env(const struct conf *conf, const char *node_name)
{
    static const struct {
        const char *flag;
        uint32_t bit;
    } flags[] = {
        { "nvidia_gpu_env", GPU_ENV_CUDA }, { "amd_gpu_env", GPU_ENV_ROCR },
        { "intel_gpu_env", GPU_ENV_ZE },    { "opencl_env", GPU_ENV_OPENCL },
        { "no_gpu_env", GPU_ENV_NONE },
    };
    uint32_t bits = 0;

    for (size_t i = 0; i < conf_gres_rows(conf); i++) {
        const struct conf_gres *g = conf_gres_row(conf, i);

        if (!row_applies(g, node_name) || strcmp(g->name, "gpu") != 0 || !g->flags)
            continue;
        for (size_t k = 0; k < ARRAY_SIZE(flags); k++)
            if (strcasestr(g->flags, flags[k].flag))
                bits |= flags[k].bit;
    }
    return bits;
}

void gres_files(const struct noded *d, gres_file_fn *fn, void *ctx)
{
    for (size_t i = 0; i < conf_gres_rows(d->conf); i++) {
        const struct conf_gres *g = conf_gres_row(d->conf, i);
        _cleanup_(hostlist_free) struct hostlist *files = NULL;
        uint64_t first;

        if (!row_applies(g, d->name) || !g->file || hostlist_parse(g->file, &files, NULL) < 0)
            continue;
        first = devices_before(d, i, g->name);
        for (size_t k = 0; k < hostlist_count(files); k++)
            fn(ctx, g->name, (uint32_t)(first + k), hostlist_nth(files, k));
    }
}

/* ---- the record --------------------------------------------------------------------------------- */

static bool is_shared(const char *name)
{
    return strcmp(name, "shard") == 0 || strcmp(name, "mps") == 0;
}

/* The index among the GPUs of the one with that file, or -1. */
static int64_t gpu_with_file(const struct noded *d, const char *file)
{
    for (size_t i = 0; i < conf_gres_rows(d->conf); i++) {
        const struct conf_gres *g = conf_gres_row(d->conf, i);
        _cleanup_(hostlist_free) struct hostlist *hl = NULL;
        ssize_t at;

        if (!row_applies(g, d->name) || !g->file || strcmp(g->name, "gpu") != 0 ||
            hostlist_parse(g->file, &hl, NULL) < 0)
            continue;
        at = hostlist_find(hl, file);
        if (at >= 0)
            return (int64_t)devices_before(d, i, "gpu") + at;
    }
    return -1;
}

/* The GPUs a line of shares is for; *ret stays NULL when it is for all. */
static int shared_gpus(const struct noded *d, const struct conf_gres *g, char **ret)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    _cleanup_(bitmap_free) struct bitmap *gpus = NULL;
    int r = g->file ? hostlist_parse(g->file, &hl, NULL) : -ENOENT;

    if (r < 0)
        return r == -ENOMEM ? r : 0; /* checked with the configuration */
    r = bitmap_new(GPUS_MAX, &gpus);
    for (size_t i = 0; r == 0 && i < hostlist_count(hl); i++) {
        int64_t at = gpu_with_file(d, hostlist_nth(hl, i));

        if (at >= 0 && at < GPUS_MAX)
            bitmap_set(gpus, (uint32_t)at);
    }
    return r < 0 || bitmap_empty(gpus) ? r : bitmap_format(gpus, ret);
}

static int device_range(const struct noded *d, size_t at, const struct conf_gres *g, char **ret)
{
    uint64_t first = devices_before(d, at, g->name);

    if (!g->file || !g->count)
        return 0;
    return asprintf(ret, g->count > 1 ? "%llu-%llu" : "%llu", (unsigned long long)first,
                    (unsigned long long)(first + g->count - 1)) < 0
               ? -ENOMEM
               : 0;
}

static int fill_topo(const struct noded *d, size_t at, Pst__GresTopo *to)
{
    const struct conf_gres *g = conf_gres_row(d->conf, at);
    int r = pb_set_str(&to->name, g->name);

    r = r < 0 ? r : pb_set_str(&to->type, g->type);
    r = r < 0 ? r : pb_set_str(&to->cores, g->cores);
    r = r < 0 ? r : pb_set_str(&to->links, g->links);
    if (r == 0)
        r = is_shared(g->name) ? shared_gpus(d, g, &to->devices) : device_range(d, at, g, &to->devices);
    to->has_count = true;
    to->count = g->count;
    if (g->flags && strcasestr(g->flags, "explicit")) {
        to->has_explicit_only = true;
        to->explicit_only = true;
    }
    return r;
}

int gres_topo(const struct noded *d, Pst__NodeRecord *rec)
{
    size_t n = conf_gres_rows(d->conf);
    int r = 0;

    rec->gres_topo = calloc(n + 1, sizeof(Pst__GresTopo *));
    if (!rec->gres_topo)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < n; i++) {
        Pst__GresTopo *to;

        if (!row_applies(conf_gres_row(d->conf, i), d->name))
            continue;
        to = malloc(sizeof(*to));
        if (!to)
            return -ENOMEM;
        pst__gres_topo__init(to);
        rec->gres_topo[rec->n_gres_topo++] = to;
        r = fill_topo(d, i, to);
    }
    return r;
}
