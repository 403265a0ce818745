/* test_pbjson_read.c - numbers of JSON at the ends of their types, and text made to mislead */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "job.pb-c.h"

/* NULL: it is read; else the sentence of the refusal. */
static const char *refusal(const char *text, size_t len, const ProtobufCMessageDescriptor *desc,
                           ProtobufCMessage **ret)
{
    static struct err err;
    int r;

    err.text[0] = '\0';
    *ret = NULL;
    r = pb_json_read(text, len, desc, ret, &err);
    assert_int_equal(r, *ret ? 0 : -EINVAL);
    return r == 0 ? NULL : err.text;
}

static void expect_refused(const char *text, const char *say)
{
    ProtobufCMessage *msg;
    const char *said = refusal(text, strlen(text), &pst__job_record__descriptor, &msg);

    print_message("# %s\n", text);
    assert_non_null(said);
    assert_memory_equal(said, say, strlen(say));
}

static double read_factor(const char *digits)
{
    char text[256];
    ProtobufCMessage *msg;
    double value;

    (void)snprintf(text, sizeof(text), "{\"used_s\":%s}", digits);
    if (refusal(text, strlen(text), &pst__share_tres__descriptor, &msg))
        fail_msg("%s", text);
    value = ((Pst__ShareTres *)msg)->used_s;
    protobuf_c_message_free_unpacked(msg, NULL);
    return value;
}

/* Digits behind a point or in an exponent are of one number with those before. */
static void test_reals(void **state)
{
    (void)state;
    assert_true(read_factor("0.5") == 0.5);
    assert_true(read_factor("7") == 7);
    assert_true(read_factor("-0.25e1") == -2.5);
    assert_true(read_factor("0.12345678901234567890123") == 0.12345678901234567890123);
    assert_true(read_factor("-0.99999999999999999999") == -0.99999999999999999999);
    assert_true(read_factor("1.9999999999999999999e3") == 2000);
    assert_true(read_factor("12345678901234567890.5") == 12345678901234567890.5);
    assert_true(read_factor("1e0000000000000000000002") == 100);
}

static uint64_t read_submit(const char *digits)
{
    char text[256];
    ProtobufCMessage *msg;
    uint64_t value;

    (void)snprintf(text, sizeof(text), "{\"rlimits\":[{\"name\":\"N\",\"soft\":%s}]}", digits);
    if (refusal(text, strlen(text), &pst__job_record__descriptor, &msg))
        fail_msg("%s", text);
    value = ((Pst__JobRecord *)msg)->rlimits[0]->soft;
    protobuf_c_message_free_unpacked(msg, NULL);
    return value;
}

static void test_large_integers(void **state)
{
    (void)state;
    assert_true(read_submit("9223372036854775807") == INT64_MAX);
    assert_true(read_submit("9223372036854775808") == UINT64_C(9223372036854775808));
    assert_true(read_submit("18446744073709551615") == UINT64_MAX);
    assert_true(read_submit("\"18446744073709551615\"") == UINT64_MAX);
    expect_refused("{\"rlimits\":[{\"soft\":18446744073709551616}]}",
                   "rlimits[0].soft: number out of range");
    expect_refused("{\"rlimits\":[{\"soft\":-1}]}", "rlimits[0].soft: number out of range");
    expect_refused("{\"rlimits\":[{\"soft\":\"\"}]}", "rlimits[0].soft: integer expected");
    expect_refused("{\"rlimits\":[{\"soft\":1.0}]}", "rlimits[0].soft: integer expected");
    /* JSON has no leading zeros, however long the number is */
    expect_refused("{\"rlimits\":[{\"soft\":01}]}", "line 1 ");
    expect_refused("{\"rlimits\":[{\"soft\":00000000000000000000001}]}", "line 1 ");
    expect_refused("{\"submit_us\":-9223372036854775809}", "line 1 ");
    expect_refused("{\"job_id\":4294967296}", "job_id: number out of range");
    expect_refused("{\"nice\":-2147483649}", "nice: number out of range");
    expect_refused("{\"job_id\":\"7\"}", "job_id: integer expected"); /* 32 bits are no text */
}

/* Digits in a string stay as they are, whatever quotes stand beside them. */
static void test_digits_in_strings(void **state)
{
    static const char text[] =
        "{\"name\":\"\\\"18446744073709551615\\\\\",\"user_name\":\"99999999999999999999\"}";
    ProtobufCMessage *msg;
    const Pst__JobRecord *j;

    (void)state;
    assert_null(refusal(text, sizeof(text) - 1, &pst__job_record__descriptor, &msg));
    j = (const Pst__JobRecord *)msg;
    assert_string_equal(j->name, "\"18446744073709551615\\");
    assert_string_equal(j->user_name, "99999999999999999999");
    protobuf_c_message_free_unpacked(msg, NULL);
}

static void test_cut_short(void **state)
{
    static const char whole[] =
        "{\"job_id\":7,\"rlimits\":[{\"soft\":18446744073709551615}],\"name\":\"a\\\"\"}";
    ProtobufCMessage *msg;

    (void)state;
    for (size_t len = 0; len < sizeof(whole) - 1; len++)
        assert_non_null(refusal(whole, len, &pst__job_record__descriptor, &msg));
    assert_null(refusal(whole, sizeof(whole) - 1, &pst__job_record__descriptor, &msg));
    protobuf_c_message_free_unpacked(msg, NULL);
    assert_non_null(refusal(whole, sizeof(whole), &pst__job_record__descriptor, &msg)); /* a NUL */
}

/* What was read before the mistake is released: the sanitizers see it. */
static void test_mistake_within(void **state)
{
    (void)state;
    expect_refused("{\"argv\":[\"a\",\"b\",3]}", "argv[2]: ");
    expect_refused("{\"alloc\":{\"groups\":[{\"nodes\":1},{\"nodes\":\"x\"}]}}",
                   "alloc.groups[1].nodes: ");
    expect_refused("{\"alloc\":[]}", "alloc: object expected");
    expect_refused("{\"argv\":\"a\"}", "argv: array expected");
    expect_refused("{\"alloc\":{\"nope\":1}}", "alloc.nope: unknown name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reals),
        cmocka_unit_test(test_large_integers),
        cmocka_unit_test(test_digits_in_strings),
        cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_mistake_within),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
