/* test_sluid.c - text, order and growth of run ids */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/sluid.h"
#include "base/cleanup.h"

static void test_known(void **state)
{
    static const struct {
        uint64_t id;
        const char *text;
    } rows[] = {
        { UINT64_C(9797102041551928320), "s8FXJCCS3F9Z00" },
        { UINT64_C(5536741615080388608), "s4SNKN57XZTE00" },
        { UINT64_C(0x262f3f95a00001), "s009HF7YAT0001" },
        { UINT64_MAX, "sFZZZZZZZZZZZZ" },
    };
    char buf[SLUID_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_string_equal(sluid_text(rows[i].id, buf), rows[i].text);
        assert_int_equal(sluid_parse(rows[i].text), rows[i].id);
    }
    assert_int_equal(sluid_next(0, 2175, INT64_C(1731300801855000)), rows[0].id);
    assert_int_equal(sluid_next(0, 1229, INT64_C(1775071330126999)), rows[1].id);
    assert_int_equal(sluid_parse("S8fxjccs3f9zoO"), rows[0].id);
    assert_int_equal(sluid_parse("s009HF7YATOOLI") & 31, 1);
}

static void test_refused(void **state)
{
    static const char *const texts[] = { "",
                                         "s",
                                         "123",
                                         "s8FXJCCS3F9Z0",
                                         "s8FXJCCS3F9Z000",
                                         "x8FXJCCS3F9Z00",
                                         "s8FXJCCS3F9Z0U",
                                         "sGFXJCCS3F9Z00",
                                         "s8FXJCCS3F9Z-0" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        assert_int_equal(sluid_parse(texts[i]), 0);
}

static void test_always_grows(void **state)
{
    int64_t now = INT64_C(1700000000000000);
    uint64_t last = 0;

    (void)state;
    /* more than a millisecond holds, and a clock that steps back */
    for (unsigned i = 0; i < 5000; i++) {
        uint64_t id = sluid_next(last, 2, i == 3000 ? now - 5000000 : now);

        assert_true(id > last);
        assert_int_equal(id >> 52, 2);
        last = id;
    }
    assert_int_equal(last, (UINT64_C(2) << 42 | UINT64_C(1700000000000)) * 1024 + 4999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_always_grows),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
