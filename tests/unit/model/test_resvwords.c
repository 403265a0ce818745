/* test_resvwords.c - reservations as text, as lists of who may, and as times */
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
#include "model/words/resvwords.h"

#define HOUR (3600 * USEC_PER_SEC)

static int use_zone(void **state)
{
    (void)state;
    if (setenv("TZ", "Europe/Berlin", 1) != 0)
        return -1;
    tzset();
    return 0;
}

/* ---- flags ----------------------------------------------------------------------------------- */

static uint64_t flag_of(const char *word, uint32_t *ret_purge_s)
{
    return resv_flag_parse(word, strlen(word), ret_purge_s);
}

static void test_flags(void **state)
{
    static const struct {
        const char *word;
        uint64_t flag;
    } cases[] = {
        { "MAINT", RESV_FLAG(MAINT) },
        { "mai", RESV_FLAG(MAINT) },
        { "MA", 0 }, /* too short */
        { "MAINTENANCE", 0 },
        { "f", RESV_FLAG(FLEX) },
        { "FO", RESV_FLAG(FORCE_START) },
        { "WEEK", RESV_FLAG(WEEKDAY) }, /* the first that begins so */
        { "WEEKE", RESV_FLAG(WEEKEND) },
        { "weekly", RESV_FLAG(WEEKLY) },
        { "REPLACE", RESV_FLAG(REPLACE) },
        { "REPLACE_", RESV_FLAG(REPLACE_DOWN) },
        { "LICENSE_ONLY", RESV_FLAG(ANY_NODES) },
        { "PROMISC", RESV_FLAG(MAGNETIC) },
        { "SPEC_NODES", 0 }, /* is said of it, and not asked for */
        { "MAINT=1", 0 },
        { "=5", 0 },
        { "", 0 },
    };
    uint32_t purge = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_true(flag_of(cases[i].word, &purge) == cases[i].flag);
    assert_true(resv_flag_parse("MAINT,FLEX", 5, &purge) == RESV_FLAG(MAINT)); /* of a list */
    assert_int_equal(purge, 0);
}

