/* turns.c - see turns.h */
#include "sim/turns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/rules/gang.h"

#define NONE SIZE_MAX

struct turns {
    struct gang_job *jobs; /* that hold nodes; ids are indexes in the workload */
    size_t n, cap;
    size_t *at; /* by job of the workload: its place, NONE */
    size_t waiting;
};

struct turns *turns_free(struct turns *t)
{
    if (!t)
        return NULL;
    for (size_t i = 0; i < t->n; i++)
        free((void *)(uintptr_t)t->jobs[i].claims);
    free(t->jobs);
    free(t->at);
    free(t);
    return NULL;
}

int turns_new(size_t njobs, struct turns **ret)
{
    struct turns *t = calloc(1, sizeof(*t));

    if (t)
        t->at = malloc((njobs + 1) * sizeof(*t->at));
    if (!t || !t->at) {
        free(t);
        return -ENOMEM;
    }
    for (size_t i = 0; i < njobs; i++)
        t->at[i] = NONE;
    *ret = t;
    return 0;
}

/* One block of memory: the claims, then their words. */
static struct gang_claim *claims_of(const struct sched_alloc *a)
{
    size_t nwords = 0;
    struct gang_claim *claims;
    uint64_t *words;

    for (size_t i = 0; i < a->nnodes; i++)
        nwords += a->nodes[i].ncpu_words;
    claims = malloc(a->nnodes * sizeof(*claims) + (nwords + 1) * sizeof(*words));
    if (!claims)
        return NULL;
    words = (uint64_t *)(void *)(claims + a->nnodes);
    for (size_t i = 0; i < a->nnodes; i++) {
        const struct sched_alloc_node *n = &a->nodes[i];

        memcpy(words, n->cpu_bits, n->ncpu_words * sizeof(*words));
        claims[i] =
            (struct gang_claim){ .node_id = n->node_id, .nwords = n->ncpu_words, .cpus = words };
        words += n->ncpu_words;
    }
    return claims;
}

int turns_begin(struct turns *t, uint32_t i, const struct sched_alloc *alloc, uint32_t rank,
                int64_t start_us)
{
    struct gang_claim *claims = claims_of(alloc);

    if (!claims)
        return -ENOMEM;
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        struct gang_job *grown = realloc(t->jobs, cap * sizeof(*grown));

        if (!grown) {
            free(claims);
            return -ENOMEM;
        }
        t->jobs = grown;
        t->cap = cap;
    }
    t->at[i] = t->n;
    t->jobs[t->n++] = (struct gang_job){ .id = i,
                                         .rank = rank,
                                         .running = true,
                                         .since_us = start_us,
                                         .claims = claims,
                                         .nclaims = alloc->nnodes };
    return 0;
}

void turns_end(struct turns *t, uint32_t i)
{
    size_t at = t->at[i];

    if (at == NONE)
        return;
    t->waiting -= !t->jobs[at].running;
    free((void *)(uintptr_t)t->jobs[at].claims);
    t->jobs[at] = t->jobs[--t->n];
    t->at[t->jobs[at].id] = at;
    t->at[i] = NONE;
}

bool turns_waits(const struct turns *t, uint32_t i)
{
    return t->at[i] != NONE && !t->jobs[t->at[i]].running;
}

bool turns_any_waits(const struct turns *t)
{
    return t->waiting > 0;
}

int turns_take(struct turns *t, int64_t now_us, bool next, turns_fn *fn, void *ctx)
{
    int r = gang_plan(t->jobs, t->n, next);

    for (int run = 0; r == 0 && run < 2; run++) {
        for (size_t i = 0; r == 0 && i < t->n; i++) {
            struct gang_job *j = &t->jobs[i];

            if (j->runs != (run == 1) || j->running == j->runs)
                continue;
            j->ran_us += run ? 0 : now_us - j->since_us;
            j->since_us = now_us;
            j->running = run;
            t->waiting += run ? -(size_t)1 : 1;
            r = fn(ctx, j->id, run);
        }
    }
    return r;
}
