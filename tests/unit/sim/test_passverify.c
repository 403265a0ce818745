/* test_passverify.c - a small journal through the scheduler again: equal, different, overtaken */
#include "model_util.h"

#include "sim/verify/verifyfeed.h"
#include "sim/verify/verifypass.h"

static struct conf *conf;
static char said[512]; /* the last sentence */

static int setup(void **state)
{
    static const char text[] = "ClusterName=c\nSlurmctldHost=h\nSelectType=select/cons_tres\n"
                               "NodeName=n[0-1] CPUs=4\nPartitionName=p Nodes=n[0-1] Default=YES\n";
    const struct conf_text file = { "slurm.conf", text, strlen(text) };

    (void)state;
    return conf_load_text(&file, 1, CONF_FULL, &conf, NULL, NULL);
}

static int teardown(void **state)
{
    (void)state;
    conf_free(conf);
    return 0;
}

static void hear(void *ctx, const char *text)
{
    (void)ctx;
    (void)snprintf(said, sizeof(said), "%s", text);
}

/* Record 1, a snapshot: two nodes, a partition, a job of one CPU that waits. */
static Pst__Transaction *beginning(void)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *r;

    for (uint32_t i = 0; i < 2; i++) {
        Pst__NodeRecord *n = put_node(tx, i, i ? "n1" : "n0", 4);

        SET(n, sockets, 1);
        SET(n, cores_per_socket, 4);
        SET(n, threads_per_core, 1);
    }
    (void)put_part(tx, "p", "n[0-1]");
    r = put_job(tx, 7);
    assert_int_equal(pb_set_str(&r->partition, "p"), 0);
    SET(r, min_nodes, 1);
    SET(r, max_nodes, 1);
    SET(r, num_tasks, 1);
    SET(r, cpus_per_task, 1);
    SET(r, time_limit_min, 10);
    SET(r, submit_us, T0);
    SET(r, eligible_us, T0);
    SET(r, cur_priority, 100);
    return tx;
}

/* The start of job 7 on a CPU of a node, by pass 1, which knew record 1. */
static Pst__Transaction *start_on(uint32_t node, const char *cpu)
{
    Pst__Transaction *tx = tx_new(T0 + SEC);
    Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_START), 7);
    Pst__SchedPass *pass = malloc(sizeof(*pass));

    assert_non_null(pass);
    pst__sched_pass__init(pass);
    SET(pass, number, 1);
    SET(pass, now_us, T0 + SEC);
    SET(pass, lsn, 1);
    tx->passes = malloc(sizeof(Pst__SchedPass *));
    assert_non_null(tx->passes);
    tx->passes[0] = pass;
    tx->n_passes = 1;
    SET(tx, sched_pass, 1);
    SET(set, state, JOB_STATE(RUNNING));
    SET(set, start_us, T0 + SEC);
    SET(set, end_us, T0 + 601 * SEC);
    assert_int_equal(pb_set_str(&set->partition, "p"), 0);
    set->alloc = make_alloc(node, 1, 1, 0);
    assert_int_equal(pb_set_str(&set->alloc->groups[0]->cpu_ids, cpu), 0);
    SET(set->alloc->groups[0], tasks, 1);
    return tx;
}

/* Takes the start. */
static struct verify_sums run(Pst__Transaction *start)
{
    struct verify_sums sums = { 0 };
    struct verify *v = NULL;
    struct err err = { .text = "" };

    said[0] = '\0';
    assert_int_equal(verify_new(conf, hear, NULL, &v), 0);
    assert_int_equal(verify_add(v, 1, true, beginning()), 0);
    assert_int_equal(verify_add(v, 2, false, start), 0);
    assert_int_equal(verify_run(v, NULL, NULL, &sums, &err), 0);
    assert_null(verify_free(v));
    assert_int_equal(sums.records, 2);
    assert_int_equal(sums.passes, 1);
    assert_int_equal(sums.starts, 1);
    return sums;
}

static void test_equal(void **state)
{
    struct verify_sums sums = run(start_on(0, "0"));

    (void)state;
    assert_string_equal(said, "");
    assert_int_equal(sums.equal, 1);
    assert_int_equal(sums.different, 0);
}

static void test_other_node(void **state)
{
    struct verify_sums sums = run(start_on(1, "0"));

    (void)state;
    assert_int_equal(sums.equal, 0);
    assert_int_equal(sums.different, 1);
    assert_non_null(strstr(said, "job 7: other nodes: really n1 in p, in the replay n0 in p"));
}

static void test_other_cpu(void **state)
{
    struct verify_sums sums = run(start_on(0, "3"));

    (void)state;
    assert_int_equal(sums.different, 1);
    assert_non_null(strstr(said, "job 7: other CPUs"));
}

/* A start of a release that did not write down the pass is counted, not compared. */
static void test_unnoted(void **state)
{
    Pst__Transaction *tx = start_on(0, "0");
    struct verify_sums sums = { 0 };
    struct verify *v = NULL;
    struct err err = { .text = "" };

    (void)state;
    pst__sched_pass__free_unpacked(tx->passes[0], NULL);
    tx->n_passes = 0;
    tx->has_sched_pass = false;
    assert_int_equal(verify_new(conf, hear, NULL, &v), 0);
    assert_int_equal(verify_add(v, 1, true, beginning()), 0);
    assert_int_equal(verify_add(v, 2, false, tx), 0);
    assert_int_equal(verify_run(v, NULL, NULL, &sums, &err), 0);
    verify_free(v);
    assert_int_equal(sums.unnoted, 1);
    assert_int_equal(sums.passes, 0);
}

/* A record that does not apply ends the run with its number. */
static void test_broken_journal(void **state)
{
    struct verify_sums sums;
    struct verify *v = NULL;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(verify_new(conf, hear, NULL, &v), 0);
    assert_int_equal(verify_add(v, 2, false, start_on(0, "0")), 0); /* of a job that is not there */
    assert_int_equal(verify_run(v, NULL, NULL, &sums, &err), -EUCLEAN);
    assert_non_null(strstr(err.text, "lsn 2"));
    verify_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal),          cmocka_unit_test(test_other_node),
        cmocka_unit_test(test_other_cpu),      cmocka_unit_test(test_unnoted),
        cmocka_unit_test(test_broken_journal),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
