/* queue.c - the queue of each partition, and the jobs that wait to enter a queue.
 *
 * A pending job waits in the heap for its eligible time, or its entries are in the queues of its
 * partitions, or parked there (they cannot start until the configuration changes).  The fresh list
 * holds the jobs that the next pass must enter or tell something.  A queue is a skip list in
 * priority order; the heights come from the job id, so that equal histories give equal lists. */
#include "sched/state/queue.h"

#include <errno.h>
#include <stdlib.h>

#include "sched/state/bounds.h"
#include "sched/state/jobs.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"

/* ---- queues ---------------------------------------------------------------------------------- */

bool entry_before(const struct entry *a, const struct entry *b)
{
    if (a->first != b->first)
        return a->first;
    if (a->ahead != b->ahead)
        return a->ahead;
    if (a->place != b->place)
        return a->place > b->place;
    if (a->job->submit_us != b->job->submit_us)
        return a->job->submit_us < b->job->submit_us;
    return a->job->id != b->job->id ? a->job->id < b->job->id : a->rank < b->rank;
}

/* links[k] = the link of level k of the list that leads to e's place. */
static void find_place(struct entry **list, const struct entry *e,
                       struct entry **links[QUEUE_LEVELS])
{
    struct entry **at = list;

    for (int k = QUEUE_LEVELS - 1; k >= 0; k--) {
        while (at[k] && entry_before(at[k], e))
            at = at[k]->next;
        links[k] = &at[k];
    }
}

static void list_add(struct entry **list, struct entry *e)
{
    struct entry **links[QUEUE_LEVELS];

    find_place(list, e, links);
    for (uint32_t k = 0; k < e->height; k++) {
        e->next[k] = *links[k];
        *links[k] = e;
    }
}

static void list_remove(struct entry **list, const struct entry *e)
{
    struct entry **links[QUEUE_LEVELS];

    find_place(list, e, links);
    for (uint32_t k = 0; k < e->height; k++)
        *links[k] = e->next[k];
}

void queue_add(struct sched *s, struct entry *e)
{
    struct part *p = s->parts[e->part];

    list_add(p->head, e);
    e->state = ENTRY_QUEUED;
    p->nqueued++;
}

void queue_remove(struct sched *s, struct entry *e)
{
    struct part *p = s->parts[e->part];

    if (e->state == ENTRY_PARKED)
        list_remove(p->parked, e);
    if (e->state == ENTRY_QUEUED) {
        list_remove(p->head, e);
        p->nqueued--;
        if (p->cur == e)
            p->cur = e->next[0];
        if (p->block == e)
            p->block = NULL;
    }
    e->state = ENTRY_OUT;
}

void queue_park(struct sched *s, struct entry *e)
{
    struct part *p = s->parts[e->part];

    queue_remove(s, e);
    e->state = ENTRY_PARKED;
    list_add(p->parked, e);
}

/* ---- waiting for a time ---------------------------------------------------------------------- */

static bool heap_before(const struct job *a, const struct job *b)
{
    return a->eligible_us != b->eligible_us ? a->eligible_us < b->eligible_us : a->id < b->id;
}

static void heap_set(struct sched *s, uint32_t i, struct job *j)
{
    s->heap[i] = j;
    j->heap_at = i + 1;
}

static void heap_up(struct sched *s, uint32_t i, struct job *j)
{
    for (; i && heap_before(j, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap_set(s, i, s->heap[(i - 1) / 2]);
    heap_set(s, i, j);
}

static void heap_down(struct sched *s, uint32_t i, struct job *j)
{
    for (uint32_t c; (c = i * 2 + 1) < s->nheap; i = c) {
        if (c + 1 < s->nheap && heap_before(s->heap[c + 1], s->heap[c]))
            c++;
        if (!heap_before(s->heap[c], j))
            break;
        heap_set(s, i, s->heap[c]);
    }
    heap_set(s, i, j);
}

static int heap_push(struct sched *s, struct job *j)
{
    if (s->nheap == s->heap_cap) {
        uint32_t cap = s->heap_cap ? s->heap_cap * 2 : 64;
        struct job **grown = realloc(s->heap, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        s->heap = grown;
        s->heap_cap = cap;
    }
    heap_up(s, s->nheap++, j);
    return 0;
}

static void heap_remove(struct sched *s, struct job *j)
{
    uint32_t i = j->heap_at - 1;
    struct job *last = s->heap[--s->nheap];

    j->heap_at = 0;
    if (last == j)
        return;
    if (i && heap_before(last, s->heap[(i - 1) / 2]))
        heap_up(s, i, last);
    else
        heap_down(s, i, last);
}

/* ---- entering and leaving -------------------------------------------------------------------- */

void job_set_fresh(struct sched *s, struct job *j)
{
    if (j->fresh)
        return;
    j->fresh = true;
    j->fresh_prev = NULL;
    j->fresh_next = s->fresh;
    if (s->fresh)
        s->fresh->fresh_prev = j;
    s->fresh = j;
    s->change++;
}

void job_clear_fresh(struct sched *s, struct job *j)
{
    if (!j->fresh)
        return;
    if (j->fresh_prev)
        j->fresh_prev->fresh_next = j->fresh_next;
    else
        s->fresh = j->fresh_next;
    if (j->fresh_next)
        j->fresh_next->fresh_prev = j->fresh_prev;
    j->fresh = false;
}

void job_unqueue(struct sched *s, struct job *j)
{
    if (j->heap_at)
        heap_remove(s, j);
    job_clear_fresh(s, j);
    for (uint32_t i = 0; i < j->nentries; i++)
        queue_remove(s, j->entries[i]);
}

int job_wait(struct sched *s, struct job *j)
{
    int r = 0;

    j->state = JOB_WAITING;
    if (j->eligible_us != INT64_MAX) {
        r = heap_push(s, j);
        if (r == 0)
            job_set_fresh(s, j);
    }
    return r;
}

/* Entries parked in a partition whose nodes or limits changed get another chance. */
static void enter_unparked(struct sched *s)
{
    for (uint32_t i = 0; i < s->nparts; i++) {
        struct part *p = s->parts[i];

        if (!p->unpark)
            continue;
        p->unpark = false;
        while (p->parked[0]) {
            struct entry *e = p->parked[0];

            queue_remove(s, e);
            job_set_fresh(s, e->job);
        }
    }
}

void queue_wake(struct sched *s, int64_t now_us)
{
    enter_unparked(s);
    while (s->nheap && s->heap[0]->eligible_us <= now_us) {
        struct job *j = s->heap[0];

        heap_remove(s, j);
        j->state = JOB_QUEUED;
        job_set_fresh(s, j);
    }
}
