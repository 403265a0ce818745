/* nodegres.c - what this node's devices are: gres.conf and what was found, as the node registers
 * it; see nodegres.h
 *
 * Devices of a name are numbered through the lines that apply to the node.  Shares of GPUs (shard,
 * mps) have none of their own: a line with File says which GPUs are shared, one without shares all
 * of them. */
#include "noded/hw/nodegres.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/gres/grestext.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/text/owntext.h"
#include "base/pb/pbutil.h"
#include "base/sametext.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "stepd/env/env.h"

#define GPUS_OF_NODE_MAX 1024u

/* ---- the rows -------------------------------------------------------------------------------- */

static bool row_applies(const struct conf_gres *row, const char *node)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    if (!row->node_names)
        return true;
    return hostlist_parse(row->node_names, &hl, NULL) == 0 && hostlist_find(hl, node) >= 0;
}

static void row_done(struct gres_row *r)
{
    free(r->name);
    free(r->type);
    free(r->file);
    free(r->cores);
    free(r->links);
    free(r->flags);
    free(r->uuids);
}

struct gres_rows *gres_rows_free(struct gres_rows *g)
{
    if (!g)
        return NULL;
    for (size_t i = 0; i < g->n; i++)
        row_done(&g->rows[i]);
    free(g->rows);
    free(g->problem);
    free(g);
    return NULL;
}

/* Flags=CountOnly: its devices are nobody's business. */
static bool counts_only(const char *flags)
{
    return flags && strcasestr(flags, "CountOnly");
}

static int add_row(struct gres_rows *g, const struct conf_gres *c, const char *type,
                   struct gres_row **ret)
{
    struct gres_row *rows = realloc(g->rows, (g->n + 1) * sizeof(*rows)), *r;

    if (!rows)
        return -ENOMEM;
    g->rows = rows;
    r = &rows[g->n++];
    *r = (struct gres_row){ .count = c->count };
    *ret = r;
    return copy_text(&r->name, c->name) < 0 || copy_text(&r->type, type) < 0 ||
                   copy_text(&r->file, counts_only(c->flags) ? NULL : c->file) < 0 ||
                   copy_text(&r->cores, c->cores) < 0 || copy_text(&r->links, c->links) < 0 ||
                   copy_text(&r->flags, c->flags) < 0
               ? -ENOMEM
               : 0;
}

__attribute__((format(printf, 2, 3))) static void complain(struct gres_rows *g, const char *fmt,
                                                           ...)
{
    va_list ap;

    if (g->problem)
        return; /* the first one is enough to look at */
    va_start(ap, fmt);
    if (vasprintf(&g->problem, fmt, ap) < 0)
        g->problem = NULL;
    va_end(ap);
}

/* ---- what was found -------------------------------------------------------------------------- */

/* What a line of gres.conf (or an entry of the node's Gres=) wants of the GPUs found. */
struct merge {
    struct gres_rows *g;
    const struct gpu_found *found;
    size_t n;
    bool used[GPUS_FOUND_MAX];
    const struct cpu_map *map;
};

/* Cores near a GPU as allocations count them; NULL: all. */
static char *cores_of(const struct cpu_map *map, const char *cpus)
{
    _cleanup_(bitmap_free) struct bitmap *list = NULL, *cores = NULL;
    char *text = NULL;

    if (!*cpus || !map->n || bitmap_new(8192, &list) < 0 ||
        bitmap_new((uint32_t)(map->n / MAX(map->threads, 1u) + 1), &cores) < 0 ||
        bitmap_parse(list, cpus, NULL) < 0)
        return NULL;
    for (size_t i = 0; i < map->n; i++) {
        uint32_t os = map->os_ids ? map->os_ids[i] : (uint32_t)i;

        if (os < list->nbits && bitmap_test(list, os))
            bitmap_set(cores, (uint32_t)(i / MAX(map->threads, 1u)));
    }
    if (bitmap_empty(cores) || bitmap_count(cores) * (uint64_t)MAX(map->threads, 1u) >= map->n ||
        bitmap_format(cores, &text) < 0)
        return NULL;
    return text;
}

