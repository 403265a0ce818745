/* profile.c - slots of time, and making a profile of what runs; see profile.h.
 *
 * What runs enters from the latest end to the earliest, each time as a copy of the node's last step
 * with more held, so that a profile is made in one sweep over the running jobs (prof_steps.c).
 * Beside the steps every slot has bitmaps of nodes (prof_bits.c), by which searches (prof_search.c)
 * find candidates without touching nodes.
 *
 * Holds only ever add up; a profile is made anew when something ends. */
#include "sched/plan/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/plan/profile_int.h"

#define FINE_SLOTS 256u
#define COARSE_SLOTS 160u
#define BEYOND_SLOTS 48u
#define DEFAULT_GRAIN_S 60u

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

static void prof_mark(struct sched *s, int64_t at_us)
{
    uint32_t slot = prof_slot_from(s->prof, at_us);

    if (slot < s->prof->nslots)
        s->prof->release[slot] = true;
}

uint32_t prof_release(const struct sched *s, uint32_t slot)
{
    while (slot < s->prof->nslots && !s->prof->release[slot])
        slot++;
    return slot;
}

static void make_times(struct sched *s, struct prof *pf, int64_t now_us)
{
    int64_t grain =
        (int64_t)(s->params.bf_resolution_s ? s->params.bf_resolution_s : DEFAULT_GRAIN_S) *
        1000000;
    int64_t until = end_after(now_us, s->params.bf_window_min), at = (now_us / grain + 1) * grain,
            step;
    int64_t last = s->nline ? s->line[s->nline - 1]->end_us : now_us;

    pf->times[pf->nslots++] = now_us;
    for (; pf->nslots < FINE_SLOTS && at < until; at += grain)
        pf->times[pf->nslots++] = at;
    step = until > at ? ((until - at) / COARSE_SLOTS / grain + 1) * grain : grain;
    at = (at + step - 1) / step * step;
    for (; pf->nslots < FINE_SLOTS + COARSE_SLOTS && at < until; at += step)
        pf->times[pf->nslots++] = at;
    for (uint32_t i = 0; i < BEYOND_SLOTS && at < INT64_MAX / 4; i++) {
        pf->times[pf->nslots++] = at;
        if (at >= last)
            break;
        step += step / 4 / grain * grain;
        at += step;
    }
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

static bool lic_free(const struct sched *s, const struct job_lic *l, uint32_t from, uint32_t until)
{
    const struct prof *pf = s->prof;

    for (uint32_t q = from; q < MIN(until, pf->nslots) && l->id < pf->nlics; q++) {
        int64_t end_us = q + 1 < pf->nslots ? pf->times[q + 1] : INT64_MAX;
        uint64_t used = pf->lics[(size_t)q * pf->nlics + l->id];

        if (s->lics[l->id].total < used + l->count ||
            (s->advs && s->lics[l->id].total <
                            used + l->count + adv_lics_kept_in(s, l->id, pf->times[q], end_us)))
            return false;
    }
    return true;
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

/* ---- making it ------------------------------------------------------------------------------- */

static int first_steps(struct sched *s)
{
    int r = 0;

    for (uint32_t id = 0; r == 0 && id < s->nnodes; id++)
        if (s->nodes[id].exists)
            r = prof_steps_clear(s, id);
    return r;
}

/* Jobs come by falling ends: this one is held in a new first step, or in the first step. */
static int push_running(struct sched *s, const struct job *j, uint32_t end)
{
    for (size_t i = 0; i < j->alloc.nnodes; i++) {
        struct hold h = { .an = &j->alloc.nodes[i],
                          .part = j->part,
                          .uid = j->uid,
                          .label = j->label,
                          .firm = j->firm,
                          .cpus = j->state != JOB_SUSPENDED,
                          .owned = j->owned };
        uint32_t id = h.an->node_id;
        struct pnode *pn = id < s->nnodes ? &s->prof->nodes[id] : NULL;
        struct step *top;

        if (!pn || !pn->n)
            continue;
        top = step_at(pn, pn->n - 1);
        if (end < s->prof->nslots && (pn->n == 1 || step_at(pn, pn->n - 2)->from != end)) {
            if (prof_steps_room(pn, pn->n + 1) < 0)
                return -ENOMEM;
            top = step_at(pn, pn->n);
            memcpy(top, step_at(pn, pn->n - 1), pn->stride);
            step_at(pn, pn->n - 1)->from = end;
            pn->n++;
            s->prof->release[end] = true;
        }
        step_add(s, id, top, &h);
        if (prof_note_holder(s, id, j->id) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int enter_running(struct sched *s)
{
    struct prof *pf = s->prof;
    struct holders_iter it = { 0 };
    int r = 0;

    for (const struct job *j; r == 0 && (j = holders_next(s, &it));) {
        if (j->end_us != INT64_MAX)
            continue;
        r = push_running(s, j, pf->nslots);
        prof_lics_add(pf, &j->held, 0, pf->nslots);
    }
    for (uint32_t i = s->nline; r == 0 && i-- > 0;) {
        /* One that should have ended does so any moment, but has not yet. */
        uint32_t end = MAX(prof_slot_from(pf, s->line[i]->end_us), 1u);

        prof_note_end(s, end, s->line[i]->end_us);
        r = push_running(s, s->line[i], end);
        prof_lics_add(pf, &s->line[i]->held, 0, end);
    }
    return r;
}

static int make(struct sched *s, int64_t now_us)
{
    struct prof *pf = s->prof;
    uint32_t most = 1;
    int r = line_make(s);

    if (r < 0)
        return r;
    for (uint32_t id = 0; id < s->nnodes; id++)
        most = MAX(most, s->nodes[id].exists ? s->nodes[id].cpus : 0);
    pf->most_cpus = most;
    pf->nlevels = 32 - (uint32_t)__builtin_clz(most);
    pf->nwords = (s->nbits + 63) / 64;
    pf->times = calloc(FINE_SLOTS + COARSE_SLOTS + BEYOND_SLOTS + 1, sizeof(*pf->times));
    pf->nodes = calloc(s->nnodes + 1, sizeof(*pf->nodes));
    pf->nnodes = s->nnodes;
    pf->recall = calloc(s->nnodes + 1, sizeof(*pf->recall));
    if (!pf->times || !pf->nodes || !pf->recall)
        return -ENOMEM;
    make_times(s, pf, now_us);
    pf->ends = calloc(pf->nslots + 1, sizeof(*pf->ends));
    pf->release = calloc(pf->nslots + 1, sizeof(*pf->release));
    pf->nlics = s->params.bf_licenses ? s->nlics : 0;
    pf->lics = calloc((size_t)pf->nlics * pf->nslots + 1, sizeof(*pf->lics));
    if (!pf->ends || !pf->release || !pf->lics)
        return -ENOMEM;
    r = first_steps(s);
    if (r == 0)
        r = enter_running(s);
    if (r == 0)
        r = prof_bits_make(s);
    line_drop(s);
    return r;
}

int prof_make(struct sched *s, int64_t now_us)
{
    int r;

    prof_drop(s);
    s->prof = calloc(1, sizeof(*s->prof));
    r = s->prof ? make(s, now_us) : -ENOMEM;
    if (r < 0)
        prof_drop(s);
    else
        advs_each_edge(s, prof_mark); /* somebody may begin or has to end there */
    return r;
}

void prof_drop(struct sched *s)
{
    struct prof *pf = s->prof;

    if (!pf)
        return;
    for (uint32_t id = 0; pf->nodes && id < pf->nnodes; id++) {
        free(pf->nodes[id].mem);
        free(pf->nodes[id].ids);
    }
    free(pf->nodes);
    free(pf->times);
    free(pf->ends);
    free(pf->release);
    free(pf->recall);
    free(pf->bits);
    free(pf->blocks);
    free(pf->counts);
    free(pf->idx);
    free(pf->lics);
    free(pf->scratch);
    free(pf);
    s->prof = NULL;
}
