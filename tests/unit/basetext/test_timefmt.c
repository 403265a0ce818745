/* test_timefmt.c - limits, dates, sizes and integers as people write them */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

static const struct {
    const char *text;
    int rc;
    uint32_t minutes, seconds;
} limits[] = {
    { "30", 0, 30, 30 },
    { "0", 0, 0, 0 },
    { "1:30", 0, 2, 90 },
    { "90:00", 0, 90, 5400 },
    { "1:00:00", 0, 60, 3600 },
    { "1:02:03", 0, 63, 3723 },
    { "0:00:01", 0, 1, 1 },
    { "2-0", 0, 2880, 172800 },
    { "1-", 0, 1440, 86400 },
    { "1-12", 0, 2160, 129600 },
    { "1-12:30", 0, 2190, 131400 },
    { "1-12:30:01", 0, 2191, 131401 },
    { "INFINITE", 0, TIME_LIMIT_INFINITE, UINT32_MAX },
    { "unlimited", 0, TIME_LIMIT_INFINITE, UINT32_MAX },
    { "-1", 0, TIME_LIMIT_INFINITE, UINT32_MAX },
    { "", -EINVAL, 0, 0 },
    { "abc", -EINVAL, 0, 0 },
    { "1:", -EINVAL, 0, 0 },
    { ":1", -EINVAL, 0, 0 },
    { "1:2:3:4", -EINVAL, 0, 0 },
    { "1-2-3", -EINVAL, 0, 0 },
    { "1:2-3", -EINVAL, 0, 0 },
    { "1-2:3:4:5", -EINVAL, 0, 0 },
    { "-2", -EINVAL, 0, 0 },
    { "1.5", -EINVAL, 0, 0 },
    { " 1", -EINVAL, 0, 0 },
    { "1 ", -EINVAL, 0, 0 },
    { "99999999999999999999", -ERANGE, 0, 0 },
    { "9999999-0", -ERANGE, 0, 0 },
};

static void test_limits(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        struct err err = { .text = "" };
        uint32_t minutes = 0, seconds = 0;

        assert_int_equal(time_limit_parse(limits[i].text, &minutes, &err), limits[i].rc);
        assert_int_equal(minutes, limits[i].minutes);
        assert_int_equal(err.text[0] != '\0', limits[i].rc != 0);
        assert_int_equal(time_secs_parse(limits[i].text, &seconds, NULL), limits[i].rc);
        assert_int_equal(seconds, limits[i].seconds);
    }
    assert_int_equal(time_limit_parse(NULL, &(uint32_t){ 0 }, NULL), -EINVAL);
}

static const struct {
    int64_t seconds;
    const char *hms, *brief;
} durations[] = {
    { 0, "00:00:00", "0:00" },
    { 17, "00:00:17", "0:17" },
    { 600, "00:10:00", "10:00" },
    { 3723, "01:02:03", "1:02:03" },
    { 86399, "23:59:59", "23:59:59" },
    { 172800, "2-00:00:00", "2-00:00:00" },
    { 31536000, "365-00:00:00", "365-00:00:00" },
    { -5, "INVALID", "INVALID" },
};

static void test_durations(void **state)
{
    char buf[32], tiny[4];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
        time_fmt_hms(durations[i].seconds, buf, sizeof(buf));
        assert_string_equal(buf, durations[i].hms);
        time_fmt_short(durations[i].seconds, buf, sizeof(buf));
        assert_string_equal(buf, durations[i].brief);
    }
    time_fmt_hms(INT64_MAX, buf, sizeof(buf));
    time_fmt_hms(3723, tiny, sizeof(tiny));
    assert_string_equal(tiny, "01:");
}

/* Friday 2026-03-27 10:00:00 in Berlin, two days before the clocks go forward. */
static const int64_t friday_us = INT64_C(1774602000) * USEC_PER_SEC + 123456;

