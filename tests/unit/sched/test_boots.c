/* test_boots.c - jobs for which nodes may boot to have other features */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "sched/sched.h"

#define NOW INT64_C(1700000000000000)
#define NODES 3u

static const char *const part[] = { "p" };
static const uint32_t all[] = { 0, 1, 2 };

static void put_node(struct sched *s, uint32_t id, const char *features, const char *boot)
{
    const struct sched_node n = { .id = id,
                                  .name = "n",
                                  .cpus = 2,
                                  .sockets = 1,
                                  .cores_per_socket = 2,
                                  .threads_per_core = 1,
                                  .mem_mib = 1000,
                                  .weight = 1,
                                  .schedulable = true,
                                  .features = features,
                                  .boot_features = boot };

    assert_int_equal(sched_node_put(s, &n), 0);
}

/* Node 0 and 1 have a and could have b; node 2 has b and could have a. */
static struct sched *cluster(void)
{
    const struct sched_params params = { .select = SCHED_SELECT_CORE,
                                         .backfill = true,
                                         .bf_window_min = 1440 };
    const struct sched_partition p = { .name = "p",
                                       .node_ids = all,
                                       .nnodes = NODES,
                                       .tier = 1,
                                       .job_factor = 1,
                                       .up = true,
                                       .max_time_min = SCHED_UNLIMITED,
                                       .max_nodes = SCHED_UNLIMITED };
    struct sched *s = NULL;

    assert_int_equal(sched_new(&params, &s), 0);
    put_node(s, 0, "a", "a,b");
    put_node(s, 1, "a", "a,b");
    put_node(s, 2, "b", "a,b");
    assert_int_equal(sched_partition_put(s, &p), 0);
    return s;
}

static struct sched_job job(uint32_t id, const char *features, bool boot)
{
    return (struct sched_job){ .id = id,
                               .partitions = part,
                               .npartitions = 1,
                               .submit_us = NOW,
                               .eligible_us = NOW,
                               .time_limit_min = 10,
                               .min_nodes = 1,
                               .max_nodes = 1,
                               .num_tasks = 1,
                               .cpus_per_task = 1,
                               .priority = 1000 - id,
                               .features = features,
                               .may_boot = boot };
}

static void put(struct sched *s, struct sched_job j)
{
    assert_int_equal(sched_job_put(s, &j), 0);
}

/* The starts of a pass and a backfill, with node and CPUs: "1:n0/1;" */
static void expect_starts(struct sched *s, const char *text)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    int64_t wake;

    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(sched_backfill(s, NOW, &d), 0);
    for (size_t i = 0; i < d.n; i++) {
        if (d.items[i].kind != SCHED_START)
            continue;
        strbuf_addf(&sb, "%u:", d.items[i].job_id);
        for (size_t k = 0; k < d.items[i].alloc.nnodes; k++)
            strbuf_addf(&sb, "n%u/%u", d.items[i].alloc.nodes[k].node_id,
                        d.items[i].alloc.nodes[k].cpus);
        strbuf_addc(&sb, ';');
    }
    assert_string_equal(strbuf_str(&sb), text);
}

/* First what needs no boot, in part; then an idle node, as a whole; then nothing. */
static void test_order(void **state)
{
    struct sched *s = cluster();

    (void)state;
    put(s, job(1, "b", true));
    put(s, job(2, "b", true));
    put(s, job(3, "b", true));
    put(s, job(4, "a", false));
    put(s, job(5, "b", true));
    expect_starts(s, "1:n2/1;2:n2/1;3:n0/2;4:n1/1;");
    sched_free(s);
}

static void test_not_allowed(void **state)
{
    struct sched *s = cluster();

    (void)state;
    put(s, job(1, "b", false));
    put(s, job(2, "b", false));
    put(s, job(3, "b", false));
    expect_starts(s, "1:n2/1;2:n2/1;");
    sched_free(s);
}

/* A combination that no node has now; one that none can have. */
static void test_combinations(void **state)
{
    struct sched *s = cluster();

    (void)state;
    put(s, job(1, "a&b", true));
    put(s, job(2, "a&c", true));
    put(s, job(3, "[a|b]", true));
    expect_starts(s, "1:n0/2;3:n1/1;");
    sched_free(s);
}

/* What a node could have is another thing than what it has. */
static void test_after_a_boot(void **state)
{
    struct sched *s = cluster();

    (void)state;
    put_node(s, 0, "b", "a,b");
    put_node(s, 2, "a", NULL);
    put(s, job(1, "b", false));
    put(s, job(2, "b", true));
    put(s, job(3, "b", true));
    expect_starts(s, "1:n0/1;2:n0/1;3:n1/2;");
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_order),
                                        cmocka_unit_test(test_not_allowed),
                                        cmocka_unit_test(test_combinations),
                                        cmocka_unit_test(test_after_a_boot) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