static void test_purge_time(void **state)
{
    static const struct {
        const char *word;
        uint32_t seconds; /* 0: refused */
    } cases[] = {
        { "PURGE_COMP", RESV_PURGE_DEFAULT_S },
        { "purge=7", 420 },
        { "PURGE_COMP=0:30", 30 },
        { "PURGE_COMP=1-00:00:00", 86400 },
        { "PURGE_COMP=71582787", 71582787u * 60 },
        { "PURGE_COMP=71582789", 0 },
        { "PURGE_COMP=4294967295", 0 },
        { "PURGE_COMP=", 0 },
        { "PURGE_COMP=x", 0 },
        { "PURGE_COMP=UNLIMITED", 0 },
        { "PURGE_COMP=0000000000000000000000000000000000000000000000000000000000000001", 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint32_t purge = 0;
        uint64_t flag = flag_of(cases[i].word, &purge);

        assert_true(flag == (cases[i].seconds ? RESV_FLAG(PURGE_COMP) : 0));
        if (flag)
            assert_int_equal(purge, cases[i].seconds);
    }
}

/* Every flag has its word; what cannot be taken back is known. */
static void test_words(void **state)
{
    Pst__ReservationRecord r = PST__RESERVATION_RECORD__INIT;
    char all[600], few[12];
    unsigned n = 0;

    (void)state;
    while (resv_flag_name(n))
        n++;
    assert_int_equal(n, PST__RESV_FLAG__RESV_FLAG_FORCE_START + 1);
    assert_null(resv_flag_name(UINT32_MAX));
    resv_flags_text(&r, all, sizeof(all));
    assert_string_equal(all, "");
    r.flags = RESV_FLAG(MAINT) | RESV_FLAG(SPEC_NODES) | RESV_FLAG(PURGE_COMP);
    r.purge_comp_s = 3700;
    resv_flags_text(&r, all, sizeof(all));
    assert_string_equal(all, ""); /* not set */
    r.has_flags = true;
    resv_flags_text(&r, all, sizeof(all));
    assert_string_equal(all, "MAINT,SPEC_NODES,PURGE_COMP=01:01:40");
    resv_flags_text(&r, few, sizeof(few));
    assert_string_equal(few, "MAINT,SPEC_");
    r.flags = UINT64_MAX; /* of a later release: what is known is said */
    resv_flags_text(&r, all, sizeof(all));
    assert_non_null(strstr(all, ",FORCE_START"));
    assert_null(strstr(all, "null"));
    assert_true(resv_flag_removable(RESV_FLAG(MAINT)));
    assert_false(resv_flag_removable(RESV_FLAG(OVERLAP)));
    assert_false(resv_flag_removable(RESV_FLAG(SPEC_NODES)));
    assert_true(resv_has(&r, RESV_FLAG(FLEX)));
    r.flags = RESV_FLAG(MAINT);
    assert_false(resv_has(&r, RESV_FLAG(FLEX)));
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void test_who_may(void **state)
{
    (void)state;
    assert_int_equal(resv_list_match(NULL, "ann"), RESV_NO_LIST);
    assert_int_equal(resv_list_match("", "ann"), RESV_NO_LIST);
    assert_int_equal(resv_list_match("bob,ann", "ann"), RESV_ALLOWED);
    assert_int_equal(resv_list_match("bob,anna", "ann"), RESV_DENIED);
    assert_int_equal(resv_list_match("bob,an", "ann"), RESV_DENIED);
    assert_int_equal(resv_list_match("-bob,-ann", "ann"), RESV_DENIED);
    assert_int_equal(resv_list_match("-bob,-anna", "ann"), RESV_ALLOWED);
    assert_int_equal(resv_list_match("bob", NULL), RESV_DENIED); /* a user without a name */
    assert_int_equal(resv_list_match("-bob", NULL), RESV_ALLOWED);
    assert_true(resv_list_denies("-bob"));
    assert_false(resv_list_denies("bob"));
    assert_false(resv_list_denies(NULL));
}

static void test_list_edit(void **state)
{
    enum {
        SET = PST__LIST_EDIT__LIST_SET,
        ADD = PST__LIST_EDIT__LIST_ADD,
        REMOVE = PST__LIST_EDIT__LIST_REMOVE
    };
    static const struct {
        const char *old, *text;
        int how;
        const char *want; /* "!": refused; NULL: empty */
    } cases[] = {
        { NULL, "a,b", SET, "a,b" },    { "x", "a,b,a", SET, "a,b" },
        { "x", "", SET, NULL },         { NULL, "-a,-b", SET, "-a,-b" },
        { NULL, "a,-b", SET, "!" },     { NULL, "-a,b", SET, "!" },
        { "a,b", "+c", SET, "a,b,c" },  { "a,b", "+c,+b", SET, "a,b,c" },
        { "a,b", "+c,d", SET, "!" },    { "a,b", "-b", SET, "a" },
        { "a,b", "-a", SET, "b" },      { "a,b,c", "-b,-c", SET, "a" },
        { "a,b", "-a,-b", SET, NULL },  { "-a,-b", "-c", SET, "-c" }, /* names who may not, anew */
        { "-a", "+a", SET, NULL },      { "a", "b", ADD, "a,b" },
        { "a", "a", ADD, "a" },         { "-a", "b", ADD, "!" },
        { "ab,a", "a", REMOVE, "ab" },  { "a", "b", REMOVE, "!" },
        { "-a", "b", REMOVE, "-a,-b" }, { NULL, ",,a,,", SET, "a" },
        { NULL, "-", SET, NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *got = (char *)"untouched";
        struct err err = { .text = "" };
        int r =
            resv_list_edit(cases[i].old, cases[i].text, (Pst__ListEdit)cases[i].how, &got, &err);

        if (cases[i].want && strcmp(cases[i].want, "!") == 0) {
            assert_int_equal(r, -EINVAL);
            assert_string_equal(got, "untouched");
            assert_true(err.text[0]);
            continue;
        }
        assert_int_equal(r, 0);
        if (cases[i].want)
            assert_string_equal(got, cases[i].want);
        else
            assert_null(got);
        free(got);
    }
}

/* ---- times ----------------------------------------------------------------------------------- */

static int64_t local_us(int year, int month, int day, int hour)
{
    struct tm tm = {
        .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = hour, .tm_isdst = -1
    };

    return (int64_t)mktime(&tm) * USEC_PER_SEC;
}

/* Local times stay when the clock changes: 25 October 2026 has 25 hours there. */
static void test_next_start(void **state)
{
    int64_t friday = local_us(2026, 10, 23, 8), saturday = local_us(2026, 10, 24, 8),
            sunday = local_us(2026, 10, 25, 8), monday = local_us(2026, 10, 26, 8);

    (void)state;
    assert_true(sunday - saturday == 25 * HOUR);
    assert_true(resv_next_start(RESV_FLAG(DAILY), saturday) == sunday);
    assert_true(resv_next_start(RESV_FLAG(HOURLY), saturday) == saturday + HOUR);
    assert_true(resv_next_start(RESV_FLAG(WEEKLY), saturday) == local_us(2026, 10, 31, 8));
    assert_true(resv_next_start(RESV_FLAG(WEEKDAY), friday) == monday);
    assert_true(resv_next_start(RESV_FLAG(WEEKDAY), monday) == local_us(2026, 10, 27, 8));
    assert_true(resv_next_start(RESV_FLAG(WEEKEND), monday) == local_us(2026, 10, 31, 8));
    assert_true(resv_next_start(RESV_FLAG(WEEKEND), saturday + 7) == sunday + 7);
    assert_true(resv_next_start(RESV_FLAG(MAINT), saturday) == 0);
}

static Pst__ReservationRecord record(int64_t start_us, int64_t hours, uint64_t flags)
{
    Pst__ReservationRecord r = PST__RESERVATION_RECORD__INIT;

    r.start_us = start_us;
    r.end_us = start_us + hours * HOUR;
    r.has_flags = flags != 0;
    r.flags = flags;
    return r;
}

static void test_periods(void **state)
{
    int64_t start = local_us(2026, 3, 2, 8);
    Pst__ReservationRecord once = record(start, 2, 0), daily = record(start, 2, RESV_FLAG(DAILY)),
                           floats = record(start, 2, RESV_FLAG(TIME_FLOAT));
    struct resv_period p[4];

    (void)state;
    assert_int_equal(resv_periods(&once, start - 1, p, 4), 1);
    assert_true(p[0].start_us == start && p[0].end_us == start + 2 * HOUR);
    assert_int_equal(resv_periods(&once, start + 2 * HOUR - 1, p, 4), 1);
    assert_int_equal(resv_periods(&once, start + 2 * HOUR, p, 4), 0); /* it has ended */
    assert_int_equal(resv_periods(&daily, start + 2 * HOUR, p, 4), 4);
    assert_true(p[0].start_us == local_us(2026, 3, 3, 8));
    assert_true(p[3].end_us == local_us(2026, 3, 6, 10));
    assert_int_equal(resv_periods(&daily, start, p, 0), 0);
    floats.float_s = 600;
    assert_int_equal(resv_periods(&floats, start + 100 * HOUR, p, 4), 1);
    assert_true(p[0].start_us == start + 100 * HOUR + 600 * USEC_PER_SEC);
}

static void test_meet(void **state)
{
    int64_t start = local_us(2026, 3, 2, 8), later = local_us(2026, 3, 20, 9);
    Pst__ReservationRecord a = record(start, 2, 0), b = record(start + 2 * HOUR, 1, 0),
                           daily = record(start, 2, RESV_FLAG(DAILY)), c = record(later, 1, 0),
                           d = record(later + HOUR, 5, 0),
                           weekly = record(start - 24 * HOUR, 1, RESV_FLAG(WEEKLY));

    (void)state;
    assert_false(resv_meet(&a, &b, start)); /* one begins as the other ends */
    b.start_us--;
    assert_true(resv_meet(&a, &b, start));
    assert_true(resv_meet(&daily, &c, start));
    assert_true(resv_meet(&c, &daily, start));
    assert_false(resv_meet(&daily, &d, start));
    assert_true(resv_meet(&daily, &weekly, start));
    assert_false(resv_meet(&a, &daily, start + 3 * HOUR)); /* a is over */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flags),     cmocka_unit_test(test_purge_time),
        cmocka_unit_test(test_words),     cmocka_unit_test(test_who_may),
        cmocka_unit_test(test_list_edit), cmocka_unit_test(test_next_start),
        cmocka_unit_test(test_periods),   cmocka_unit_test(test_meet),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, use_zone, NULL);
}
