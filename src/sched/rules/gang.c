/* gang.c - see gang.h
 *
 * The jobs are put in the order in which they may choose, and each runs whose CPUs are all free
 * still.  Since every job that runs becomes the last of those that will wait, the order by waiting
 * time is a rotation without a list. */
#include "sched/rules/gang.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/compare/order.h"

struct taken {       /* CPUs of the nodes that jobs claim */
    uint32_t *nodes; /* ids, in order, each once */
    size_t n;
    uint32_t nwords; /* of each */
    uint64_t *words;
};

static int taken_init(struct taken *t, const struct gang_job *jobs, size_t n)
{
    size_t claims = 0, at = 0;

    for (size_t i = 0; i < n; i++)
        claims += jobs[i].nclaims;
    t->nodes = malloc((claims + 1) * sizeof(*t->nodes));
    if (!t->nodes)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < jobs[i].nclaims; k++) {
            t->nodes[at++] = jobs[i].claims[k].node_id;
            t->nwords = MAX(t->nwords, jobs[i].claims[k].nwords);
        }
    }
    qsort(t->nodes, claims, sizeof(*t->nodes), order_u32);
    for (size_t i = 0; i < claims; i++)
        if (!t->n || t->nodes[t->n - 1] != t->nodes[i])
            t->nodes[t->n++] = t->nodes[i];
    t->words = calloc(t->n * t->nwords + 1, sizeof(*t->words));
    return t->words ? 0 : -ENOMEM;
}

static void taken_done(struct taken *t)
{
    free(t->nodes);
    free(t->words);
}

static uint64_t *words_of(const struct taken *t, uint32_t node_id)
{
    const uint32_t *at = bsearch(&node_id, t->nodes, t->n, sizeof(*t->nodes), order_u32);

    return t->words + (size_t)(at - t->nodes) * t->nwords; /* taken_init() has seen it */
}

static bool is_free(const struct taken *t, const struct gang_job *j)
{
    for (size_t i = 0; i < j->nclaims; i++) {
        const uint64_t *words = words_of(t, j->claims[i].node_id);

        for (uint32_t w = 0; w < j->claims[i].nwords; w++)
            if (words[w] & j->claims[i].cpus[w])
                return false;
    }
    return true;
}

static void take_cpus(struct taken *t, const struct gang_job *j)
{
    for (size_t i = 0; i < j->nclaims; i++) {
        uint64_t *words = words_of(t, j->claims[i].node_id);

        for (uint32_t w = 0; w < j->claims[i].nwords; w++)
            words[w] |= j->claims[i].cpus[w];
    }
}

/* Before all that depends on whether a slice begins. */
static int by_right(const struct gang_job *a, const struct gang_job *b)
{
    if (a->fixed != b->fixed)
        return a->fixed ? -1 : 1;
    return (a->rank < b->rank) - (a->rank > b->rank);
}

static int by_time(const struct gang_job *a, const struct gang_job *b)
{
    if (a->since_us != b->since_us)
        return a->since_us < b->since_us ? -1 : 1;
    if (a->ran_us != b->ran_us)
        return a->ran_us < b->ran_us ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static int by_running(const void *pa, const void *pb)
{
    const struct gang_job *a = *(struct gang_job *const *)pa, *b = *(struct gang_job *const *)pb;
    int d = by_right(a, b);

    if (d == 0)
        d = b->running - a->running;
    return d ? d : by_time(a, b);
}

static int by_waiting(const void *pa, const void *pb)
{
    const struct gang_job *a = *(struct gang_job *const *)pa, *b = *(struct gang_job *const *)pb;
    int d = by_right(a, b);

    if (d == 0)
        d = a->running - b->running;
    return d ? d : by_time(a, b);
}

int gang_plan(struct gang_job *jobs, size_t n, bool next)
{
    _cleanup_val_(taken_done) struct taken t = { 0 };
    _cleanup_free_ struct gang_job **order = malloc((n + 1) * sizeof(*order));
    int r = order ? taken_init(&t, jobs, n) : -ENOMEM;

    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        order[i] = &jobs[i];
    qsort(order, n, sizeof(*order), next ? by_waiting : by_running);
    for (size_t i = 0; i < n; i++) {
        order[i]->runs = order[i]->fixed || is_free(&t, order[i]);
        if (order[i]->runs)
            take_cpus(&t, order[i]);
    }
    return 0;
}
