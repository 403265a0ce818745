/* test_firsts.c - what one search of the plan says about other requests, and what it does not */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "sched/plan/firsts.h"
#include "sched/sched.h"
#include "sched/state/classes.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"

#define NOW INT64_C(1700000000000000)
#define MINUTE INT64_C(60000000)
#include "sched_util.h"

/* One partition and two classes in it; a test changes their shapes. */
struct world {
    struct sched s;
    struct part part, *parts[1];
    struct shape shapes[2];
    struct class classes[2];
};

static void make_world(struct world *w)
{
    *w = (struct world){ .s.memo_run = 7 };
    w->parts[0] = &w->part;
    w->s.parts = w->parts;
    w->s.nparts = 1;
    for (int i = 0; i < 2; i++) {
        w->shapes[i].key = (struct shape_key){ .min_nodes = 2,
                                               .max_nodes = 2,
                                               .num_tasks = 4,
                                               .cpus_per_task = 1,
                                               .mem_per_cpu_mib = 100,
                                               .features_off = UINT32_MAX,
                                               .prefer_off = UINT32_MAX };
        w->classes[i].shape = &w->shapes[i];
    }
}

/* No place before slot 5 was found for the first class and 10 minutes: what is known of the
 * second. */
static uint32_t known_after(struct world *w, uint32_t minutes)
{
    uint32_t slot;

    firsts_note(&w->s, &w->classes[0], 10, 5);
    slot = firsts_find(&w->s, &w->classes[1], minutes);
    free(w->part.firsts);
    w->part.firsts = NULL;
    return slot;
}

static void test_more_and_less(void **state)
{
    struct world w;
    struct shape_key *k = &w.shapes[1].key;

    (void)state;
    make_world(&w);
    assert_int_equal(known_after(&w, 10), 5);
    assert_int_equal(known_after(&w, 11), 5);
    assert_int_equal(known_after(&w, 9), 0); /* a shorter job may fit before */
    k->mem_per_cpu_mib = 99;
    assert_int_equal(known_after(&w, 10), 0);
    k->mem_per_cpu_mib = 101;
    assert_int_equal(known_after(&w, 10), 5);
    k->num_tasks = 3; /* fewer on each node */
    assert_int_equal(known_after(&w, 10), 0);
    k->num_tasks = 6;
    k->min_nodes = k->max_nodes = 3; /* as many on each node, and more nodes */
    assert_int_equal(known_after(&w, 10), 5);
    k->num_tasks = 5; /* less than two a node */
    assert_int_equal(known_after(&w, 10), 0);
    k->num_tasks = 6;
    k->cpus_per_task = 2; /* not comparable */
    assert_int_equal(known_after(&w, 10), 0);
}

/* Of requests with anything special nothing is concluded, and nothing from them. */
static void test_special(void **state)
{
    struct world w;

    (void)state;
    for (int i = 0; i < 2; i++) {
        make_world(&w);
        w.shapes[i].key.max_nodes = 3;
        assert_int_equal(known_after(&w, 10), 0);
        make_world(&w);
        w.shapes[i].key.nexc = 1;
        assert_int_equal(known_after(&w, 10), 0);
        make_world(&w);
        w.shapes[i].key.flags = SHAPE_EXCLUSIVE;
        assert_int_equal(known_after(&w, 10), 0);
        make_world(&w);
        w.shapes[i].key.features_off = 0;
        assert_int_equal(known_after(&w, 10), 0);
        make_world(&w);
        w.shapes[i].key.label = 1; /* other nodes are closed to other labels */
        assert_int_equal(known_after(&w, 10), 0);
    }
}

/* What was found counts for one run, and the latest slot is remembered. */
static void test_runs(void **state)
{
    struct world w;

    (void)state;
    make_world(&w);
    firsts_note(&w.s, &w.classes[0], 10, 5);
    firsts_note(&w.s, &w.classes[0], 10, 3); /* says less */
    assert_int_equal(firsts_find(&w.s, &w.classes[1], 10), 5);
    firsts_note(&w.s, &w.classes[0], 20, 9);
    assert_int_equal(firsts_find(&w.s, &w.classes[1], 15), 5);
    assert_int_equal(firsts_find(&w.s, &w.classes[1], 20), 9);
    w.s.memo_run++;
    assert_int_equal(firsts_find(&w.s, &w.classes[1], 20), 0);
    free(w.part.firsts);
}

/* Job `id` with the label "red" runs on these CPUs of node 0 for so many minutes. */
static void run_red(struct sched *s, uint32_t id, uint64_t bits, int64_t minutes)
{
    struct sched_alloc_node an = { .node_id = 0,
                                   .cpus = (uint32_t)__builtin_popcountll(bits),
                                   .cpu_bits = &bits,
                                   .ncpu_words = 1,
                                   .tasks = 1 };
    const struct sched_alloc a = { .nodes = &an, .nnodes = 1 };

    assert_int_equal(sched_job_running(s, id, "main", &a, NOW, NOW + minutes * MINUTE, false), 0);
    assert_int_equal(sched_job_owner(s, id, 7, false, "red"), 0);
}

/* Red jobs fill a node, one for 20 minutes, the others for an hour.  A blue job waits for all of
 * them; a red one behind it in the queue, which asks for the same, waits for the first. */
static void test_labels(void **state)
{
    struct sched *s =
        util_cluster((struct sched_params){ .conservative = true, .bf_resolution_s = 60 }, 1, 4, 0);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    _cleanup_val_(sched_decisions_done) struct sched_decisions none = { 0 };
    int64_t expected_us[2] = { 0 }, wake;

    (void)state;
    run_red(s, 5, 1, 20);
    run_red(s, 6, 14, 60);
    for (uint32_t id = 9; id <= 10; id++) {
        struct sched_job j = util_job(id);

        j.max_nodes = 1;
        j.label = id == 9 ? "blue" : "red";
        put(s, j);
    }
    assert_int_equal(sched_pass(s, NOW, &none, &wake), 0);
    assert_int_equal(sched_backfill(s, NOW + 1, &d), 0);
    for (size_t i = 0; i < d.n; i++)
        if (d.items[i].kind == SCHED_EXPECT)
            expected_us[d.items[i].job_id - 9] = d.items[i].expected_us;
    assert_in_range(expected_us[0], NOW + 60 * MINUTE, NOW + 62 * MINUTE);
    assert_in_range(expected_us[1], NOW + 20 * MINUTE, NOW + 22 * MINUTE);
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_more_and_less),
                                        cmocka_unit_test(test_special), cmocka_unit_test(test_runs),
                                        cmocka_unit_test(test_labels) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
