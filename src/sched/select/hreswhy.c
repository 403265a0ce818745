/* hreswhy.c - see hreswhy.h.  The answer is kept with the class until something starts or ends. */
#include "sched/select/hreswhy.h"

#include "sched/select/hrespick.h"
#include "sched/select/pick.h"
#include "sched/state/classes.h"
#include "sched/state/lics.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"

bool hres_lacks(const struct pick *p)
{
    struct sched *s = p->s;
    struct class *c = p->cls;
    struct pick without = { .s = s,
                            .cls = c,
                            .part = p->part,
                            .minus = p->minus,
                            .from_us = p->from_us,
                            .to_us = p->to_us,
                            .no_layers = true };

    if (!c->shape->key.nlics)
        return false;
    if (c->nalts == 1 && c->mask_gen == s->config_gen + 1 && !hres_may_bind(p, c->alts[0].elig))
        return false;
    if (p->minus)
        return pick_nodes(&without) == 1;
    if (c->lacks_run != s->run_gen + 1) {
        c->lacks_layers = pick_nodes(&without) == 1;
        c->lacks_run = s->run_gen + 1;
    }
    return c->lacks_layers;
}

enum sched_why hres_why(const struct pick *p)
{
    const struct shape *sh = p->cls->shape;
    bool filters = false;

    if (!hres_lacks(p))
        return SCHED_WHY_NONE;
    for (uint32_t i = 0; i < sh->key.nlics; i++) {
        const struct hres *h = hres_of(p->s, shape_lic(sh, i).id);

        filters = filters || (h && h->mode != 3);
    }
    return filters ? SCHED_WHY_RESERVED : SCHED_WHY_RESOURCES;
}
