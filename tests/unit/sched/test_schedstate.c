/* test_schedstate.c - the lists and tables that the scheduler keeps: queues, running jobs by their
 * ends and by their groups, the log of the plan, rows of devices, levels of limits */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/rules/limit_data.h"
#include "sched/rules/limit_levels.h"
#include "sched/sched.h"
#include "sched/state/gresrow.h"
#include "sched/state/holders.h"
#include "sched/state/jobs.h"
#include "sched/state/line.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/planlog.h"
#include "sched/state/queue.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"

#define JOBS 40u
#define PARTS 2u

struct world {
    struct sched s;
    struct part part[PARTS], *parts[PARTS];
    struct job jobs[JOBS];
};

static int make_world(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    for (uint32_t i = 0; i < PARTS; i++) {
        w->parts[i] = &w->part[i];
        w->part[i].id = i;
    }
    w->s.parts = w->parts;
    w->s.nparts = PARTS;
    w->s.nnodes = 3;
    w->s.nbits = 64;
    for (uint32_t i = 0; i < JOBS; i++)
        w->jobs[i] = (struct job){ .id = i + 1, .state = JOB_RUNNING, .qos = STRTAB_NONE };
    *state = w;
    return 0;
}

static int free_world(void **state)
{
    struct world *w = *state;

    for (uint32_t i = 0; i < PARTS; i++)
        holders_done(&w->part[i]);
    free(w->s.going);
    free(w->s.line);
    free(w);
    return 0;
}

/* ---- queues ---------------------------------------------------------------------------------- */

static void test_order(void **state)
{
    struct job jobs[2] = { { .id = 1, .submit_us = 5 }, { .id = 2, .submit_us = 5 } };
    struct entry a = { .job = &jobs[0], .place = 10 }, b = { .job = &jobs[1], .place = 10 };

    (void)state;
    assert_true(entry_before(&a, &b)); /* the id */
    assert_false(entry_before(&b, &a));
    jobs[1].submit_us = 4;
    assert_true(entry_before(&b, &a)); /* who came first */
    a.place = 11;
    assert_true(entry_before(&a, &b));
    b.ahead = true; /* in a reservation */
    assert_true(entry_before(&b, &a));
    a.first = true; /* expedited */
    assert_true(entry_before(&a, &b));
    b = a;
    b.rank = 1; /* of one job the partition that it named first */
    assert_true(entry_before(&a, &b));
    assert_false(entry_before(&a, &a));
}

static void test_queue(void **state)
{
    struct world *w = *state;
    struct entry *entries[JOBS];
    const struct entry *e;
    uint32_t n = 0;

    for (uint32_t i = 0; i < JOBS; i++) {
        entries[i] = calloc(1, sizeof(struct entry) + QUEUE_LEVELS * sizeof(struct entry *));
        assert_non_null(entries[i]);
        entries[i]->job = &w->jobs[i];
        entries[i]->priority = i * 7 % 5;
        entries[i]->height = (i % QUEUE_LEVELS + 1) & 0xf;
        queue_add(&w->s, entries[i]);
    }
    assert_int_equal(w->part[0].nqueued, JOBS);
    w->part[0].cur = w->part[0].head[0];
    w->part[0].block = w->part[0].head[0]->next[0];
    e = w->part[0].block;
    queue_remove(&w->s, w->part[0].cur); /* the walk goes on behind it */
    assert_ptr_equal(w->part[0].cur, e);
    queue_park(&w->s, w->part[0].block);
    assert_null(w->part[0].block);
    assert_ptr_equal(w->part[0].parked[0], e);
    assert_int_equal(e->state, ENTRY_PARKED);
    assert_int_equal(w->part[0].nqueued, JOBS - 2);
    for (e = w->part[0].head[0]; e; e = e->next[0], n++)
        assert_true(!e->next[0] || entry_before(e, e->next[0]));
    assert_int_equal(n, JOBS - 2);
    for (uint32_t i = 0; i < JOBS; i++) {
        queue_remove(&w->s, entries[i]);
        free(entries[i]);
    }
    for (uint32_t k = 0; k < QUEUE_LEVELS; k++)
        assert_true(!w->part[0].head[k] && !w->part[0].parked[k]);
    assert_int_equal(w->part[0].nqueued, 0);
}

