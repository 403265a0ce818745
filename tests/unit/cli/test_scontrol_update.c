/* test_scontrol_update.c - keys of scontrol update: values, refusals, one sentence each */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/query/out_update.h"
#include "cli/query/out_updatefail.h"

#define NOW (INT64_C(1795167502) * USEC_PER_SEC)

static struct update u;

static int fresh(void **state)
{
    (void)state;
    update_init(&u);
    return 0;
}

static int gone(void **state)
{
    (void)state;
    update_done(&u);
    return 0;
}

static int set(enum update_kind kind, const char *word)
{
    struct err err = { .text = "" };
    int r = update_set(&u, kind, word, NOW, &err);

    assert_int_equal(r == 0, err.text[0] == '\0');
    return r;
}

static bool cleared(uint32_t number)
{
    for (size_t i = 0; i < u.n_clear; i++)
        if (u.clear[i] == number)
            return true;
    return false;
}

/* Enough of the first letters of a key name it, on nodes and partitions as on jobs. */
static void test_short_node_and_part_keys(void **state)
{
    (void)state;
    assert_int_equal(set(UPDATE_NODE, "stat=drain"), 0);
    assert_int_equal(u.node_action, PST__NODE_ACTION__NODE_ACT_DRAIN);
    assert_int_equal(set(UPDATE_NODE, "reas=disk"), 0);
    assert_string_equal(u.node.reason, "disk");
    assert_int_equal(set(UPDATE_NODE, "COMM=hi"), 0);
    assert_string_equal(u.node.comment, "hi");
    assert_int_equal(set(UPDATE_NODE, "avail=a,b"), 0);
    assert_string_equal(u.node.features, "a,b");
    assert_int_equal(set(UPDATE_NODE, "node=x"), -ENOENT);
    assert_int_equal(set(UPDATE_PART, "maxt=30"), 0);
    assert_int_equal(u.part.max_time_min, 30);
    assert_int_equal(set(UPDATE_PART, "MaxN=2"), 0);
    assert_int_equal(u.part.max_nodes, 2);
    assert_int_equal(set(UPDATE_PART, "prioritytier=3"), 0);
    assert_int_equal(u.part.priority_tier, 3);
    assert_int_equal(set(UPDATE_PART, "max=2"), -ENOENT);
    assert_int_equal(set(UPDATE_PART, "d=2"), -ENOENT);
}

static void test_job_values(void **state)
{
    (void)state;
    assert_int_equal(set(UPDATE_JOB, "timelimit=5"), 0);
    assert_int_equal(u.job.time_limit_min, 5);
    assert_true(cleared(100));
    assert_int_equal(set(UPDATE_JOB, "TIMELIMIT=UNLIMITED"), 0);
    assert_true(u.job.time_unlimited && !u.job.has_time_limit_min);
    assert_true(cleared(99) && !cleared(100));
    assert_int_equal(set(UPDATE_JOB, "name=newname"), 0);
    assert_string_equal(u.job.name, "newname");
    assert_int_equal(set(UPDATE_JOB, "Comment=x y"), 0);
    assert_string_equal(u.job.comment, "x y");
    assert_int_equal(set(UPDATE_JOB, "NumNodes=2-4"), 0);
    assert_int_equal(u.job.min_nodes, 2);
    assert_int_equal(u.job.max_nodes, 4);
    assert_int_equal(set(UPDATE_JOB, "Nice=-50"), 0);
    assert_int_equal(u.job.nice, -50);
    assert_int_equal(set(UPDATE_JOB, "StartTime=now+1hour"), 0);
    assert_true(u.job.begin_us == NOW + 3600 * USEC_PER_SEC);
    assert_int_equal(set(UPDATE_JOB, "Requeue=0"), 0);
    assert_true(u.job.has_requeue && !u.job.requeue);
    assert_int_equal(set(UPDATE_JOB, "MinMemoryNode=2048"), 0);
    assert_int_equal(u.job.mem_per_node_mib, 2048);
    assert_true(cleared(76));
    assert_int_equal(set(UPDATE_JOB, "MinMemoryCPU=100"), 0);
    assert_true(cleared(75) && !cleared(76) && u.job.mem_per_cpu_mib == 100);
    assert_int_equal(set(UPDATE_JOB, "UserID=root"), 0);
    assert_true(u.has_uid && u.uid == 0);
    assert_int_equal(set(UPDATE_JOB, "MailType=END,FAIL"), 0);
    assert_int_equal(u.job.mail_type, 6);
}

