/* test_jobtext.c - small grammars of submission options */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/job/jobtext.h"

static const struct {
    const char *text, *canonical; /* NULL = refused */
    unsigned signal, secs;
    bool batch;
} signals[] = {
    { "USR1", "USR1@60", 10, 60, false },
    { "B:USR1@50", "B:USR1@50", 10, 50, true },
    { "SIGTERM@0", "TERM@0", 15, 0, false },
    { "12@3", "USR2@3", 12, 3, false },
    { "R:12@3", "USR2@3", 12, 3, false },
    { "BR:USR1@3", "B:USR1@3", 10, 3, true },
    { "X:12@3", NULL, 0, 0, false },
    { "b:usr2", "B:USR2@60", 12, 60, true },
    { "", NULL, 0, 0, false },
    { "USR1@", "USR1@0", 10, 0, false },
    { "USR1@70000", NULL, 0, 0, false },
    { "65", "65@60", 65, 60, false },
    { "128", NULL, 0, 0, false },
};

static void test_signal(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        struct jobtext_signal s = { 0 };
        _cleanup_free_ char *text = NULL;

        assert_int_equal(jobtext_signal_parse(signals[i].text, &s, &text),
                         signals[i].canonical ? 0 : -EINVAL);
        if (!signals[i].canonical)
            continue;
        assert_string_equal(text, signals[i].canonical);
        assert_int_equal(s.signal, signals[i].signal);
        assert_int_equal(s.secs, signals[i].secs);
        assert_int_equal(s.batch_only, signals[i].batch);
    }
}

static void test_mail(void **state)
{
    uint32_t bits = 99;

    (void)state;
    assert_int_equal(jobtext_mail_parse("BEGIN,end", &bits), 0);
    assert_int_equal(bits, 3);
    assert_int_equal(jobtext_mail_parse("ALL", &bits), 0);
    assert_int_equal(bits, 0x50f);
    assert_int_equal(jobtext_mail_parse("NONE", &bits), 0);
    assert_int_equal(bits, 0);
    assert_int_equal(jobtext_mail_parse("", &bits), -EINVAL);
}

static void test_counts(void **state)
{
    uint32_t min, max, sct[3], counts[8];
    unsigned bad;

    (void)state;
    assert_int_equal(jobtext_nodes_parse("2-1k", &min, &max), 0);
    assert_int_equal(min, 2);
    assert_int_equal(max, 1024);
    assert_int_equal(jobtext_nodes_parse("4000m", &min, &max), -EINVAL);
    assert_int_equal(jobtext_count_parse("99999999999", &min), -EINVAL);
    assert_int_equal(jobtext_geometry_parse("2:*:1", sct, &bad), 0);
    assert_int_equal(sct[0], 2);
    assert_int_equal(sct[1], 0);
    assert_int_equal(sct[2], 1);
    assert_int_equal(jobtext_geometry_parse("2:", sct, &bad), -EINVAL);
    assert_int_equal(jobtext_geometry_parse("1-2:2-4:1-2", sct, &bad), 0);
    assert_int_equal(sct[0] * 100 + sct[1] * 10 + sct[2], 121);
    assert_int_equal(jobtext_geometry_parse("2:2:2:2", sct, &bad), 0);
    assert_int_equal(jobtext_geometry_parse("2:x", sct, &bad), -EINVAL);
    assert_int_equal(bad, 1);
    assert_true(jobtext_distribution_ok("Pack"));
    assert_int_equal(jobtext_node_counts("4-8:2,2,4", counts, ARRAY_SIZE(counts)), 4);
    assert_int_equal(counts[0] * 1000 + counts[1] * 100 + counts[2] * 10 + counts[3], 2468);
    assert_int_equal(jobtext_node_counts("3", counts, ARRAY_SIZE(counts)), 1);
    assert_int_equal(jobtext_node_counts("1-9", counts, ARRAY_SIZE(counts)), -E2BIG);
    assert_int_equal(jobtext_node_counts("2,", counts, ARRAY_SIZE(counts)), -EINVAL);
    assert_int_equal(jobtext_node_counts("4-2", counts, ARRAY_SIZE(counts)), -EINVAL);
    assert_int_equal(jobtext_node_counts("0,2", counts, ARRAY_SIZE(counts)), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signal),
        cmocka_unit_test(test_mail),
        cmocka_unit_test(test_counts),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
