/* test_conf_older.c - files that sites wrote for earlier releases load, and say what to change */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/conf.h"
#include "conf/conf_older.h"
#include "conf/conf_olderlate.h"
#include "conf_util.h"

/* slurm.conf, with a cgroup.conf where cgroup is not NULL; all that is told must be want. */
static struct conf *load(const char *text, const char *cgroup, enum conf_scope scope,
                         const char *want)
{
    const struct conf_text files[] = { { "slurm.conf", text, strlen(text) },
                                       { "cgroup.conf", cgroup, cgroup ? strlen(cgroup) : 0 } };
    struct conf_problems problems;
    struct err err = { .text = "" };
    struct conf *c = NULL;
    _cleanup_free_ char *told = NULL;

    (void)conf_load_text(files, cgroup ? 2 : 1, scope, &c, &problems, &err);
    told = conf_told(&problems);
    conf_problems_done(&problems);
    assert_string_equal(told, want);
    return c;
}

#define NODES "NodeName=n1\nPartitionName=p Nodes=n1\n"
#define OLD_HOSTS                                                                                  \
    "slurm.conf:1: warning: BackupAddr is a key of earlier releases; use SlurmctldHost instead\n"  \
    "slurm.conf:2: warning: BackupController is a key of earlier releases; use SlurmctldHost "     \
    "instead\n"                                                                                    \
    "slurm.conf:3: warning: ControlAddr is a key of earlier releases; use SlurmctldHost instead\n" \
    "slurm.conf:4: warning: ControlMachine is a key of earlier releases; use SlurmctldHost "       \
    "instead\n"

static const char old_hosts[] = "BackupAddr=10.0.0.2\nbackupcontroller=b\nControlAddr=10.0.0.1\n"
                                "ControlMachine=a\nClusterName=c\n";

/* In any order: the first controller is ControlMachine; commands read the same. */
static void test_hosts(void **state)
{
    static const enum conf_scope scopes[] = { CONF_FULL, CONF_CLIENT };
    char text[512];

    (void)state;
    (void)snprintf(text, sizeof(text), "%s%s", old_hosts, NODES);
    for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
        _cleanup_(conf_free) struct conf *c = load(text, NULL, scopes[i], OLD_HOSTS);
        const char *addr = NULL;

        assert_non_null(c);
        assert_string_equal(conf_ctld_host(c, 0, &addr), "a");
        assert_string_equal(addr, "10.0.0.1");
        assert_string_equal(conf_ctld_host(c, 1, &addr), "b");
        assert_string_equal(addr, "10.0.0.2");
        assert_null(conf_ctld_host(c, 2, &addr));
    }
}

static void test_hosts_named_anew(void **state)
{
    _cleanup_(conf_free) struct conf *c = NULL;
    char text[512];

    (void)state;
    (void)snprintf(text, sizeof(text), "%sSlurmctldHost=z\n%s", old_hosts, NODES);
    c = load(text, NULL, CONF_FULL, OLD_HOSTS);
    assert_non_null(c);
    assert_string_equal(conf_ctld_host(c, 0, NULL), "z");
    assert_null(conf_ctld_host(c, 1, NULL));
}

static void test_backup_alone(void **state)
{
    (void)state;
    assert_null(load("ClusterName=c\nBackupController=b\n" NODES, NULL, CONF_FULL,
                     "slurm.conf:2: warning: BackupController is a key of earlier releases; use "
                     "SlurmctldHost instead\n"
                     "slurm.conf: error: SlurmctldHost is missing\n"));
}

#define HEAD "ClusterName=c\nSlurmctldHost=h\n"

