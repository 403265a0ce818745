/* prof_slots.c - the slots of time of a profile, and the licences held in each; see prof_data.h */
#include "sched/profile/prof_slots.h"

#include "base/cleanup.h"
#include "sched/profile/prof_data.h"
#include "sched/rules/advlics.h"
#include "sched/state/endtime.h"
#include "sched/state/lics.h"
#include "sched/state/sched_obj.h"

/* ---- slots ----------------------------------------------------------------------------------- */

uint32_t prof_slots(const struct sched *s)
{
    return s->prof->nslots;
}

int64_t prof_time(const struct sched *s, uint32_t slot)
{
    return s->prof->times[slot];
}

int64_t prof_promise(const struct sched *s, uint32_t slot)
{
    return s->prof->ends[slot] ? s->prof->ends[slot] : s->prof->times[slot];
}

void prof_note_end(struct sched *s, uint32_t until, int64_t end_us)
{
    struct prof *pf = s->prof;

    if (until < pf->nslots && end_us > pf->times[pf->now])
        pf->ends[until] = MAX(pf->ends[until], MIN(end_us, pf->times[until]));
}

uint32_t prof_slot_from(const struct prof *pf, int64_t at_us)
{
    uint32_t lo = 0, hi = pf->nslots;

    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (pf->times[mid] < at_us)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

uint32_t prof_slot_at(const struct sched *s, int64_t at_us)
{
    return prof_slot_from(s->prof, at_us);
}

uint32_t prof_until(const struct sched *s, uint32_t from, uint32_t minutes)
{
    return MAX(prof_slot_from(s->prof, end_after(s->prof->times[from], minutes)), from + 1);
}

uint32_t prof_release(const struct sched *s, uint32_t slot)
{
    while (slot < s->prof->nslots && !s->prof->release[slot])
        slot++;
    return slot;
}

uint32_t prof_now(const struct sched *s)
{
    return s->prof->now;
}

bool prof_advance(struct sched *s, int64_t now_us)
{
    struct prof *pf = s->prof;
    uint32_t now = pf->now;

    while (now + 1 < pf->nslots && pf->times[now + 1] <= now_us)
        now++;
    if (now + 1 >= pf->nslots || now > FINE_SLOTS / 4)
        return false;
    pf->now = now;
    pf->times[now] = MAX(pf->times[now], now_us);
    pf->holds++;
    return true;
}

bool prof_fixed(const struct sched *s)
{
    return s->prof->nlics > 0;
}

/* ---- licences -------------------------------------------------------------------------------- */

void prof_lics_add(struct prof *pf, const struct job_lics *l, uint32_t from, uint32_t until)
{
    for (uint32_t i = 0; i < l->n; i++)
        for (uint32_t q = from; l->v[i].id < pf->nlics && q < until; q++)
            pf->lics[(size_t)q * pf->nlics + l->v[i].id] += l->v[i].count;
    if (l->n && until < pf->nslots)
        pf->release[until] = true;
}

void prof_hold_lics(struct sched *s, const struct job_lics *lics, uint32_t from, uint32_t until)
{
    prof_lics_add(s->prof, lics, from, MIN(until, s->prof->nslots));
}

uint64_t prof_lic_left(const struct sched *s, uint32_t lic, uint32_t from, uint32_t until)
{
    const struct prof *pf = s->prof;
    uint64_t left = UINT64_MAX;

    for (uint32_t q = from; q < MIN(until, pf->nslots) && lic < pf->nlics && left; q++) {
        int64_t end_us = q + 1 < pf->nslots ? pf->times[q + 1] : INT64_MAX;
        uint64_t used = pf->lics[(size_t)q * pf->nlics + lic], total = s->lics[lic].total;

        if (s->advs)
            used += adv_lics_kept_in(s, lic, pf->times[q], end_us);
        left = MIN(left, total - MIN(total, used));
    }
    return left;
}

/* Layers are a matter of nodes: selection knows them. */
static bool lic_free(const struct sched *s, const struct job_lic *l, uint32_t from, uint32_t until)
{
    return s->lics[l->id].hres || prof_lic_left(s, l->id, from, until) >= l->count;
}

bool prof_lics(const struct sched *s, const struct job_lics *want, uint32_t from, uint32_t until,
               uint32_t *ret_which)
{
    for (uint32_t i = 0; i < want->n; i++) {
        bool fits = lic_free(s, &want->v[i], from, until);

        *ret_which = i;
        if (fits && want->any)
            return true;
        if (!fits && !want->any)
            return false;
    }
    return !want->any || !want->n;
}