static const struct {
    const char *text;
    const char *submit; /* NULL = refused */
    const char *query;  /* NULL = as submit */
} dates[] = {
    { "now", "2026-03-27T10:00:00", NULL },
    { "NOW", "2026-03-27T10:00:00", NULL },
    { "now+60", "2026-03-27T10:01:00", NULL },
    { "now + 60", "2026-03-27T10:01:00", NULL },
    { "now-1hour", "2026-03-27T09:00:00", NULL },
    { "now+1h", "2026-03-27T11:00:00", NULL },
    { "now+2min", "2026-03-27T10:02:00", NULL },
    { "now+30seconds", "2026-03-27T10:00:30", NULL },
    { "now+1week", "2026-04-03T11:00:00", NULL }, /* 7 * 24 hours, across the change */
    { "now+3d", "2026-03-30T11:00:00", NULL },
    { "today", "2026-03-27T00:00:00", NULL },
    { "tomorrow", "2026-03-28T00:00:00", NULL },
    { "tomorrow18:00", "2026-03-28T18:00:00", NULL },
    { "tomorrow 6:30 pm", "2026-03-28T18:30:00", NULL },
    { "18:00 tomorrow", "2026-03-28T18:00:00", NULL },
    { "tomorrownoon", "2026-03-28T12:00:00", NULL },
    { "noontomorrow", "2026-03-28T12:00:00", NULL },
    { "midnight", "2026-03-28T00:00:00", "2026-03-27T00:00:00" },
    { "noon", "2026-03-27T12:00:00", NULL },
    { "elevenses", "2026-03-27T11:00:00", NULL },
    { "fika", "2026-03-27T15:00:00", NULL },
    { "teatime", "2026-03-27T16:00:00", NULL },
    { "16:00", "2026-03-27T16:00:00", NULL },
    { "10:00", "2026-03-27T10:00:00", NULL },
    { "9:59:59", "2026-03-28T09:59:59", "2026-03-27T09:59:59" },
    { "08:00", "2026-03-28T08:00:00", "2026-03-27T08:00:00" },
    { "8:00PM", "2026-03-27T20:00:00", NULL },
    { "8:00 AM", "2026-03-28T08:00:00", "2026-03-27T08:00:00" },
    { "12:00am", "2026-03-28T00:00:00", "2026-03-27T00:00:00" },
    { "12:30pm", "2026-03-27T12:30:00", NULL },
    { "0612", "2026-06-12T00:00:00", NULL },
    { "061227", "2027-06-12T00:00:00", NULL },
    { "0101", "2027-01-01T00:00:00", "2026-01-01T00:00:00" },
    { "0327", "2026-03-27T00:00:00", NULL },
    { "6/12", "2026-06-12T00:00:00", NULL },
    { "06/12/27", "2027-06-12T00:00:00", NULL },
    { "06/12/2027", "2027-06-12T00:00:00", NULL },
    { "06.12.27", "2027-06-12T00:00:00", NULL },
    { "06/12-13:30", "2026-06-12T13:30:00", NULL },
    { "06/12/27-13:30:15", "2027-06-12T13:30:15", NULL },
    { "2026-12-31", "2026-12-31T00:00:00", NULL },
    { "2026-12-31T23:59:59", "2026-12-31T23:59:59", NULL },
    { "2026-12-31 23:59", "2026-12-31T23:59:00", NULL },
    { "2020-02-29", "2020-02-29T00:00:00", NULL },
    { "2026-03-29T02:30:00", "2026-03-29T03:30:00", NULL }, /* an hour that does not exist */
    { "uts1774602001", "2026-03-27T10:00:01", NULL },
    { "16:00 17:00", "2026-03-27T17:00:00", NULL }, /* the last one wins */
    { "now 17:00", "2026-03-27T17:00:00", NULL },
    { "", NULL, NULL },
    { "   ", NULL, NULL },
    { "yesterday", NULL, NULL },
    { "25:00", NULL, NULL },
    { "12:60", NULL, NULL },
    { "12:00:60", NULL, NULL },
    { "13:00pm", NULL, NULL },
    { "0:30am", NULL, NULL },
    { "1:2", NULL, NULL },
    { "16", NULL, NULL },
    { "1332", NULL, NULL },
    { "0230", NULL, NULL },
    { "13/01", NULL, NULL },
    { "2/30", NULL, NULL },
    { "2025-02-29", NULL, NULL },
    { "2026-13-01", NULL, NULL },
    { "2026-12", NULL, NULL },
    { "1969-01-01", NULL, NULL },
    { "0000-01-01", NULL, NULL },
    { "06/12-", NULL, NULL },
    { "now+", NULL, NULL },
    { "now+1month", NULL, NULL },
    { "now+9999999999", NULL, NULL },
    { "now+999999999weeks", NULL, NULL }, /* seconds, but no microseconds */
    { "now-999999999weeks", NULL, NULL },
    { "uts", NULL, NULL },
    { "uts-1", NULL, NULL },
    { "06/12/1", NULL, NULL },
    { "06/12/123", NULL, NULL },
    { "00012", NULL, NULL },
    { "12:00;", NULL, NULL },
};

