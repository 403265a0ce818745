/* test_restidem.c - keys of a list's members; what two bodies must have in common to be the same */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rest/slurm/restidem.h"

static struct restidem filled(const char *path, const char *text)
{
    struct restidem k = { .key = "key" };
    Pst__SubmitRequest req = PST__SUBMIT_REQUEST__INIT;
    struct rest_call call = { 0 };
    json_t *body = json_loads(text, 0, NULL);

    assert_non_null(body);
    assert_true(restidem_fill(&call, &k, path, body, &req));
    json_decref(body);
    assert_string_equal(req.idempotency_key, "key");
    assert_true(req.has_content_digest);
    assert_int_equal(req.content_digest.len, 32);
    return k;
}

static void test_same(void **state)
{
    struct restidem a = filled("job/submit", "{\"a\": 1, \"b\": [1, 2]}");
    struct restidem b = filled("job/submit", "{ \"b\":[1,2],\n\"a\":1 }");
    struct restidem c = filled("job/submit", "{\"a\": 1, \"b\": [2, 1]}");
    struct restidem d = filled("job/allocate", "{\"a\": 1, \"b\": [1, 2]}");

    (void)state;
    assert_memory_equal(a.digest, b.digest, sizeof(a.digest));
    assert_memory_not_equal(a.digest, c.digest, sizeof(a.digest));
    assert_memory_not_equal(a.digest, d.digest, sizeof(a.digest));
}

static void test_none(void **state)
{
    struct restidem k = { .key = "" };
    Pst__SubmitRequest req = PST__SUBMIT_REQUEST__INIT;
    struct rest_call call = { 0 };

    (void)state;
    assert_true(restidem_fill(&call, &k, "job/submit", NULL, &req));
    assert_null(req.idempotency_key);
    assert_false(req.has_content_digest);
    restidem_number(&k, 3, &k);
    assert_string_equal(k.key, "");
}

static void test_number(void **state)
{
    struct restidem k = { .key = "night" }, n;

    (void)state;
    restidem_number(&k, 0, &n);
    assert_string_equal(n.key, "night#0");
    memset(k.key, 'k', RESTIDEM_LIST_MAX);
    k.key[RESTIDEM_LIST_MAX] = '\0';
    restidem_number(&k, 99999, &n);
    assert_int_equal(strlen(n.key), RESTIDEM_LIST_MAX + 6);
    assert_string_equal(n.key + RESTIDEM_LIST_MAX, "#99999");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_number),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