/* The next GPU behind the row before, or a row of its own when it is another kind. */
static int add_found(struct merge *m, const struct conf_gres *want, const struct gpu_found *f,
                     bool first)
{
    struct gres_row *last = !first && m->g->n ? &m->g->rows[m->g->n - 1] : NULL, *r;
    _cleanup_free_ char *cores = want->cores ? strdup(want->cores) : cores_of(m->map, f->cpus);
    struct conf_gres row = { .name = (char *)"gpu",
                             .file = (char *)f->file,
                             .cores = cores,
                             .links = want->links,
                             .flags = want->flags,
                             .count = 1 };
    char *text;

    if (last && same_text(last->cores, cores) && same_text(last->type, want->type)) {
        if (asprintf(&text, "%s,%s", last->file, f->file) < 0)
            return -ENOMEM;
        free(last->file);
        last->file = text;
        if (asprintf(&text, "%s,%s", last->uuids ? last->uuids : "", f->uuid) < 0)
            return -ENOMEM;
        free(last->uuids);
        last->uuids = text;
        last->count++;
        return 0;
    }
    if (add_row(m->g, &row, want->type, &r) < 0 || copy_text(&r->uuids, f->uuid) < 0)
        return -ENOMEM;
    r->how = f->how;
    return 0;
}

static bool names_file(const char *files, const char *file)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    return hostlist_parse(files, &hl, NULL) == 0 && hostlist_find(hl, file) >= 0;
}

static bool cores_agree(const struct merge *m, const struct conf_gres *want,
                        const struct gpu_found *f)
{
    _cleanup_free_ char *cores = cores_of(m->map, f->cpus);

    return !want->cores || !cores || strcmp(want->cores, cores) == 0;
}

static int take_row(struct merge *m, const struct conf_gres *want)
{
    uint64_t left = want->count;
    bool first = true;
    int r = 0;

    for (size_t i = 0; r == 0 && left && i < m->n; i++) {
        const struct gpu_found *f = &m->found[i];

        if (m->used[i] || (want->type && !strstr(f->type, want->type)) ||
            (want->file && !names_file(want->file, f->file)))
            continue;
        if (!cores_agree(m, want, f))
            complain(m->g, "gres/gpu: Cores=%s is configured for %s, its CPUs are %s", want->cores,
                     f->file, f->cpus);
        m->used[i] = true;
        left--;
        r = add_found(m, want, f, first);
        first = false;
    }
    if (left)
        complain(m->g, "gres/gpu%s%s count reported lower than configured (%llu < %llu)",
                 want->type ? ":" : "", want->type ? want->type : "",
                 (unsigned long long)(want->count - left), (unsigned long long)want->count);
    return r;
}

/* The node's Gres=: "gpu:a100:2(S:0-1),shard:8" */
static int take_configured(struct merge *m, const char *text)
{
    int r = 0;

    while (r == 0 && text && *text) {
        size_t len = strcspn(text, ",");
        _cleanup_free_ char *word = strndup(text, len);
        struct conf_gres want = { .count = 1 };
        char *save = NULL, *name, *second, *third;
        uint64_t n;

        if (!word)
            return -ENOMEM;
        word[strcspn(word, "(")] = '\0';
        name = strtok_r(word, ":", &save);
        second = name ? strtok_r(NULL, ":", &save) : NULL;
        third = second ? strtok_r(NULL, ":", &save) : NULL;
        text += len + (text[len] == ',');
        if (!name || strcmp(name, "gpu") != 0)
            continue;
        if (third || (second && parse_u64(second, 0, UINT32_MAX, &n) < 0))
            want.type = second;
        else
            third = second;
        if (third && parse_u64(third, 0, UINT32_MAX, &n) == 0)
            want.count = n;
        r = take_row(m, &want);
    }
    return r;
}

