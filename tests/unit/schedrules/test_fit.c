/* test_fit.c - what a node has for a job, and how much of the job it can hold */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW INT64_C(1700000000000000)

#include "limits_util.h"
#include "base/bitmap.h"
#include "sched/select/fit.h"
#include "sched/select/gresfree.h"
#include "sched/select/masks.h"
#include "sched/select/nodeview.h"
#include "sched/state/classes.h"
#include "sched/state/fits.h"
#include "sched/state/gresrow.h"
#include "sched/state/nodes.h"
#include "sched/state/question.h"

static struct pick ask(struct sched *s, struct sched_job in)
{
    struct job *j = limits_waits(s, in);
    struct pick p = { .s = s, .cls = j->entries[0]->cls, .part = s->parts[0] };

    pick_init(&p);
    return p;
}

/* Tasks that a node of 8 CPUs and 4,000 MiB can hold; 0: it does not fit. */
static uint32_t tasks_of(struct sched *s, struct sched_job in)
{
    static uint32_t next = 100;
    struct fit f = { 0 };
    struct pick p;
    uint32_t tasks;

    in.id = next++;
    p = ask(s, in);
    tasks = node_fit(&p, 0, &f) ? f.tasks : 0;
    sched_job_remove(s, in.id);
    return tasks;
}

static void test_tasks(void **state)
{
    struct sched *s = limits_cluster(false);
    struct sched_job j = util_job(1);

    (void)state;
    j.num_tasks = 40;
    assert_int_equal(tasks_of(s, j), 8);
    j.cpus_per_task = 3;
    assert_int_equal(tasks_of(s, j), 2);
    j.cpus_per_task = 9;
    assert_int_equal(tasks_of(s, j), 0);
    j.cpus_per_task = 1;
    j.ntasks_per_node = 5;
    assert_int_equal(tasks_of(s, j), 5);
    j.ntasks_per_node = 0;
    j.mem_per_cpu_mib = 1000;
    assert_int_equal(tasks_of(s, j), 4); /* of memory */
    j.mem_per_cpu_mib = 0;
    j.has_mem_per_node = true;
    j.mem_per_node_mib = 4000;
    assert_int_equal(tasks_of(s, j), 8);
    j.mem_per_node_mib = 4001;
    assert_int_equal(tasks_of(s, j), 0);
    j.mem_per_node_mib = 100;
    j.pn_min_cpus = 8;
    assert_int_equal(tasks_of(s, j), 8);
    j.pn_min_cpus = 9;
    assert_int_equal(tasks_of(s, j), 0);
    sched_free(s);
}

/* Beside what runs: 4 CPUs, 300 MiB and a GPU of each node are held. */
static void test_beside(void **state)
{
    struct sched *s = limits_cluster(false);
    struct sched_job j = util_job(1);
    uint64_t words[1] = { 0 };
    struct pick p;

    (void)state;
    j.num_tasks = 40;
    p = ask(s, j);
    pick_free_cpus(&p, 0, words);
    assert_true((words[0] & 0xff) == 0xff);
    assert_true(pick_free_mem(&p, 0) == 4000);
    sched_job_remove(s, 1);
    (void)limits_runs(s, limits_job(2));
    p = ask(s, j);
    pick_free_cpus(&p, 0, words);
    assert_int_equal(__builtin_popcountll(words[0] & 0xff), 4);
    assert_true(pick_free_mem(&p, 0) == 3700);
    p.idle = true; /* as if nothing ran */
    pick_free_cpus(&p, 0, words);
    assert_true((words[0] & 0xff) == 0xff);
    assert_true(pick_free_mem(&p, 0) == 4000);
    sched_job_remove(s, 1);
    assert_int_equal(tasks_of(s, j), 4);
    j.exclusive = true;
    assert_int_equal(tasks_of(s, j), 0);
    sched_free(s);
}

