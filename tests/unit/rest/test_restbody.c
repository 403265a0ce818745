/* test_restbody.c - bodies of JSON and YAML, and values in them */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rest/restbody.h"
#include "rest/restcall.h"

static json_t *json_of(const char *text)
{
    struct err err = { .text = "" };
    json_t *value = NULL;

    assert_int_equal(restbody_parse_json(text, strlen(text), RESTBODY_WEIGHT_MAX, &value, &err), 0);
    return value;
}

static json_t *yaml_of(const char *text)
{
    struct err err = { .text = "" };
    json_t *value = NULL;

    if (restbody_parse_yaml(text, strlen(text), RESTBODY_WEIGHT_MAX, &value, &err) < 0)
        fail_msg("%s", err.text);
    return value;
}

static void test_bad_json(void **state)
{
    static const char *const bad[] = { "{bad json", "{\"a\":1,\"a\":2}",   "",
                                       "[1,",       "{\"a\":\"\\u0000\"}", "\"\xff\"",
                                       "{} x",      "99999999999999999999" };
    char deep[200];

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = { .text = "" };
        json_t *value = NULL;

        assert_int_equal(
            restbody_parse_json(bad[i], strlen(bad[i]), RESTBODY_WEIGHT_MAX, &value, &err),
            -EINVAL);
        assert_null(value);
        assert_true(err.text[0]);
    }
    memset(deep, '[', sizeof(deep));
    for (unsigned depth = RESTBODY_DEPTH; depth <= RESTBODY_DEPTH + 1; depth++) {
        struct err err = { .text = "" };
        json_t *value = NULL;

        memset(deep + depth, ']', depth);
        assert_int_equal(
            restbody_parse_json(deep, (size_t)2 * depth, RESTBODY_WEIGHT_MAX, &value, &err),
            depth > RESTBODY_DEPTH ? -EINVAL : 0);
        json_decref(value);
        memset(deep, '[', sizeof(deep));
    }
}

static void test_yaml(void **state)
{
    json_t *value = yaml_of("job:\n  name: \"5\"\n  tasks: 5\n  hold: true\n  comment: 5 apples\n"
                            "  environment: [A=b, 'C: d']\n  nice: -3\n  none: ~\n  factor: 1.5\n");
    json_t *expected = json_of("{\"job\":{\"name\":\"5\",\"tasks\":5,\"hold\":true,\"comment\":"
                               "\"5 apples\",\"environment\":[\"A=b\",\"C: d\"],\"nice\":-3,"
                               "\"none\":null,\"factor\":1.5}}");

    assert_true(json_equal(value, expected));
    json_decref(value);
    json_decref(expected);
}

static void test_bad_yaml(void **state)
{
    static const char *const bad[] = { "a: &x 1\nb: *x\n", "a: 1\na: 2\n", "",
                                       "{a: [1",           "? [a]\n: b\n", "a: *x\n",
                                       "a: &x [1]\n",      "\xff\xfe\xff", "a: \"\\0\"\n" };
    char deep[256];

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = { .text = "" };
        json_t *value = NULL;

        assert_int_equal(
            restbody_parse_yaml(bad[i], strlen(bad[i]), RESTBODY_WEIGHT_MAX, &value, &err),
            -EINVAL);
        assert_null(value);
        assert_true(err.text[0]);
    }
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    {
        struct err err = { .text = "" };
        json_t *value = NULL;

        assert_int_equal(restbody_parse_yaml(deep, 200, RESTBODY_WEIGHT_MAX, &value, &err),
                         -EINVAL);
    }
}

static void check_number(const char *text, bool set, bool infinite, uint64_t value)
{
    json_t *v = json_of(text);
    struct rest_number n = rest_number(v);

    assert_int_equal(n.set, set);
    assert_int_equal(n.infinite, infinite);
    assert_int_equal(n.value, value);
    json_decref(v);
}

static void test_numbers(void **state)
{
    check_number("5", true, false, 5);
    check_number("\"5\"", true, false, 5);
    check_number("null", false, false, 0);
    check_number("\"INFINITE\"", false, true, 0);
    check_number("{\"set\":true,\"infinite\":false,\"number\":7}", true, false, 7);
    check_number("{\"number\":7}", true, false, 7);
    check_number("{\"set\":false,\"number\":7}", false, false, 0);
    check_number("{\"set\":true,\"infinite\":true,\"number\":7}", false, true, 0);
    check_number("\"five\"", false, false, 0);
    check_number("2.5", true, false, 2);
    assert_false(rest_number(NULL).set);
}

static void test_texts(void **state)
{
    json_t *v =
        json_of("{\"a\":\"x\",\"b\":[\"n1\",\"n2\",\"\",3],\"c\":[],\"d\":\"p,q\",\"t\":true,"
                "\"y\":\"yes\",\"n\":0}");
    char *text = rest_joined(v, "b");

    assert_string_equal(text, "n1,n2");
    free(text);
    text = rest_joined(v, "d");
    assert_string_equal(text, "p,q");
    free(text);
    assert_null(rest_joined(v, "c"));
    assert_null(rest_joined(v, "nosuch"));
    assert_string_equal(rest_text(v, "a"), "x");
    assert_null(rest_text(v, "b"));
    assert_true(rest_true(v, "t"));
    assert_true(rest_true(v, "y"));
    assert_false(rest_true(v, "n"));
    assert_false(rest_true(v, "nosuch"));
    json_decref(v);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_json), cmocka_unit_test(test_yaml),
        cmocka_unit_test(test_bad_yaml), cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_texts),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
