/* conf_topobuild.c - what the readers of topologies build with; see conf_topobuild.h */
#include "conf/topo/conf_topobuild.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *conf_topo_alloc(struct topo_loader *tl, size_t n, size_t size)
{
    size_t bytes;
    void *p;

    if (__builtin_mul_overflow(n ? n : 1, size, &bytes)) {
        tl->no_memory = true;
        return NULL;
    }
    p = calloc(1, bytes);
    if (!p || conf_grow(&tl->out->owned, &tl->out->owned_cap, tl->out->nowned,
                        sizeof(*tl->out->owned)) < 0) {
        free(p);
        tl->no_memory = true;
        return NULL;
    }
    return tl->out->owned[tl->out->nowned++] = p;
}

char *conf_topo_strdup(struct topo_loader *tl, const char *text)
{
    char *copy = conf_pool_strdup(&tl->out->holder->pool, text);

    if (!copy)
        tl->no_memory = true;
    return copy;
}

struct conf_topo *conf_topo_add(struct topo_loader *tl, const char *name, unsigned line)
{
    struct conf_topos *out = tl->out;
    char *copy;

    if (out->n >= CONF_TOPO_MAX) {
        conf_error(&tl->l, tl->file, line, "more than %u topologies", CONF_TOPO_MAX);
        return NULL;
    }
    copy = conf_topo_strdup(tl, name);
    if (!copy || conf_grow(&out->items, &out->cap, out->n, sizeof(*out->items)) < 0) {
        tl->no_memory = true;
        return NULL;
    }
    out->items[out->n] = (struct conf_topo){ .name = copy, .line = line };
    return &out->items[out->n++];
}

/* A name can stand in Topology=NAME:UNIT and in a list. */
static bool is_name(const char *text)
{
    size_t len = strnlen(text, CONF_TOPO_NAME + 1);

    if (len == 0 || len > CONF_TOPO_NAME)
        return false;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f || strchr(",:[]{}\"'", text[i]))
            return false;
    return true;
}

struct conf_topo_unit *conf_topo_add_unit(struct topo_loader *tl, struct conf_topo *t,
                                          const char *name, unsigned line)
{
    char *copy;

    if (t->nunits >= CONF_TOPO_UNITS) {
        conf_error(&tl->l, tl->file, line, "topology %s has more than %u units", t->name,
                   CONF_TOPO_UNITS);
        return NULL;
    }
    if (!is_name(name))
        conf_error(&tl->l, tl->file, line,
                   "\"%.80s\" is no name: it has 1 to %u letters, and none of , : [ ] { } quotes "
                   "or spaces",
                   name, CONF_TOPO_NAME);
    copy = conf_topo_strdup(tl, name);
    if ((t->nunits & (t->nunits - 1)) == 0) { /* room doubles */
        size_t cap = t->nunits ? 2 * t->nunits : 1;
        struct conf_topo_unit *units = conf_topo_alloc(tl, cap, sizeof(*units));

        if (!units)
            return NULL;
        if (t->nunits)
            memcpy(units, t->units, t->nunits * sizeof(*units));
        t->units = units;
    }
    if (!copy)
        return NULL;
    t->units[t->nunits] = (struct conf_topo_unit){ .name = copy, .line = line };
    return &t->units[t->nunits++];
}

bool conf_topo_nodes(struct topo_loader *tl, const char *list, unsigned line, const char ***ret,
                     size_t *ret_n)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    struct err err = { .text = "" };
    const char **names;
    size_t n;
    int r = hostlist_parse(list, &hl, &err);

    if (r == -ENOMEM)
        tl->no_memory = true;
    else if (r < 0)
        conf_error(&tl->l, tl->file, line, "Nodes: %.200s", err.text);
    if (r < 0)
        return false;
    n = hostlist_count(hl);
    if (n > CONF_TOPO_CELLS - tl->cells) {
        conf_error(&tl->l, tl->file, line, "more than %u nodes are listed in all", CONF_TOPO_CELLS);
        return false;
    }
    tl->cells += n;
    names = conf_topo_alloc(tl, n, sizeof(*names));
    for (size_t i = 0; names && i < n; i++) {
        names[i] = conf_topo_strdup(tl, hostlist_nth(hl, i));
        if (!names[i])
            return false;
    }
    *ret = names;
    *ret_n = n;
    return names != NULL;
}
