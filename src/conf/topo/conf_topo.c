/* conf_topo.c - which topologies a configuration has; see conf_topo.h
 *
 * The object holds a struct conf of its own, for the texts of the files and the pool. */
#include "conf/topo/conf_topo_priv.h"
#include "conf/topo/conf_topobuild.h"
#include "conf/topo/conf_topoline.h"
#include "conf/topo/conf_topoyaml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *plugin;
    enum conf_topo_kind kind;
} plugins[] = {
    { "topology/flat", CONF_TOPO_FLAT },   { "topology/default", CONF_TOPO_FLAT },
    { "topology/none", CONF_TOPO_FLAT },   { "topology/tree", CONF_TOPO_TREE },
    { "topology/block", CONF_TOPO_BLOCK }, { "topology/ring", CONF_TOPO_RING_KIND },
};

/* ---- which file is in force ------------------------------------------------------------------ */

/* conf_load() knows the words. */
static enum conf_topo_kind kind_of(const struct conf *c)
{
    const char *word = conf_str(c, CONF_TOPOLOGY_PLUGIN);

    for (size_t i = 0; i < ARRAY_SIZE(plugins); i++)
        if (strcasecmp(word, plugins[i].plugin) == 0)
            return plugins[i].kind;
    return CONF_TOPO_FLAT;
}

/* Without topology.yaml: one topology, of the kind that TopologyPlugin names. */
static int load_plain(struct topo_loader *tl, const char *path)
{
    struct conf_topo *t;

    tl->file = path;
    t = conf_topo_add(tl, "default", 0);
    if (!t)
        return -ENOMEM;
    t->kind = kind_of(tl->conf);
    return t->kind == CONF_TOPO_FLAT ? 0 : conf_topoline_read(tl, path, t);
}

static char *path_beside(const char *dir, const char *name)
{
    char *path;

    if (asprintf(&path, "%s%s%s", dir, dir[0] && dir[strlen(dir) - 1] != '/' ? "/" : "", name) < 0)
        return NULL;
    return path;
}

/* The entry that is the cluster's default comes first, the others keep their order. */
static void put_default_first(struct conf_topos *t)
{
    for (size_t i = 1; !t->items[0].is_default && i < t->n; i++) {
        struct conf_topo first = t->items[i];

        if (!first.is_default)
            continue;
        memmove(t->items + 1, t->items, i * sizeof(*t->items));
        t->items[0] = first;
    }
}

static int load_files(struct topo_loader *tl)
{
    _cleanup_free_ char *yaml = path_beside(tl->out->holder->dir, "topology.yaml");
    _cleanup_free_ char *plain = path_beside(tl->out->holder->dir, "topology.conf");
    struct conf_source src;
    int r;

    if (!yaml || !plain)
        return -ENOMEM;
    r = conf_source_optional(&tl->l, yaml, &src);
    if (r < 0)
        return r;
    if (r > 0) {
        tl->file = src.name;
        tl->out->yaml = true;
        r = conf_topoyaml_read(tl, &src);
    } else if (!tl->l.nerrors) { /* a topology.yaml that cannot be read is noted */
        r = load_plain(tl, plain);
    }
    if (r == 0 && tl->out->n)
        put_default_first(tl->out);
    return r;
}

static int run_load(struct topo_loader *tl, const char *dir, struct conf_topos **ret)
{
    _cleanup_(conf_topos_free) struct conf_topos *out = calloc(1, sizeof(*out));
    int r;

    if (!out)
        return -ENOMEM;
    out->holder = calloc(1, sizeof(*out->holder));
    if (!out->holder)
        return -ENOMEM;
    out->holder->dir = strdup(dir);
    if (!out->holder->dir)
        return -ENOMEM;
    tl->out = out;
    tl->l.c = out->holder;
    r = load_files(tl);
    if (tl->no_memory)
        r = -ENOMEM;
    if (r == 0 && tl->l.nerrors)
        r = -EINVAL;
    if (r < 0)
        return r == -ENOMEM ? err_nomem(tl->l.err) : r;
    *ret = TAKE_PTR(out);
    return 0;
}

int conf_topos_load_in(const struct conf *c, const char *dir, struct conf_topos **ret_topos,
                       struct conf_problems *problems, struct err *err)
{
    struct topo_loader tl = { .l = { .problems = problems, .err = err }, .conf = c };

    if (problems)
        *problems = (struct conf_problems){ 0 };
    return run_load(&tl, dir ? dir : c->dir, ret_topos);
}

int conf_topos_load(const struct conf *c, struct conf_topos **ret_topos,
                    struct conf_problems *problems, struct err *err)
{
    return conf_topos_load_in(c, NULL, ret_topos, problems, err);
}

int conf_topos_load_text(const struct conf *c, const struct conf_text *files, size_t n,
                         struct conf_topos **ret_topos, struct conf_problems *problems,
                         struct err *err)
{
    static const struct conf_text none = { .name = "" };
    struct topo_loader tl = {
        .l = { .problems = problems, .err = err, .texts = n ? files : &none, .ntexts = n },
        .conf = c
    };

    if (problems)
        *problems = (struct conf_problems){ 0 };
    return run_load(&tl, "", ret_topos);
}

struct conf_topos *conf_topos_free(struct conf_topos *t)
{
    int saved = errno;

    if (!t)
        return NULL;
    for (size_t i = 0; i < t->nowned; i++)
        free(t->owned[i]);
    free(t->owned);
    free(t->items);
    conf_free(t->holder);
    free(t);
    errno = saved;
    return NULL;
}

size_t conf_topos_count(const struct conf_topos *t)
{
    return t->n;
}

const struct conf_topo *conf_topos_nth(const struct conf_topos *t, size_t i)
{
    return i < t->n ? &t->items[i] : NULL;
}

bool conf_topos_yaml(const struct conf_topos *t)
{
    return t->yaml;
}
