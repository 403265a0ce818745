/* test_timeline.c - when and where a blocked job will start, what that reserves, and what is kept
 * of it from one backfill to the next */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW INT64_C(1700000040000000)
#define MINUTE INT64_C(60000000)

#include "limits_util.h"
#include "sched/plan/keptplan.h"
#include "sched/plan/resvadd.h"
#include "sched/plan/timeline.h"
#include "sched/rules/jobhold.h"
#include "sched/select/nodeview.h"
#include "sched/state/alloc.h"
#include "sched/state/line.h"
#include "sched/state/nodes.h"
#include "sched/state/question.h"
#include "sched/state/resvs.h"

/* Two nodes of 4 CPUs: all of node 0 is held for 30 minutes, node 1 by two jobs, for 10 and 20. */
struct plot {
    struct sched *s;
    struct job *jobs[3], *waits;
    struct pick p;
};

static struct pick question(const struct plot *plot, const struct job *j)
{
    struct entry *e = j->entries[0];
    struct pick p = { .s = plot->s, .cls = e->cls, .part = plot->s->parts[e->part] };

    pick_init(&p);
    p.minutes = 5;
    return p;
}

static int make_plot(void **state)
{
    struct plot *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    p->s = util_cluster((struct sched_params){ .select_memory = true }, 2, 4, 0);
    p->jobs[0] = limits_runs_on(p->s, limits_small(1, 4, 30), 0);
    p->jobs[1] = limits_runs_on(p->s, limits_small(2, 2, 10), 1);
    p->jobs[2] = limits_runs_on(p->s, limits_small(3, 2, 20), 1);
    p->waits = limits_waits(p->s, limits_small(4, 4, 5));
    p->p = question(p, p->waits);
    assert_int_equal(line_make(p->s), 0);
    *state = p;
    return 0;
}

static int free_plot(void **state)
{
    struct plot *p = *state;

    resvs_clear(p->s);
    kept_drop(p->s);
    line_drop(p->s);
    sched_free(p->s);
    free(p);
    return 0;
}

static int64_t planned(struct plot *p, struct pick *q, struct sched_alloc *alloc,
                       struct resv_node **spare)
{
    uint32_t before = p->s->nodes[0].free_cpus + p->s->nodes[1].free_cpus;
    int64_t start_us = 0;

    assert_int_equal(plan(q, NOW, &start_us, alloc, spare), 1);
    assert_int_equal(p->s->nodes[0].free_cpus + p->s->nodes[1].free_cpus, before); /* put back */
    return start_us;
}

/* A whole node is free first when both jobs of node 1 have ended. */
static void test_first_time(void **state)
{
    struct plot *p = *state;
    struct sched_alloc alloc = { 0 };
    struct resv_node *spare = NULL;

    assert_int_equal(line_first(&p->p), 2); /* before that the CPUs are too few in all */
    assert_true(planned(p, &p->p, &alloc, &spare) == NOW + 20 * MINUTE);
    assert_int_equal(alloc.nnodes, 1);
    assert_int_equal(alloc.nodes[0].node_id, 1);
    assert_int_equal(alloc.nodes[0].cpus, 4);
    assert_true(spare[0].spare_mem == 4000 - 300);
    alloc_done(&alloc);
    free(spare);
}

/* Jobs that end at one time go together, and one that fits now starts now. */
static void test_groups(void **state)
{
    struct plot *p = *state;
    struct sched_alloc alloc = { 0 };
    struct resv_node *spare = NULL;
    struct job *two = limits_waits(p->s, limits_small(5, 2, 5));
    struct pick q = question(p, two);

    assert_true(planned(p, &q, &alloc, &spare) == NOW + 10 * MINUTE);
    alloc_done(&alloc);
    free(spare);
    line_drop(p->s);
    p->jobs[1]->end_us = p->jobs[2]->end_us = p->jobs[0]->end_us;
    assert_int_equal(line_make(p->s), 0);
    assert_int_equal(line_first(&q), 3);
    assert_true(planned(p, &q, &alloc, &spare) == NOW + 30 * MINUTE);
    alloc_done(&alloc);
    free(spare);
}

/* What no end makes room for has no time. */
static void test_never(void **state)
{
    struct plot *p = *state;
    struct sched_alloc alloc = { 0 };
    struct resv_node *spare = NULL;
    struct job *big = limits_waits(p->s, limits_small(5, 5, 5));
    struct pick q = question(p, big);
    int64_t start_us = 77;

    assert_int_equal(plan(&q, NOW, &start_us, &alloc, &spare), 0);
    assert_true(start_us == 77);
    assert_null(spare);
}

/* A reservation holds for ever: the next job is planned beside it. */
static void test_reserve(void **state)
{
    struct plot *p = *state;
    struct sched_alloc alloc = { 0 };
    struct resv_node *spare = NULL;
    const struct job_lics none = { 0 };
    int64_t start = planned(p, &p->p, &alloc, &spare);

    assert_int_equal(resv_add(p->s, 0, start, &alloc, &spare, &none), 0);
    assert_null(alloc.nodes); /* taken */
    assert_null(spare);
    assert_int_equal(p->s->nresvs, 1);
    assert_true(p->s->resvs[0].start_us == start);
    assert_true(planned(p, &p->p, &alloc, &spare) == NOW + 30 * MINUTE); /* node 0 */
    assert_int_equal(alloc.nodes[0].node_id, 0);
    alloc_done(&alloc);
    free(spare);
}