static int merge_rows(struct gres_rows *g, const struct conf *conf, const struct conf_node *node,
                      const struct gpu_found *found, size_t n, const struct cpu_map *map)
{
    _cleanup_free_ struct merge *m = calloc(1, sizeof(*m));
    bool lines = false;
    size_t left = 0;
    int r = 0;

    if (!m)
        return -ENOMEM;
    m->g = g;
    m->found = found;
    m->n = MIN(n, (size_t)GPUS_FOUND_MAX);
    m->map = map;
    for (size_t i = 0; r == 0 && i < conf_gres_rows(conf); i++) {
        const struct conf_gres *c = conf_gres_row(conf, i);

        if (!c->name || strcmp(c->name, "gpu") != 0 || !row_applies(c, node->name))
            continue;
        lines = true;
        if (!counts_only(c->flags))
            r = take_row(m, c);
    }
    if (r == 0 && !lines)
        r = take_configured(m, node->gres);
    for (size_t i = 0; i < m->n; i++)
        left += !m->used[i];
    if (left)
        log_info("%zu GPUs were found that the configuration does not name", left);
    return r;
}

/* The last line that says it for the node, else for all. */
enum gpus_how gres_how(const struct conf *conf, const char *node)
{
    enum gpus_how global = GPUS_OFF, own = GPUS_OFF, how;
    bool has_own = false;

    for (size_t i = 0; i < conf_gres_rows(conf); i++) {
        const struct conf_gres *c = conf_gres_row(conf, i);
        int r =
            c->autodetect && row_applies(c, node) ? gpus_how_parse(c->autodetect, &how) : -ENOENT;

        if (r == -EOPNOTSUPP)
            log_error(
                "gres.conf: AutoDetect=%s needs a library that is not used: no GPU is looked for",
                c->autodetect);
        if (r < 0)
            continue;
        if (c->node_names) {
            own = how;
            has_own = true;
        } else {
            global = how;
        }
    }
    return has_own ? own : global;
}

enum gpus_how gres_how_dynamic(const struct conf *conf, const char *node)
{
    for (size_t i = 0; i < conf_gres_rows(conf); i++) {
        const struct conf_gres *c = conf_gres_row(conf, i);

        if (row_applies(c, node) && (c->autodetect || (c->name && strcmp(c->name, "gpu") == 0)))
            return gres_how(conf, node);
    }
    return GPUS_FULL;
}

static int add_conf_rows(struct gres_rows *g, const struct conf *conf, const char *node, bool gpus)
{
    struct gres_row *row;
    int r = 0;

    for (size_t i = 0; r == 0 && i < conf_gres_rows(conf); i++) {
        const struct conf_gres *c = conf_gres_row(conf, i);

        if (c->name && row_applies(c, node) &&
            (gpus || strcmp(c->name, "gpu") != 0 || counts_only(c->flags)))
            r = add_row(g, c, c->type, &row);
    }
    return r;
}

/* ---- what slurm.conf expects ----------------------------------------------------------------- */

/* Of the rows with a type, or of any without one. */
static uint64_t rows_count(const struct gres_rows *g, const char *name, const char *type,
                           bool *ret_any)
{
    uint64_t n = 0;

    *ret_any = false;
    for (size_t i = 0; i < g->n; i++) {
        const struct gres_row *row = &g->rows[i];

        if (strcmp(row->name, name) != 0)
            continue;
        *ret_any = true;
        if (!type || !row->type || strcmp(row->type, type) == 0)
            n += row->count;
    }
    return n;
}

static void warn_of_more(const struct gres_rows *g, const char *configured)
{
    for (size_t i = 0; i < g->n; i++) {
        const struct gres_row *row = &g->rows[i];
        bool any;
        uint64_t want = gres_text_count(configured, row->name, row->type, &any);

        if (row->count > want && strcmp(row->name, "gpu") == 0 && configured)
            log_info("warning: A line in gres.conf for GRES %s%s%s has %llu more configured than "
                     "expected in slurm.conf. Ignoring extra GRES.",
                     row->name, row->type ? ":" : "", row->type ? row->type : "",
                     (unsigned long long)(row->count - want));
    }
}

/* Fewer devices than slurm.conf gives the node: it cannot be used as it is.  Where gres.conf does
 * not name them at all, slurm.conf is believed. */
