/* test_timewhen.c - times as people write them, at their edges: leap days, midnight, the end of
 * what a number holds, and text that is no time */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

/* Seconds since 1970, in UTC. */
#define Y2023_JUNE_1 INT64_C(1685577600)
#define Y2024_MARCH_1 INT64_C(1709251200)
#define Y2024_FEBRUARY_29 INT64_C(1709164800)
#define HOUR 3600

/* The seconds that text means at `now`; -1: it is refused, with a sentence that names it. */
static int64_t meant(const char *text, int64_t now, bool future)
{
    int64_t us = -7;
    struct err err = { .text = "" };
    int r = time_when_parse(text, now * USEC_PER_SEC, future, &us, &err);

    if (r == 0) {
        assert_int_equal(us % USEC_PER_SEC, 0);
        return us / USEC_PER_SEC;
    }
    assert_int_equal(r, -EINVAL);
    assert_int_equal(us, -7); /* written on success only */
    assert_memory_equal(err.text, "invalid time '", 14);
    return -1;
}

static void test_days(void **state)
{
    (void)state;
    assert_int_equal(meant("2024-02-29", Y2023_JUNE_1, false), Y2024_FEBRUARY_29);
    assert_int_equal(meant("2024-02-29T", Y2023_JUNE_1, false), Y2024_FEBRUARY_29);
    assert_int_equal(meant("2024-02-29Tx", Y2023_JUNE_1, false), -1);
    assert_int_equal(meant("2023-02-29", Y2023_JUNE_1, false), -1);
    assert_int_equal(meant("2100-02-29", Y2023_JUNE_1, false), -1); /* no leap year */
    assert_int_equal(meant("2000-02-29", Y2023_JUNE_1, false), 951782400);
    assert_int_equal(meant("2024-04-31", Y2023_JUNE_1, false), -1);
    assert_int_equal(meant("2024-00-10", Y2023_JUNE_1, false), -1);
    assert_int_equal(meant("2024-13-10", Y2023_JUNE_1, false), -1);
    assert_int_equal(meant("2024-01-00", Y2023_JUNE_1, false), -1);
    assert_int_equal(meant("0000-01-01", Y2023_JUNE_1, false), -1);
    assert_int_equal(meant("1969-12-31", Y2023_JUNE_1, false), -1);
    assert_int_equal(meant("1970-01-01", Y2023_JUNE_1, false), 0);
    assert_int_equal(meant("9999-12-31T23:59:59", Y2023_JUNE_1, false), INT64_C(253402300799));
}

/* Without a year, of the future: the next day of that name. */
static void test_next_year(void **state)
{
    (void)state;
    assert_int_equal(meant("02/29", Y2023_JUNE_1, true), Y2024_FEBRUARY_29);
    assert_int_equal(meant("0229", Y2023_JUNE_1, true), Y2024_FEBRUARY_29);
    assert_int_equal(meant("02/29", Y2023_JUNE_1, false), -1);          /* of 2023 */
    assert_int_equal(meant("02/29", Y2024_MARCH_1, true), -1);          /* of 2025 */
    assert_int_equal(meant("06/01", Y2023_JUNE_1, true), Y2023_JUNE_1); /* today is not over */
    assert_int_equal(meant("05/31", Y2023_JUNE_1, true), INT64_C(1717113600));
    assert_int_equal(meant("12/31/69", Y2023_JUNE_1, true), INT64_C(3155673600)); /* 2069 */
}

static void test_hours(void **state)
{
    const int64_t noon = Y2023_JUNE_1 + 12 * HOUR;

    (void)state;
    assert_int_equal(meant("00:00", Y2023_JUNE_1, true), Y2023_JUNE_1);
    assert_int_equal(meant("23:59:59", Y2023_JUNE_1, true), Y2023_JUNE_1 + 24 * HOUR - 1);
    assert_int_equal(meant("24:00", Y2023_JUNE_1, true), -1);
    assert_int_equal(meant("23:60", Y2023_JUNE_1, true), -1);
    assert_int_equal(meant("23:59:60", Y2023_JUNE_1, true), -1);
    assert_int_equal(meant("12:00AM", Y2023_JUNE_1, true), Y2023_JUNE_1);
    assert_int_equal(meant("12:00 pm", Y2023_JUNE_1, true), noon);
    assert_int_equal(meant("0:30AM", Y2023_JUNE_1, true), -1);
    assert_int_equal(meant("13:00PM", Y2023_JUNE_1, true), -1);
    assert_int_equal(meant("noon", noon, true), noon); /* now is not past */
    assert_int_equal(meant("noon", noon + 1, true), noon + 24 * HOUR);
    assert_int_equal(meant("noon", noon + 1, false), noon);
    assert_int_equal(meant("midnight tomorrow", noon, true), Y2023_JUNE_1 + 24 * HOUR);
}

