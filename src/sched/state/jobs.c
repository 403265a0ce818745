/* jobs.c - the records of jobs, found by id in a table with open addressing */
#include "sched/state/jobs.h"

#include <errno.h>
#include <stdlib.h>

#include "sched/state/alloc.h"
#include "sched/state/classes.h"
#include "sched/state/expect.h"
#include "sched/state/lics.h"
#include "sched/state/sched_obj.h"

static uint32_t slot_of(const struct sched *s, uint32_t id)
{
    return (id * UINT32_C(2654435769)) >> 7 & (s->job_slots - 1);
}

struct job *job_find(const struct sched *s, uint32_t id)
{
    if (!s->job_slots)
        return NULL;
    for (uint32_t i = slot_of(s, id); s->jobs[i]; i = (i + 1) & (s->job_slots - 1))
        if (s->jobs[i]->id == id)
            return s->jobs[i];
    return NULL;
}

static void place_job(struct sched *s, struct job *j)
{
    uint32_t i = slot_of(s, j->id);

    while (s->jobs[i])
        i = (i + 1) & (s->job_slots - 1);
    s->jobs[i] = j;
}

int job_insert(struct sched *s, struct job *j)
{
    if ((s->njobs + 1) * 2 > s->job_slots) {
        uint32_t had = s->job_slots, n = had ? had * 2 : 64;
        struct job **old = s->jobs, **grown = calloc(n, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        s->jobs = grown;
        s->job_slots = n;
        for (uint32_t i = 0; i < had; i++)
            if (old[i])
                place_job(s, old[i]);
        free(old);
    }
    place_job(s, j);
    s->njobs++;
    return 0;
}

void job_free_entries(struct sched *s, struct job *j)
{
    for (uint32_t i = 0; i < j->nentries; i++) {
        class_unref(s, j->entries[i]->cls);
        free(j->entries[i]);
    }
    j->nentries = 0;
}

void job_free(struct sched *s, struct job *j)
{
    job_free_entries(s, j);
    alloc_done(&j->alloc);
    lics_free(&j->want);
    lics_free(&j->held);
    free(j->near);
    free(j->charge);
    expect_drop(j);
    free(j->het);
    free(j->waits);
    free(j);
}

void job_forget(struct sched *s, struct job *j)
{
    uint32_t mask = s->job_slots - 1, hole = slot_of(s, j->id);

    while (s->jobs[hole] != j)
        hole = (hole + 1) & mask;
    for (uint32_t i = (hole + 1) & mask; s->jobs[i]; i = (i + 1) & mask) {
        uint32_t home = slot_of(s, s->jobs[i]->id);

        if (((i - home) & mask) < ((i - hole) & mask))
            continue; /* it is at or after its home without the hole */
        s->jobs[hole] = s->jobs[i];
        hole = i;
    }
    s->jobs[hole] = NULL;
    s->njobs--;
    job_free(s, j);
}

void jobs_drop_priced(struct sched *s)
{
    for (struct job *j; (j = s->priced);) {
        s->priced = j->fresh_next;
        job_free(s, j);
    }
}

void jobs_done(struct sched *s)
{
    for (uint32_t i = 0; i < s->job_slots; i++)
        if (s->jobs[i])
            job_free(s, s->jobs[i]);
    free(s->jobs);
    free(s->heap);
    jobs_drop_priced(s);
}
