/* tgapply.c - see tgapply.h
 *
 * Nodes are known by name: graphs of two runs number them otherwise.  `told` is what the last run
 * left; a run makes a new one. */
#include "penstock/tgapply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "penstock/penstock.h"
#include "penstock/tgload.h"

#define SAID_MAX 65536u
#define REFUSED "?"     /* no units are called so: it is tried again */
#define NODES_EACH 512u /* of one update: lists of names grow long */

struct told {
    struct graphindex names; /* -> places in units */
    const char **name, **units;
    size_t n;
    struct graphpool pool;
};
struct tgapply {
    struct told last;
};

static void told_done(struct told *t)
{
    graphindex_done(&t->names);
    graphpool_done(&t->pool);
    free(t->name);
    free(t->units);
    *t = (struct told){ 0 };
}

static int told_init(struct told *t, size_t cap)
{
    *t = (struct told){ .name = calloc(cap + 1, sizeof(char *)),
                        .units = calloc(cap + 1, sizeof(char *)) };
    return t->name && t->units ? 0 : -ENOMEM;
}

static int told_add(struct told *t, const char *name, const char *units)
{
    size_t i = t->n;

    t->name[i] = graphpool_add(&t->pool, name, strlen(name));
    t->units[i] = graphpool_add(&t->pool, units, strlen(units));
    if (!t->name[i] || !t->units[i])
        return -ENOMEM;
    t->n++;
    return graphindex_put(&t->names, t->name[i], (uint32_t)i);
}

static const char *told_units(const struct told *t, const char *name)
{
    uint32_t i = graphindex_find(&t->names, name);

    return i == GRAPH_NONE ? NULL : t->units[i];
}

int tgapply_new(struct tgapply **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

struct tgapply *tgapply_free(struct tgapply *a)
{
    if (a)
        told_done(&a->last);
    free(a);
    return NULL;
}

/* Nodes that are to get the same. */
struct batch {
    const char *names[NODES_EACH];
    size_t n;
    const char *units;
};

static int send_batch(const char *scontrol, struct batch *b, struct told *now, size_t *failed)
{
    _cleanup_free_ char *list = NULL, *node = NULL, *topology = NULL, *said = NULL;
    struct err err = { .text = "" };
    size_t len;
    int r = 0;

    if (!b->n)
        return 0;
    if (hostlist_fold_names(b->names, b->n, &list) < 0 ||
        asprintf(&node, "NodeName=%s", list) < 0 ||
        asprintf(&topology, "Topology=%s", b->units) < 0)
        return -ENOMEM;
    r = tgload_program(
        (char *[]){ (char *)(uintptr_t)scontrol, (char *)"update", node, topology, NULL }, SAID_MAX,
        &said, &len, &err);
    if (r < 0) {
        (void)say_error("scontrol update %s %s: %s", node, topology, err.text);
        *failed += b->n;
    }
    for (size_t i = 0; i < b->n; i++)
        if (told_add(now, b->names[i], r == 0 ? b->units : REFUSED) < 0)
            return -ENOMEM;
    b->n = 0;
    return 0;
}

static int add_node(const char *scontrol, struct batch *b, const char *name, const char *units,
                    struct told *now, size_t *failed)
{
    if (b->n == NODES_EACH || (b->n && strcmp(b->units, units) != 0)) {
        int r = send_batch(scontrol, b, now, failed);

        if (r < 0)
            return r;
    }
    b->units = units;
    b->names[b->n++] = name;
    return 0;
}

static int tell_nodes(struct tgapply *a, const char *scontrol, const struct graph *g,
                      const struct topofile_units *u, struct told *now, size_t *changed,
                      size_t *failed)
{
    struct batch batch = { .n = 0 };
    int r = 0;

    for (size_t i = 0; r == 0 && i < u->n; i++) {
        const char *units = u->of[i] ? u->of[i] : "",
                   *before = told_units(&a->last, g->nodes[i].name);

        if (before ? strcmp(before, units) == 0 : !*units) {
            r = told_add(now, g->nodes[i].name, units);
            continue;
        }
        ++*changed;
        r = add_node(scontrol, &batch, g->nodes[i].name, units, now, failed);
    }
    return r == 0 ? send_batch(scontrol, &batch, now, failed) : r;
}

/* Nodes that no run describes any more. */
static int clear_gone(struct tgapply *a, const char *scontrol, const struct graph *g,
                      struct told *now, size_t *changed, size_t *failed)
{
    struct graphindex here = { 0 };
    struct batch batch = { .n = 0 };
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < g->nnodes; i++)
        r = graphindex_put(&here, g->nodes[i].name, i);
    for (size_t i = 0; r == 0 && i < a->last.n; i++) {
        if (!*a->last.units[i] || graphindex_find(&here, a->last.name[i]) != GRAPH_NONE)
            continue;
        ++*changed;
        r = add_node(scontrol, &batch, a->last.name[i], "", now, failed);
    }
    if (r == 0)
        r = send_batch(scontrol, &batch, now, failed);
    graphindex_done(&here);
    return r;
}

int tgapply_units(struct tgapply *a, const struct graph *g, const struct topofile_units *u,
                  size_t *ret_changed, size_t *ret_failed, struct err *err)
{
    char scontrol[INSTANCE_PATH_MAX];
    struct told now = { 0 };
    int r = program_find("scontrol", scontrol, sizeof(scontrol), err);

    *ret_changed = *ret_failed = 0;
    if (r < 0)
        return r;
    r = told_init(&now, u->n + a->last.n);
    if (r == 0)
        r = tell_nodes(a, scontrol, g, u, &now, ret_changed, ret_failed);
    if (r == 0)
        r = clear_gone(a, scontrol, g, &now, ret_changed, ret_failed);
    if (r < 0) {
        told_done(&now);
        return err_nomem(err);
    }
    told_done(&a->last);
    a->last = now;
    return 0;
}
