/* tresfactor.c - the TRES factors: how much of a partition's CPUs, memory, devices a job asks for
 */
#include "sched/rules/tresfactor.h"

#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/state/classes.h"
#include "sched/state/gresrow.h"
#include "sched/state/jobs.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"
#include "sched/base/strtab.h"

static bool gres_named(const struct sched *s, const struct gres_row *row, const char *want)
{
    size_t len = strcspn(want, ":");
    const char *name = s->gres_tab.names[row->name];

    if (strlen(name) != len || strncmp(name, want, len) != 0)
        return false;
    return !want[len] ||
           (row->type != STRTAB_NONE && strcmp(s->gres_tab.names[row->type], want + len + 1) == 0);
}

double tres_of_node(const struct sched *s, const struct node *n, const char *name)
{
    double sum = 0;

    if (strcmp(name, "cpu") == 0)
        return n->cpus;
    if (strcmp(name, "node") == 0)
        return 1;
    if (strcmp(name, "mem") == 0)
        return (double)n->mem_mib;
    if (strncmp(name, "gres/", 5) == 0)
        for (uint32_t i = 0; i < n->ngres; i++)
            if (gres_named(s, &n->gres[i], name + 5))
                sum += (double)n->gres[i].total;
    return sum;
}

void tres_totals(struct sched *s)
{
    if (s->tres_gen == s->config_gen + 1 || !s->params.ntres_weights)
        return;
    for (uint32_t p = 0; p < s->nparts; p++) {
        struct part *part = s->parts[p];

        for (uint32_t t = 0; t < s->params.ntres_weights; t++) {
            const char *name = s->params.tres_weights[t].name;
            double sum = 0;

            BITMAP_FOREACH (part->nodes, id)
                sum += tres_of_node(s, &s->nodes[id], name);
            part->tres_total[t] = sum;
        }
    }
    s->tres_gen = s->config_gen + 1;
}

static double asked_gres(const struct shape *shape, const char *want)
{
    size_t len = strcspn(want, ":");
    double sum = 0;

    for (uint32_t i = 0; i < shape->key.ngres; i++) {
        const struct shape_gres *g = &shape->key.gres[i];
        const char *name = shape->text + g->name_off;
        const char *type = g->type_off == UINT32_MAX ? NULL : shape->text + g->type_off;
        double tasks = shape->key.num_tasks ? shape->key.num_tasks : shape_nodes(shape);

        if (strlen(name) != len || strncmp(name, want, len) != 0)
            continue;
        if (want[len] && (!type || strcmp(type, want + len + 1) != 0))
            continue;
        sum += (double)g->per_job + (double)g->per_node * shape_nodes(shape) +
               (double)g->per_task * tasks;
    }
    return sum;
}

double tres_asked(const struct entry *e, const char *name)
{
    const struct shape *shape = e->cls->shape;

    if (strcmp(name, "cpu") == 0)
        return shape_cpus(shape);
    if (strcmp(name, "node") == 0)
        return shape_nodes(shape);
    if (strcmp(name, "mem") == 0)
        return shape->key.flags & SHAPE_MEM_PER_NODE
                   ? (double)shape->key.mem_per_node_mib * shape_nodes(shape)
                   : (double)shape->key.mem_per_cpu_mib * shape_cpus(shape);
    return strncmp(name, "gres/", 5) == 0 ? asked_gres(shape, name + 5) : 0;
}

double tres_factor(const struct sched *s, const struct entry *e, uint32_t i)
{
    double n = tres_asked(e, s->params.tres_weights[i].name),
           total = s->parts[e->part]->tres_total[i];

    if (s->params.prio_flags & SCHED_PRIO_NO_NORMAL_TRES)
        return n;
    return total > 0 ? MIN(n / total, 1.0) : 0;
}
