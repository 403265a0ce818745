/* profile.c - the steps of every node's future; see profile.h.
 *
 * A node's steps are kept latest first: step i lasts until step i - 1 begins, step 0 for ever; the
 * last one begins at slot 0.  What runs enters from the latest end to the earliest, each time as a
 * copy of the last step with more held, so that a profile is made in one sweep over the running
 * jobs.  Beside the steps every slot has a bitmap of nodes for each power of two of free CPUs
 * (level k: at least 2^k; the last level: none held), by which searches find candidates without
 * touching nodes.
 *
 * Holds only ever add up; a profile is made anew when something ends. */
#include "sched/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/profile_int.h"

#define FINE_SLOTS 256u
#define COARSE_SLOTS 160u
#define BEYOND_SLOTS 48u
#define DEFAULT_GRAIN_S 60u

struct layout {
    uint32_t firm, used, dev, parts, words; /* offsets in step.w */
};

static struct layout layout_of(const struct node *n)
{
    struct layout l = { .firm = n->nwords, .used = n->nwords * 2 };

    l.dev = l.used + n->ngres;
    l.parts = l.dev;
    for (uint32_t i = 0; i < n->ngres; i++)
        l.parts += n->gres[i].dev.nwords;
    l.words = l.parts + (n->nparts + 1) / 2;
    return l;
}

static struct step *step_at(const struct pnode *pn, uint32_t i)
{
    return (struct step *)(void *)(pn->mem + (size_t)i * pn->stride);
}

static int room(struct pnode *pn, uint32_t n)
{
    uint32_t cap = pn->cap ? pn->cap : 2;
    char *grown;

    if (n <= pn->cap)
        return 0;
    while (cap < n)
        cap *= 2;
    grown = realloc(pn->mem, (size_t)cap * pn->stride);
    if (!grown)
        return -ENOMEM;
    pn->mem = grown;
    pn->cap = cap;
    return 0;
}

/* --- what a step holds
 * ---------------------------------------------------------------------------------- */

struct hold { /* of one job on one node */
    const struct sched_alloc_node *an;
    uint32_t part, uid, keeper; /* keeper: id of a job that is planned */
    bool firm, cpus, owned;
};

static void step_own(struct step *st, uint32_t uid, bool owned)
{
    st->mixed |= st->any && st->uid != uid;
    st->any = true;
    st->uid = uid;
    st->owned |= owned;
}

static void step_add(struct sched *s, uint32_t id, struct step *st, const struct hold *h)
{
    struct node *n = &s->nodes[id];
    const struct sched_alloc_node *an = h->an;
    struct layout l = layout_of(n);
    uint32_t words = MIN(an->ncpu_words, n->nwords), at = node_part_index(n, h->part);

    for (uint32_t w = 0; h->cpus && w < words; w++) {
        st->w[w] |= an->cpu_bits[w];
        if (h->firm)
            st->w[l.firm + w] |= an->cpu_bits[w];
    }
    st->held |= h->cpus;
    if (h->keeper)
        st->keeper = h->keeper;
    if (h->cpus && at < n->nparts)
        ((uint32_t *)(st->w + l.parts))[at] += an->cpus;
    st->mem += an->mem_mib;
    for (size_t i = 0; i < an->ngres; i++) {
        const struct gres_row *row = node_gres_row(s, n, &an->gres[i]);
        uint64_t *dev = st->w + l.dev;

        if (!row)
            continue;
        st->w[l.used + (row - n->gres)] += an->gres[i].count;
        for (const struct gres_row *r = n->gres; r < row; r++)
            dev += r->dev.nwords;
        for (uint32_t d = 0; row->indexed && an->gres[i].devices && d < row->dev.n; d++) {
            uint32_t bit = row->first + d;

            if (bit / 64 < an->gres[i].ndevice_words &&
                (an->gres[i].devices[bit >> 6] >> (bit & 63) & 1))
                dev[d >> 6] |= UINT64_C(1) << (d & 63);
        }
    }
    step_own(st, h->uid, h->owned);
}

