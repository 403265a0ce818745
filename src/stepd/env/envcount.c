/* envcount.c - how many nodes, CPUs and tasks an allocation has; see env.h
 *
 * Pure; any thread. */
#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "model/words/alloccpus.h"
#include "stepd/env/env.h"

#define CPUS_MAX 65536u /* of a node */

uint32_t env_alloc_nodes(const Pst__Alloc *alloc)
{
    uint32_t n = 0;

    if (!alloc)
        return 0;
    if (alloc->n_node_ids)
        return (uint32_t)alloc->n_node_ids;
    for (size_t i = 0; i < alloc->n_groups; i++)
        n += alloc->groups[i]->nodes;
    return n;
}

static uint32_t per_node(const Pst__AllocGroup *g, bool tasks)
{
    return tasks ? g->tasks : alloc_task_cpus(g);
}

char *env_counts(struct envlist *el, const Pst__Alloc *alloc, bool tasks)
{
    struct strbuf sb = STRBUF_INIT;
    size_t i = 0, n = alloc ? alloc->n_groups : 0;
    char *text = NULL;

    while (i < n) {
        uint32_t value = per_node(alloc->groups[i], tasks), nodes = 0;

        while (i < n && per_node(alloc->groups[i], tasks) == value)
            nodes += alloc->groups[i++]->nodes;
        strbuf_addf(&sb, nodes > 1 ? "%s%u(x%u)" : "%s%u", sb.len ? "," : "", value, nodes);
    }
    if (strbuf_detach(&sb, &text) < 0)
        el->failed = true;
    return text;
}

uint32_t env_held_cpus(const Pst__AllocGroup *g)
{
    _cleanup_(bitmap_free) struct bitmap *held = NULL;

    if (!g->cpu_ids || bitmap_new(CPUS_MAX, &held) < 0 || bitmap_parse(held, g->cpu_ids, NULL) < 0)
        return g->cpus;
    return bitmap_count(held);
}

const Pst__AllocGroup *env_step_group(const Pst__StepFile *sf)
{
    const Pst__Alloc *alloc = sf->step ? sf->step->alloc : NULL;
    uint32_t index = sf->launch ? sf->launch->node_index : 0;

    for (size_t i = 0; alloc && i < alloc->n_groups; i++) {
        if (index < alloc->groups[i]->nodes)
            return alloc->groups[i];
        index -= alloc->groups[i]->nodes;
    }
    return NULL;
}
