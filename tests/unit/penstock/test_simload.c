/* test_simload.c - traces and configurations of `penstock sim`: which kind a file is, limits
 * changed by a factor, keys set over those of the file */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "conf/conf.h"
#include "folder_util.h"
#include "penstock/penstock.h"
#include "penstock/simopts.h"

static char folder[64], file[128];

static int begin_test(void **state)
{
    (void)state;
    folder_make(folder, sizeof(folder), "simload");
    (void)snprintf(file, sizeof(file), "%s/trace", folder);
    return 0;
}

static int end_test(void **state)
{
    (void)state;
    return folder_unlink(folder);
}

static void write_text(const char *text)
{
    FILE *f = fopen(file, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* 18 fields of SWF: job 1 asks for `limit_s`. */
static void write_swf(const char *limit_s)
{
    char line[256];

    (void)snprintf(line, sizeof(line), "; a trace\n1 0 5 60 2 -1 -1 2 %s -1 1 3 1 1 1 1 -1 -1\n",
                   limit_s);
    write_text(line);
}

static void expect_failure(const struct sim_args *a)
{
    struct workload *w = NULL;

    assert_int_equal(simload_workload(a, &w), STATUS_FAILED);
    assert_null(w); /* written on success only */
}

static void test_no_trace(void **state)
{
    static const char *const texts[] = {
        "",         "\n\n",    "; only a comment\n",    "\xff\xfe\n",
        "JobID|\n", "1 2 3\n", "JobID|User|Start|End\n"
    };

    (void)state;
    expect_failure(&(struct sim_args){ .trace = "/nowhere/trace" });
    expect_failure(&(struct sim_args){ .trace = folder });
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        write_text(texts[i]);
        expect_failure(&(struct sim_args){ .trace = file });
        expect_failure(&(struct sim_args){ .trace = file, .format = "sacct" });
        expect_failure(&(struct sim_args){ .trace = file, .format = "swf" });
    }
}

static uint32_t limit_after(const char *limit_s, uint64_t factor_pct)
{
    const struct sim_args a = { .trace = file, .limit_factor_pct = factor_pct };
    _cleanup_(workload_free) struct workload *w = NULL;

    write_swf(limit_s);
    assert_int_equal(simload_workload(&a, &w), STATUS_OK);
    assert_int_equal(w->n, 1);
    return w->jobs[0].limit_min;
}

/* A limit that is changed stays one: at least a minute, and less than none at all. */
static void test_limit_factor(void **state)
{
    (void)state;
    assert_int_equal(limit_after("6000", 0), 100);
    assert_int_equal(limit_after("6000", 100), 100);
    assert_int_equal(limit_after("6000", 250), 250);
    assert_int_equal(limit_after("6000", 1), 1);
    assert_int_equal(limit_after("60", 1), 1);
    assert_int_equal(limit_after("6000000000", 100000), SCHED_UNLIMITED - 1);
    assert_int_equal(limit_after("-1", 1000), 10); /* none was told: the run of a minute counts */
}

static void test_policies(void **state)
{
    (void)state;
    assert_true(simload_is("easy", "easy"));
    assert_true(simload_is("easy+bf_window=10", "easy"));
    assert_false(simload_is("easyish", "easy"));
    assert_false(simload_is("eas", "easy"));
    assert_false(simload_is("", "easy"));
}

static int load_conf(struct sim_args *a, const char *policy, struct conf **ret)
{
    _cleanup_(workload_free) struct workload *w = NULL;

    assert_int_equal(workload_new(&w), 0);
    *ret = NULL;
    return simload_conf(a, w, policy, ret);
}

/* --set is the last word, also over a key with blanks around it; the names of lines stay. */
static void test_sets(void **state)
{
    struct sim_args a = { .conf = file };
    struct conf *c;

    (void)state;
    write_text("ClusterName=c\nSlurmctldHost=h\n  KillWait = 20\nNodeName=n[1-2] CPUs=4\n"
               "PartitionName=p Nodes=n[1-2]\n");
    assert_int_equal(load_conf(&a, "conf", &c), STATUS_OK);
    assert_int_equal(conf_num(c, CONF_KILL_WAIT), 20);
    assert_int_equal(conf_nodes(c), 2);
    c = conf_free(c);
    a.sets[a.nsets++] = "killwait=40";
    a.sets[a.nsets++] = "KillWait=50"; /* the later one */
    assert_int_equal(load_conf(&a, "conf", &c), STATUS_OK);
    assert_int_equal(conf_num(c, CONF_KILL_WAIT), 50);
    c = conf_free(c);
    a.sets[a.nsets++] = "NoSuchKey=1";
    assert_int_not_equal(load_conf(&a, "conf", &c), STATUS_OK);
    assert_null(c);
}

/* Without a configuration: nodes as asked for, within what a machine may have. */
static void test_machine(void **state)
{
    struct sim_args a = { .nodes = 12, .cpus = 8 };
    struct conf *c;

    (void)state;
    assert_int_equal(load_conf(&a, "easy", &c), STATUS_OK);
    assert_int_equal(conf_nodes(c), 12);
    assert_string_equal(conf_node(c, 0)->name, "n01");
    assert_int_equal(conf_node(c, 0)->cpus, 8);
    c = conf_free(c);
    a.cpus = UINT64_MAX;
    a.nodes = 1;
    assert_int_equal(load_conf(&a, "fifo", &c), STATUS_OK);
    assert_int_equal(conf_node(c, 0)->cpus, 4096);
    c = conf_free(c);
    assert_int_not_equal(load_conf(&a, "nosuchpolicy", &c), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_trace, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_limit_factor, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_policies, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_sets, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_machine, begin_test, end_test),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