static uint32_t step_free(const struct node *n, const struct step *st)
{
    uint32_t held = 0;

    for (uint32_t w = 0; w < n->nwords; w++)
        held += (uint32_t)__builtin_popcountll(st->w[w]);
    return n->cpus > held ? n->cpus - held : 0;
}

/* --- making it
 * ------------------------------------------------------------------------------------------ */

static int first_steps(struct sched *s)
{
    for (uint32_t id = 0; id < s->nnodes; id++) {
        const struct node *n = &s->nodes[id];
        struct pnode *pn = &s->prof->nodes[id];
        struct layout l = layout_of(n);
        struct step *st;

        if (!n->exists)
            continue;
        pn->stride = (uint32_t)(sizeof(struct step) + l.words * sizeof(uint64_t));
        if (room(pn, 2) < 0)
            return -ENOMEM;
        st = step_at(pn, 0);
        memset(st, 0, pn->stride);
        if (n->spec) {
            memcpy(st->w, n->spec, n->nwords * sizeof(*st->w));
            memcpy(st->w + l.firm, n->spec, n->nwords * sizeof(*st->w));
        }
        pn->n = 1;
    }
    return 0;
}

/* Jobs come by falling ends: this one is held in a new first step, or in the first step. */
static int push_running(struct sched *s, const struct job *j, uint32_t end)
{
    for (size_t i = 0; i < j->alloc.nnodes; i++) {
        struct hold h = { .an = &j->alloc.nodes[i],
                          .part = j->part,
                          .uid = j->uid,
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
            if (room(pn, pn->n + 1) < 0)
                return -ENOMEM;
            top = step_at(pn, pn->n);
            memcpy(top, step_at(pn, pn->n - 1), pn->stride);
            step_at(pn, pn->n - 1)->from = end;
            pn->n++;
            s->prof->release[end] = true;
        }
        step_add(s, id, top, &h);
    }
    return 0;
}

static void lics_add(struct prof *pf, const struct job_lics *l, uint32_t from, uint32_t until)
{
    for (uint32_t i = 0; i < l->n; i++)
        for (uint32_t q = from; l->v[i].id < pf->nlics && q < until; q++)
            pf->lics[(size_t)q * pf->nlics + l->v[i].id] += l->v[i].count;
    if (l->n && until < pf->nslots)
        pf->release[until] = true;
}

static uint32_t slot_from(const struct prof *pf, int64_t at_us)
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

static int enter_running(struct sched *s)
{
    struct prof *pf = s->prof;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < s->job_slots; i++) {
        const struct job *j = s->jobs[i];

        if (!j || j->state < JOB_PROPOSED || j->end_us != INT64_MAX)
            continue;
        r = push_running(s, j, pf->nslots);
        lics_add(pf, &j->held, 0, pf->nslots);
    }
    for (uint32_t i = s->nline; r == 0 && i-- > 0;) {
        /* One that should have ended does so any moment, but has not yet. */
        uint32_t end = MAX(slot_from(pf, s->line[i]->end_us), 1u);

        prof_note_end(s, end, s->line[i]->end_us);
        r = push_running(s, s->line[i], end);
        lics_add(pf, &s->line[i]->held, 0, end);
    }
    return r;
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

static uint64_t *level_words(const struct prof *pf, uint32_t slot, uint32_t level)
{
    return pf->bits + ((size_t)slot * (pf->nlevels + 1) + level) * pf->nwords;
}

static uint64_t *block_words(const struct prof *pf, uint32_t slot, uint32_t level)
{
    return pf->blocks + ((size_t)(slot / PROF_BLOCK) * (pf->nlevels + 1) + level) * pf->nwords;
}

/* Levels a node reaches with so many free CPUs. */
static uint32_t levels_of(const struct prof *pf, uint32_t free_cpus)
{
    uint32_t k = free_cpus ? 64 - (uint32_t)__builtin_clzll(free_cpus) : 0;

    return MIN(k, pf->nlevels);
}