/* ---- jobs that hold resources ---------------------------------------------------------------- */

static void hold(struct world *w, uint32_t i, uint32_t part, uint32_t qos, int64_t end_us)
{
    struct job *j = &w->jobs[i];

    j->part = part;
    j->qos = qos;
    j->end_us = end_us;
    j->channels = 2;
    assert_int_equal(holders_room(&w->s, part, qos), 0);
    holders_add(&w->s, j);
}

/* Every job that holds is found once, whatever its group, and none that has gone. */
static void test_holders(void **state)
{
    struct world *w = *state;
    struct holders_iter it = { 0 };
    uint64_t bits[2] = { 7, 1 };
    struct sched_alloc_node an[2] = { { .cpu_bits = bits, .ncpu_words = 1 },
                                      { .cpu_bits = bits, .ncpu_words = 2 } };
    bool seen[JOBS] = { false };
    uint32_t n = 0;

    w->jobs[0].alloc = (struct sched_alloc){ .nodes = an, .nnodes = 2 };
    for (uint32_t i = 0; i < JOBS; i++)
        hold(w, i, i % PARTS, i % 3 ? i % 3 : STRTAB_NONE, i);
    assert_int_equal(w->jobs[0].held_cpus, 3 + 4);
    assert_int_equal(w->s.nholding, JOBS);
    assert_int_equal(w->s.channels_held, 2 * JOBS);
    for (uint32_t i = 0; i < JOBS; i += 4)
        holders_remove(&w->s, &w->jobs[i]);
    for (const struct job *j; (j = holders_next(&w->s, &it)); n++) {
        assert_false(seen[j->id - 1]);
        seen[j->id - 1] = true;
        assert_int_not_equal((j->id - 1) % 4, 0);
    }
    assert_int_equal(n, JOBS - JOBS / 4);
    assert_int_equal(w->s.nholding, n);
    assert_int_equal(w->s.channels_held, 2 * n);
}

static void test_going(void **state)
{
    struct world *w = *state;
    struct job *j = &w->jobs[0], *slots[1] = { j };

    w->s.jobs = slots;
    w->s.job_slots = 1;
    assert_false(goes_anyway(j));
    j->claimed_by = 9;
    assert_true(goes_anyway(j));
    j->yielded = true; /* it has made room, and runs on */
    assert_false(goes_anyway(j));
    j->leaving = true;
    assert_true(goes_anyway(j));
    hold(w, 0, 0, STRTAB_NONE, 5);
    going_note(&w->s, j);
    going_note(&w->s, j);
    assert_int_equal(w->s.ngoing, 1);
    going_settle(&w->s);
    assert_int_equal(w->s.ngoing, 1);
    j->leaving = false;
    going_settle(&w->s);
    assert_int_equal(w->s.ngoing, 0);
    assert_false(j->going);
}

