/* profile.c - making a profile of what runs; see prof_data.h.
 *
 * What runs enters from the latest end to the earliest, each time as a copy of the node's last step
 * with more held, so that a profile is made in one sweep over the running jobs (prof_steps.c).
 * Beside the steps every slot has bitmaps of nodes (prof_bits.c), by which searches find candidates
 * without touching nodes (prof_filter.c).
 *
 * Holds only ever add up; a node is made anew when something ends (prof_redo.c). */
#include "sched/profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/profile/prof_bits.h"
#include "sched/profile/prof_data.h"
#include "sched/profile/prof_holders.h"
#include "sched/profile/prof_slots.h"
#include "sched/profile/prof_steps.h"
#include "sched/rules/advtime.h"
#include "sched/state/endtime.h"
#include "sched/state/holders.h"
#include "sched/state/jobs.h"
#include "sched/state/line.h"
#include "sched/state/nodes.h"
#include "sched/state/sched_obj.h"

#define DEFAULT_GRAIN_S 60u

/* ---- slots ----------------------------------------------------------------------------------- */

static void prof_mark(struct sched *s, int64_t at_us)
{
    uint32_t slot = prof_slot_from(s->prof, at_us);

    if (slot < s->prof->nslots)
        s->prof->release[slot] = true;
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

static int fill_profile(struct sched *s, int64_t now_us)
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
    r = s->prof ? fill_profile(s, now_us) : -ENOMEM;
    if (r < 0)
        prof_drop(s);
    else
        advs_each_edge(s, prof_mark); /* a job may begin or has to end there */
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
