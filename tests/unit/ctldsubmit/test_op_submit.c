/* test_op_submit.c - requests to submit jobs: who may say what, components, questions, repetitions,
 * and clients that wait */
#include "submit_util.h"

#include "ctld/core/asking.h"
#include "ctld/starts/wait.h"

/* Root submits for others; nobody else does. */
static void test_for_others(void **state)
{
    uint32_t id = 0;

    (void)state;
    corefull_begin("", 1);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p'") ",'uid':1001", NULL),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p'") ",'gid':0", NULL),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(submit_as(root, JOB(",'partition':'p'") ",'uid':1001,'gid':77", &id), 0);
    assert_int_equal(submitted(id)->uid, 1001);
    assert_int_equal(submitted(id)->gid, 77);
    corefull_end();
}

/* What only the controller says is not taken from anybody; priority only from administrators. */
static void test_fields(void **state)
{
    uint32_t id = 0;

    (void)state;
    corefull_begin("", 1);
    assert_int_equal(
        submit_as(ann, JOB(",'partition':'p','priority':99,'state':'JOB_RUNNING'"), &id), 0);
    assert_int_equal(submitted(id)->state, JOB_STATE(PENDING));
    assert_false(submitted(id)->has_priority);
    assert_int_equal(submit_as(root, JOB(",'partition':'p','priority':99"), &id), 0);
    assert_int_equal(submitted(id)->priority, 99);
    assert_int_equal(corefull_ask(ann, OP_JOB_SUBMIT, "{" SCRIPT "}", NULL), EPST_BAD_REQUEST);
    corefull_end();
}

/* Components are accepted together, or refused together. */
static const struct {
    const char *components;
    int code;
} hets[] = {
    { "{'job':{'partition':'p'}}", 0 },
    { "{'job':{'partition':'nowhere'}}", ESLURM_INVALID_PARTITION_NAME },
    { "{'hold':true}", EPST_BAD_REQUEST },                                      /* no job */
    { "{'job':{'partition':'p','req_nodes':'n0'}}", ESLURM_INVALID_NODE_NAME }, /* as the first */
    { "{'job':{'partition':'p','req_nodes':'n1'}}", 0 },
    { "{'job':{'partition':'p','min_nodes':2}}", /* one is left beside the first's */
      ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE },
};

static void test_components(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(hets); i++) {
        char json[512];
        int code;

        corefull_begin("", 2);
        (void)snprintf(json, sizeof(json),
                       JOB(",'partition':'p','req_nodes':'n0'") ",'components':[%s]",
                       hets[i].components);
        code = submit_as(ann, json, NULL);
        if (code != hets[i].code ||
            (code != 0 && cluster_count(core.ctld.cluster, JOB_STATE(PENDING)) != 0))
            fail_msg("row %zu: %d, %s", i, code, coreask_text);
        corefull_end();
    }
    corefull_begin("", 2);
    /* the leader waits for all; a hold of one holds all */
    assert_int_equal(submit_as(ann,
                               JOB(",'partition':'p'") ",'components':[{'job':{'partition':'p',"
                                                       "'dependency':'after:1'},'hold':true}]",
                               NULL),
                     0);
    assert_true(job_is_held(submitted(1)) && job_is_held(submitted(2)));
    assert_null(submitted(2)->dependency);
    corefull_end();
}

/* The same key of the same user makes one job; another's key is his own; a key that stands for
 * another submission is refused. */
static void test_keys(void **state)
{
    uint32_t first = 0, again = 0, other = 0;

    (void)state;
    corefull_begin("", 1);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p'") ",'idempotency_key':'k1'", &first), 0);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p'") ",'idempotency_key':'k1'", &again), 0);
    assert_int_equal(again, first);
    assert_int_equal(submit_as(bob, JOB(",'partition':'p'") ",'idempotency_key':'k1'", &other), 0);
    assert_int_not_equal(other, first);
    assert_int_equal(
        submit_as(ann, JOB(",'partition':'p','num_tasks':2") ",'idempotency_key':'k1'", NULL),
        EPST_KEY_REUSED);
    assert_int_equal(cluster_count(core.ctld.cluster, JOB_STATE(PENDING)), 2);
    corefull_end();
}

/* --test-only asks the scheduler and makes no job, but uses up a number, as scripts expect. */
static void test_question(void **state)
{
    const struct waiter *w;
    uint32_t id = 0;

    (void)state;
    corefull_begin("", 1);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p'") ",'test_only':true", NULL), -1);
    w = wait_find(&core.ctld, core.ctld.next_ticket);
    assert_non_null(w);
    assert_true(w->test_only);
    assert_int_equal(w->test_id, 1);
    assert_int_equal(cluster_count(core.ctld.cluster, JOB_STATE(PENDING)), 0);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p'"), &id), 0);
    assert_int_equal(id, 2);
    assert_int_equal(submit_as(ann,
                               JOB(",'partition':'p'") ",'test_only':true,"
                                                       "'components':[{'job':{'partition':'p'}}]",
                               NULL),
                     ESLURM_NOT_SUPPORTED);
    corefull_end();
}

/* A refusal for which nodes were looked for names the number that it used up. */
static void test_used_up(void **state)
{
    uint32_t id = 0;

    (void)state;
    corefull_begin("", 1);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p','num_tasks':1,'cpus_per_task':99"), NULL),
                     ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p'"), &id), 0);
    assert_int_equal(id, 2);
    assert_int_equal(submit_as(ann, JOB(",'partition':'nowhere'"), NULL),
                     ESLURM_INVALID_PARTITION_NAME);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p'"), &id), 0);
    assert_int_equal(id, 3); /* a name is no question */
    corefull_end();
}

/* ---- who waits ------------------------------------------------------------------------------- */

static int wait_on(struct conn *from, const char *json)
{
    return corefull_ask(from, OP_JOB_WAIT, json, NULL);
}

static void test_wait(void **state)
{
    uint32_t id = 0;

    (void)state;
    corefull_begin("", 1);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p'"), &id), 0);
    assert_int_equal(id, 1);
    assert_int_equal(wait_on(ann, "{'job_id':9}"), ESLURM_INVALID_JOB_ID);
    assert_int_equal(wait_on(bob, "{'job_id':1}"), ESLURM_ACCESS_DENIED);
    assert_int_equal(wait_on(ann, "{'job_id':1}"), -1);
    assert_int_equal(wait_on(root, "{'job_id':1}"), -1);
    assert_int_equal(corefull_ask(ann, OP_JOB_ACTION, "{'verb':'VERB_CANCEL','ids':['1']}", NULL),
                     0);
    assert_int_equal(coreask_answer(ann, OP_JOB_WAIT, NULL), 0);
    assert_int_equal(coreask_answer(root, OP_JOB_WAIT, NULL), 0);
    assert_int_equal(wait_on(ann, "{'job_id':1}"), 0); /* it is over already */
    corefull_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_for_others), cmocka_unit_test(test_fields),
        cmocka_unit_test(test_components), cmocka_unit_test(test_keys),
        cmocka_unit_test(test_question),   cmocka_unit_test(test_used_up),
        cmocka_unit_test(test_wait),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