/* By end, then by id; those without an end are counted apart. */
static void test_line(void **state)
{
    static const int64_t ends[] = { 50, INT64_MAX, 20, 20, 70 };
    static const uint32_t order[] = { 3, 4, 1, 5 };
    struct world *w = *state;

    for (uint32_t i = 0; i < ARRAY_SIZE(ends); i++)
        hold(w, i, i % PARTS, STRTAB_NONE, ends[i]);
    line_add(&w->s, &w->jobs[9]); /* there is no line yet */
    assert_int_equal(w->s.nline, 0);
    assert_int_equal(line_make(&w->s), 0);
    assert_int_equal(w->s.nline, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(w->s.line[i]->id, order[i]);
    assert_true(w->s.line_beyond == kept_number(&w->jobs[1]));
    w->jobs[9].end_us = 20;
    w->jobs[10].end_us = 10;
    w->jobs[11].end_us = 90;
    w->jobs[12].end_us = INT64_MAX;
    for (uint32_t i = 9; i <= 12; i++) {
        assert_int_equal(line_room(&w->s), 0);
        line_add(&w->s, &w->jobs[i]);
    }
    assert_int_equal(w->s.nline, 7);
    assert_int_equal(w->s.line[0]->id, 11);
    assert_int_equal(w->s.line[3]->id, 10);
    assert_int_equal(w->s.line[6]->id, 12);
    assert_true(w->s.line_beyond == kept_number(&w->jobs[1]) + kept_number(&w->jobs[12]));
    line_drop(&w->s);
    assert_int_equal(w->s.nline, 0);
    assert_false(w->s.line_made);
}

/* A job that holds something else stands for another number. */
static void test_number(void **state)
{
    struct world *w = *state;
    uint64_t before = kept_number(&w->jobs[0]);

    assert_true(before != kept_number(&w->jobs[1]));
    w->jobs[0].taken++;
    assert_true(before != kept_number(&w->jobs[0]));
}

/* ---- the log of the plan --------------------------------------------------------------------- */

static void test_planlog(void **state)
{
    struct world *w = *state;
    struct planlog *log = &w->s.log;
    struct sched_alloc_node an[2] = { { .node_id = 2 }, { .node_id = 0 } };
    const struct sched_alloc a = { .nodes = an, .nnodes = 2 };

    planlog_node(&w->s, 1); /* there is no plan: nothing is noted */
    planlog_came(&w->s, &w->jobs[0]);
    planlog_other(&w->s);
    assert_false(log->lost);
    assert_int_equal(planlog_start(&w->s), 0);
    planlog_nodes(&w->s, &a, false);
    planlog_nodes(&w->s, &a, true);
    planlog_node(&w->s, 2);
    assert_int_equal(log->ndirty, 2);
    assert_int_equal(log->nfreed, 2);
    assert_int_equal(log->dirty_ids[0], 2);
    planlog_node(&w->s, 1);
    assert_int_equal(log->ndirty, 3);
    for (uint32_t i = 0; i < JOBS; i++)
        planlog_came(&w->s, &w->jobs[i]);
    assert_int_equal(log->ncame, JOBS);
    assert_int_equal(log->came[JOBS - 1], JOBS);
    assert_false(log->lost);
    planlog_node(&w->s, 3); /* a node that was not there */
    assert_true(log->lost);
    planlog_came(&w->s, &w->jobs[0]); /* of no use any more */
    assert_int_equal(log->ncame, JOBS);
    planlog_end(&w->s);
    assert_int_equal(planlog_start(&w->s), 0);
    assert_false(log->lost);
    planlog_other(&w->s);
    assert_true(log->lost);
    planlog_end(&w->s);
    assert_false(log->on);
}

/* More jobs than a repair would look at: the plan is lost. */
static void test_planlog_many(void **state)
{
    struct world *w = *state;

    assert_int_equal(planlog_start(&w->s), 0);
    for (uint32_t i = 0; i < 20000; i++)
        planlog_came(&w->s, &w->jobs[i % JOBS]);
    assert_true(w->s.log.lost);
    planlog_end(&w->s);
}

/* ---- rows of devices ------------------------------------------------------------------------- */

static void test_gres_row(void **state)
{
    struct world *w = *state;
    struct node n = { .nwords = 1 };
    uint64_t near0 = 3;
    const uint64_t *near[2] = { &near0, NULL };
    struct sched_gres_share shares[2] = { { .device = 0, .count = 4 },
                                          { .device = 1, .count = 4 } };
    struct sched_gres_spec spec = {
        .name = "gpu", .type = "a100", .count = 2, .indexed = true, .near_cpus = near
    };
    struct gres_row a, b;

    assert_int_equal(gres_row_build(&w->s, &n, &spec, &a), 0);
    assert_true(a.gpu && a.near && !a.shares);
    assert_int_equal(a.near[0], 3);
    assert_true(a.near[1] == UINT64_MAX); /* not known: near all */
    assert_int_equal(gres_row_build(&w->s, &n, &spec, &b), 0);
    assert_true(gres_row_alike(&n, &a, &b));
    b.near[1] = 1;
    assert_false(gres_row_alike(&n, &a, &b));
    gres_row_done(&b);
    spec.type = NULL;
    assert_int_equal(gres_row_build(&w->s, &n, &spec, &b), 0);
    assert_int_equal(b.type, STRTAB_NONE);
    assert_false(gres_row_alike(&n, &a, &b));
    gres_row_done(&b);
    spec = (struct sched_gres_spec){
        .name = "shard", .count = 8, .indexed = true, .shares = shares, .nshares = 2
    };
    assert_int_equal(gres_row_build(&w->s, &n, &spec, &b), 0);
    assert_false(b.gpu);
    assert_int_equal(b.nshares, 2);
    gres_row_done(&b);
    spec.count = 9; /* not what its shares make together */
    assert_int_equal(gres_row_build(&w->s, &n, &spec, &b), -EINVAL);
    gres_row_done(&a);
    strtab_done(&w->s.gres_tab);
}

/* What a reservation leaves of its nodes: nothing is less than nothing. */
static void test_spare(void **state)
{
    struct world *w = *state;
    struct node nodes[3] = { { .mem_mib = 1000, .mem_used = 300 },
                             { .mem_mib = 1000, .mem_used = 900 } };
    uint32_t part_cpus[3] = { 2, 1 };
    struct sched_alloc_node an[2] = { { .node_id = 0, .mem_mib = 500, .cpus = 3 },
                                      { .node_id = 1, .mem_mib = 500, .cpus = 1 } };
    const struct sched_alloc a = { .nodes = an, .nnodes = 2 };
    struct resv_node *spare;

    w->s.nodes = nodes;
    w->part[1].node_cpus = part_cpus;
    w->part[1].max_cpus_per_node = 4;
    spare = spare_of(&w->s, &a, 1);
    assert_non_null(spare);
    assert_int_equal(spare[0].spare_mem, 200);
    assert_int_equal(spare[1].spare_mem, 0);
    assert_int_equal(spare[0].spare_part_cpus, 0);
    assert_int_equal(spare[1].spare_part_cpus, 2);
    free(spare);
}

/* ---- levels of limits ------------------------------------------------------------------------ */

/* No two levels have one key, and each is found when the table has grown. */
static void test_levels(void **state)
{
    struct world *w = *state;
    struct level *l, *again;

    assert_null(level_find(&w->s, level_key_assoc(1)));
    for (uint32_t id = 1; id <= 300; id++) {
        assert_int_equal(level_get(&w->s, level_key_assoc(id), &l), 0);
        assert_int_equal(level_get(&w->s, level_key_qos(id), &l), 0);
        assert_int_equal(level_get(&w->s, level_key_user(1, id), &l), 0);
        assert_int_equal(level_get(&w->s, level_key_account(1, id), &l), 0);
        assert_int_equal(level_get(&w->s, level_key_user(2, id), &l), 0);
    }
    assert_int_equal(w->s.limits->nlevels, 5 * 300);
    assert_int_equal(level_get(&w->s, level_key_qos(7), &again), 0);
    assert_int_equal(w->s.limits->nlevels, 5 * 300);
    assert_ptr_equal(again, level_find(&w->s, level_key_qos(7)));
    assert_true(l->usage_factor == 1);
    for (size_t i = 0; i < SCHED_LIMIT_NUMBERS; i++)
        assert_true(l->numbers[i] == SCHED_NO_LIMIT);
    w->s.limits->ntres = 3;
    assert_int_equal(level_counts_room(&w->s, l), 0);
    l->counts[2].used = 5;
    w->s.limits->ntres = 5;
    assert_int_equal(level_counts_room(&w->s, l), 0);
    assert_int_equal(l->counts[2].used, 5);
    assert_int_equal(l->counts[4].used, 0);
    levels_done(&w->s);
    assert_null(w->s.limits);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, make_world, free_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(test_order),    ROW(test_queue),  ROW(test_holders), ROW(test_going),
        ROW(test_line),     ROW(test_number), ROW(test_planlog), ROW(test_planlog_many),
        ROW(test_gres_row), ROW(test_spare),  ROW(test_levels),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
