/* test_access.c - the table of who may ask what: every operation has its row, and the rows that
 * matter most */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "wire/access.h"
#include "wire/frame.h"

static void test_every_operation(void **state)
{
    (void)state;
    for (unsigned op = 0; op < OP_MAX_; op++) {
        const struct access_row *row = access_row(op);
        bool received = false;

        assert_int_equal(row != NULL, wire_op_info(op) != NULL);
        for (unsigned at = 0; row && at < ACCESS_AT_MAX_; at++)
            received = received || row->at[at] != ACCESS_NONE;
        assert_true(!row || (received && row->ways && row->frames));
    }
    assert_null(access_row(OP_MAX_));
    assert_int_equal(access_role(ACCESS_CTLD, 99999), ACCESS_NONE);
}

/* Before anybody proved who he is a listener hears his Hello and nothing else. */
static void test_before_login(void **state)
{
    (void)state;
    for (unsigned op = 0; op < OP_MAX_; op++)
        for (unsigned at = ACCESS_CTLD; at <= ACCESS_SLURMD; at++)
            assert_int_equal(access_role(at, op) == ACCESS_ANYBODY, op == OP_HELLO);
}

/* A token stands for a person: none of what daemons do is had for one. */
static void test_tokens(void **state)
{
    (void)state;
    for (unsigned op = 0; op < OP_MAX_; op++) {
        const struct access_row *row = access_row(op);

        if (row && (row->at[ACCESS_CTLD] == ACCESS_NODE ||
                    (row->at[ACCESS_CTLD] == ACCESS_NONE && row->at[ACCESS_DBD] == ACCESS_ROOT)))
            assert_false(row->ways & ACCESS_TOKEN);
    }
    assert_false(access_row(OP_TOKEN)->ways & ACCESS_TOKEN);
}

static void test_frames(void **state)
{
    static const struct {
        unsigned op;
        uint32_t flags;
        bool ok;
    } cases[] = {
        { OP_HELLO, 0, true },
        { OP_HELLO, FRAME_ONEWAY, false },
        { OP_HELLO, FRAME_REPLY, true },
        { OP_HELLO, FRAME_REPLY | FRAME_ERROR, true },
        { OP_HELLO, FRAME_REPLY | FRAME_MORE, false },
        { OP_CHALLENGE, FRAME_ONEWAY, true },
        { OP_CHALLENGE, 0, false },
        { OP_QUERY_JOBS, FRAME_REPLY | FRAME_MORE, true },
        { OP_QUERY_CONFIG, FRAME_REPLY | FRAME_MORE, false },
        { OP_JOB_SUBMIT, FRAME_ONEWAY, false },
        { OP_LAUNCH_BATCH, FRAME_ONEWAY, true },
        { OP_STEP_IO, FRAME_ONEWAY, true },
        { OP_STEP_IO, 0, false },
        { OP_STEP_IO, FRAME_REPLY, false },
        { OP_STEP_MPI, FRAME_REPLY, false },
        { 9999, FRAME_ONEWAY, true }, /* a newer peer's */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(access_frame_ok(cases[i].op, cases[i].flags), cases[i].ok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operation),
        cmocka_unit_test(test_before_login),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_frames),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
