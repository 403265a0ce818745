/* advwhy.c - does a job wait because of advance reservations? */
#include "sched/select/advwhy.h"

#include "base/cleanup.h"
#include "sched/rules/adv_data.h"
#include "sched/rules/advres.h"
#include "sched/rules/advset.h"
#include "sched/rules/advtime.h"
#include "sched/sched.h"
#include "sched/select/pick.h"
#include "sched/state/classes.h"
#include "sched/state/jobs.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"

/* Would it fit on the idle cluster, reservations heeded?  Remembered by level. */
static int fits_idle(struct pick *p)
{
    struct class *c = p->cls;
    uint64_t gen = p->s->advs->gen + p->s->up_gen + p->s->config_gen + 1;
    uint32_t level = adv_level(p);
    int r;

    if (c->adv_gen != gen) {
        c->adv_gen = gen;
        c->adv_fits = 0;
        c->adv_fails = UINT32_MAX;
    }
    if (!p->no_maint && level < c->adv_fits)
        return 1;
    if (!p->no_maint && level >= c->adv_fails)
        return 0;
    r = pick_nodes(p);
    if (!p->no_maint && r == 1)
        c->adv_fits = MAX(c->adv_fits, level + 1);
    if (!p->no_maint && r == 0)
        c->adv_fails = MIN(c->adv_fails, level);
    return r;
}

enum sched_why adv_why(struct sched *s, const struct entry *e, int64_t now_us)
{
    uint32_t resv = e->cls->shape->key.resv, minutes = e->job->time_limit_min;
    struct pick p = { .s = s, .cls = e->cls, .part = s->parts[e->part], .idle = true };
    const struct advres *own = adv_find(s, resv);

    if (!advs_any(s))
        return resv ? SCHED_WHY_RESV : SCHED_WHY_NONE;
    if (e->job->time_min_min)
        minutes = MIN(minutes, e->job->time_min_min);
    adv_span(&p, now_us, minutes);
    if (resv && (!own || (!own->flex && !adv_within(own, p.from_us, p.to_us))))
        return SCHED_WHY_RESV;
    if (fits_idle(&p) != 0) /* out of memory: the next try reports it */
        return SCHED_WHY_NONE;
    if (resv)
        return SCHED_WHY_RESV;
    p.no_maint = true;
    return fits_idle(&p) == 1 ? SCHED_WHY_RESV_MAINT : SCHED_WHY_RESERVED;
}
