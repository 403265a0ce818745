/* test_topofeed.c - topologies as the scheduler gets them, and which one a partition uses */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "sched/sched.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"
#include "sched/state/topos.h"
#include "sched/topo/topo.h"

/* The scheduler keeps a set of its own; a set that is wrong leaves the old one. */
static void test_feeds_scheduler(void **state)
{
    static const uint32_t low[] = { 0, 1, 2, 3 };
    static const struct topo_unit_spec units[] = { { .name = "b1", .nodes = low, .nnodes = 4 } };
    struct topo_spec a = { .name = "a", .kind = TOPO_BLOCK, .units = units, .nunits = 1 };
    struct topo_spec b = { .name = "b", .kind = TOPO_FLAT };
    const struct topo_spec *const both[] = { &a, &b }, *const twice[] = { &a, &a };
    struct sched_params params = { .select = SCHED_SELECT_CORE };
    struct sched_partition part = { .name = "p", .node_ids = low, .nnodes = 4, .topology = "b" };
    struct sched *s;

    (void)state;
    assert_int_equal(sched_new(&params, &s), 0);
    assert_int_equal(sched_partition_put(s, &part), 0);
    assert_int_equal(sched_topologies_put(s, both, 2), 0);
    assert_null(s->parts[0]->topo); /* flat */
    part.topology = "elsewhere";
    assert_int_equal(sched_partition_put(s, &part), 0);
    assert_string_equal(topo_get_spec(s->parts[0]->topo)->name, "a");
    assert_int_equal(sched_topologies_put(s, twice, 2), -EINVAL);
    assert_string_equal(topo_get_spec(s->parts[0]->topo)->name, "a");
    assert_int_equal(sched_topologies_put(s, NULL, 0), 0);
    assert_null(s->parts[0]->topo);
    topo_of_part(s, s->parts[0]);
    assert_null(s->parts[0]->topo);
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feeds_scheduler),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
