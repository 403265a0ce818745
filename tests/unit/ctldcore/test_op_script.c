/* test_op_script.c - the script of a job, for its owner and operators */
#include "coreask_util.h"

#include "base/digest.h"

extern const struct ctld_service scriptops_service;

static const struct ctld_service *const services[] = { &scriptops_service, NULL };
static struct core core;
static const char script[] = "#!/bin/sh\nexit 3\n";

static void with_script(Pst__JobRecord *r)
{
    struct digest name;

    assert_int_equal(digest_of(script, sizeof(script) - 1, &name), 0);
    tx_digest(&name, &r->has_script_digest, &r->script_digest);
}

static void test_script(void **state)
{
    struct conn *root = coreask_connect(0), *ann = coreask_connect(1000),
                *bob = coreask_connect(1001);
    ProtobufCMessage *msg = NULL;
    Pst__Transaction *tx;
    struct digest name;

    (void)state;
    coreask_begin(&core, "", services);
    core_nodes(&core, 1, 4);
    assert_int_equal(digest_of(script, sizeof(script) - 1, &name), 0);
    tx = tx_new(T0);
    tx_blob(tx, &name, script, sizeof(script) - 1);
    apply_ok(core.ctld.cluster, tx);
    (void)core_job(&core, 7, with_script);
    (void)core_job(&core, 8, NULL); /* salloc */
    assert_int_equal(coreask(&core, ann, "ann", OP_QUERY_SCRIPT, "{'job_id':7}", &msg), 0);
    assert_int_equal(((Pst__ScriptReply *)msg)->script.len, sizeof(script) - 1);
    assert_memory_equal(((Pst__ScriptReply *)msg)->script.data, script, sizeof(script) - 1);
    protobuf_c_message_free_unpacked(msg, NULL);
    assert_int_equal(coreask(&core, root, NULL, OP_QUERY_SCRIPT, "{'job_id':7}", NULL), 0);
    assert_int_equal(coreask(&core, bob, "bob", OP_QUERY_SCRIPT, "{'job_id':7}", NULL),
                     ESLURM_USER_ID_MISSING);
    assert_int_equal(coreask(&core, ann, "ann", OP_QUERY_SCRIPT, "{'job_id':8}", NULL),
                     ESLURM_JOB_SCRIPT_MISSING);
    assert_int_equal(coreask(&core, ann, "ann", OP_QUERY_SCRIPT, "{'job_id':9}", NULL),
                     ESLURM_INVALID_JOB_ID);
    assert_int_equal(coreask(&core, bob, "bob", OP_QUERY_SCRIPT, "{'job_id':8}", NULL),
                     ESLURM_USER_ID_MISSING); /* whether it has one is not told */
    conn_unref(root);
    conn_unref(ann);
    conn_unref(bob);
    coreask_end(&core);
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_script) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