static int compare_configured(struct gres_rows *g, const char *configured)
{
    _cleanup_free_ char *copy = configured ? strdup(configured) : NULL;
    char *save = NULL;

    if (configured && !copy)
        return -ENOMEM;
    if (!g->problem)
        warn_of_more(g, configured);
    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
        struct gres_text want;
        bool any;
        uint64_t n;

        if (!gres_text_parse(w, &want))
            continue;
        n = rows_count(g, want.name, want.type, &any);
        if (any && n < want.count)
            complain(g, "gres/%s count reported lower than configured (%llu < %llu)", want.name,
                     (unsigned long long)n, (unsigned long long)want.count);
        if (any && !n && strcmp(want.name, "gpu") == 0)
            log_info("warning: Ignoring file-less GPU %s%s%s from final GRES list", want.name,
                     want.type ? ":" : "", want.type ? want.type : "");
    }
    return 0;
}

int gres_rows_new(const struct conf *conf, const struct conf_node *node, enum gpus_how how,
                  const char *root, const struct cpu_map *map, struct gres_rows **ret)
{
    struct gres_rows *g = calloc(1, sizeof(*g));
    _cleanup_free_ struct gpu_found *found = NULL;
    int n, r = g ? 0 : -ENOMEM;

    if (r == 0 && how != GPUS_OFF) {
        n = gpus_find(root, how, &found);
        r = merge_rows(g, conf, node, found, (size_t)n, map);
    }
    if (r == 0)
        r = add_conf_rows(g, conf, node->name, how == GPUS_OFF);
    if (r == 0)
        r = compare_configured(g, node->gres);
    if (r < 0) {
        gres_rows_free(g);
        return r;
    }
    *ret = g;
    return 0;
}

/* ---- what is told of them -------------------------------------------------------------------- */

/* Devices of a name are numbered through the rows: the first row's are 0 and up. */
static uint64_t devices_before(const struct gres_rows *rows, size_t row)
{
    const char *name = rows->rows[row].name;
    uint64_t n = 0;

    for (size_t i = 0; i < row; i++)
        if (rows->rows[i].file && strcmp(rows->rows[i].name, name) == 0)
            n += rows->rows[i].count;
    return n;
}

int gres_text(const struct gres_rows *rows, const char *configured, char **ret_text)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < rows->n; i++) {
        const struct gres_row *g = &rows->rows[i];
        uint64_t first = devices_before(rows, i);

        strbuf_addf(&sb, "%s%s%s%s:%llu", sb.len ? "," : "", g->name, g->type ? ":" : "",
                    g->type ? g->type : "", (unsigned long long)g->count);
        if (g->file && g->count)
            strbuf_addf(&sb, g->count > 1 ? "(%llu-%llu)" : "(%llu)", (unsigned long long)first,
                        (unsigned long long)(first + g->count - 1));
    }
    if (!sb.len)
        strbuf_add(&sb, configured ? configured : "");
    return strbuf_detach(&sb, ret_text);
}

static uint32_t env_bits(const struct gres_row *g)
{
    static const struct {
        const char *flag;
        uint32_t bit;
    } flags[] = {
        { "nvidia_gpu_env", GPU_ENV_CUDA }, { "amd_gpu_env", GPU_ENV_ROCR | GPU_ENV_OPENCL },
        { "intel_gpu_env", GPU_ENV_ZE },    { "opencl_env", GPU_ENV_OPENCL },
        { "no_gpu_env", GPU_ENV_NONE },     { "env_uuid", GPU_ENV_UUID },
    };
    uint32_t bits = 0;

    for (size_t k = 0; g->flags && k < ARRAY_SIZE(flags); k++)
        if (strcasestr(g->flags, flags[k].flag))
            bits |= flags[k].bit;
    if (!(bits & ~(uint32_t)GPU_ENV_UUID) && g->how == GPUS_NVIDIA)
        bits |= GPU_ENV_CUDA;
    if (!(bits & ~(uint32_t)GPU_ENV_UUID) && g->how == GPUS_AMD)
        bits |= GPU_ENV_ROCR | GPU_ENV_OPENCL;
    return bits;
}