static void check_date(const char *text, bool future, const char *want)
{
    struct err err = { .text = "" };
    int64_t us = -1;
    char got[64];
    int r = time_when_parse(text, friday_us, future, &us, &err);

    if (!want) {
        assert_int_equal(r, -EINVAL);
        assert_int_equal(us, -1);
        assert_true(err.text[0] != '\0');
        return;
    }
    if (r < 0)
        fail_msg("'%s' refused", text);
    time_fmt_stamp(us, "none", friday_us, got, sizeof(got));
    if (strcmp(got, want) != 0)
        fail_msg("'%s' is %s, not %s", text, got, want);
}

static void test_dates(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(dates); i++) {
        check_date(dates[i].text, true, dates[i].submit);
        check_date(dates[i].text, false, dates[i].query ? dates[i].query : dates[i].submit);
    }
    assert_int_equal(time_when_parse(NULL, friday_us, true, &(int64_t){ 0 }, NULL), -EINVAL);
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *text;
        int pos;
    } rows[] = { { "x1", 0 },
                 { "3", 1 },
                 { "12", 2 },
                 { "1hour", 1 },
                 { "12345", 2 },
                 { "0900", 2 },
                 { "25:00", 0 },
                 { "13/40", 0 },
                 { "16:00:70", 6 },
                 { "now-1x", 4 },
                 { "now+", 3 },
                 { "2010-13-01", 5 },
                 { "2010-1", 0 },
                 { "", 0 },
                 /* behind what was read */
                 { "midnight-1day", 10 },
                 { "noon+1hour", 4 },
                 { "today 5:00x", 10 },
                 { "todayx", 5 },
                 { "now-1day-1hour", 10 },
                 { "now+x", 3 },
                 { "10:00pmx", 7 },
                 { "13:00pm", 5 },
                 { "10:00 pm x", 9 },
                 { "10:00:5", 7 },
                 { "10:00:00:00", 8 },
                 { "1:5", 3 },
                 { "2010-01-01T25:00", 11 },
                 { "2010-01-01T10:61", 14 },
                 { "2010-01-01T10", 13 },
                 { "2010-01-00", 8 },
                 { "2010-01-x", 8 },
                 { "12/31/x", 6 },
                 { "1/1/123", 7 },
                 { "1.1.2010x", 8 },
                 { "0101x", 4 },
                 { "-1hour", 2 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_int_equal(time_when_mistake(rows[i].text), rows[i].pos);
}

static const struct {
    int64_t offset_s;
    const char *shown;
} relatives[] = {
    { 0, "10:00:00" },
    { 3600 * 13, "23:00:00" },
    { 3600 * 14, "Tomorr 00:00" },
    { -3600 * 11, "Ystday 23:00" },
    { -86400 * 3, "Tue 10:00" },
    { 86400 * 6, "Thu 11:00" },
    { 86400 * 7, "3 Apr 11:00" },
    { -86400 * 20, "7 Mar 10:00" },
    { -86400 * 100, "17 Dec 2025" },
};

static void test_stamps(void **state)
{
    char buf[64];

    (void)state;
    time_fmt_stamp(0, "Unknown", friday_us, buf, sizeof(buf));
    assert_string_equal(buf, "Unknown");
    time_fmt_stamp(friday_us, "Unknown", friday_us, buf, sizeof(buf));
    assert_string_equal(buf, "2026-03-27T10:00:00");
    time_fmt_stamp(friday_us, "Unknown", friday_us, buf, 5); /* no room: nothing rather than junk */
    assert_string_equal(buf, "");

    assert_int_equal(setenv("SLURM_TIME_FORMAT", "relative", 1), 0);
    for (size_t i = 0; i < ARRAY_SIZE(relatives); i++) {
        time_fmt_stamp(friday_us + relatives[i].offset_s * USEC_PER_SEC, "x", friday_us, buf,
                       sizeof(buf));
        assert_string_equal(buf, relatives[i].shown);
    }
    assert_int_equal(setenv("SLURM_TIME_FORMAT", "%d.%m.%y", 1), 0);
    time_fmt_stamp(friday_us, "x", friday_us, buf, sizeof(buf));
    assert_string_equal(buf, "27.03.26");
    assert_int_equal(setenv("SLURM_TIME_FORMAT", "standard", 1), 0);
    time_fmt_stamp(friday_us, "x", friday_us, buf, sizeof(buf));
    assert_string_equal(buf, "2026-03-27T10:00:00");
    assert_int_equal(unsetenv("SLURM_TIME_FORMAT"), 0);
}

static const struct {
    const char *text;
    int mib_rc;
    uint64_t mib;
    int count_rc;
    uint64_t count;
} sizes[] = {
    { "0", 0, 0, 0, 0 },
    { "100", 0, 100, 0, 100 },
    { "1K", 0, 1, 0, 1024 },
    { "1024k", 0, 1, 0, 1048576 },
    { "1025K", 0, 2, 0, 1049600 },
    { "10M", 0, 10, 0, 10485760 },
    { "10MB", 0, 10, -EINVAL, 0 },
    { "4g", 0, 4096, 0, UINT64_C(4) << 30 },
    { "4Gb", 0, 4096, -EINVAL, 0 },
    { "2T", 0, 2097152, 0, UINT64_C(2) << 40 },
    { "1P", 0, UINT64_C(1) << 30, 0, UINT64_C(1) << 50 },
    { "", -EINVAL, 0, -EINVAL, 0 },
    { "M", -EINVAL, 0, -EINVAL, 0 },
    { "-1", -EINVAL, 0, -EINVAL, 0 },
    { "1.5G", -EINVAL, 0, -EINVAL, 0 },
    { "1X", -EINVAL, 0, -EINVAL, 0 },
    { "1B", -EINVAL, 0, -EINVAL, 0 },
    { "1GG", -EINVAL, 0, -EINVAL, 0 },
    { "18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX },
    { "18446744073709551616", -ERANGE, 0, -ERANGE, 0 },
    { "18446744073709551615T", -ERANGE, 0, -ERANGE, 0 },
};

static void test_sizes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct err err = { .text = "" };
        uint64_t mib = 0, count = 0;

        assert_int_equal(size_mib_parse(sizes[i].text, &mib, &err), sizes[i].mib_rc);
        assert_int_equal(err.text[0] != '\0', sizes[i].mib_rc != 0);
        assert_true(mib == sizes[i].mib);
        assert_int_equal(size_count_parse(sizes[i].text, &count, NULL), sizes[i].count_rc);
        assert_true(count == sizes[i].count);
    }
}