/* A list that stands before or behind keeps its own words. */
static void test_words(void **state)
{
    static const char told[] =
        "slurm.conf:3: warning: FastSchedule is a key of earlier releases; use "
        "SlurmdParameters=config_overrides instead\n";
    static const struct {
        const char *lines, *want;
    } cases[] = {
        { "FastSchedule=2\n", "config_overrides" },
        { "FastSchedule=2\nSlurmdParameters=l3cache_as_socket\n",
          "config_overrides,l3cache_as_socket" },
        { "FastSchedule=1\n", NULL },
        { "FastSchedule=0\n", NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(conf_free) struct conf *c = NULL;
        const char *got;
        char text[512];

        (void)snprintf(text, sizeof(text), "%s%s%s", HEAD, cases[i].lines, NODES);
        c = load(text, NULL, CONF_FULL, told);
        assert_non_null(c);
        got = conf_str(c, CONF_SLURMD_PARAMETERS);
        if (cases[i].want)
            assert_string_equal(got, cases[i].want);
        else
            assert_true(!got || !*got);
    }
}

/* Words that moved to another list act from the older one too, where the newer one lacks them. */
static void test_preempt_words(void **state)
{
    _cleanup_(conf_free) struct conf *c =
        load(HEAD "PreemptParameters=reorder_count=7\nSchedulerParameters=preempt_youngest_first,"
                  "preempt_reorder_count=3,defer\n" NODES,
             NULL, CONF_FULL, "");

    (void)state;
    assert_non_null(c);
    assert_string_equal(conf_str(c, CONF_PREEMPT_PARAMETERS), "youngest_first,reorder_count=7");
    assert_string_equal(conf_str(c, CONF_SCHEDULER_PARAMETERS),
                        "preempt_youngest_first,preempt_reorder_count=3,defer");
}

/* TaskPlugin=affinity is task/affinity; PrivateData=all hides everything. */
static void test_short_words(void **state)
{
    _cleanup_(conf_free) struct conf *c =
        load(HEAD "TaskPlugin=affinity\nPrivateData=all\n" NODES, NULL, CONF_FULL, "");

    (void)state;
    assert_non_null(c);
    assert_true(conf_task_plugin(c, "task/affinity"));
    assert_false(conf_task_plugin(c, "task/cgroup"));
    assert_true(conf_private(c, "jobs"));
    assert_true(conf_private(c, "events"));
}

static void test_select_type(void **state)
{
    _cleanup_(conf_free) struct conf *c =
        load(HEAD "SelectType=select/cons_res\n" NODES, NULL, CONF_FULL,
             "slurm.conf:3: warning: select/cons_res is select/cons_tres now\n");

    (void)state;
    assert_non_null(c);
    assert_string_equal(conf_str(c, CONF_SELECT_TYPE), "select/cons_tres");
}

static void test_new_name(void **state)
{
    _cleanup_(conf_free) struct conf *c =
        load(HEAD "SbcastParameters=DestDir=/tmp\n" NODES, NULL, CONF_FULL,
             "slurm.conf:3: warning: SbcastParameters is a key of earlier releases; use "
             "BcastParameters instead\n");

    (void)state;
    assert_non_null(c);
    assert_string_equal(conf_str(c, CONF_BCAST_PARAMETERS), "DestDir=/tmp");
}

/* What tuned parts that are not there any more: told, and passed over. */
static void test_gone(void **state)
{
    _cleanup_(conf_free) struct conf *c =
        load(HEAD "LaunchType=launch/slurm\nCryptoType=crypto/munge\n" NODES,
             "CgroupAutomount=yes\nConstrainKmemSpace=no\nConstrainCores=yes\n", CONF_FULL,
             "slurm.conf:3: warning: LaunchType is a key of earlier releases without effect\n"
             "slurm.conf:4: warning: CryptoType is a key of earlier releases; use CredType "
             "instead\n"
             "cgroup.conf:1: warning: CgroupAutomount is a key of earlier releases without "
             "effect\n"
             "cgroup.conf:2: warning: ConstrainKmemSpace is a key of earlier releases without "
             "effect\n");

    (void)state;
    assert_non_null(c);
}

/* A key of one file is none of another's. */
static void test_other_file(void **state)
{
    (void)state;
    assert_null(load(HEAD "CgroupAutomount=yes\n" NODES, NULL, CONF_FULL,
                     "slurm.conf:3: error: unknown key CgroupAutomount\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts),         cmocka_unit_test(test_hosts_named_anew),
        cmocka_unit_test(test_backup_alone),  cmocka_unit_test(test_words),
        cmocka_unit_test(test_select_type),   cmocka_unit_test(test_new_name),
        cmocka_unit_test(test_gone),          cmocka_unit_test(test_other_file),
        cmocka_unit_test(test_preempt_words), cmocka_unit_test(test_short_words),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
