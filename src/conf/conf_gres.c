/* conf_gres.c - gres.conf: which device files a node's generic resources have.
 *
 * Read beside slurm.conf; absent means no rows.  A line with AutoDetect and no Name is kept as a
 * row without a name. */
#include "conf/conf_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "conf/lex/conf_lex.h"

bool conf_gres_declared(const struct conf *c, const char *name, size_t len)
{
    const char *types = conf_str(c, CONF_GRES_TYPES);

    for (const char *p = types; p && *p;) {
        size_t n = strcspn(p, ", ");

        if (n == len && strncasecmp(p, name, len) == 0)
            return true;
        p += n;
        p += *p != '\0';
    }
    return false;
}

static char *pool_value(struct conf_loader *l, const struct conf_val *v)
{
    return v->set && v->text[0] ? conf_pool_strdup(&l->c->pool, v->text) : NULL;
}

/* Shares of a device: their count has nothing to do with the number of files. */
static bool is_shared(const char *name)
{
    return strcasecmp(name, "mps") == 0 || strcasecmp(name, "shard") == 0;
}

static int count_files(struct conf_loader *l, const struct conf_row *row, const char *files,
                       uint64_t *ret)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    struct err err = { .text = "" };
    int r = hostlist_parse(files, &hl, &err);

    if (r == -ENOMEM)
        return r;
    *ret = 0;
    if (r < 0)
        conf_error(l, row->file, row->line, "File=%.64s: %s", files, err.text);
    else if (hostlist_count(hl) > CONF_MAX_GRES_FILES)
        conf_error(l, row->file, row->line, "File=%.64s names more than %u files", files,
                   CONF_MAX_GRES_FILES);
    else
        *ret = hostlist_count(hl);
    return 0;
}

static int set_count(struct conf_loader *l, const struct conf_row *row, struct conf_gres *g)
{
    const struct conf_val *count = &row->vals[GK_COUNT];
    uint64_t files = 0;
    int r = g->file ? count_files(l, row, g->file, &files) : 0;

    if (r < 0)
        return r;
    g->count = count->set ? count->num : (files ? files : 1);
    if (count->set && files && files != g->count && !is_shared(g->name))
        conf_error(l, row->file, row->line, "Count=%ju does not match the %ju files of File",
                   (uintmax_t)g->count, (uintmax_t)files);
    return 0;
}

static void check_row(struct conf_loader *l, const struct conf_row *row)
{
    const struct conf_val *v = row->vals;

    if (!v[GK_NAME].set && !v[GK_AUTO_DETECT].set)
        conf_error(l, row->file, row->line, "a line without Name or AutoDetect");
    else if (v[GK_NAME].set && !conf_gres_declared(l->c, v[GK_NAME].text, strlen(v[GK_NAME].text)))
        conf_warn(l, row->file, row->line, "Name=%.64s is not in GresTypes of slurm.conf",
                  v[GK_NAME].text);
    if (v[GK_FILE].set && v[GK_MULTIPLE_FILES].set)
        conf_error(l, row->file, row->line, "File and MultipleFiles exclude each other");
    if (v[GK_NODE_NAME].set) {
        _cleanup_(hostlist_free) struct hostlist *hl = NULL;
        struct err err = { .text = "" };

        if (hostlist_parse(v[GK_NODE_NAME].text, &hl, &err) < 0)
            conf_error(l, row->file, row->line, "NodeName=%.64s: %s", v[GK_NODE_NAME].text,
                       err.text);
    }
}

static int gres_line(struct conf_loader *l, struct conf_row *row)
{
    const struct conf_val *v = row->vals;
    struct conf *c = l->c;
    struct conf_gres g = { 0 };
    int r = 0;

    conf_row_alias(row, GK_CPUS, GK_CORES);
    conf_row_audit(l, CONF_TBL_GRES, v);
    check_row(l, row);
    if (c->ngres >= CONF_MAX_ROWS) {
        conf_error(l, row->file, row->line, "more than %u lines", CONF_MAX_ROWS);
        return -E2BIG;
    }
    g.node_names = pool_value(l, &v[GK_NODE_NAME]);
    g.name = pool_value(l, &v[GK_NAME]);
    g.type = pool_value(l, &v[GK_TYPE]);
    g.file = pool_value(l, v[GK_FILE].set ? &v[GK_FILE] : &v[GK_MULTIPLE_FILES]);
    g.cores = pool_value(l, &v[GK_CORES]);
    g.links = pool_value(l, &v[GK_LINKS]);
    g.flags = pool_value(l, &v[GK_FLAGS]);
    g.autodetect = pool_value(l, &v[GK_AUTO_DETECT]);
    if (g.name && v[GK_MULTIPLE_FILES].set)
        g.count = v[GK_COUNT].set ? v[GK_COUNT].num : 1;
    else if (g.name)
        r = set_count(l, row, &g);
    if (r < 0 || conf_grow(&c->gres, &c->gres_cap, c->ngres, sizeof(*c->gres)) < 0)
        return -ENOMEM;
    c->gres[c->ngres++] = g;
    return 0;
}

static int gres_file(struct conf_loader *l, const char *path)
{
    struct conf_source src;
    struct conf_lex lx;
    char *line;
    unsigned number;
    int r = conf_source_optional(l, path, &src);

    if (r <= 0)
        return r;
    r = 0;
    conf_lex_init(&lx, src.text, src.len);
    while (r == 0 && conf_lex_line(&lx, &line, &number)) {
        size_t before = l->nerrors;
        struct conf_val vals[GK_MAX_] = { 0 };
        struct conf_row row = { .file = src.name, .line = number, .vals = vals };

        conf_row_parse(l, CONF_TBL_GRES, &row, line);
        if (l->nerrors == before)
            r = gres_line(l, &row);
    }
    return r == -E2BIG ? 0 : r;
}

int conf_gres_load(struct conf_loader *l)
{
    return conf_source_include(l, "gres.conf", gres_file);
}