static void test_instants(void **state)
{
    (void)state;
    assert_int_equal(meant("uts0", Y2023_JUNE_1, true), 0);
    assert_int_equal(meant("uts999999999999", Y2023_JUNE_1, true), INT64_C(999999999999));
    assert_int_equal(meant("uts1000000000000", Y2023_JUNE_1, true), -1);
    assert_int_equal(meant("uts", Y2023_JUNE_1, true), -1);
    assert_int_equal(meant("uts-1", Y2023_JUNE_1, true), -1);
    assert_int_equal(meant("now", 0, true), 0);
    assert_int_equal(meant("now-1", 0, true), -1); /* before 1970 */
    assert_int_equal(meant("now+0", 5, true), 5);
    assert_int_equal(meant("now + 2 days", 5, true), 5 + 48 * HOUR);
    assert_int_equal(meant("now+1m", 5, true), 65); /* any beginning of a unit */
    assert_int_equal(meant("now+1months", 5, true), -1);
    assert_int_equal(meant("now+", 5, true), -1);
    assert_int_equal(meant("now+-1", 5, true), -1);
    assert_int_equal(meant("now+999999999", 5, true), 5 + INT64_C(999999999));
    assert_int_equal(meant("now+1000000000", 5, true), -1);
    /* more microseconds than 64 bits hold */
    assert_int_equal(meant("now+999999999weeks", 5, true), -1);
    assert_int_equal(meant("now+9999999weeks", 5, true), 5 + INT64_C(9999999) * 604800);
}

static void test_no_time(void **state)
{
    static const char *const texts[] = {
        "",           " ",       "T",         "-",        "tomorow",   "1",
        "12345",      "1:2",     "1:",        ":30",      "2023-06",   "2023-06-",
        "2023/06/01", "06/01/2", "06/01/203", "06.01/23", "now now x", "noon\n",
        "\xff",       "06/",     "//",        "1/2/3/4",  "12:00XM",
    };
    _cleanup_free_ char *longest = malloc(100001);
    struct err err = { .text = "" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        print_message("# '%s'\n", texts[i]);
        assert_int_equal(meant(texts[i], Y2023_JUNE_1, true), -1);
    }
    assert_int_equal(meant(NULL, Y2023_JUNE_1, true), -1);
    assert_non_null(longest);
    memset(longest, '7', 100000);
    longest[100000] = '\0';
    assert_int_equal(meant(longest, Y2023_JUNE_1, true), -1);
    assert_int_equal(time_when_parse(longest, 0, true, &(int64_t){ 0 }, &err), -EINVAL);
    assert_true(strlen(err.text) < 100); /* the sentence quotes the beginning */
    assert_int_equal(time_when_parse("now", INT64_MAX, true, &(int64_t){ 0 }, NULL), 0);
}

/* The place of the mistake is within the text, whatever the text is. */
static void test_mistakes(void **state)
{
    static const char bytes[] = "0129:/-.TtnowAMPu ";
    unsigned seed = 5;

    (void)state;
    assert_int_equal(time_when_mistake("12:00"), 0);
    assert_int_equal(time_when_mistake("2024-13-01"), 5);
    assert_int_equal(time_when_mistake("2024-02-30"), 8);
    for (int i = 0; i < 20000; i++) {
        char text[13];
        size_t len = (seed = seed * 1103515245u + 12345u) >> 16;

        len %= sizeof(text);
        for (size_t j = 0; j < len; j++) {
            seed = seed * 1103515245u + 12345u;
            text[j] = bytes[(seed >> 16) % (sizeof(bytes) - 1)];
        }
        text[len] = '\0';
        assert_in_range(time_when_mistake(text), 0, len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_days),    cmocka_unit_test(test_next_year),
        cmocka_unit_test(test_hours),   cmocka_unit_test(test_instants),
        cmocka_unit_test(test_no_time), cmocka_unit_test(test_mistakes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    if (setenv("TZ", "UTC0", 1) < 0)
        return 1;
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