static void set_levels(const struct prof *pf, uint32_t slot, uint32_t id, uint32_t levels,
                       bool held)
{
    uint64_t bit = UINT64_C(1) << (id & 63);

    for (uint32_t k = 0; k <= pf->nlevels; k++) {
        uint64_t *w = level_words(pf, slot, k) + (id >> 6);

        if (k == pf->nlevels ? !held : k < levels)
            *w |= bit;
        else
            *w &= ~bit;
    }
}

static int count_bits(struct prof *pf)
{
    size_t n = (size_t)pf->nslots * (pf->nlevels + 1);

    pf->counts = calloc(n + 1, sizeof(*pf->counts));
    pf->idx = calloc(pf->nwords + 1, sizeof(*pf->idx));
    if (!pf->counts || !pf->idx)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        for (uint32_t w = 0; w < pf->nwords; w++)
            pf->counts[i] += (uint32_t)__builtin_popcountll(pf->bits[i * pf->nwords + w]);
    return 0;
}

static int make_blocks(struct prof *pf)
{
    size_t n = (size_t)(pf->nlevels + 1) * pf->nwords;

    pf->blocks = malloc((pf->nslots / PROF_BLOCK + 1) * n * sizeof(*pf->blocks) + 1);
    if (!pf->blocks)
        return -ENOMEM;
    for (uint32_t q = 0; q < pf->nslots; q++) {
        uint64_t *to = block_words(pf, q, 0);
        const uint64_t *from = level_words(pf, q, 0);

        if (q % PROF_BLOCK == 0)
            memcpy(to, from, n * sizeof(*to));
        for (size_t i = 0; q % PROF_BLOCK && i < n; i++)
            to[i] &= from[i];
    }
    return 0;
}

struct event {
    uint32_t slot, id, levels;
    bool held;
};

/* Every slot is the one before with the changes that come with it. */
static int make_bits(struct sched *s)
{
    struct prof *pf = s->prof;
    _cleanup_free_ uint32_t *at = calloc(pf->nslots + 1, sizeof(*at));
    _cleanup_free_ struct event *events = NULL;
    uint32_t total = 0;

    for (uint32_t id = 0; id < s->nnodes; id++)
        total += pf->nodes[id].n;
    events = malloc((total + 1) * sizeof(*events));
    pf->bits = calloc((size_t)pf->nslots * (pf->nlevels + 1) * pf->nwords + 1, sizeof(*pf->bits));
    if (!at || !events || !pf->bits)
        return -ENOMEM;
    for (uint32_t id = 0; id < s->nnodes; id++)
        for (uint32_t i = 0; i < pf->nodes[id].n; i++)
            at[step_at(&pf->nodes[id], i)->from + 1]++;
    for (uint32_t q = 0; q < pf->nslots; q++)
        at[q + 1] += at[q];
    for (uint32_t id = 0; id < s->nnodes; id++) {
        for (uint32_t i = 0; i < pf->nodes[id].n; i++) {
            const struct step *st = step_at(&pf->nodes[id], i);

            events[at[st->from]++] =
                (struct event){ .slot = st->from,
                                .id = id,
                                .levels = levels_of(pf, step_free(&s->nodes[id], st)),
                                .held = st->held };
        }
    }
    for (uint32_t q = 0, e = 0; q < pf->nslots; q++) {
        if (q)
            memcpy(level_words(pf, q, 0), level_words(pf, q - 1, 0),
                   (size_t)(pf->nlevels + 1) * pf->nwords * sizeof(uint64_t));
        for (; e < total && events[e].slot == q; e++)
            set_levels(pf, q, events[e].id, events[e].levels, events[e].held);
    }
    return count_bits(pf) < 0 ? -ENOMEM : make_blocks(pf);
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
        r = make_bits(s);
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
    return r;
}

