/* pickone.c - one node for the whole job: the first that holds it, the last, or the least loaded */
#include "sched/select/pickone.h"

#include <errno.h>

#include "sched/rules/advres.h"
#include "sched/select/fit.h"
#include "sched/select/pickkeep.h"
#include "sched/select/picksum.h"
#include "sched/state/classes.h"
#include "sched/state/fits.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"

static bool holds_all(const struct pick *p, const struct fit *f)
{
    struct sum sum = { 0 };

    sum_add(p, &sum, f);
    return has_enough(p, &sum, 1);
}

static bool any_fit(const struct pick *p, const struct bitmap *of)
{
    struct fit f;

    for (uint32_t w = 0; w < of->nwords; w++)
        for (uint64_t m = p->s->cand->words[w] & of->words[w]; m; m &= m - 1)
            if (node_fit(p, w * 64 + (uint32_t)__builtin_ctzll(m), &f))
                return true;
    return false;
}

/* pack_serial_at_end: from the last node down, so that wide jobs find the first ones free. */
static bool goes_last(const struct pick *p)
{
    return p->s->params.serial_last && p->tasks == 1 && p->k->cpus_per_task == 1 && !p->whole &&
           !pick_by_load(p);
}

static int choose_last(struct pick *p)
{
    struct sched *s = p->s;
    struct fit f;

    for (uint32_t c = 0; c < s->nwclasses; c++) {
        const struct bitmap *of = s->wclasses[c].nodes;

        for (uint32_t w = s->cand->nwords; w-- > 0;) {
            for (uint64_t m = s->cand->words[w] & of->words[w], top; m; m &= ~top) {
                uint32_t bit = 63u - (uint32_t)__builtin_clzll(m);

                top = UINT64_C(1) << bit;
                if (!node_fit(p, w * 64 + bit, &f) || !holds_all(p, &f))
                    continue;
                f.wclass = c;
                return push_fit(&s->chosen, &f) < 0 ? -ENOMEM : 1;
            }
        }
    }
    return 0;
}

int choose_single(struct pick *p)
{
    struct sched *s = p->s;
    struct class *cls = p->cls;
    bool lln = pick_by_load(p);
    bool keep = !lln && !s->travelling && !p->idle && !p->overlay && !p->plan && !p->minus &&
                cls->nalts == 1 && p->share_max == 1 && !p->no_layers;
    uint32_t level = keep ? adv_level(p) : 0;
    bool resume = keep && cls->cursor_grow == p->part->grow + 1 && level >= cls->cursor_level &&
                  (!cls->shape->key.nlics || cls->cursor_lic == s->lic_grow + 1);
    struct fit f, best = { 0 };
    bool found = false;
    uint32_t stop = s->nwclasses; /* the class whose nodes the job may take together */

    if (goes_last(p))
        return choose_last(p);
    if (pick_keeps(p))
        return choose_keeping(p);
    for (uint32_t c = resume ? cls->cursor_wclass : 0; c < stop && !found; c++) {
        const struct bitmap *of = s->wclasses[c].nodes;
        uint32_t start = resume && c == cls->cursor_wclass ? cls->cursor_id : 0;

        for (uint32_t w = start >> 6; w < s->cand->nwords && (lln || !found); w++) {
            uint64_t m = s->cand->words[w] & of->words[w];

            if (w == start >> 6)
                m &= ~UINT64_C(0) << (start & 63);
            for (; m && (lln || !found); m &= m - 1) {
                uint32_t id = w * 64 + (uint32_t)__builtin_ctzll(m);

                if ((found && !p->plan && s->nodes[id].free_cpus <= best.free) ||
                    !node_fit(p, id, &f) || (found && f.free <= best.free) || !holds_all(p, &f))
                    continue;
                f.wclass = c;
                best = f;
                found = true;
            }
        }
        if (!found && p->max > 1 && c + 1 < s->nwclasses && any_fit(p, of))
            stop = c;
    }
    if (keep) {
        cls->cursor_grow = p->part->grow + 1;
        cls->cursor_lic = s->lic_grow + 1;
        cls->cursor_level = level;
        cls->cursor_wclass = found ? best.wclass : stop;
        cls->cursor_id = found ? best.id : s->nbits;
    }
    return found ? (push_fit(&s->chosen, &best) < 0 ? -ENOMEM : 1) : 0;
}
