/* test_submitkeys.c - submissions with idempotency keys, asked of a controller */
#include "ctld_policy_util.h"

#include "ctld/submit/submitkeys.h"

#define DIGEST_A "'content_digest':'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='"
#define DIGEST_B "'content_digest':'BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='"

static void test_again(void **state)
{
    uint32_t first = submit(&shared, "{'job':{'name':'a'},'idempotency_key':'one'}");
    uint32_t id = 0;

    (void)state;
    assert_int_equal(submit(&shared, "{'job':{'name':'a'},'idempotency_key':'one'}"), first);
    assert_int_not_equal(submit(&shared, "{'job':{'name':'a'},'idempotency_key':'two'}"), first);
    assert_int_not_equal(submit(&shared, "{'job':{'name':'a'}}"), first);
    assert_int_equal(
        submit_as(&shared, shared.client, "{'job':{'name':'b'},'idempotency_key':'one'}", &id),
        EPST_KEY_REUSED);
    assert_int_equal(act(&shared, first, "CANCEL"), 0); /* whatever has become of the job */
    assert_int_equal(submit(&shared, "{'job':{'name':'a'},'idempotency_key':'one'}"), first);
    if (stranger) {
        assert_int_equal(
            submit_as(&shared, stranger, "{'job':{'name':'b'},'idempotency_key':'one'}", &id),
            0); /* another user's key is another key */
        assert_int_not_equal(id, first);
    }
}

/* The caller may say what the key stands for. */
static void test_digest_of_the_caller(void **state)
{
    uint32_t first = submit(&shared, "{'job':{'name':'a'},'idempotency_key':'own'," DIGEST_A "}");

    (void)state;
    assert_int_equal(
        submit(&shared, "{'job':{'name':'later'},'idempotency_key':'own'," DIGEST_A "}"), first);
    assert_int_equal(submit_as(&shared, shared.client,
                               "{'job':{'name':'a'},'idempotency_key':'own'," DIGEST_B "}", NULL),
                     EPST_KEY_REUSED);
}

static void test_refused(void **state)
{
    static const char *const bad[] = {
        "{'job':{},'idempotency_key':''}",
        "{'job':{},'idempotency_key':'a\\u00e9'}",
        "{'job':{},'idempotency_key':'x','content_digest':'AAAA'}",
        "{'job':{},'idempotency_key':'x','wait_alloc':true}",
    };
    char json[400], key[300];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(submit_as(&shared, shared.client, bad[i], NULL), EPST_BAD_REQUEST);
    memset(key, 'k', sizeof(key));
    key[SUBMITKEY_MAX + 1] = '\0';
    (void)snprintf(json, sizeof(json), "{'job':{},'idempotency_key':'%s'}", key);
    assert_int_equal(submit_as(&shared, shared.client, json, NULL), EPST_BAD_REQUEST);
    key[SUBMITKEY_MAX] = '\0';
    (void)snprintf(json, sizeof(json), "{'job':{},'idempotency_key':'%s'}", key);
    assert_int_equal(submit(&shared, json), submit(&shared, json));
}

/* What was refused is not remembered: it may be sent again with another body. */
static void test_refusal_is_forgotten(void **state)
{
    (void)state;
    assert_int_equal(submit_as(&shared, shared.client,
                               "{'job':{'partition':'nosuch'},'idempotency_key':'bad'}", NULL),
                     ESLURM_INVALID_PARTITION_NAME);
    assert_int_not_equal(submit(&shared, "{'job':{},'idempotency_key':'bad'}"), 0);
}

static void test_heterogeneous(void **state)
{
    static const char json[] = "{'job':{},'components':[{'job':{'work_dir':'/tmp','batch':true}}],"
                               "'idempotency_key':'het'}";

    (void)state;
    assert_int_equal(submit(&shared, json), submit(&shared, json));
}

static void test_restart(void **state)
{
    static const char json[] = "{'job':{'name':'r'},'idempotency_key':'restart'}";
    struct daemon d;
    uint32_t id;

    (void)state;
    (void)daemon_new(&d);
    write_conf(&d, "", cluster);
    daemon_start(&d, NULL, NULL);
    id = submit(&d, json);
    daemon_stop(&d, SIGKILL); /* the log is replayed */
    daemon_start(&d, NULL, NULL);
    assert_int_equal(submit(&d, json), id);
    assert_int_equal(daemon_stop(&d, SIGTERM), 0);
    daemon_start(&d, NULL, NULL);
    assert_int_equal(submit(&d, json), id);
    assert_int_equal(daemon_stop(&d, SIGTERM), 0);
    daemon_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_again),         cmocka_unit_test(test_digest_of_the_caller),
        cmocka_unit_test(test_refused),       cmocka_unit_test(test_refusal_is_forgotten),
        cmocka_unit_test(test_heterogeneous), cmocka_unit_test(test_restart),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