void prof_drop(struct sched *s)
{
    struct prof *pf = s->prof;

    if (!pf)
        return;
    for (uint32_t id = 0; pf->nodes && id < s->nnodes; id++)
        free(pf->nodes[id].mem);
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

/* --- reading it
 * ----------------------------------------------------------------------------------------- */

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

    if (until < pf->nslots && end_us > pf->times[0])
        pf->ends[until] = MAX(pf->ends[until], MIN(end_us, pf->times[until]));
}

uint32_t prof_slot_at(const struct sched *s, int64_t at_us)
{
    return slot_from(s->prof, at_us);
}

uint32_t prof_until(const struct sched *s, uint32_t from, uint32_t minutes)
{
    return MAX(slot_from(s->prof, end_after(s->prof->times[from], minutes)), from + 1);
}

uint32_t prof_release(const struct sched *s, uint32_t slot)
{
    while (slot < s->prof->nslots && !s->prof->release[slot])
        slot++;
    return slot;
}

/* The step that slot lies in. */
static uint32_t find_step(const struct pnode *pn, uint32_t slot)
{
    uint32_t lo = 0, hi = pn->n - 1;

    while (lo < hi) { /* the lowest index that begins at or before it */
        uint32_t mid = (lo + hi) / 2;

        if (step_at(pn, mid)->from <= slot)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* The first step of the span makes the view, later ones add to it. */
static void view_add(struct prof_view *v, const struct step *st, const struct node *n,
                     const struct layout *l, uint64_t *w)
{
    for (uint32_t i = 0; i < l->used; i++)
        w[i] |= st->w[i];
    for (uint32_t i = l->used; i < l->dev; i++)
        w[i] = MAX(w[i], st->w[i]);
    for (uint32_t i = l->dev; i < l->parts; i++)
        w[i] |= st->w[i];
    for (uint32_t i = 0; i < n->nparts; i++)
        v->part_cpus[i] = MAX(v->part_cpus[i], ((const uint32_t *)(st->w + l->parts))[i]);
    v->mem = MAX(v->mem, st->mem);
    v->held |= st->held;
    v->owned |= st->owned;
    v->mixed |= st->mixed || (v->any && st->any && v->uid != st->uid);
    if (st->any)
        v->uid = st->uid;
    v->any |= st->any;
}

/* Does a job that ends then meet the step? */
static bool meets(const struct step *st, uint32_t until, int64_t end_us)
{
    return st->from < until || (st->from == until && st->starts_us && st->starts_us < end_us);
}

const struct prof_view *prof_view(const struct sched *s, uint32_t id, uint32_t from, uint32_t until,
                                  int64_t end_us)
{
    struct prof *pf = s->prof;
    const struct node *n = &s->nodes[id];
    const struct pnode *pn = &pf->nodes[id];
    struct layout l = layout_of(n);
    struct prof_view *v = &pf->view;
    uint64_t *w;

    if (pf->view_made == pf->holds + 1 && pf->view_id == id && pf->view_from == from &&
        pf->view_until == until && pf->view_end_us == end_us)
        return v;
    if (l.words > pf->nscratch) {
        free(pf->scratch);
        pf->scratch = calloc(l.words * 2 + n->nwords, sizeof(*pf->scratch));
        pf->nscratch = pf->scratch ? l.words : 0;
        if (!pf->scratch)
            return NULL;
    }
    w = pf->scratch;
    memset(w, 0, l.words * sizeof(*w));
    *v = (struct prof_view){ .busy = w,
                             .firm = w + l.firm,
                             .used = w + l.used,
                             .dev = w + l.dev,
                             .part_cpus = (uint32_t *)(w + l.parts) };
    for (uint32_t i = find_step(pn, from) + 1; i-- > 0 && meets(step_at(pn, i), until, end_us);)
        view_add(v, step_at(pn, i), n, &l, w);
    v->free_cpus = n->cpus;
    for (uint32_t i = 0; i < n->nwords; i++)
        v->free_cpus -= (uint32_t)__builtin_popcountll(w[i]);
    v->free_cores = v->free_cpus;
    if (n->threads > 1) {
        uint64_t *avail = pf->scratch + l.words;

        for (uint32_t i = 0; i < n->nwords; i++)
            avail[i] = ~w[i];
        v->free_cores = count_free_cores(n, avail);
    }
    pf->view_made = pf->holds + 1;
    pf->view_id = id;
    pf->view_from = from;
    pf->view_until = until;
    pf->view_end_us = end_us;
    return v;
}

int prof_recall_fit(const struct pick *p, uint32_t id, struct fit *ret)
{
    const struct recall *t = &p->s->prof->recall[id];

    if (t->search != p->s->prof->searches || p->from >= t->from_end || p->until < t->until_begin)
        return -1;
    if (!t->fits)
        return 0; /* more of the future can only be worse */
    if (p->until > t->until_end)
        return -1;
    *ret = t->fit;
    return 1;
}

void prof_note_fit(const struct pick *p, uint32_t id, const struct fit *fit, bool fits)
{
    struct prof *pf = p->s->prof;
    const struct pnode *pn = &pf->nodes[id];
    uint32_t i = find_step(pn, p->from), k = i;
    struct recall *t = &pf->recall[id];

    t->search = pf->searches;
    t->from_end = i ? step_at(pn, i - 1)->from : UINT32_MAX;
    while (k && step_at(pn, k - 1)->from < p->until)
        k--;
    t->until_begin = MAX(step_at(pn, k)->from + 1, p->from + 1);
    t->until_end = k ? step_at(pn, k - 1)->from : UINT32_MAX;
    t->fits = fits;
    if (fits)
        t->fit = *fit;
}

bool prof_filter_sum(struct pick *p, const struct bitmap *mask, uint64_t cpus, uint32_t max)
{
    struct prof *pf = p->s->prof;
    uint64_t even = cpus / MAX(max, 1u), low, need;

    p->low = 0;
    if (even < 2)
        return true;
    /* A node that does not reach this level adds less than low to the sum. */
    low = UINT64_C(1) << MIN(63 - (uint32_t)__builtin_clzll(even) - (even < pf->most_cpus),
                             pf->nlevels - 1);
    p->low = (uint32_t)low;
    if (cpus <= max * (low - 1))
        return true;
    need = (cpus - max * (low - 1) + pf->most_cpus - low) / (pf->most_cpus - low + 1);
    bitmap_copy(p->s->dup, mask);
    return prof_filter(p, p->s->dup, false, low, (uint32_t)MIN(need, (uint64_t)UINT32_MAX));
}

void prof_span(struct pick *p, uint32_t from, uint32_t minutes)
{
    p->plan = true;
    p->from = from;
    p->until = prof_until(p->s, from, minutes);
    p->end_us = from ? 0 : end_after(prof_time(p->s, 0), minutes);
    p->s->prof->searches++;
}

uint32_t prof_keeper(const struct sched *s, uint32_t id, uint32_t until, int64_t *ret_start_us)
{
    const struct pnode *pn = &s->prof->nodes[id];

    for (uint32_t i = pn->n; i-- > 0 && step_at(pn, i)->from < until;) {
        if (!step_at(pn, i)->keeper)
            continue;
        *ret_start_us = prof_promise(s, step_at(pn, i)->from);
        return step_at(pn, i)->keeper;
    }
    return 0;
}

/* One slot or block, of the words of mask in pf->idx; those that become empty leave it.  Are as
 * many nodes left as it needs? */
static bool keep_slot(struct prof *pf, struct bitmap *mask, const uint64_t *w, uint32_t need,
                      uint32_t *n)
{
    uint32_t left = 0, kept = 0;

    for (uint32_t i = 0; i < *n; i++) {
        uint32_t at = pf->idx[i];
        uint64_t m = mask->words[at] & w[at];

        mask->words[at] = m;
        if (m) {
            pf->idx[kept++] = at;
            if (kept + left < need) /* each word has one at least */
                left += (uint32_t)__builtin_popcountll(m) - 1;
        }
    }
    *n = kept;
    return kept + left >= need;
}

bool prof_filter(struct pick *p, struct bitmap *mask, bool idle, uint64_t cpus, uint32_t need)
{
    struct prof *pf = p->s->prof;
    uint32_t level = cpus > 1 ? 63 - (uint32_t)__builtin_clzll(cpus) : 0, n = 0;
    uint32_t end = MIN(p->until, pf->nslots);

    level = idle ? pf->nlevels : MIN(level, pf->nlevels - 1);
    for (uint32_t q = end; q-- > p->from;) {
        if (pf->counts[(size_t)q * (pf->nlevels + 1) + level] < need) {
            p->next = MIN(p->next, q + 1);
            return false;
        }
    }
    for (uint32_t i = 0; i < mask->nwords; i++)
        if (mask->words[i])
            pf->idx[n++] = i;
    /* The first slot has least, as a rule: most searches end there, and few words are left for the
     * others. */
    p->next = MIN(p->next, p->from + 1);
    for (uint32_t q = p->from, step; q < end; q += step) {
        bool block = q % PROF_BLOCK == 0 && q + PROF_BLOCK <= end;

        step = block ? PROF_BLOCK : 1;
        if (!keep_slot(pf, mask, block ? block_words(pf, q, level) : level_words(pf, q, level),
                       need, &n))
            return false;
    }
    return true;
}

static bool lic_free(const struct sched *s, const struct job_lic *l, uint32_t from, uint32_t until)
{
    const struct prof *pf = s->prof;

    for (uint32_t q = from; q < MIN(until, pf->nslots) && l->id < pf->nlics; q++) {
        uint64_t used = pf->lics[(size_t)q * pf->nlics + l->id];

        if (s->lics[l->id].total < used + l->count)
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

/* --- holding
 * -------------------------------------------------------------------------------------------- */

/* A step begins at slot, a copy of the one it lay in.  Gives its index. */
static int split(struct pnode *pn, uint32_t slot)
{
    uint32_t i = find_step(pn, slot);

    if (step_at(pn, i)->from == slot)
        return (int)i;
    if (room(pn, pn->n + 1) < 0)
        return -ENOMEM;
    memmove(step_at(pn, i + 1), step_at(pn, i), (size_t)(pn->n - i) * pn->stride);
    pn->n++;
    step_at(pn, i)->from = slot;
    step_at(pn, i)->starts_us = 0;
    return (int)i;
}

static void refresh_bits(struct sched *s, uint32_t id, const struct step *st, uint32_t until,
                         uint32_t before, bool held_before)
{
    const struct prof *pf = s->prof;
    uint32_t now = levels_of(pf, step_free(&s->nodes[id], st));
    uint64_t mask = ~(UINT64_C(1) << (id & 63));

    for (uint32_t q = st->from; q < until; q++) {
        uint64_t *w = level_words(pf, q, 0) + (id >> 6), *b = block_words(pf, q, 0) + (id >> 6);

        uint32_t *counts = pf->counts + (size_t)q * (pf->nlevels + 1);

        for (uint32_t k = now; k < before; k++) {
            w[(size_t)k * pf->nwords] &= mask;
            b[(size_t)k * pf->nwords] &= mask;
            counts[k]--;
        }
        if (!held_before) {
            w[(size_t)pf->nlevels * pf->nwords] &= mask;
            b[(size_t)pf->nlevels * pf->nwords] &= mask;
            counts[pf->nlevels]--;
        }
    }
}

static int hold_node(struct sched *s, const struct hold *h, uint32_t from, uint32_t until)
{
    struct prof *pf = s->prof;
    uint32_t id = h->an->node_id;
    struct pnode *pn = &pf->nodes[id];
    int i = 0;

    if (until < pf->nslots)
        i = split(pn, until);
    if (i >= 0)
        i = split(pn, from);
    if (i < 0)
        return i;
    if (h->keeper) {
        struct step *st = step_at(pn, (uint32_t)i);
        int64_t promise_us = prof_promise(s, from);

        st->starts_us = st->starts_us ? MIN(st->starts_us, promise_us) : promise_us;
    }
    for (uint32_t k = (uint32_t)i + 1; k-- > 0;) {
        struct step *st = step_at(pn, k);
        uint32_t before = levels_of(pf, step_free(&s->nodes[id], st));
        bool held = st->held;

        if (st->from >= until)
            break;
        step_add(s, id, st, h);
        refresh_bits(s, id, st, k ? step_at(pn, k - 1)->from : pf->nslots, before, held);
    }
    return 0;
}

int prof_hold(struct sched *s, const struct sched_alloc *a, const struct job_lics *lics,
              const struct job *j, uint32_t part, bool firm, uint32_t from, uint32_t until)
{
    struct prof *pf = s->prof;
    int r = 0;

    until = MIN(until, pf->nslots);
    pf->holds++;
    for (size_t i = 0; r == 0 && i < a->nnodes; i++) {
        struct hold h = { .an = &a->nodes[i],
                          .part = part,
                          .uid = j->uid,
                          .firm = firm,
                          .cpus = true,
                          .owned = j->owned,
                          .keeper = from ? j->id : 0 };

        r = hold_node(s, &h, from, until);
    }
    lics_add(pf, lics, from, until);
    if (until < pf->nslots)
        pf->release[until] = true;
    return r;
}

/* Is there room for an in this step too? */
static bool step_holds(struct sched *s, const struct step *st, const struct sched_alloc_node *an,
                       uint32_t part)
{
    struct node *n = &s->nodes[an->node_id];
    struct layout l = layout_of(n);
    const struct part *p = s->parts[part];
    uint32_t at = node_part_index(n, part);

    for (uint32_t w = 0; w < MIN(an->ncpu_words, n->nwords); w++)
        if (st->w[w] & an->cpu_bits[w])
            return false;
    if (s->params.select_memory && st->mem + an->mem_mib > n->mem_mib)
        return false;
    if (p->node_cpus && at < n->nparts &&
        ((const uint32_t *)(st->w + l.parts))[at] + an->cpus > p->max_cpus_per_node)
        return false;
    return an->ngres == 0;
}

uint32_t prof_stretch(const struct sched *s, const struct sched_alloc *a, uint32_t part,
                      uint32_t until, uint32_t most)
{
    for (size_t i = 0; i < a->nnodes; i++) {
        const struct pnode *pn = &s->prof->nodes[a->nodes[i].node_id];

        for (uint32_t k = find_step(pn, until) + 1; k-- > 0 && step_at(pn, k)->from < most;) {
            const struct step *st = step_at(pn, k);

            if (!step_holds((struct sched *)s, st, &a->nodes[i], part))
                most = MAX(st->from, until);
        }
    }
    return most;
}

int prof_search(struct pick *p, const struct job_lics *want, uint32_t minutes, uint32_t first,
                bool only, struct sched_alloc *ret_alloc)
{
    struct sched *s = p->s;
    uint32_t slot = first, which, next;
    int r = 0;

    p->plan = true;
    s->prof->searches++;
    while (slot < s->prof->nslots) {
        p->from = slot;
        p->until = prof_until(s, slot, minutes);
        p->end_us = slot ? 0 : end_after(prof_time(s, 0), minutes);
        p->next = UINT32_MAX;
        r = prof_lics(s, want, p->from, p->until, &which) ? pick_nodes(p) : 0;
        if (r == 1) {
            r = layout(p, ret_alloc);
            r = r == 0 ? 1 : r == -EAGAIN ? 0 : r;
            p->next = slot + 1;
        }
        if (r != 0 || only)
            break;
        s->prof->searches +=
            slot == 0; /* its end is held to promises more exactly than later ones */
        next = p->next == UINT32_MAX ? slot + 1 : p->next;
        slot = prof_release(s, MAX(next, slot + 1));
    }
    p->plan = false;
    return r;
}
