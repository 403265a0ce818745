/* explain_units.c - which blocks or rings are almost enough for a job, and what they lack */
#include "sched/explain/explain_units.h"

#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/explain/explain_try.h"
#include "sched/explain/sched_explain.h"
#include "sched/rules/spares.h"
#include "sched/select/pick.h"
#include "sched/state/classes.h"
#include "sched/state/holders.h"
#include "sched/state/jobs.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"
#include "sched/topo/topo.h"
#include "sched/topo/topobits.h"
#include "sched/topo/topoblock.h"

/* A job that holds something on the node, 0 = none. */
static uint32_t holder_of(const struct sched *s, uint32_t id)
{
    struct holders_iter it = { 0 };

    for (const struct job *j; (j = holders_next(s, &it));)
        for (size_t k = 0; k < j->alloc.nnodes; k++)
            if (j->alloc.nodes[k].node_id == id)
                return j->id;
    return 0;
}

/* Nodes of the partition in base blocks [first, end) that are of no use now. */
static void list_missing(const struct ex *x, const struct pick *now, uint32_t first, uint32_t end,
                         const struct bitmap *open, struct explain_unit *u)
{
    const struct part *p = now->part;
    const struct topo_spec *spec = topo_get_spec(p->topo);

    for (uint32_t i = first; i < end; i++) {
        for (size_t k = 0; k < spec->units[i].nnodes; k++) {
            uint32_t id = spec->units[i].nodes[k];

            if (id >= open->nbits || !bitmap_test(p->nodes, id) || bitmap_test(open, id))
                continue;
            if (u->nmissing < EXPLAIN_MISSING) {
                u->missing[u->nmissing] = id;
                u->holders[u->nmissing] = holder_of(x->s, id);
                u->down[u->nmissing] = !bitmap_test(x->s->up, id);
                u->kept[u->nmissing] = spares_hold(now, id);
            }
            u->nmissing++;
        }
    }
}

static void copy_name(char *to, const char *name)
{
    size_t len = MIN(strlen(name), (size_t)EXPLAIN_UNIT_NAME - 1);

    memcpy(to, name, len);
    to[len] = '\0';
}

static void note_unit(const struct ex *x, const struct pick *now, uint32_t first, uint32_t end,
                      uint32_t wanted, uint32_t open_n, const struct bitmap *open,
                      struct explain_part *out)
{
    const struct topo_spec *spec = topo_get_spec(now->part->topo);
    uint32_t at = 0;

    while (at < out->nunits && out->units[at].free >= open_n)
        at++;
    if (at == EXPLAIN_UNITS)
        return;
    out->nunits = MIN(out->nunits + 1, EXPLAIN_UNITS);
    for (uint32_t i = out->nunits - 1; i > at; i--)
        out->units[i] = out->units[i - 1];
    out->units[at] = (struct explain_unit){ .free = open_n, .wanted = wanted };
    copy_name(out->units[at].first, spec->units[first].name);
    copy_name(out->units[at].last, spec->units[end - 1].name);
    list_missing(x, now, first, end, open, &out->units[at]);
}

void ex_look_at_units(struct ex *x, struct entry *e, const struct bitmap *open,
                      struct explain_part *out)
{
    struct sched *s = x->s;
    const struct shape_key *k = &e->cls->shape->key;
    const struct part *p = s->parts[e->part];
    struct pick now = { .s = s, .cls = e->cls, .part = s->parts[e->part] };
    uint32_t nodes =
                 k->segment_size && k->segment_size < out->wanted ? k->segment_size : out->wanted,
             span = 1;
    enum topo_kind kind = p->topo ? topo_get_spec(p->topo)->kind : TOPO_FLAT;

    if ((kind != TOPO_BLOCK && kind != TOPO_RING) || pick_nodes(&now) != 0 ||
        (now.topo != TOPO_WHY_NO_UNIT && now.topo != TOPO_WHY_NO_SEGMENT))
        return;
    out->topo = now.topo;
    if (kind == TOPO_BLOCK)
        span = topo_block_span(p->topo, nodes);
    for (uint32_t first = 0, end; first < topo_get_spec(p->topo)->nunits; first = end) {
        uint32_t n = 0;

        end = (uint32_t)MIN((size_t)first + span, topo_get_spec(p->topo)->nunits);
        for (uint32_t i = first; i < end; i++)
            n += topo_unit_count(topo_get_bits(p->topo), i, open->words, open->nwords);
        if (n < nodes)
            note_unit(x, &now, first, end, nodes, n, open, out);
    }
}