/* What starts beside a reservation and outlasts its beginning takes from what that leaves. */
static void test_charge(void **state)
{
    struct plot *p = *state;
    struct sched_alloc alloc = { 0 };
    struct resv_node *spare = NULL;
    const struct job_lics none = { 0 };
    int64_t start = planned(p, &p->p, &alloc, &spare);
    struct sched_alloc_node node = { .node_id = 1, .cpus = 1, .mem_mib = 1000 };
    const struct sched_alloc other = { .nodes = &node, .nnodes = 1 };

    assert_int_equal(resv_add(p->s, 0, start, &alloc, &spare, &none), 0);
    resv_charge(p->s, &other, &none, 0, start); /* it has ended then */
    assert_true(p->s->resvs[0].spare[0].spare_mem == 3700);
    resv_charge(p->s, &other, &none, 0, start + 1);
    assert_true(p->s->resvs[0].spare[0].spare_mem == 2700);
    node.node_id = 0; /* another node */
    resv_charge(p->s, &other, &none, 0, INT64_MAX);
    assert_true(p->s->resvs[0].spare[0].spare_mem == 2700);
    node.node_id = 1;
    node.mem_mib = 9000; /* never below nothing */
    resv_charge(p->s, &other, &none, 0, INT64_MAX);
    assert_true(p->s->resvs[0].spare[0].spare_mem == 0);
}

static void make_kept(struct plot *p)
{
    struct sched_alloc alloc = { 0 };
    struct resv_node *spare = NULL;
    const struct job_lics none = { 0 };
    int64_t start = planned(p, &p->p, &alloc, &spare);

    assert_int_equal(resv_add(p->s, 0, start, &alloc, &spare, &none), 0);
    kept_note(&p->p, 4, start);
    resvs_clear(p->s); /* the backfill is over */
    assert_int_equal(p->s->nresvs, 0);
}

static int again(struct plot *p, uint32_t job)
{
    p->p = question(p, p->waits);
    return kept_again(&p->p, job, NOW + MINUTE);
}

/* Found again as long as nothing that matters has changed. */
static void test_kept(void **state)
{
    struct plot *p = *state;

    assert_int_equal(again(p, 4), 0); /* nothing is kept */
    make_kept(p);
    assert_int_equal(again(p, 5), 0); /* of another job */
    assert_int_equal(again(p, 4), 1);
    assert_int_equal(p->s->nresvs, 1);
    assert_true(p->s->resvs[0].start_us == NOW + 20 * MINUTE);
    assert_int_equal(p->s->resvs[0].alloc.nodes[0].node_id, 1);
    assert_int_equal(again(p, 4), 0); /* it is not the first any more */
    resvs_clear(p->s);
    assert_int_equal(again(p, 4), 1); /* kept on */
    resvs_clear(p->s);
    p->s->config_gen++;
    assert_int_equal(again(p, 4), 0);
    p->s->config_gen--;
    p->s->up_gen++;
    assert_int_equal(again(p, 4), 0);
    p->s->up_gen--;
    assert_int_equal(again(p, 4), 1);
    resvs_clear(p->s);
    kept_drop(p->s);
    assert_int_equal(again(p, 4), 0);
    kept_drop(p->s); /* twice does no harm */
}

/* A job that runs on beyond the start was changed; one that ends before may come and go. */
static void test_kept_beyond(void **state)
{
    struct plot *p = *state;

    make_kept(p);
    line_drop(p->s);
    p->jobs[1]->end_us -= 5 * MINUTE;
    assert_int_equal(line_make(p->s), 0);
    assert_int_equal(again(p, 4), 1);
    resvs_clear(p->s);
    line_drop(p->s);
    p->jobs[2]->end_us += 5 * MINUTE; /* which it waits for */
    assert_int_equal(line_make(p->s), 0);
    assert_int_equal(again(p, 4), 0);
}

/* What a job holds is taken once and given back whole. */
static void test_hold(void **state)
{
    struct plot *p = *state;
    const struct node *n = &p->s->nodes[1];
    uint64_t gen = p->s->run_gen;

    assert_int_equal(n->free_cpus, 0);
    assert_true(n->mem_used == 600);
    job_release(p->s, p->jobs[1]);
    assert_int_equal(n->free_cpus, 2);
    assert_true(n->mem_used == 300);
    assert_true(p->s->run_gen > gen); /* others may start */
    gen = p->s->run_gen;
    job_take(p->s, p->jobs[1]);
    assert_int_equal(n->free_cpus, 0);
    assert_true(n->mem_used == 600);
    assert_true(p->s->run_gen > gen && p->jobs[1]->taken == (uint32_t)p->s->run_gen);
    gen = p->s->run_gen;
    p->s->travelling = true; /* a plan tries out what would be */
    job_release(p->s, p->jobs[1]);
    job_take(p->s, p->jobs[1]);
    p->s->travelling = false;
    assert_true(p->s->run_gen == gen);
    assert_int_equal(job_close_units(p->s, p->jobs[1], false), 0);
    assert_int_equal(n->free_cpus, 0);
    assert_true(n->mem_used == 600);
}

int main(void)
{
#define ON_PLOT(f) cmocka_unit_test_setup_teardown(f, make_plot, free_plot)
    const struct CMUnitTest tests[] = {
        ON_PLOT(test_first_time),  ON_PLOT(test_groups), ON_PLOT(test_never),
        ON_PLOT(test_reserve),     ON_PLOT(test_charge), ON_PLOT(test_kept),
        ON_PLOT(test_kept_beyond), ON_PLOT(test_hold),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