void gres_files(const struct gres_rows *rows, gres_file_fn *fn, void *ctx)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct gres_row *g = &rows->rows[i];
        _cleanup_(hostlist_free) struct hostlist *files = NULL;
        uint64_t first = devices_before(rows, i);

        if (!g->file || hostlist_parse(g->file, &files, NULL) < 0)
            continue;
        for (size_t k = 0; k < hostlist_count(files); k++)
            fn(ctx, g->name, (uint32_t)(first + MIN(k, MAX(g->count, 1) - 1)),
               hostlist_nth(files, k));
    }
}

/* The number at the end of a file's name. */
static bool number_of(const char *file, uint32_t *ret)
{
    size_t len = strlen(file), at = len;
    uint64_t n;

    while (at && file[at - 1] >= '0' && file[at - 1] <= '9')
        at--;
    if (at == len || parse_u64(file + at, 0, UINT32_MAX, &n) < 0)
        return false;
    *ret = (uint32_t)n;
    return true;
}

static int nth_word(const char *list, size_t nth, char **ret)
{
    while (list && nth--) {
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    if (!list || !*list || *list == ',')
        return 0;
    *ret = strndup(list, strcspn(list, ","));
    return *ret ? 0 : -ENOMEM;
}

static int fill_gpu(const struct gres_row *g, size_t at, const char *file, uint64_t number,
                    Pst__Gpu *to)
{
    int r = pb_set_str(&to->path, file);

    to->has_number = to->has_minor = to->has_env = true;
    to->number = (uint32_t)number;
    if (!number_of(file, &to->minor))
        to->minor = (uint32_t)number;
    to->env = env_bits(g);
    r = r < 0 ? r : pb_set_str(&to->cores, g->cores);
    return r < 0 ? r : nth_word(g->uuids, at, &to->uuid);
}

static int row_gpus(const struct gres_rows *rows, size_t row, Pst__StepFile *sf)
{
    const struct gres_row *g = &rows->rows[row];
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    int r = 0;

    if (!g->file || strcmp(g->name, "gpu") != 0 || hostlist_parse(g->file, &hl, NULL) < 0)
        return 0;
    for (size_t i = 0;
         r == 0 && i < hostlist_count(hl) && i < g->count && sf->n_gpus < GPUS_OF_NODE_MAX; i++) {
        Pst__Gpu **list = realloc(sf->gpus, (sf->n_gpus + 1) * sizeof(Pst__Gpu *)), *gpu;

        if (!list)
            return -ENOMEM;
        sf->gpus = list;
        gpu = malloc(sizeof(*gpu));
        if (!gpu)
            return -ENOMEM;
        pst__gpu__init(gpu);
        list[sf->n_gpus++] = gpu;
        r = fill_gpu(g, i, hostlist_nth(hl, i), devices_before(rows, row) + i, gpu);
    }
    return r;
}

int gres_step_gpus(const struct gres_rows *rows, Pst__StepFile *sf)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < rows->n; i++)
        r = row_gpus(rows, i, sf);
    return r;
}

/* ---- the record ------------------------------------------------------------------------------ */

/* The index among the GPUs of the one with that file, or -1. */
static int64_t gpu_with_file(const struct gres_rows *rows, const char *file)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct gres_row *g = &rows->rows[i];
        _cleanup_(hostlist_free) struct hostlist *hl = NULL;
        ssize_t at;

        if (!g->file || strcmp(g->name, "gpu") != 0 || hostlist_parse(g->file, &hl, NULL) < 0)
            continue;
        at = hostlist_find(hl, file);
        if (at >= 0)
            return (int64_t)devices_before(rows, i) + at;
    }
    return -1;
}

