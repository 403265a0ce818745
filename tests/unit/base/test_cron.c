/* test_cron.c - crontab times: what is read, what is refused, and when the next one is */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/cronspec.h"

static const struct {
    const char *text;
    int rc;
    const char *says; /* part of the sentence */
} bad[] = {
    { "", -EINVAL, "minute is missing" },
    { "1 2 3 4", -EINVAL, "day of week is missing" },
    { "61 * * * * x", -EINVAL, "minute: 61 is not between 0 and 59" },
    { "* 24 * * *", -EINVAL, "hour: 24" },
    { "* * 0 * *", -EINVAL, "day of month" },
    { "* * * 13 *", -EINVAL, "month" },
    { "* * * * 8", -EINVAL, "day of week" },
    { "* * * * /bin/true", -EDOM, "'/bin/true' is no step" },
    { "*/0 * * * *", -EDOM, "step" },
    { "*/x * * * *", -EDOM, "step" },
    { "*/60 * * * *", -EDOM, "step" },
    { "/5 * * * *", -EINVAL, "before it" },
    { "5-1 * * * *", -EINVAL, "ends before it begins" },
    { "1,, * * * *", -EINVAL, "no number" },
    { "1x * * * *", -EINVAL, "not understood" },
    { "* * * janu *", -EINVAL, "no number or name" },
    { "* * 30 2 *", -EINVAL, "no such day" },
    { "* * 31 4,6,9,11 *", -EINVAL, "no such day" },
    { "@reboot", -EINVAL, "@daily" },
    { "@", -EINVAL, "@daily" },
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err err = { .text = "" };
        struct cron_times t = { .minutes = 77 };
        int r = cron_parse(bad[i].text, &t, NULL, &err);

        if (r != bad[i].rc || !strstr(err.text, bad[i].says))
            print_error("# '%s': %d %s\n", bad[i].text, r, err.text);
        assert_int_equal(r, bad[i].rc);
        assert_true(t.minutes == 77);
        assert_non_null(strstr(err.text, bad[i].says));
    }
}

static int64_t at(const char *text)
{
    struct tm tm = { .tm_isdst = -1 };

    assert_int_equal(sscanf(text, "%d-%d-%d %d:%d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
                            &tm.tm_hour, &tm.tm_min),
                     5);
    tm.tm_year -= 1900;
    tm.tm_mon--;
    return mktime(&tm);
}

static void zone(const char *tz)
{
    setenv("TZ", tz, 1);
    tzset();
}

static void check(const char *spec, const char *from, const char *to)
{
    struct cron_times t;
    struct err err = { .text = "" };
    char got[64] = "never";
    int64_t next;
    time_t when;
    struct tm tm;

    if (cron_parse(spec, &t, NULL, &err) < 0)
        fail_msg("%s: %s", spec, err.text);
    next = cron_next(&t, at(from));
    when = (time_t)next;
    if (next != INT64_MAX && localtime_r(&when, &tm))
        assert_true(strftime(got, sizeof(got), "%Y-%m-%d %H:%M", &tm) > 0);
    if (strcmp(got, to) != 0)
        fail_msg("%s after %s: %s, not %s", spec, from, got, to);
}

