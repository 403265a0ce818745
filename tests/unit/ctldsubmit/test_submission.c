/* test_submission.c - what of a job's record its sender may say */
#include "model_util.h"

#include "ctld/submit/submission.h"

static Pst__JobRecord *sent(void)
{
    Pst__JobRecord *r = calloc(1, sizeof(*r));

    assert_non_null(r);
    pst__job_record__init(r);
    assert_int_equal(pb_set_str(&r->name, "mine"), 0);
    assert_int_equal(pb_set_str(&r->partition, "p"), 0);
    assert_int_equal(pb_set_str(&r->comment, "hello"), 0);
    SET(r, num_tasks, 4);
    SET(r, time_limit_min, 10);
    /* what an administrator may say too */
    SET(r, priority, 99);
    SET(r, reboot, true);
    assert_int_equal(pb_set_str(&r->admin_comment, "moved"), 0);
    /* what only the controller says */
    SET(r, state, JOB_STATE(RUNNING));
    SET(r, state_flags, 1);
    SET(r, db_id, 5);
    SET(r, start_us, T0);
    SET(r, exit_status, 7);
    SET(r, start_priority, 9);
    SET(r, resv_id, 3);
    assert_int_equal(pb_set_str(&r->licenses_alloc, "matlab:9"), 0);
    assert_int_equal(pb_set_str(&r->batch_host, "n0"), 0);
    r->alloc = make_alloc(0, 1, 4, 100);
    return r;
}

static void test_user(void **state)
{
    for (int admin = 0; admin < 2; admin++) {
        Pst__JobRecord *r = sent();

        (void)state;
        submission_keep_fields(r, admin);
        assert_string_equal(r->name, "mine");
        assert_string_equal(r->partition, "p");
        assert_string_equal(r->comment, "hello");
        assert_int_equal(r->num_tasks, 4);
        assert_int_equal(r->time_limit_min, 10);
        assert_int_equal(r->has_priority, admin);
        assert_int_equal(r->has_reboot, admin);
        assert_int_equal(r->admin_comment != NULL, admin);
        assert_false(r->has_state || r->has_state_flags || r->has_db_id || r->has_start_us);
        assert_false(r->has_exit_status || r->has_start_priority || r->has_resv_id);
        assert_null(r->licenses_alloc);
        assert_null(r->batch_host);
        assert_null(r->alloc);
        pst__job_record__free_unpacked(r, NULL);
    }
}

/* A later release would believe that its own controller had set what we do not know. */
static void test_unknown(void **state)
{
    const uint8_t bytes[] = { 0xfa, 0xff, 0x03, 0x01, 'y',  0xf8, 0xff,
                              0x03, 0x05, 0xfa, 0xff, 0x05, 0x01, 'z' };
    Pst__JobRecord *r = pst__job_record__unpack(NULL, sizeof(bytes), bytes);

    (void)state;
    assert_non_null(r);
    assert_true(r->base.n_unknown_fields > 0);
    submission_keep_fields(r, true);
    assert_int_equal(r->base.n_unknown_fields, 0);
    pst__job_record__free_unpacked(r, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_user),
                                        cmocka_unit_test(test_unknown) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
