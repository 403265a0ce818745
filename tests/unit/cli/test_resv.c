/* test_resv.c - reservations as text, lists and times; keys of scontrol; the choice of nodes */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/query/resvkeys.h"
#include "model/words/resvwords.h"
#include "sched/rules/resv_choice.h"

#define FLAG(x) RESV_FLAG(x)
#define NOW (INT64_C(1800000000) * USEC_PER_SEC)

static uint64_t flag(const char *word)
{
    uint32_t purge;

    return resv_flag_parse(word, strlen(word), &purge);
}

static void test_flags(void **state)
{
    static const struct {
        const char *word;
        uint64_t flag;
    } rows[] = {
        { "maint", FLAG(MAINT) },
        { "mai", FLAG(MAINT) },
        { "ma", 0 },
        { "MAGNETIC", FLAG(MAGNETIC) },
        { "mag", FLAG(MAGNETIC) },
        { "promiscuous", FLAG(MAGNETIC) },
        { "o", FLAG(OVERLAP) },
        { "f", FLAG(FLEX) },
        { "fo", FLAG(FORCE_START) },
        { "i", FLAG(IGNORE_JOBS) },
        { "h", FLAG(HOURLY) },
        { "d", FLAG(DAILY) },
        { "w", FLAG(WEEKDAY) },
        { "week", FLAG(WEEKDAY) },
        { "weeke", FLAG(WEEKEND) },
        { "weekl", FLAG(WEEKLY) },
        { "a", FLAG(ANY_NODES) },
        { "license_only", FLAG(ANY_NODES) },
        { "s", FLAG(STATIC) },
        { "pa", FLAG(PART_NODES) },
        { "pu", FLAG(PURGE_COMP) },
        { "purge_comp=00:05:00", FLAG(PURGE_COMP) },
        { "t", FLAG(TIME_FLOAT) },
        { "r", FLAG(REPLACE) },
        { "replace_", FLAG(REPLACE_DOWN) },
        { "n", FLAG(NO_HOLD_JOBS_AFTER_END) },
        { "u", FLAG(USER_DELETE) },
        { "", 0 },
        { "nosuch", 0 },
        { "maintx", 0 },
        { "daily=5", 0 },
        { "purge_comp=", 0 },
        { "purge_comp=x", 0 },
    };
    uint32_t purge = 0;
    char text[256];
    Pst__ReservationRecord r = PST__RESERVATION_RECORD__INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_true(flag(rows[i].word) == rows[i].flag);
    assert_true(resv_flag_parse("purge", 5, &purge) && purge == 300);
    assert_true(resv_flag_parse("purge=2", 7, &purge) && purge == 120);
    assert_true(resv_flag_parse("purge=00:01:30", 14, &purge) && purge == 90);
    assert_true(resv_flag_removable(FLAG(MAINT)) && !resv_flag_removable(FLAG(OVERLAP)));
    r.has_flags = true;
    r.flags = FLAG(PURGE_COMP) | FLAG(MAINT) | FLAG(DAILY) | FLAG(SPEC_NODES);
    r.purge_comp_s = 90;
    resv_flags_text(&r, text, sizeof(text));
    assert_string_equal(text, "MAINT,DAILY,SPEC_NODES,PURGE_COMP=00:01:30");
}

