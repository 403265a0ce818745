/* test_stepports.c - ports of steps on nodes that others share */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "ctld/step/stepports.h"
#include "wire/errors.h"

static void test_range(void **state)
{
    static const char *const bad[] = { "",    "12000",       "12000-", "-5",   "12000-11999",
                                       "0-5", "60000-65536", "1-2x",   "1-2,3" };
    uint32_t lo = 0, hi = 0;

    (void)state;
    assert_int_equal(stepports_range("12000-12999,other", 11, &lo, &hi), 0);
    assert_int_equal(lo, 12000);
    assert_int_equal(hi, 12999);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_true(stepports_range(bad[i], strlen(bad[i]), &lo, &hi) < 0);
}

/* One running step of one job on a node, with these ports. */
struct running {
    Pst__AllocGroup group, *groups[1];
    Pst__Alloc alloc;
    uint32_t node;
    Pst__StepRecord rec;
    struct step step;
    struct job job;
    struct cluster c;
    struct bitmap waiting; /* its bits, which nobody looks at, would follow */
};

static void make(struct running *r, uint32_t node, const char *ports)
{
    *r = (struct running){ .node = node };
    pst__alloc_group__init(&r->group);
    pst__alloc__init(&r->alloc);
    pst__step_record__init(&r->rec);
    r->alloc.node_ids = &r->node;
    r->alloc.n_node_ids = 1;
    r->rec.alloc = &r->alloc;
    r->rec.resv_ports = (char *)ports;
    r->step.rec = &r->rec;
    r->step.waiting = &r->waiting;
    r->job.steps = &r->step;
    r->c.active = &r->job;
}

static const char *pick(uint32_t node, const char *taken, uint32_t count, int want)
{
    static char *text;
    uint32_t ids[] = { 1, node };
    Pst__AllocGroup group = PST__ALLOC_GROUP__INIT, *groups[] = { &group };
    Pst__Alloc alloc = PST__ALLOC__INIT;
    struct running r;

    make(&r, 7, taken);
    group.nodes = 2;
    group.tasks = 3;
    alloc.node_ids = ids;
    alloc.n_node_ids = 2;
    alloc.groups = groups;
    alloc.n_groups = 1;
    free(text);
    text = NULL;
    assert_int_equal(stepports_pick(&r.c, 100, 103, &alloc, count, &text), want);
    return text;
}

static void test_pick(void **state)
{
    (void)state;
    assert_string_equal(pick(2, NULL, 1, 0), "100");
    assert_string_equal(pick(2, "100-101", 2, 0), "100-101"); /* of another node */
    assert_string_equal(pick(7, "100-101", 2, 0), "102-103");
    assert_string_equal(pick(7, "101", STEPPORTS_AUTO, 0), "100,102-103");
    assert_null(pick(7, "100-101", 0, 0));
    assert_null(pick(7, "100-101", 3, ESLURM_NODES_BUSY));
    assert_null(pick(7, NULL, 5, ESLURM_PORTS_INVALID));
    assert_string_equal(pick(7, NULL, 4, 0), "100-103");
    pick(7, NULL, 0, 0); /* gives back the last text */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_range), cmocka_unit_test(test_pick) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
