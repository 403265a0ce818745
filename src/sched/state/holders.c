/* holders.c - the jobs that hold resources, by partition and QOS.
 *
 * A search for running jobs does not go through the pending ones, and a search for jobs to
 * preempt leaves out whole groups that it may not touch.  A job knows its place in its group, so
 * that it comes and goes in constant time.  Jobs that leave anyway are listed beside. */
#include "sched/state/holders.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "sched/state/jobs.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"

/* ---- claims ---------------------------------------------------------------------------------- */

void claim_drop(struct sched *s, struct job *j)
{
    for (uint32_t i = 0; j->waits && i < j->waits->n; i++) {
        struct job *k = job_find(s, j->waits->v[i].id);

        if (k && k->claimed_by == j->id)
            k->claimed_by = 0;
    }
    free(j->waits);
    j->waits = NULL;
}

static int group_get(struct sched *s, uint32_t part, uint32_t qos, struct holders **ret)
{
    struct part *p = s->parts[part];
    uint32_t row = qos + 1; /* row 0: STRTAB_NONE */

    if (row >= p->nholders) {
        uint32_t n = MAX(row + 1, p->nholders * 2);
        struct holders *grown = realloc(p->holders, n * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        p->holders = grown;
        while (p->nholders < n)
            p->holders[p->nholders++] = (struct holders){ 0 };
    }
    *ret = &p->holders[row];
    return 0;
}

bool goes_anyway(const struct job *j)
{
    return j->leaving || (j->claimed_by && !j->yielded);
}

void going_note(struct sched *s, struct job *j)
{
    if (!j->going)
        s->going[s->ngoing++] = j->id;
    j->going = true;
}

void going_settle(struct sched *s)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < s->ngoing; i++) {
        struct job *j = job_find(s, s->going[i]);

        if (!j || !j->going)
            continue; /* gone, or another of this id */
        j->going = j->state >= JOB_PROPOSED && goes_anyway(j);
        if (j->going)
            s->going[kept++] = j->id;
    }
    s->ngoing = kept;
}

/* Each that holds may have to go, once. */
static int going_room(struct sched *s)
{
    uint32_t n, *grown;

    if (s->ngoing + s->nholding < s->cap_going)
        return 0;
    going_settle(s);
    n = (s->nholding + s->ngoing + 32) * 2;
    if (n <= s->cap_going)
        return 0;
    grown = realloc(s->going, n * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    s->going = grown;
    s->cap_going = n;
    return 0;
}

int holders_room(struct sched *s, uint32_t part, uint32_t qos)
{
    struct holders *h;
    uint32_t cap;
    struct job **grown;
    int r = group_get(s, part, qos, &h);

    if (r == 0)
        r = going_room(s);
    if (r < 0 || h->n < h->cap)
        return r;
    cap = h->cap ? h->cap * 2 : 4;
    grown = realloc(h->v, cap * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    h->v = grown;
    h->cap = cap;
    return 0;
}

void holders_add(struct sched *s, struct job *j)
{
    struct holders *h = &s->parts[j->part]->holders[j->qos + 1];

    j->held_cpus = 0;
    for (size_t i = 0; i < j->alloc.nnodes; i++)
        for (uint32_t w = 0; w < j->alloc.nodes[i].ncpu_words; w++)
            j->held_cpus += (uint32_t)__builtin_popcountll(j->alloc.nodes[i].cpu_bits[w]);
    j->hold_at = h->n;
    h->v[h->n++] = j;
    s->nholding++;
    s->channels_held += j->channels;
}

void holders_remove(struct sched *s, struct job *j)
{
    struct holders *h = &s->parts[j->part]->holders[j->qos + 1];

    h->v[j->hold_at] = h->v[--h->n];
    h->v[j->hold_at]->hold_at = j->hold_at;
    j->hold_at = 0;
    s->nholding--;
    s->channels_held -= j->channels;
}

struct job *holders_next(const struct sched *s, struct holders_iter *it)
{
    for (; it->part < s->nparts; it->part++, it->row = 0) {
        const struct part *p = s->parts[it->part];

        for (; it->row < p->nholders; it->row++, it->at = 0)
            if (it->at < p->holders[it->row].n)
                return p->holders[it->row].v[it->at++];
    }
    return NULL;
}

void holders_done(struct part *p)
{
    for (uint32_t i = 0; i < p->nholders; i++)
        free(p->holders[i].v);
    free(p->holders);
}
