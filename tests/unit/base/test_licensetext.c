/* test_licensetext.c - items of lists of licences: names, layers, amounts, separators */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/gres/licensetext.h"

static const struct {
    const char *list, *items; /* "name/full/count ..." */
    bool any;
} cases[] = {
    { "", "", false },
    { ",;,", "", false },
    { "a", "a/a/1 ", false },
    { "a:2,b=3;c", "a/a/2 b/b/3 c/c/1 ", false },
    { "a|b:2", "a/a/1 b/b/2 ", true },
    { "port(n[01-05,07]):30;svc:2", "port/port(n[01-05,07])/30 svc/svc/2 ", false },
    { "port(n[1;2|3])", "port/port(n[1;2|3])/1 ", false },
    { "matlab@srv:4", "matlab@srv/matlab@srv/4 ", false },
    { "watts:train", "watts/watts/1 ", false }, /* no number */
    { "a:-1,b:", "a/a/1 b/b/1 ", false },
    { "a(b(c),d):5", "a/a(b(c),d)/5 ", false },
    { "a(b,c:3", "a/a(b,c:3/1 ", false }, /* never closed */
    { "a:99999999999999999999999", "a/a/0 ", false },
};

static void test_items(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *p = cases[i].list;
        char text[256] = "";
        struct license_text l;
        size_t len = 0;

        while (license_text_next(&p, &l)) {
            if (i + 1 == ARRAY_SIZE(cases))
                assert_true(license_text_count(&l) >= UINT64_MAX / 160);
            len += (size_t)snprintf(
                text + len, sizeof(text) - len, "%.*s/%.*s/%llu ", (int)l.name_len, l.name,
                (int)l.full_len, l.name,
                i + 1 == ARRAY_SIZE(cases) ? 0ULL : (unsigned long long)license_text_count(&l));
        }
        assert_string_equal(text, cases[i].items);
        assert_int_equal(license_text_any(cases[i].list), cases[i].any);
    }
}

static void test_sums(void **state)
{
    (void)state;
    assert_int_equal(license_text_sum("a:2,b,a", "a"), 3);
    assert_int_equal(license_text_sum("port(n1):3;port(n2):4", "port"), 7);
    assert_int_equal(license_text_sum("ab:2", "a"), 0);
    assert_int_equal(license_text_sum(NULL, "a"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_items), cmocka_unit_test(test_sums) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