static void test_least(void **state)
{
    struct sched *s = limits_cluster(false);
    struct sched_job j = util_job(1);
    struct pick p;

    (void)state;
    j.num_tasks = 6;
    j.cpus_per_task = 2;
    p = ask(s, j);
    assert_true(pick_least_cpus(&p) == 12);
    j.num_tasks = 0; /* as many as nodes, or as on each */
    j.min_nodes = 2;
    p = ask(s, j);
    assert_true(pick_least_cpus(&p) == 4);
    j.ntasks_per_node = 3;
    p = ask(s, j);
    assert_true(pick_least_cpus(&p) == 12);
    j.overcommit = true;
    p = ask(s, j);
    assert_true(pick_least_cpus(&p) == 0);
    sched_free(s);
}

static void test_devices(void **state)
{
    struct sched *s = limits_cluster(false);
    const uint64_t bits[] = { UINT64_C(0xf000000000000001), 0x3 };
    uint64_t dev[1] = { 0 };
    struct pick p;

    (void)state;
    p = ask(s, limits_job(1));
    assert_true(gres_free(&p, 0, 0, dev) == 4);
    assert_true(dev[0] == 0xf);
    assert_true(gres_row_matches(&p, &s->nodes[0].gres[0], 0));
    sched_job_remove(s, 1);
    (void)limits_runs(s, limits_job(2));
    p = ask(s, limits_job(3));
    assert_true(gres_free(&p, 0, 0, dev) == 3);
    assert_int_equal(__builtin_popcountll(dev[0]), 3);
    assert_true(gres_free(&p, 0, 0, NULL) == 3);
    p.idle = true;
    assert_true(gres_free(&p, 0, 0, dev) == 4);

    assert_int_equal(gres_count(bits, 0, 128), 7);
    assert_int_equal(gres_count(bits, 60, 6), 6); /* over the words' border */
    assert_int_equal(gres_count(bits, 1, 59), 0);
    assert_true(bit_in(bits, 2, 64));
    assert_false(bit_in(bits, 2, 66));
    assert_false(bit_in(bits, 2, 128)); /* beyond */
    sched_free(s);
}

/* Which nodes could ever hold a part of the job, whatever runs. */
static void expect_mask(struct sched *s, struct sched_job in, const char *want)
{
    struct pick p = ask(s, in);
    struct class *c = p.cls;
    const struct bitmap *elig;
    char got[4];

    assert_int_equal(class_masks(s, c), 0);
    assert_true(c->nalts >= 1);
    elig = c->alts[0].elig;
    (void)snprintf(got, sizeof(got), "%s%s", bitmap_test(elig, 0) ? "0" : "",
                   bitmap_test(elig, 1) ? "1" : "");
    assert_string_equal(got, want);
    sched_job_remove(s, in.id);
}

static void test_masks(void **state)
{
    static const struct sched_gres_req five = { .name = "gpu", .per_node = 5 };
    static const struct sched_gres_req other = { .name = "fpga", .per_node = 1 };
    const uint32_t one = 1;
    struct sched *s = limits_cluster(false);
    struct sched_job j = util_job(1);

    (void)state;
    (void)limits_runs(s, limits_job(2));
    expect_mask(s, j, "01");
    j.exc_nodes = &one;
    j.nexc = 1;
    expect_mask(s, j, "0");
    j.nexc = 0;
    j.pn_min_cpus = 9;
    expect_mask(s, j, "");
    j.pn_min_cpus = 0;
    j.threads_per_core = 2;
    expect_mask(s, j, "");
    j.threads_per_core = 0;
    j.gres = &five;
    j.ngres = 1;
    expect_mask(s, j, "");
    j.gres = &other;
    expect_mask(s, j, "");
    j.ngres = 0;
    expect_mask(s, j, "01");
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks),   cmocka_unit_test(test_beside), cmocka_unit_test(test_least),
        cmocka_unit_test(test_devices), cmocka_unit_test(test_masks),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("fit", tests, NULL, NULL);
}