static void test_job_empty_clears(void **state)
{
    (void)state;
    assert_int_equal(set(UPDATE_JOB, "Dependency=afterok:3"), 0);
    assert_string_equal(u.job.dependency, "afterok:3");
    assert_int_equal(set(UPDATE_JOB, "Dependency="), 0);
    assert_null(u.job.dependency);
    assert_true(cleared(102));
    assert_int_equal(set(UPDATE_JOB, "Dependency=afterok:4"), 0);
    assert_false(cleared(102));
}

static void test_limit_changes(void **state)
{
    (void)state;
    assert_int_equal(set(UPDATE_JOB, "timelimit=+2"), 0);
    assert_true(u.has_limit_change && u.limit_change_min == 2);
    assert_int_equal(set(UPDATE_JOB, "timelimit=-1:00"), 0);
    assert_int_equal(u.limit_change_min, -1);
    assert_int_equal(set(UPDATE_JOB, "TimeLimit+=1:00:00"), 0);
    assert_int_equal(u.limit_change_min, 60);
    assert_int_equal(set(UPDATE_JOB, "TimeLimit-=5"), 0);
    assert_int_equal(u.limit_change_min, -5);
    assert_false(u.job.has_time_limit_min);
    assert_int_equal(set(UPDATE_JOB, "TimeLimit=10"), 0);
    assert_false(u.has_limit_change);
}

