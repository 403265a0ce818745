/* test_h5name.c - names of files of steps: made, read back, and those that are none */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "h5/h5name.h"

static void test_make(void **state)
{
    static const struct {
        struct h5name name;
        const char *text; /* NULL: refused */
    } cases[] = {
        { { 7, "0", "n1" }, "7_0_n1.h5" },
        { { 4294967295u, "batch", "a_b" }, "4294967295_batch_a_b.h5" },
        { { 7, "interactive", "n1.example.org" }, "7_interactive_n1.example.org.h5" },
        { { 7, "../x", "n1" }, NULL },
        { { 7, "", "n1" }, NULL },
        { { 7, "0", "" }, NULL },
        { { 7, "0", "../../etc" }, NULL },
        { { 7, "0", "a/b" }, NULL },
        { { 7, "0", ".." }, NULL },
        { { 7, "0", "a\nb" }, NULL },
    };
    char buf[H5NAME_MAX + 64];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct h5name back;
        int r = h5name_make(&cases[i].name, buf, sizeof(buf));

        if (!cases[i].text) {
            assert_int_equal(r, -EINVAL);
            continue;
        }
        assert_int_equal(r, 0);
        assert_string_equal(buf, cases[i].text);
        assert_int_equal(h5name_read(buf, &back), 0);
        assert_int_equal(back.job_id, cases[i].name.job_id);
        assert_string_equal(back.step, cases[i].name.step);
        assert_string_equal(back.node, cases[i].name.node);
    }
    assert_int_equal(h5name_make(&cases[0].name, buf, 9), -ENAMETOOLONG);
}

static void test_read(void **state)
{
    static const char *const none[] = {
        "",          "7",          "7_0_n1",           "7_0_.h5",   "7_0.h5",
        "_0_n1.h5",  "x_0_n1.h5",  "7_x_n1.h5",        "0_0_n1.h5", "7_0_n1.h5.1",
        ".7_0_n.h5", "7_0_n/1.h5", "7_0_.n.h5",        "job_7.h5",  "99999999999999999999_0_n.h5",
        "7__n.h5",   "7_0_n.h5x",  "4294967296_0_n.h5"
    };
    struct h5name n;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(none); i++)
        if (h5name_read(none[i], &n) != -EINVAL)
            fail_msg("%s was taken", none[i]);
}

static void test_user(void **state)
{
    (void)state;
    assert_true(h5name_user("alice"));
    assert_true(h5name_user("alice@example.org"));
    assert_false(h5name_user(NULL));
    assert_false(h5name_user(""));
    assert_false(h5name_user(".."));
    assert_false(h5name_user(".ssh"));
    assert_false(h5name_user("a/b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_make),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_user),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