static void test_lists(void **state)
{
    static const struct {
        const char *old, *text;
        Pst__ListEdit how;
        const char *result; /* "!" = refused */
    } rows[] = {
        { NULL, "a,b", PST__LIST_EDIT__LIST_SET, "a,b" },
        { "a", "b", PST__LIST_EDIT__LIST_SET, "b" },
        { "a", "", PST__LIST_EDIT__LIST_SET, NULL },
        { NULL, "-a,-b", PST__LIST_EDIT__LIST_SET, "-a,-b" },
        { NULL, "-a,b", PST__LIST_EDIT__LIST_SET, "!" },
        { "a", "b", PST__LIST_EDIT__LIST_ADD, "a,b" },
        { "a,b,c", "b", PST__LIST_EDIT__LIST_REMOVE, "a,c" },
        { "a,b,c", "a", PST__LIST_EDIT__LIST_REMOVE, "b,c" },
        { "a,b,c", "c", PST__LIST_EDIT__LIST_REMOVE, "a,b" },
        { "a", "a", PST__LIST_EDIT__LIST_REMOVE, NULL },
        { NULL, "a", PST__LIST_EDIT__LIST_REMOVE, "-a" }, /* one step further down */
        { "-a", "a", PST__LIST_EDIT__LIST_ADD, NULL },    /* and up again */
        { "-a,-b", "a", PST__LIST_EDIT__LIST_ADD, "-b" },
        { "b", "a", PST__LIST_EDIT__LIST_REMOVE, "!" }, /* that would mix */
        { "a", "a", PST__LIST_EDIT__LIST_ADD, "a" },
        { "ab", "a", PST__LIST_EDIT__LIST_ADD, "ab,a" },
        { "a,b,c", "-b", PST__LIST_EDIT__LIST_SET, "a,c" },
        { "a,b,c", "-a,-c", PST__LIST_EDIT__LIST_SET, "b" },
        { "a,b", "-b,-a", PST__LIST_EDIT__LIST_SET, NULL },
        { "a", "+b,+c", PST__LIST_EDIT__LIST_SET, "a,b,c" },
        { "-a", "-b", PST__LIST_EDIT__LIST_SET, "-b" },
        { "a", "-b", PST__LIST_EDIT__LIST_SET, "!" },
        { "a,b", "-a,b", PST__LIST_EDIT__LIST_SET, "!" },
        { "a,b", "+c,-a", PST__LIST_EDIT__LIST_SET, "!" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct err err = { .text = "" };
        char *out = NULL;
        int r = resv_list_edit(rows[i].old, rows[i].text, rows[i].how, &out, &err);

        if (rows[i].result && *rows[i].result == '!') {
            assert_int_equal(r, -EINVAL);
            assert_true(err.text[0]);
            continue;
        }
        assert_int_equal(r, 0);
        if (rows[i].result)
            assert_string_equal(out, rows[i].result);
        else
            assert_null(out);
        free(out);
    }
    assert_int_equal(resv_list_match(NULL, "a"), RESV_NO_LIST);
    assert_int_equal(resv_list_match("a,b", "b"), RESV_ALLOWED);
    assert_int_equal(resv_list_match("a,b", "c"), RESV_DENIED);
    assert_int_equal(resv_list_match("-a,-b", "b"), RESV_DENIED);
    assert_int_equal(resv_list_match("-a,-b", "c"), RESV_ALLOWED);
    assert_int_equal(resv_list_match("a", NULL), RESV_DENIED);
}

static int64_t local_us(int year, int month, int day, int hour)
{
    struct tm tm = {
        .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = hour, .tm_isdst = -1
    };

    return (int64_t)mktime(&tm) * USEC_PER_SEC;
}

/* Days keep their local time over the change of clocks: 29 March and 25 October 2026. */
static void test_occurrences(void **state)
{
    (void)state;
    assert_int_equal(setenv("TZ", "Europe/Berlin", 1), 0);
    tzset();
    assert_int_equal(resv_next_start(FLAG(DAILY), local_us(2026, 3, 28, 8)),
                     local_us(2026, 3, 29, 8));
    assert_int_equal(local_us(2026, 3, 29, 8) - local_us(2026, 3, 28, 8), 23 * 3600 * USEC_PER_SEC);
    assert_int_equal(resv_next_start(FLAG(DAILY), local_us(2026, 10, 24, 8)),
                     local_us(2026, 10, 25, 8));
    assert_int_equal(resv_next_start(FLAG(WEEKLY), local_us(2026, 3, 25, 8)),
                     local_us(2026, 4, 1, 8));
    /* 2 is left out */
    assert_int_equal(resv_next_start(FLAG(HOURLY), local_us(2026, 3, 29, 1)),
                     local_us(2026, 3, 29, 3));
    /* a Friday */
    assert_int_equal(resv_next_start(FLAG(WEEKDAY), local_us(2026, 11, 20, 8)),
                     local_us(2026, 11, 23, 8));
    assert_int_equal(resv_next_start(FLAG(WEEKEND), local_us(2026, 11, 20, 8)),
                     local_us(2026, 11, 21, 8));
    assert_int_equal(resv_next_start(FLAG(WEEKEND), local_us(2026, 11, 22, 8)),
                     local_us(2026, 11, 28, 8));
    assert_int_equal(resv_next_start(FLAG(MAINT), NOW), 0);
}

static Pst__ReservationRecord period(uint64_t flags, int64_t from_h, int64_t hours)
{
    Pst__ReservationRecord r = PST__RESERVATION_RECORD__INIT;

    r.has_flags = flags != 0;
    r.flags = flags;
    r.start_us = NOW + from_h * 3600 * USEC_PER_SEC;
    r.end_us = r.start_us + hours * 3600 * USEC_PER_SEC;
    return r;
}

static void test_meet(void **state)
{
    Pst__ReservationRecord a = period(0, 1, 2), b = period(0, 3, 1), c = period(FLAG(DAILY), 0, 1);
    Pst__ReservationRecord d = period(0, 24 * 5, 1), e = period(FLAG(DAILY), 25, 1),
                           f = period(FLAG(WEEKLY), 2, 24);
    struct resv_period p[4];

    (void)state;
    assert_false(resv_meet(&a, &b, NOW)); /* one ends as the other begins */
    assert_true(resv_meet(&c, &d, NOW));  /* on the fifth day */
    assert_false(resv_meet(&c, &e, NOW)); /* an hour apart each day */
    assert_true(resv_meet(&e, &f, NOW));
    assert_int_equal(resv_periods(&c, NOW + 2 * 3600 * USEC_PER_SEC, p, 4), 4);
    assert_int_equal(p[0].start_us, NOW + 24 * 3600 * USEC_PER_SEC); /* what is over is left out */
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void test_keys(void **state)
{
    static const struct {
        const char *words; /* blanks between them */
        const char *text;  /* "" = fine */
    } rows[] = {
        { "s=now d=60 u=a nodec=2", "" },
        { "start=now end=now+60minutes users=a nodecount=2k", "" },
        { "s=now d=60 qos=x licen=l:1", "" },
        { "s=now d=60 u=a part=p", "" },
        { "d=60 u=a nodec=2", "A start time must be given.  No reservation created." },
        { "s=now u=a nodec=2", "An end time or duration must be given.  No reservation created." },
        { "s=now d=60 nodec=2",
          "Either Users/Groups, AllowedPartitions, QOS and/or Accounts must be specified.  "
          "No reservation created." },
        { "s=now d=60 u=a",
          "CoreCnt, Nodes, NodeCnt, TRES or Watts must be specified.  No reservation created." },
        { "s=now d=60 u=a node=2", "Unknown parameter node=2" },
        { "s=now d=60 u=a nodec=0x", "Invalid node count 0x" },
        { "s=now d=x u=a nodec=1", "Invalid duration d=x" },
        { "s=now d=60 u=a corec=0", "Invalid core count 0" },
        { "s=now d=60 u=a comment+=x",
          "The +=/-= notation is not supported when updating comment" },
        { "s=now d=60 u=a nosuch+=x", "Unknown parameter nosuch+=x" },
        { "s=now d=60 u=a u-=b", "Parameter u-=b specified more than once" },
        { "s=now acc=a acc=b", "Parameter acc=b specified more than once" },
        { "s=now d=60 flags+=x", "Error parsing flags +x" },
        { "s=now d=60 flags-=daily,x", "Error parsing flags -daily,x" },
        { "s=now d=60 maxstart=x", "Invalid duration maxstart=x" },
        { "nosuch", "Misformatted parameter 'nosuch', most options have a parameter after '='" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *copy = strdup(rows[i].words);
        struct err err = { .text = "" };
        struct resvkeys k;
        char *save = NULL;
        int r = 0;

        resvkeys_init(&k);
        for (char *w = strtok_r(copy, " ", &save); r == 0 && w; w = strtok_r(NULL, " ", &save))
            r = resvkeys_take(&k, w, NOW, &err);
        if (r == 0)
            r = resvkeys_check_create(&k, &err);
        assert_string_equal(err.text, rows[i].text);
        assert_int_equal(r == 0, rows[i].text[0] == '\0');
        resvkeys_done(&k);
    }
}

static void test_key_values(void **state)
{
    struct resvkeys k;
    struct err err = { .text = "" };

    (void)state;
    resvkeys_init(&k);
    assert_int_equal(resvkeys_take(&k, "Flags=maint,-daily,+flex", NOW, &err), 0);
    assert_true(k.req.flags_set == (FLAG(MAINT) | FLAG(FLEX)) && k.req.flags_clear == FLAG(DAILY));
    assert_int_equal(resvkeys_take(&k, "duration-=30", NOW, &err), 0);
    assert_int_equal(k.req.duration_change_min, -30);
    assert_int_equal(resvkeys_take(&k, "nodes=-n[1-2]", NOW, &err), 0);
    assert_int_equal(k.req.nodes_edit, PST__LIST_EDIT__LIST_REMOVE);
    assert_string_equal(k.set.nodes, "n[1-2]");
    assert_int_equal(resvkeys_take(&k, "users+=b", NOW, &err), 0);
    assert_int_equal(k.req.users_edit, PST__LIST_EDIT__LIST_ADD);
    k.creating = true; /* has no nodes yet */
    assert_int_equal(resvkeys_take(&k, "nodes+=n3", NOW, &err), -EINVAL);
    assert_int_equal(resvkeys_take(&k, "users=c", NOW, &err), -EEXIST);
    assert_int_equal(resvkeys_take(&k, "maxstart=5", NOW, &err), 0);
    assert_int_equal(k.set.max_start_delay_s, 300);
    assert_int_equal(resvkeys_take(&k, "SKIP", NOW, &err), 0);
    assert_true(k.req.skip);
    resvkeys_done(&k);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

#define NODES 8u

static struct bitmap *set_of(const char *list)
{
    struct bitmap *bm = NULL;

    assert_int_equal(bitmap_new(NODES, &bm), 0);
    assert_int_equal(bitmap_parse(bm, list, NULL), 0);
    return bm;
}

static uint32_t four_cores(void *ctx, uint32_t id, const uint64_t **ret_taken, uint32_t *ret_nwords)
{
    static const uint64_t first = 1;

    (void)ctx;
    *ret_taken = id == 0 ? &first : NULL; /* node 0 has one in use */
    *ret_nwords = id == 0;
    return 4;
}

static uint64_t two_each(void *ctx, uint32_t id)
{
    (void)ctx;
    return id % 2 ? 2 : 0;
}

static void test_choice(void **state)
{
    static const struct {
        struct resv_want want;
        const char *from, *up, *busy, *hard, *soft, *keep, *result; /* result NULL = refused */
        enum resv_refusal why;
        uint64_t goal; /* by two_each() */
        const char *cores;
    } rows[] = {
        { { .nodes = 2 }, "0-7", "0-7", "", "", "", NULL, "0-1", RESV_CHOSEN, 0, NULL },
        /* together */
        { { .nodes = 2 }, "0-7", "0-7", "", "1", "", NULL, "2-3", RESV_CHOSEN, 0, NULL },
        /* 1 is down */
        { { .nodes = 2 }, "0-7", "0,2-7", "", "", "", NULL, "2-3", RESV_CHOSEN, 0, NULL },
        /* busy ones not */
        { { .nodes = 2 }, "0-3", "0-7", "0,2", "", "", NULL, "1,3", RESV_CHOSEN, 0, NULL },
        { { .nodes = 3 }, "0-3", "0-7", "0,2", "", "", NULL, NULL, RESV_BUSY, 0, NULL },
        { { .nodes = 3, .ignore_jobs = true },
          "0-3",
          "0-7",
          "0,2",
          "",
          "",
          NULL,
          "0-1,3",
          RESV_CHOSEN,
          0,
          NULL },
        { { .nodes = 9 }, "0-7", "0-7", "", "", "", NULL, NULL, RESV_BUSY, 0, NULL },
        { { .nodes = 2 }, "0-1", "0-7", "", "0", "", NULL, NULL, RESV_BUSY, 0, NULL },
        /* that one permits it */
        { { .nodes = 2 }, "0-1", "0-7", "", "", "0", NULL, "0-1", RESV_CHOSEN, 0, NULL },
        { { .nodes = 2, .overlap = true },
          "0-1",
          "0-7",
          "",
          "0",
          "",
          NULL,
          "0-1",
          RESV_CHOSEN,
          0,
          NULL },
        { { .nodes = 2, .maint = true },
          "0-1",
          "",
          "",
          "0",
          "",
          NULL,
          "0-1",
          RESV_CHOSEN,
          0,
          NULL },
        /* keeps what it has */
        { { .nodes = 2 }, "0-7", "0-7", "", "", "", "5", "5-6", RESV_CHOSEN, 0, NULL },
        { { .named = true }, "2,4", "0-7", "", "", "", NULL, "2,4", RESV_CHOSEN, 0, NULL },
        { { .named = true }, "2,4", "0-7", "", "4", "", NULL, NULL, RESV_OVERLAPS, 0, NULL },
        { { .named = true, .maint = true },
          "2,4",
          "0-7",
          "",
          "4",
          "",
          NULL,
          "2,4",
          RESV_CHOSEN,
          0,
          NULL },
        { { .named = true }, "2,4", "0-7", "2", "", "", NULL, NULL, RESV_BUSY, 0, NULL },
        { { .named = true, .ignore_jobs = true },
          "2,4",
          "0-7",
          "2",
          "",
          "",
          NULL,
          "2,4",
          RESV_CHOSEN,
          0,
          NULL },
        /* six devices for five */
        { { .nodes = 0 }, "0-7", "0-7", "", "", "", NULL, "1,3,5", RESV_CHOSEN, 5, NULL },
        { { .nodes = 0 }, "0-7", "0-7", "", "", "", NULL, NULL, RESV_BUSY, 9, NULL },
        { { .cores = 3 }, "0-7", "0-7", "", "", "", NULL, "0", RESV_CHOSEN, 0, "1-3" },
        { { .cores = 4, .nodes = 2 },
          "0-7",
          "0-7",
          "",
          "",
          "",
          NULL,
          "0-1",
          RESV_CHOSEN,
          0,
          "1-2 0-1" },
        { { .cores = 7, .named = true },
          "0-1",
          "0-7",
          "",
          "",
          "",
          NULL,
          "0-1",
          RESV_CHOSEN,
          0,
          "1-3 0-3" },
        { { .cores = 8, .named = true }, "0-1", "0-7", "", "", "", NULL, NULL, RESV_BUSY, 0, NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(bitmap_free) struct bitmap *from = set_of(rows[i].from), *up = set_of(rows[i].up),
                                             *busy = set_of(rows[i].busy),
                                             *hard = set_of(rows[i].hard),
                                             *soft = set_of(rows[i].soft), *online = set_of("0-7"),
                                             *keep = rows[i].keep ? set_of(rows[i].keep) : NULL;
        const struct resv_ground g = { .from = from,
                                       .up = up,
                                       .online = online,
                                       .busy = busy,
                                       .hard = hard,
                                       .soft = soft,
                                       .cores = four_cores,
                                       .counts = rows[i].goal ? two_each : NULL,
                                       .goal = rows[i].goal };
        struct resv_choice c = { 0 };
        enum resv_refusal why;
        _cleanup_free_ char *text = NULL;

        assert_int_equal(resv_choose(&rows[i].want, &g, keep, &c, &why), 0);
        assert_int_equal(why, rows[i].why);
        if (!rows[i].result)
            continue;
        assert_int_equal(bitmap_format(c.nodes, &text), 0);
        assert_string_equal(text, rows[i].result);
        for (size_t k = 0, at = 0; rows[i].cores && k < c.ncores; k++) {
            struct bitmap *bits = NULL;
            char *list = NULL;

            assert_int_equal(bitmap_new(64, &bits), 0);
            bits->words[0] = c.cores[k].bits[0];
            assert_int_equal(bitmap_format(bits, &list), 0);
            assert_memory_equal(rows[i].cores + at, list, strlen(list));
            at += strlen(list) + 1;
            bitmap_free(bits);
            free(list);
        }
        resv_choice_done(&c);
    }
}

/* Features=a*2&b: so many of each set, a node for one of them. */
static void test_parts(void **state)
{
    static const struct {
        uint32_t nodes;
        const char *from, *busy, *keep, *parts[3];
        uint32_t counts[3];
        const char *result; /* NULL = too few */
    } rows[] = {
        { 3, "0-7", "", NULL, { "0-3", "4-7" }, { 2, 1 }, "0-1,4" },
        { 5, "0-7", "", NULL, { "0-3", "4-7" }, { 2, 1 }, "0-4" }, /* two more, of whichever */
        { 3, "0-7", "0", NULL, { "0-2", "4-7" }, { 2, 1 }, "1-2,4" },
        { 3, "0-7", "0-1", NULL, { "0-2", "4-7" }, { 2, 1 }, NULL },
        { 2, "0-7", "", NULL, { "0-1", "0" }, { 1, 1 }, "0-1" }, /* a node counts once */
        { 2, "0-7", "", NULL, { "0", "0" }, { 1, 1 }, NULL },
        { 3, "0-2", "", NULL, { "0-1", "0,2", "0" }, { 1, 1, 1 }, "0-2" }, /* the scarcest first */
        { 3, "0-7", "", "2-7", { "0-3", "4-7" }, { 2, 1 }, "2-4" }, /* keeps what is of use */
        { 4, "0-7", "", "4-6", { "0-3", "4-7" }, { 2, 1 }, "0-1,4-5" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(bitmap_free) struct bitmap *from = set_of(rows[i].from), *all = set_of("0-7"),
                                             *none = set_of(""), *busy = set_of(rows[i].busy),
                                             *keep = rows[i].keep ? set_of(rows[i].keep) : NULL;
        const struct resv_want want = { .nodes = rows[i].nodes };
        struct resv_part parts[3] = { 0 };
        struct resv_ground g = { .from = from,
                                 .up = all,
                                 .online = all,
                                 .busy = busy,
                                 .hard = none,
                                 .soft = none,
                                 .cores = four_cores,
                                 .parts = parts };
        struct resv_choice c = { 0 };
        enum resv_refusal why;
        _cleanup_free_ char *text = NULL;

        for (; g.nparts < 3 && rows[i].parts[g.nparts]; g.nparts++)
            parts[g.nparts] =
                (struct resv_part){ set_of(rows[i].parts[g.nparts]), rows[i].counts[g.nparts] };
        assert_int_equal(resv_choose(&want, &g, keep, &c, &why), 0);
        assert_int_equal(why, rows[i].result ? RESV_CHOSEN : RESV_BUSY);
        if (rows[i].result) {
            assert_int_equal(bitmap_format(c.nodes, &text), 0);
            assert_string_equal(text, rows[i].result);
        }
        resv_choice_done(&c);
        for (size_t k = 0; k < g.nparts; k++)
            bitmap_free(parts[k].nodes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flags),       cmocka_unit_test(test_lists),
        cmocka_unit_test(test_occurrences), cmocka_unit_test(test_meet),
        cmocka_unit_test(test_keys),        cmocka_unit_test(test_key_values),
        cmocka_unit_test(test_choice),      cmocka_unit_test(test_parts),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