static void test_refusals(void **state)
{
    static const struct {
        enum update_kind kind;
        const char *word;
        int r;
        const char *text;
    } cases[] = {
        { UPDATE_JOB, "nosuch=1", -ENOENT, "Update of this parameter is not supported: nosuch=1" },
        { UPDATE_JOB, "TimeLimit", -EBADMSG, "Invalid input: TimeLimit" },
        { UPDATE_JOB, "", -EBADMSG, "Invalid input: " },
        { UPDATE_JOB, "SiteFactor=x", -EINVAL, "scontrol: error: Invalid SiteFactor value: x" },
        { UPDATE_JOB, "TimeLimit=soon", -EINVAL, "scontrol: error: Invalid TimeLimit value" },
        { UPDATE_JOB, "NumNodes=4-2", -EAGAIN,
          "scontrol: error: \"4-2\" is not a valid node count" },
        { UPDATE_JOB, "NumTasks=x", -EINVAL, "scontrol: error: Invalid NumTasks value: x" },
        { UPDATE_JOB, "Requeue=perhaps", -EINVAL,
          "scontrol: error: Invalid Requeue value: perhaps" },
        { UPDATE_JOB, "StartTime=3", -EAGAIN, "Invalid time specification (pos=1): 3" },
        { UPDATE_JOB, "MailType=SOMETIMES", -EINVAL, "Invalid MailType: SOMETIMES" },
        { UPDATE_JOB, "TimeLimit+=UNLIMITED", -EINVAL, "scontrol: error: Invalid TimeLimit value" },
        { UPDATE_JOB, "MinMemoryNode=1G", -EINVAL,
          "scontrol: error: Invalid MinMemoryNode value: 1G" },
        { UPDATE_NODE, "state=foo", -EBADMSG, "Invalid input: state=foo" },
        { UPDATE_NODE, "Weight=-1", -EINVAL,
          "scontrol: error: Invalid value Weight=-1 for Weight" },
        { UPDATE_PART, "State=SIDEWAYS", -EINVAL,
          "scontrol: error: Invalid input: State=SIDEWAYS" },
        { UPDATE_PART, "MaxNodes=some", -EINVAL,
          "scontrol: error: Invalid numeric value \"some\" for MaxNodes." },
        { UPDATE_PART, "PriorityTier=65534", -EINVAL,
          "scontrol: error: Invalid PriorityTier value: 65534" },
        { UPDATE_PART, "OverSubscribe=bogus", -EINVAL,
          "scontrol: error: Invalid input: OverSubscribe=bogus" },
        { UPDATE_PART, "MaxTime=abc", -EINVAL, "scontrol: error: Invalid input MaxTime=abc" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct err err = { .text = "" };
        int r = update_set(&u, cases[i].kind, cases[i].word, NOW, &err);

        assert_true(r < 0);
        if (r != cases[i].r)
            fail_msg("%s: %d", cases[i].word, r);
        if (strncmp(err.text, cases[i].text, strlen(cases[i].text)) != 0)
            fail_msg("%s: %s", cases[i].word, err.text);
    }
    assert_int_equal(u.n_clear, 0);
    assert_int_equal(protobuf_c_message_get_packed_size(&u.job.base), 0);
    assert_int_equal(protobuf_c_message_get_packed_size(&u.node.base), 0);
    assert_int_equal(protobuf_c_message_get_packed_size(&u.part.base), 0);
}

static void test_nodes(void **state)
{
    (void)state;
    assert_true(update_reason_given(&u));
    assert_int_equal(set(UPDATE_NODE, "state=drain"), 0);
    assert_int_equal(u.node_action, PST__NODE_ACTION__NODE_ACT_DRAIN);
    assert_false(update_reason_given(&u));
    assert_int_equal(set(UPDATE_NODE, "Reason=swap dimm"), 0);
    assert_true(update_reason_given(&u));
    assert_int_equal(set(UPDATE_NODE, "weight=7"), 0);
    assert_int_equal(u.node.weight, 7);
    assert_int_equal(set(UPDATE_NODE, "state=RESUME"), 0);
    assert_int_equal(u.node_action, PST__NODE_ACTION__NODE_ACT_RESUME);
}

static void test_short_keys(void **state)
{
    (void)state;
    assert_int_equal(set(UPDATE_JOB, "timel=5"), 0);
    assert_int_equal(u.job.time_limit_min, 5);
    assert_int_equal(set(UPDATE_JOB, "st=now+60"), 0);
    assert_true(u.job.has_begin_us);
    assert_int_equal(set(UPDATE_JOB, "nice"), 0);
    assert_int_equal(u.job.nice, 100);
    assert_int_equal(set(UPDATE_JOB, "nice=abc"), 0);
    assert_int_equal(u.job.nice, 0);
    assert_int_equal(set(UPDATE_JOB, "switches=1@5:00"), 0);
    assert_int_equal(u.job.switches_wait_s, 300);
    assert_int_equal(set(UPDATE_JOB, "numcpus=4-8"), 0);
    assert_true(u.job.min_cpus == 4 && u.job.max_cpus == 8);
    assert_int_equal(set(UPDATE_NODE, "state=DRA"), 0);
    assert_int_equal(u.node_action, PST__NODE_ACTION__NODE_ACT_DRAIN);
    assert_int_equal(set(UPDATE_PART, "state=inact"), 0);
    assert_int_equal(u.part.state, PST__PARTITION_STATE__PART_INACTIVE);
}

static void test_part_pairs(void **state)
{
    (void)state;
    assert_int_equal(set(UPDATE_PART, "priority=3"), 0);
    assert_true(u.part.priority_tier == 3 && u.part.priority_job_factor == 3);
    assert_int_equal(set(UPDATE_PART, "overtimelimit=unlimited"), 0);
    assert_true(u.part.over_time_unlimited && cleared(34));
    assert_int_equal(set(UPDATE_PART, "defmempernode=500"), 0);
    assert_true(u.part.def_mem_per_node_mib == 500 && cleared(10));
    assert_int_equal(set(UPDATE_PART, "shared=yes"), 0);
    assert_string_equal(u.part.oversubscribe, "YES:4");
    assert_int_equal(set(UPDATE_PART, "exclusive=user"), 0);
    assert_string_equal(u.part.exclusive, "USER");
    assert_int_equal(set(UPDATE_PART, "nodes+=node2"), 0);
    assert_string_equal(u.part.nodes, "+node2");
}

static void test_partitions(void **state)
{
    (void)state;
    assert_int_equal(set(UPDATE_PART, "maxtime=30"), 0);
    assert_int_equal(u.part.max_time_min, 30);
    assert_int_equal(set(UPDATE_PART, "MaxTime=UNLIMITED"), 0);
    assert_true(!u.part.has_max_time_min && cleared(5));
    assert_int_equal(set(UPDATE_PART, "AllowGroups=all"), 0);
    assert_true(cleared(14));
    assert_int_equal(set(UPDATE_PART, "State=DOWN"), 0);
    assert_int_equal(u.part.state, PST__PARTITION_STATE__PART_DOWN);
    assert_int_equal(set(UPDATE_PART, "Hidden=YES"), 0);
    assert_true(u.part.hidden);
    assert_int_equal(set(UPDATE_PART, "DefMemPerCPU=1024"), 0);
    assert_int_equal(u.part.def_mem_per_cpu_mib, 1024);
    assert_int_equal(set(UPDATE_PART, "Nodes=node[1-3]"), 0);
    assert_string_equal(u.part.nodes_config, "node[1-3]");
    assert_string_equal(u.part.nodes, "node[1-3]");
}

static void test_every_key(void **state)
{
    static const char *const values[] = { "1",   "yes",  "UP",   "now",  "10",  "DRAIN",
                                          "END", "root", "core", "NODE", "off", "gpu:1" };

    (void)state;
    for (int kind = UPDATE_JOB; kind <= UPDATE_PART; kind++) {
        bool supported;
        const char *key;

        for (size_t i = 0; (key = update_key((enum update_kind)kind, i, &supported)); i++) {
            bool taken = false;
            char word[128];

            for (size_t v = 0; v < ARRAY_SIZE(values); v++) {
                (void)snprintf(word, sizeof(word), "%s=%s", key, values[v]);
                taken |= update_set(&u, (enum update_kind)kind, word, NOW, NULL) == 0;
            }
            if (!taken)
                fail_msg("key %s: no value is taken", key);
        }
    }
}

static void test_words(void **state)
{
    const char *value = NULL;

    (void)state;
    assert_true(update_word_is("JOBID=12", "JobId", &value));
    assert_string_equal(value, "12");
    assert_false(update_word_is("JobIdx=12", "JobId", NULL));
    assert_false(update_word_is("JobId", "JobId", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_short_node_and_part_keys, fresh, gone),
        cmocka_unit_test_setup_teardown(test_job_values, fresh, gone),
        cmocka_unit_test_setup_teardown(test_job_empty_clears, fresh, gone),
        cmocka_unit_test_setup_teardown(test_limit_changes, fresh, gone),
        cmocka_unit_test_setup_teardown(test_refusals, fresh, gone),
        cmocka_unit_test_setup_teardown(test_nodes, fresh, gone),
        cmocka_unit_test_setup_teardown(test_partitions, fresh, gone),
        cmocka_unit_test_setup_teardown(test_every_key, fresh, gone),
        cmocka_unit_test_setup_teardown(test_short_keys, fresh, gone),
        cmocka_unit_test_setup_teardown(test_every_key, fresh, gone),
        cmocka_unit_test_setup_teardown(test_part_pairs, fresh, gone),
        cmocka_unit_test_setup_teardown(test_every_key, fresh, gone),
        cmocka_unit_test_setup_teardown(test_words, fresh, gone),
    };

    (void)setenv("TZ", "UTC", 1);
    tzset();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
