/* test_recordhash.c - which changes of a record change its hash */
#include "model_util.h"

#include "model/recordhash.h"

static void test_durable_fields_count(void **state)
{
    Pst__JobRecord a = PST__JOB_RECORD__INIT, b = PST__JOB_RECORD__INIT;
    uint64_t before;

    (void)state;
    SET(&a, job_id, 5);
    SET(&b, job_id, 5);
    before = model_record_hash(&a.base, 2);
    assert_true(before == model_record_hash(&b.base, 2));
    assert_true(before != model_record_hash(&b.base, 3)); /* another kind of record */
    SET(&b, priority, 1);
    assert_true(before != model_record_hash(&b.base, 2));
}

/* What the model works out by itself differs between two controllers. */
static void test_volatile_fields_do_not(void **state)
{
    const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field_by_name(
        &pst__job_record__descriptor, "pend_reason");
    Pst__JobRecord a = PST__JOB_RECORD__INIT;
    uint64_t before;

    (void)state;
    assert_non_null(f);
    assert_true(field_is_volatile(f->id));
    SET(&a, job_id, 5);
    before = model_record_hash(&a.base, 2);
    SET(&a, pend_reason, PST__JOB_REASON__REASON_RESOURCES);
    assert_true(before == model_record_hash(&a.base, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_durable_fields_count),
                                        cmocka_unit_test(test_volatile_fields_do_not) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("recordhash", tests, NULL, NULL);
}
