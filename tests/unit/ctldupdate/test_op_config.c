/* test_op_config.c - the configuration that holds, as scontrol show config and HTTP tell it */
#include "corefull_util.h"

#include "ctld/update/op_config.h"

static const char *value_of(const Pst__ConfigReply *r, const char *key)
{
    for (size_t i = 0; i < r->n_entries; i++)
        if (strcmp(r->entries[i]->key, key) == 0)
            return r->entries[i]->value;
    return "(not there)";
}

/* What the file says, what it leaves out, and what the controller alone knows. */
static void test_config(void **state)
{
    ProtobufCMessage *msg = NULL;
    const Pst__ConfigReply *r;
    Pst__Transaction *tx;

    (void)state;
    corefull_begin("MessageTimeout=33\n", 1);
    core.ctld.boot_us = T0;
    tx = tx_new(T0);
    SET(tx_cluster(tx), next_job_id, 4711);
    apply_ok(core.ctld.cluster, tx);
    assert_int_equal(corefull_ask(bob, OP_QUERY_CONFIG, "{}", &msg), 0); /* for everybody */
    r = (const Pst__ConfigReply *)msg;
    assert_string_equal(value_of(r, "MessageTimeout"), "33 sec");
    assert_string_equal(value_of(r, "ClusterName"), "c");
    assert_string_equal(value_of(r, "KillWait"), "30 sec"); /* Slurm's default */
    assert_string_equal(value_of(r, "NEXT_JOB_ID"), "4711");
    assert_int_equal(strncmp(value_of(r, "BOOT_TIME"), "2023-11-1", 9), 0);
    assert_int_equal(r->next_job_id, 4711);
    assert_true(r->boot_us == T0);
    assert_true(r->n_cgroup > 0);
    assert_string_equal(r->conf_path, "/etc/slurm/slurm.conf");
    for (size_t i = 1; i < r->n_entries; i++) /* none twice */
        for (size_t k = 0; k < i; k++)
            if (strcmp(r->entries[i]->key, r->entries[k]->key) == 0 &&
                strncmp(r->entries[i]->key, "SlurmctldHost", 13) != 0)
                fail_msg("%s stands there twice", r->entries[i]->key);
    protobuf_c_message_free_unpacked(msg, NULL);
    corefull_end();
}

static void keep_level(void *ctx, const Pst__ConfigReply *r)
{
    (void)snprintf(ctx, 32, "%s", value_of(r, "DebugFlags"));
}

/* What was set at run time is in force, and shown. */
static void test_tuned(void **state)
{
    char level[32];

    (void)state;
    corefull_begin("DebugFlags=Backfill\n", 1);
    assert_int_equal(corefull_ask(root, OP_DEBUG, "{'flags':['+Gres']}", NULL), 0);
    op_config_told(&core.ctld, keep_level, level);
    assert_string_equal(level, "Backfill,Gres");
    corefull_end();
}

/* Secrets of the configuration are for nobody's eyes. */
static void test_secrets(void **state)
{
    ProtobufCMessage *msg = NULL;
    const Pst__ConfigReply *r;

    (void)state;
    corefull_begin("AccountingStorageType=accounting_storage/slurmdbd\n"
                   "AccountingStoragePass=opensesame\n",
                   1);
    assert_int_equal(corefull_ask(bob, OP_QUERY_CONFIG, "{}", &msg), 0);
    r = (const Pst__ConfigReply *)msg;
    for (size_t i = 0; i < r->n_entries; i++)
        assert_true(!r->entries[i]->value || !strstr(r->entries[i]->value, "opensesame"));
    protobuf_c_message_free_unpacked(msg, NULL);
    corefull_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config),
        cmocka_unit_test(test_tuned),
        cmocka_unit_test(test_secrets),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
