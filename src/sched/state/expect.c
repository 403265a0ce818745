/* expect.c - when and where a pending job is planned to start, and what its user was told of it.
 *
 * Few jobs of a long queue are planned: what is known of them is kept apart, so that the others do
 * not pay for it. */
#include "sched/state/expect.h"

#include <errno.h>
#include <stdlib.h>

#include "sched/sched.h"
#include "sched/state/jobs.h"

struct expect {
    int64_t us, told_us;  /* 0 = not planned */
    uint64_t run;         /* backfill run that planned it */
    struct place *places; /* in the plan that is kept, see plan.h */
    uint32_t cpus;        /* on all of them */
    uint32_t n, nodes[];
};

int64_t expect_us(const struct job *j)
{
    return j->expect ? j->expect->us : 0;
}

int64_t expect_told_us(const struct job *j)
{
    return j->expect ? j->expect->told_us : 0;
}

bool expect_in_run(const struct job *j, uint64_t run)
{
    return j->expect && j->expect->run == run;
}

int expect_set(struct job *j, int64_t us, uint64_t run, const struct sched_alloc *a)
{
    uint32_t n = a ? (uint32_t)a->nnodes : 0;
    struct expect *x = malloc(sizeof(*x) + n * sizeof(x->nodes[0]));

    if (!x)
        return -ENOMEM;
    *x = (struct expect){
        .us = us, .told_us = expect_told_us(j), .run = run, .places = expect_places(j), .n = n
    };
    x->n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!a->nodes[i].closed) {
            x->nodes[x->n++] = a->nodes[i].node_id;
            x->cpus += a->nodes[i].cpus;
        }
    free(j->expect);
    j->expect = x;
    return 0;
}

void expect_clear(struct job *j)
{
    if (j->expect)
        j->expect->us = 0;
}

void expect_told(struct job *j)
{
    if (j->expect)
        j->expect->told_us = j->expect->us;
}

struct place *expect_places(const struct job *j)
{
    return j->expect ? j->expect->places : NULL;
}

int expect_enlist(struct job *j, struct place *p)
{
    if (!j->expect)
        j->expect = calloc(1, sizeof(*j->expect));
    if (!j->expect)
        return -ENOMEM;
    p->next = j->expect->places;
    j->expect->places = p;
    return 0;
}

void expect_delist(struct job *j, const struct place *p)
{
    struct place **at = &j->expect->places;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
}

void expect_drop(struct job *j)
{
    free(j->expect);
    j->expect = NULL;
}

uint32_t expect_cpus(const struct job *j)
{
    return j->expect ? j->expect->cpus : 0;
}

int expect_nodes(const struct job *j, uint32_t **ret_nodes, size_t *ret_n)
{
    const struct expect *x = j->expect;

    if (!x || !x->n)
        return 0;
    *ret_nodes = malloc(x->n * sizeof(**ret_nodes));
    if (!*ret_nodes)
        return -ENOMEM;
    for (uint32_t i = 0; i < x->n; i++)
        (*ret_nodes)[i] = x->nodes[i];
    *ret_n = x->n;
    return 0;
}
