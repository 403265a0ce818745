/* unitnodes.c - functions in a list of nodes; see unitnodes.h */
#include "cli/query/unitnodes.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"

struct call { /* "blockwith{n1}" */
    const char *kind;
    bool with;
    char arg[256];
};

/* Is it the function of units of this kind of topology? */
static bool read_call(const char *item, const char *kind, struct call *ret)
{
    const char *name = strcmp(kind, "tree") == 0 ? "switch" : kind;
    const char *brace = strchr(item, '{');
    size_t len = brace ? (size_t)(brace - item) : 0, n = strlen(name), end = strlen(item);

    *ret = (struct call){ .kind = kind, .with = len == n + 4 };
    if (!brace || end - len < 3 || item[end - 1] != '}' || end - len - 2 >= sizeof(ret->arg) ||
        strncasecmp(item, name, n) != 0)
        return false;
    if (len != n && !(ret->with && strncasecmp(item + n, "with", 4) == 0))
        return false;
    memcpy(ret->arg, brace + 1, end - len - 2);
    return true;
}

static bool unit_is(const Pst__TopologyUnit *u, const struct call *c)
{
    _cleanup_(hostlist_free) struct hostlist *nodes = NULL;

    if (!u->nodes)
        return false;
    if (!c->with)
        return strcmp(u->name, c->arg) == 0;
    return hostlist_parse(u->nodes, &nodes, NULL) == 0 && hostlist_find(nodes, c->arg) >= 0;
}

/* The first unit that it may be: base blocks and leaf switches come before what is made of them. */
const char *unit_nodes_of(const Pst__TopologyReply *t, const char *item)
{
    struct call c;

    if (!t->kind || !read_call(item, t->kind, &c))
        return NULL;
    for (unsigned level = 0; level < 32; level++)
        for (size_t i = 0; i < t->n_units; i++)
            if ((t->units[i]->aggregated ? 1u : t->units[i]->level) == level &&
                unit_is(t->units[i], &c))
                return t->units[i]->nodes;
    return NULL;
}