static const struct {
    uint64_t mib;
    const char *shown;
} mibs[] = {
    { 0, "0M" },
    { 100, "100M" },
    { 1023, "1023M" },
    { 1024, "1G" },
    { 1536, "1.50G" },
    { 1100, "1100M" },
    { 64000, "62.50G" },
    { 32000, "32000M" },
    { 16000, "16000M" },
    { 1048576, "1T" },
    { 1572864, "1.50T" },
    { UINT64_C(1) << 30, "1P" },
    { UINT64_C(1) << 50, "1024E" },
};

static void test_size_texts(void **state)
{
    char buf[32];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(mibs); i++) {
        size_mib_fmt(mibs[i].mib, false, buf, sizeof(buf));
        assert_string_equal(buf, mibs[i].shown);
    }
    size_mib_fmt(4096, true, buf, sizeof(buf));
    assert_string_equal(buf, "4096M");
}

static void test_integers(void **state)
{
    uint64_t u = 7;
    int64_t i = 7;

    (void)state;
    assert_int_equal(parse_u64("18446744073709551615", 0, UINT64_MAX, &u), 0);
    assert_true(u == UINT64_MAX);
    assert_int_equal(parse_u64("18446744073709551616", 0, UINT64_MAX, &u), -ERANGE);
    assert_int_equal(parse_u64("99999999999999999999999x", 0, UINT64_MAX, &u), -EINVAL);
    assert_int_equal(parse_u64("4", 5, 10, &u), -ERANGE);
    assert_int_equal(parse_u64("11", 5, 10, &u), -ERANGE);
    assert_true(u == UINT64_MAX); /* untouched by failures */
    assert_int_equal(parse_u64("0010", 5, 10, &u), 0);
    assert_int_equal(u, 10);
    static const char *const bad[] = { "", " 1", "1 ", "+1", "-1", "0x1", "1e3", "one" };
    for (size_t n = 0; n < ARRAY_SIZE(bad); n++)
        assert_int_equal(parse_u64(bad[n], 0, UINT64_MAX, &u), -EINVAL);
    assert_int_equal(parse_u64(NULL, 0, 1, &u), -EINVAL);

    assert_int_equal(parse_i64("-9223372036854775808", INT64_MIN, INT64_MAX, &i), 0);
    assert_true(i == INT64_MIN);
    assert_int_equal(parse_i64("9223372036854775807", INT64_MIN, INT64_MAX, &i), 0);
    assert_true(i == INT64_MAX);
    assert_int_equal(parse_i64("9223372036854775808", INT64_MIN, INT64_MAX, &i), -ERANGE);
    assert_int_equal(parse_i64("-9223372036854775809", INT64_MIN, INT64_MAX, &i), -ERANGE);
    assert_int_equal(parse_i64("+5", 0, 10, &i), 0);
    assert_int_equal(i, 5);
    assert_int_equal(parse_i64("-5", 0, 10, &i), -ERANGE);
    assert_int_equal(parse_i64("--5", -10, 10, &i), -EINVAL);
    assert_int_equal(parse_i64("-", -10, 10, &i), -EINVAL);
    assert_int_equal(parse_i64(NULL, 0, 1, &i), -EINVAL);
}

static void test_clocks(void **state)
{
    int64_t wall = now_us(), mono = now_mono_us();

    (void)state;
    assert_true(wall / USEC_PER_SEC >= (int64_t)time(NULL) - 5);
    assert_true(now_mono_us() >= mono);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),   cmocka_unit_test(test_durations),
        cmocka_unit_test(test_dates),    cmocka_unit_test(test_stamps),
        cmocka_unit_test(test_sizes),    cmocka_unit_test(test_size_texts),
        cmocka_unit_test(test_integers), cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_mistakes),
    };

    /* The zone is spelled out: the test must not depend on installed zone files. */
    if (setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1) < 0 || unsetenv("SLURM_TIME_FORMAT") < 0)
        return 1;
    tzset();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
