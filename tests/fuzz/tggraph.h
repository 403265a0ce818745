/* tggraph.h - what holds for every graph that was read: it is finished, and written in each form */
#pragma once

#include <assert.h>
#include <string.h>

#include "topograph/graphfinish.h"
#include "topograph/write/tglabels.h"
#include "topograph/write/topofile.h"

static inline void check_order(const struct graph *g)
{
    for (size_t i = 0; i < g->nswitches; i++) {
        const struct graph_switch *s = &g->switches[i];

        assert(s->parent == GRAPH_NONE || s->parent < i);
        assert((s->nchildren == 0) == (s->nnodes > 0));
        assert(s->name[0] && strlen(s->name) <= GRAPH_UNIT_MAX);
        assert(!strpbrk(s->name, " \t\n:[],=#\""));
        for (uint32_t k = 0; k < s->nchildren; k++)
            assert(g->switches[s->first_child + k].parent == i);
        for (uint32_t k = 0; k < s->nnodes; k++)
            assert(g->nodes[s->first_node + k].leaf == i);
    }
}

static inline void write_all(const struct graph *g)
{
    static const enum topofile_plugin plugins[] = { TOPOFILE_TREE, TOPOFILE_BLOCK };
    const struct tglabels_params labels = { 0 };

    for (size_t i = 0; i < ARRAY_SIZE(plugins); i++) {
        struct topofile t = { .name = "default", .plugin = plugins[i], .graph = g };
        struct strbuf out = STRBUF_INIT;
        struct topofile_units u;
        struct err err = { .text = "" };

        assert((topofile_conf(&t, &out, &err) == 0) == (err.text[0] == '\0'));
        if (topofile_yaml(&t, 1, &out, &err) == 0)
            assert(topofile_units(g, &t, 1, &u, &err) == 0);
        if (!err.text[0]) {
            assert(topofile_nodes(g, &u, &out, &err) == 0);
            topofile_units_done(&u);
        }
        strbuf_reset(&out);
        (void)tglabels_kubernetes(g, &labels, &out, &err); /* names may be no UTF-8 */
        strbuf_done(&out);
    }
}

/* r: what the reader gave, with its sentence. */
static inline void check_graph(struct graph *g, int r, const struct err *said, unsigned trim)
{
    const struct graph_finish how = { .trim_tiers = trim, .normalise = trim == 2 };
    struct err err = { .text = "" };

    assert((r < 0) == (said->text[0] != '\0'));
    if (r == 0) {
        r = graph_finish(g, &how, &err);
        assert((r < 0) == (err.text[0] != '\0'));
    }
    if (r == 0) {
        check_order(g);
        write_all(g);
    }
}