/* The GPUs a line of shares is for; *ret stays NULL when it is for all. */
static int shared_gpus(const struct gres_rows *rows, const struct gres_row *g, char **ret)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    _cleanup_(bitmap_free) struct bitmap *gpus = NULL;
    int r = g->file ? hostlist_parse(g->file, &hl, NULL) : -ENOENT;

    if (r < 0)
        return r == -ENOMEM ? r : 0; /* checked with the configuration */
    r = bitmap_new(GPUS_OF_NODE_MAX, &gpus);
    for (size_t i = 0; r == 0 && i < hostlist_count(hl); i++) {
        int64_t at = gpu_with_file(rows, hostlist_nth(hl, i));

        if (at >= 0 && at < GPUS_OF_NODE_MAX)
            bitmap_set(gpus, (uint32_t)at);
    }
    return r < 0 || bitmap_empty(gpus) ? r : bitmap_format(gpus, ret);
}

static int device_range(const struct gres_rows *rows, size_t at, char **ret)
{
    const struct gres_row *g = &rows->rows[at];
    uint64_t first = devices_before(rows, at);

    if (!g->file || !g->count)
        return 0;
    return asprintf(ret, g->count > 1 ? "%llu-%llu" : "%llu", (unsigned long long)first,
                    (unsigned long long)(first + g->count - 1)) < 0
               ? -ENOMEM
               : 0;
}

static int fill_topo(const struct gres_rows *rows, size_t at, Pst__GresTopo *to)
{
    const struct gres_row *g = &rows->rows[at];
    int r = pb_set_str(&to->name, g->name);

    r = r < 0 ? r : pb_set_str(&to->type, g->type);
    r = r < 0 ? r : pb_set_str(&to->cores, g->cores);
    r = r < 0 ? r : pb_set_str(&to->links, g->links);
    if (r == 0)
        r = gres_shares_gpu(g->name) ? shared_gpus(rows, g, &to->devices)
                                     : device_range(rows, at, &to->devices);
    to->has_count = true;
    to->count = g->count;
    if (g->flags && strcasestr(g->flags, "explicit")) {
        to->has_explicit_only = true;
        to->explicit_only = true;
    }
    return r;
}

int gres_topo(const struct gres_rows *rows, Pst__NodeRecord *rec)
{
    int r = pb_set_str(&rec->gres_problem, rows->problem);

    rec->gres_topo = calloc(rows->n + 1, sizeof(Pst__GresTopo *));
    if (!rec->gres_topo)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < rows->n; i++) {
        Pst__GresTopo *to = malloc(sizeof(*to));

        if (!to)
            return -ENOMEM;
        pst__gres_topo__init(to);
        rec->gres_topo[rec->n_gres_topo++] = to;
        r = fill_topo(rows, i, to);
    }
    return r;
}

/* ---- slurmd -G ------------------------------------------------------------------------------- */

static void print_row(FILE *f, const struct gres_rows *rows, size_t at)
{
    const struct gres_row *g = &rows->rows[at];
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    uint64_t first = devices_before(rows, at);
    size_t n = g->file && !gres_shares_gpu(g->name) && hostlist_parse(g->file, &hl, NULL) == 0
                   ? hostlist_count(hl)
                   : 0;

    for (size_t i = 0; i < MAX(n, (size_t)1); i++) {
        (void)fprintf(f, "Gres Name=%s Type=%s Count=%llu", g->name, g->type ? g->type : "(null)",
                      (unsigned long long)(n ? 1 : g->count));
        if (n)
            (void)fprintf(f, " Index=%llu File=%s", (unsigned long long)(first + i),
                          hostlist_nth(hl, i));
        if (g->cores)
            (void)fprintf(f, " Cores=%s", g->cores);
        (void)fprintf(f, " Links=%s Flags=%s%s%s%s%s\n", g->links ? g->links : "(null)",
                      n ? "HAS_FILE" : "COUNT_ONLY", g->type ? ",HAS_TYPE" : "",
                      env_bits(g) & GPU_ENV_CUDA ? ",ENV_NVML" : "",
                      env_bits(g) & GPU_ENV_ROCR ? ",ENV_RSMI" : "",
                      env_bits(g) & GPU_ENV_UUID ? ",ENV_UUID" : "");
    }
}

void gres_print(FILE *f, const struct gres_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        print_row(f, rows, i);
    if (rows->problem)
        (void)fprintf(stderr, "slurmd: error: %s\n", rows->problem);
}
