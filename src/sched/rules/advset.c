/* advset.c - the set of advance reservations as they are fed */
#include "sched/rules/advset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "sched/rules/adv_data.h"
#include "sched/sched.h"
#include "sched/state/bounds.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
#include "sched/state/parts.h"
#include "sched/state/planlog.h"
#include "sched/state/sched_obj.h"

static void res_free(struct advres *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; i < r->ncpus; i++)
        free(r->cpus[i].bits);
    free(r->cpus);
    free(r->ids);
    free(r->windows);
    bitmap_free(r->nodes);
    lics_free(&r->lics);
    lics_free(&r->used);
    free(r);
}

void advs_done(struct sched *s)
{
    if (!s->advs)
        return;
    for (uint32_t i = 0; i < s->advs->n; i++)
        res_free(s->advs->list[i]);
    free(s->advs->list);
    free(s->advs->wins);
    free(s->advs->words);
    bitmap_free(s->advs->cored);
    free(s->advs);
    s->advs = NULL;
}

static uint32_t place_of(const struct advs *a, uint32_t id)
{
    uint32_t lo = 0, hi = a->n;

    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (a->list[mid]->id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct advres *adv_find(const struct sched *s, uint32_t id)
{
    uint32_t at = s->advs && id ? place_of(s->advs, id) : 0;

    return s->advs && id && at < s->advs->n && s->advs->list[at]->id == id ? s->advs->list[at]
                                                                           : NULL;
}

static int advs_make(struct sched *s)
{
    if (s->advs)
        return 0;
    s->advs = calloc(1, sizeof(*s->advs));
    if (!s->advs)
        return -ENOMEM;
    s->advs->words = calloc(SCHED_MAX_CPUS / 64, sizeof(*s->advs->words));
    if (!s->advs->words || bitmap_new(s->nbits, &s->advs->cored) < 0) {
        advs_done(s);
        return -ENOMEM;
    }
    return 0;
}

void advs_stir(struct sched *s)
{
    s->advs->gen++;
    planlog_other(s);
    s->lic_grow++;
    s->run_gen++;
    s->change++;
    for (uint32_t i = 0; i < s->nparts; i++)
        s->parts[i]->grow++;
}

static int copy_cpus(const struct sched_resv *in, struct advres *r)
{
    if (!in->ncpus)
        return 0;
    r->cpus = calloc(in->ncpus, sizeof(*r->cpus));
    if (!r->cpus)
        return -ENOMEM;
    for (size_t i = 0; i < in->ncpus; i++) {
        struct advcpus *c = &r->cpus[i];

        *c = (struct advcpus){ .node_id = in->cpus[i].node_id, .nwords = in->cpus[i].nwords };
        c->bits = malloc((c->nwords + 1) * sizeof(*c->bits));
        if (!c->bits)
            return -ENOMEM;
        memcpy(c->bits, in->cpus[i].bits, c->nwords * sizeof(*c->bits));
        r->ncpus++;
    }
    return 0;
}

static int build_resv(struct sched *s, const struct sched_resv *in, struct advres **ret)
{
    struct advres *r = calloc(1, sizeof(*r));
    int code = r ? copy_cpus(in, r) : -ENOMEM;

    if (code == 0) {
        r->id = in->id;
        r->ids = malloc((in->nnodes + 1) * sizeof(*r->ids));
        r->windows = malloc((in->nwindows + 1) * sizeof(*r->windows));
        if (!r->ids || !r->windows)
            code = -ENOMEM;
    }
    if (code == 0)
        code = lics_build(s, in->licenses, in->nlicenses, false, &r->lics);
    if (code == 0)
        code = lics_build(s, in->licenses, in->nlicenses, false, &r->used);
    if (code < 0) {
        res_free(r);
        return code;
    }
    for (uint32_t i = 0; i < r->used.n; i++) {
        r->lics.v[i].id = r->used.v[i].id = hres_default(s, r->used.v[i].id);
        r->used.v[i].count = 0;
    }
    for (size_t i = 0; i < in->nnodes; i++)
        r->ids[r->nids++] = in->node_ids[i];
    for (size_t i = 0; i < in->nwindows; i++)
        r->windows[r->nwindows++] = in->windows[i];
    r->floats = in->floats;
    r->float_us = in->float_us;
    r->flex = in->flex;
    r->beside = in->beside;
    r->maint = in->maint;
    r->max_delay_us = in->max_delay_us;
    *ret = r;
    return 0;
}

/* What its jobs hold of its licences. */
static void count_used(struct sched *s, struct advres *r)
{
    for (uint32_t i = 0; r->lics.n && i < s->job_slots; i++) {
        const struct job *j = s->jobs[i];

        for (uint32_t k = 0; j && j->state >= JOB_PROPOSED && j->resv == r->id && k < j->held.n;
             k++)
            for (uint32_t l = 0; l < r->used.n; l++)
                if (r->used.v[l].id == j->held.v[k].id)
                    r->used.v[l].count += j->held.v[k].count;
    }
}

int sched_resv_put(struct sched *s, const struct sched_resv *in)
{
    struct advres *r = NULL, **grown;
    int code = in->id ? advs_make(s) : -EINVAL;
    uint32_t at;

    if (code == 0)
        code = build_resv(s, in, &r);
    if (code < 0)
        return code;
    at = place_of(s->advs, in->id);
    if (at < s->advs->n && s->advs->list[at]->id == in->id) {
        res_free(s->advs->list[at]);
    } else {
        grown = realloc(s->advs->list, (s->advs->n + 1) * sizeof(struct advres *));
        if (!grown) {
            res_free(r);
            return -ENOMEM;
        }
        s->advs->list = grown;
        memmove(grown + at + 1, grown + at, (s->advs->n - at) * sizeof(struct advres *));
        s->advs->n++;
    }
    s->advs->list[at] = r;
    s->advs->nwins = 0; /* they point to what may be gone */
    s->advs->dirty = true;
    count_used(s, r);
    advs_stir(s);
    return 0;
}

void sched_resv_remove(struct sched *s, uint32_t id)
{
    uint32_t at = s->advs ? place_of(s->advs, id) : 0;

    if (!s->advs || at >= s->advs->n || s->advs->list[at]->id != id)
        return;
    res_free(s->advs->list[at]);
    memmove(s->advs->list + at, s->advs->list + at + 1,
            (--s->advs->n - at) * sizeof(struct advres *));
    s->advs->nwins = 0;
    s->advs->dirty = true;
    advs_stir(s);
}
