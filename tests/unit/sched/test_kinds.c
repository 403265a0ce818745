/* test_kinds.c - nodes that are made alike, and the list of decisions */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/state/decisions.h"
#include "sched/state/kinds.h"
#include "sched/state/sched_obj.h"

#define NOW INT64_C(1700000000000000)
#include "sched_util.h"

#define KINDS_MAX 64u /* of kinds.c */

static void put_node(struct sched *s, uint32_t id, uint64_t mem_mib, uint32_t weight)
{
    const struct sched_node n = { .id = id,
                                  .name = "n",
                                  .cpus = 4,
                                  .sockets = 1,
                                  .cores_per_socket = 4,
                                  .threads_per_core = 1,
                                  .mem_mib = mem_mib,
                                  .weight = weight,
                                  .schedulable = true };

    assert_int_equal(sched_node_put(s, &n), 0);
}

/* Nodes of another size are another kind; of another weight they are not. */
static void test_alike(void **state)
{
    struct sched *s = util_cluster((struct sched_params){ 0 }, 6, 4, 0);

    (void)state;
    put_node(s, 2, 8000, 1);
    put_node(s, 3, 8000, 1);
    put_node(s, 5, 4000, 9);
    assert_int_equal(kinds_make(s), 0);
    assert_int_equal(s->nkinds, 2);
    assert_int_equal(bitmap_count(s->kinds[0].nodes), 4);
    assert_true(bitmap_test(s->kinds[0].nodes, 5));
    assert_int_equal(bitmap_count(s->kinds[1].nodes), 2);
    assert_int_equal(s->kinds[1].like, 2);
    assert_int_equal(bitmap_count(s->odd), 0);
    put_node(s, 3, 16000, 1); /* the kinds are made anew */
    assert_int_equal(kinds_make(s), 0);
    assert_int_equal(s->nkinds, 3);
    assert_int_equal(bitmap_count(s->kinds[1].nodes), 1);
    sched_free(s);
}

/* Beyond the limit nodes are odd ones; none is lost, and none counts twice. */
static void test_too_many_kinds(void **state)
{
    struct sched *s = util_cluster((struct sched_params){ 0 }, 1, 4, 0);
    uint32_t all = 0;

    (void)state;
    for (uint32_t id = 0; id < KINDS_MAX + 10; id++)
        put_node(s, id, 1000 + id, 1);
    assert_int_equal(kinds_make(s), 0);
    assert_int_equal(s->nkinds, KINDS_MAX);
    for (uint32_t i = 0; i < s->nkinds; i++)
        all += bitmap_count(s->kinds[i].nodes);
    assert_int_equal(all, KINDS_MAX);
    assert_int_equal(bitmap_count(s->odd), 10);
    sched_free(s);
}

static void test_decisions(void **state)
{
    struct sched_decisions out = { 0 };

    (void)state;
    for (uint32_t id = 1; id <= 40; id++) {
        struct sched_decision d = { .job_id = id, .victims = calloc(1, sizeof(*d.victims)) };

        assert_non_null(d.victims);
        assert_int_equal(decisions_add(&out, &d), 0);
    }
    assert_int_equal(out.n, 40);
    for (uint32_t id = 1; id <= 40; id++)
        assert_int_equal(out.items[id - 1].job_id, id);
    sched_decisions_done(&out); /* frees what each holds; a sanitizer would tell */
    assert_int_equal(out.n, 0);
    assert_null(out.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_alike),
                                        cmocka_unit_test(test_too_many_kinds),
                                        cmocka_unit_test(test_decisions) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("kinds", tests, NULL, NULL);
}