static void test_next(void **state)
{
    (void)state;
    zone("UTC0");
    check("* * * * *", "2026-11-20 09:40", "2026-11-20 09:41");
    check("0 3 * * *", "2026-11-20 09:40", "2026-11-21 03:00");
    check("0 3 * * *", "2026-11-20 03:00", "2026-11-21 03:00");
    check("@hourly", "2026-11-20 09:40", "2026-11-20 10:00");
    check("@Daily", "2026-12-31 09:40", "2027-01-01 00:00");
    check("@weekly", "2026-11-20 09:40", "2026-11-22 00:00");
    check("@yearly", "2026-11-20 09:40", "2027-01-01 00:00");
    check("@fika", "2026-11-20 09:40", "2026-11-20 15:00");
    check("@elevenses", "2026-11-20 11:00", "2026-11-21 11:00");
    check("@teatime", "2026-11-20 09:40", "2026-11-20 16:00");
    check("*/15 9-17/4 * * *", "2026-11-20 09:46", "2026-11-20 13:00");
    check("10/20 * * * *", "2026-11-20 09:31", "2026-11-20 09:50");
    check("5,1,3 * * * *", "2026-11-20 09:03", "2026-11-20 09:05");
    check("0 0 * jan,Mar *", "2026-02-01 00:00", "2026-03-01 00:00");
    check("0 0 * * 7", "2026-11-20 00:00", "2026-11-22 00:00");
    check("0 0 * * Fri-sat", "2026-11-20 00:00", "2026-11-21 00:00");
    check("0 0 1 * mon", "2026-11-20 00:00", "2026-11-23 00:00"); /* either is enough */
    check("0 0 1 * mon", "2026-11-30 00:00", "2026-12-01 00:00");
    /* a field with * has to fit too */
    check("0 0 */2 * mon", "2026-11-20 00:00", "2026-11-23 00:00");
    check("0 0 29 2 *", "2026-11-20 00:00", "2028-02-29 00:00");
    check("0 0 29 2 *", "2096-02-29 00:00", "2104-02-29 00:00"); /* 2100 is no leap year */
    check("0 0 31 * *", "2026-11-20 00:00", "2026-12-31 00:00");
    check("59 23 31 12 *", "2026-12-31 23:59", "2027-12-31 23:59");
}

static void test_clocks_changed(void **state)
{
    (void)state;
    zone("CET-1CEST,M3.5.0,M10.5.0/3"); /* 2026: March 29 2:00 -> 3:00, October 25 3:00 -> 2:00 */
    check("30 2 * * *", "2026-03-28 12:00", "2026-03-29 03:00"); /* left out: at once */
    check("30 2 * * *", "2026-03-29 03:00", "2026-03-30 02:30");
    check("0 3 * * *", "2026-03-29 01:00", "2026-03-29 03:00");
    check("0,30 2 * * *", "2026-03-29 03:00", "2026-03-30 02:00");
    check("30 * * * *", "2026-03-29 01:30", "2026-03-29 03:30"); /* an hour later */
    check("*/10 2 * * *", "2026-03-29 01:00", "2026-03-30 02:00");
    check("30 2 * * *", "2026-10-24 12:00", "2026-10-25 02:30");
    {
        struct cron_times t;
        int64_t first = at("2026-10-25 00:00") + 150 * 60; /* 2:30, summer time */

        assert_int_equal(cron_parse("30 2 * * *", &t, NULL, NULL), 0);
        assert_int_equal(cron_next(&t, first - 60), first);
        /* not again an hour later */
        assert_int_equal(cron_next(&t, first), at("2026-10-26 02:30"));
        assert_int_equal(cron_parse("30 * * * *", &t, NULL, NULL), 0);
        assert_int_equal(cron_next(&t, first), first + 3600); /* every hour is every hour */
    }
    zone("XST3XDT,M11.1.0/0,M2.3.0/0"); /* a zone that changes at midnight: there is no 0:00 */
    check("0 0 * * *", "2026-10-31 12:00", "2026-11-01 01:00");
    check("@weekly", "2026-10-31 12:00", "2026-11-01 01:00");
    check("0 12 2 11 *", "2026-10-30 12:00", "2026-11-02 12:00");
    zone("LHST-10:30LHDT-11,M10.1.0,M4.1.0"); /* by half an hour */
    check("15 2 * * *", "2026-10-03 12:00", "2026-10-04 02:30");
    check("45 1 5 4 *", "2026-04-04 12:00", "2026-04-05 01:45");
    zone("UTC0");
}

static void test_end(void **state)
{
    const char *text = " 0\t3 * * 1-5   run it", *end = NULL;
    struct cron_times t;

    (void)state;
    assert_int_equal(cron_parse(text, &t, &end, NULL), 0);
    assert_string_equal(end, "   run it");
    assert_int_equal(cron_parse("@daily run", &t, &end, NULL), 0);
    assert_string_equal(end, " run");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_next),
        cmocka_unit_test(test_clocks_changed),
        cmocka_unit_test(test_end),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
