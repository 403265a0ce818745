/* test_stepuse.c - adding up what the nodes of a step say */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/cleanup.h"
#include "model/words/stepuse.h"

struct part {
    Pst__StepUsage usage;
    Pst__TaskUse cpu, mem;
    Pst__TaskUse *uses[2];
};

static void set_use(Pst__TaskUse *u, Pst__UseKind kind, uint64_t total, uint64_t max,
                    uint32_t max_task, uint64_t min, uint32_t min_task, const char *node)
{
    pst__task_use__init(u);
    u->has_kind = u->has_total = u->has_max = u->has_max_task = u->has_min = u->has_min_task = true;
    u->kind = kind;
    u->total = total;
    u->max = max;
    u->max_task = max_task;
    u->min = min;
    u->min_task = min_task;
    u->max_node = u->min_node = (char *)node; /* borrowed */
}

static void make(struct part *p, const char *node, uint64_t rss_kib, uint32_t tasks)
{
    pst__step_usage__init(&p->usage);
    p->usage.has_user_us = p->usage.has_max_rss_kib = p->usage.has_tasks = true;
    p->usage.user_us = 100;
    p->usage.max_rss_kib = rss_kib;
    p->usage.max_rss_node = (char *)node;
    p->usage.tasks = tasks;
    p->uses[0] = &p->cpu;
    p->uses[1] = &p->mem;
    p->usage.uses = p->uses;
    p->usage.n_uses = 2;
}

static void test_sum(void **state)
{
    struct part a, b;
    Pst__StepUsage *one, *sum;
    const Pst__TaskUse *u;

    (void)state;
    make(&a, "node1", 10, 2);
    set_use(&a.cpu, PST__USE_KIND__USE_CPU, 30, 20, 0, 10, 1, "node1");
    set_use(&a.mem, PST__USE_KIND__USE_MEM, 300, 200, 1, 100, 0, "node1");
    make(&b, "node2", 20, 1);
    set_use(&b.cpu, PST__USE_KIND__USE_CPU, 5, 5, 2, 5, 2, "node2");
    set_use(&b.mem, PST__USE_KIND__USE_PAGES, 7, 7, 2, 7, 2, "node2");
    one = stepuse_sum(NULL, &a.usage);
    assert_non_null(one);
    sum = stepuse_sum(one, &b.usage);
    assert_non_null(sum);
    assert_int_equal(sum->user_us, 200);
    assert_int_equal(sum->tasks, 3);
    assert_int_equal(sum->max_rss_kib, 20);
    assert_string_equal(sum->max_rss_node, "node2");
    assert_int_equal(sum->n_uses, 3);
    u = stepuse_find(sum, PST__USE_KIND__USE_CPU);
    assert_int_equal(u->total, 35);
    assert_int_equal(u->max, 20);
    assert_int_equal(u->max_task, 0);
    assert_string_equal(u->max_node, "node1");
    assert_int_equal(u->min, 5);
    assert_int_equal(u->min_task, 2);
    assert_string_equal(u->min_node, "node2");
    u = stepuse_find(sum, PST__USE_KIND__USE_MEM);
    assert_int_equal(u->max_task, 1);
    assert_int_equal(stepuse_find(sum, PST__USE_KIND__USE_PAGES)->total, 7);
    assert_null(stepuse_find(sum, PST__USE_KIND__USE_VMEM));
    assert_null(stepuse_find(NULL, PST__USE_KIND__USE_CPU));
    pst__step_usage__free_unpacked(one, NULL);
    pst__step_usage__free_unpacked(sum, NULL);
    sum = stepuse_sum(NULL, NULL);
    assert_int_equal(sum->n_uses, 0);
    pst__step_usage__free_unpacked(sum, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sum) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
