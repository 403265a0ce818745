/* test_hostlist.c - the bracket grammar, folding, order and limits of host lists */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"

static struct hostlist *parse(const char *text)
{
    struct hostlist *hl = NULL;
    struct err err = { .text = "" };
    int r = hostlist_parse(text, &hl, &err);

    if (r < 0)
        fail_msg("'%s' refused: %s", text, err.text);
    return hl;
}

/* The names with spaces between them. */
static void join(const struct hostlist *hl, char *buf, size_t size)
{
    size_t n = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < hostlist_count(hl) && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? " " : "", hostlist_nth(hl, i));
    assert_null(hostlist_nth(hl, hostlist_count(hl)));
}

static const struct {
    const char *text, *names;
} expansions[] = {
    { "", "" },
    { NULL, "" },
    { ",,", "" },
    { "a", "a" },
    { "n[1-3,5]", "n1 n2 n3 n5" },
    { "n[001-003]", "n001 n002 n003" },
    { "r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2" },
    { "r[1-2]n[1-2]-ib", "r1n1-ib r1n2-ib r2n1-ib r2n2-ib" },
    { "n[1-2]-ib", "n1-ib n2-ib" },
    { "a,b[3-4],c", "a b3 b4 c" },
    { "n[1,1,2]", "n1 n1 n2" },
    { "n[08-11]", "n08 n09 n10 n11" },
    { "n[9-11]", "n9 n10 n11" },
    { "n[098-101]", "n098 n099 n100 n101" },
    { "[1,3-5]", "1 3 4 5" },
    { "1,02", "1 02" },
    { "n[5]", "n5" },
    { "n1 n2\tn3\nn4", "n1 n2 n3 n4" },
    { "a1,,b2,", "a1 b2" },
    { "n[0]", "n0" },
    { "n[999999999999999998-999999999999999999]", "n999999999999999998 n999999999999999999" },
    { "[1-2][3-4]", "13 14 23 24" },
    { "r[0-1]u[0-1]n[0-1]", "r0u0n0 r0u0n1 r1u0n0 r1u0n1 r0u1n0 r0u1n1 r1u1n0 r1u1n1" },
    { "a[1-2][3][04,6-7]z,y", "a1304z a136z a137z a2304z a236z a237z y" },
    { "[1-2]b[1-2]c[1-2]d[1-2]e", "1b1c1d1e 1b1c1d2e 2b1c1d1e 2b1c1d2e 1b2c1d1e 1b2c1d2e 2b2c1d1e "
                                  "2b2c1d2e 1b1c2d1e 1b1c2d2e 2b1c2d1e 2b1c2d2e 1b2c2d1e 1b2c2d2e "
                                  "2b2c2d1e 2b2c2d2e" },
};

static void test_expand(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(expansions); i++) {
        _cleanup_(hostlist_free) struct hostlist *hl = parse(expansions[i].text);
        char names[1024];

        join(hl, names, sizeof(names));
        assert_string_equal(names, expansions[i].names);
    }
}

static const struct {
    const char *text;
    int rc;
    const char *message;
} refused[] = {
    { "n[3-1]", -EINVAL, "Invalid range: `3-1'" },
    { "n[1-100000]", -E2BIG, "Too many hosts in range `1-100000'" },
    { "n[1-65537]", -E2BIG, "Too many hosts in range `1-65537'" },
    { "n[1-2", -EINVAL, "unbalanced bracket in 'n[1-2'" },
    { "n1-2]", -EINVAL, "unbalanced bracket in 'n1-2]'" },
    { "n[]", -EINVAL, "Invalid range: `'" },
    { "n[,]", -EINVAL, "Invalid range: `'" },
    { "n[1,]", -EINVAL, "Invalid range: `'" },
    { "n[1-]", -EINVAL, "Invalid range: `1-'" },
    { "n[-1]", -EINVAL, "Invalid range: `-1'" },
    { "n[a]", -EINVAL, "Invalid range: `a'" },
    { "n[1 ,2]", -EINVAL, "Invalid range: `1 '" },
    { "n[[1]]", -EINVAL, "Invalid range: `[1'" },
    { "n[1234567890123456789]", -EINVAL, "Invalid range: `1234567890123456789'" },
    { "n\x01", -EINVAL, "invalid character in 'n\x01'" },
    { "n[1-2][1-2][1-2][1-2][1-2][1-2][1-2][1-2][1-2]", -E2BIG,
      "more than 8 brackets in one name" },
    { "n[1][2]x[3", -EINVAL, "unbalanced bracket in 'n[1][2]x[3'" },
    { "n[1][2][3]]", -EINVAL, "unbalanced bracket in 'n[1][2][3]]'" },
    { "n[1][a][3]", -EINVAL, "Invalid range: `a'" },
    { "[1-200][1-200][1-200]", -E2BIG, "host list holds more than 1048576 names" },
    { "[1-2000][1-2000]", -E2BIG, "host list holds more than 1048576 names" },
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        _cleanup_(hostlist_free) struct hostlist *hl = NULL;
        struct err err = { .text = "" };

        assert_int_equal(hostlist_parse(refused[i].text, &hl, &err), refused[i].rc);
        assert_string_equal(err.text, refused[i].message);
        assert_null(hl);
        assert_int_equal(hostlist_parse(refused[i].text, &hl, NULL), refused[i].rc);
    }
}

static const struct {
    const char *text, *folded, *sorted, *unique;
} folds[] = {
    { "", "", "", "" },
    { "n1,n2,n3,n5", "n[1-3,5]", "n[1-3,5]", "n[1-3,5]" },
    { "n3,n1,n2", "n[3,1-2]", "n[1-3]", "n[1-3]" },
    { "n3,n1,n2,n1", "n[3,1-2,1]", "n[1,1-3]", "n[1-3]" },
    { "n01,n02,n10", "n[01-02,10]", "n[01-02,10]", "n[01-02,10]" },
    { "n1,n02", "n[1,02]", "n[1,02]", "n[1,02]" },
    { "a1b1,a1b2,a2b1,a2b2", "a1b[1-2],a2b[1-2]", "a1b[1-2],a2b[1-2]", "a1b[1-2],a2b[1-2]" },
    { "x,y,z", "x,y,z", "x,y,z", "x,y,z" },
    { "n1,n1", "n[1,1]", "n[1,1]", "n1" },
    { "n9,n10,n11", "n[9-11]", "n[9-11]", "n[9-11]" },
    { "n09,n10,n011", "n[09-10,011]", "n[09-10,011]", "n[09-10,011]" },
    { "n99,n100", "n[99-100]", "n[99-100]", "n[99-100]" },
    { "n099,n100,n1000", "n[099-100,1000]", "n[099-100,1000]", "n[099-100,1000]" },
    { "node1-ib,node2-ib", "node1-ib,node2-ib", "node1-ib,node2-ib", "node1-ib,node2-ib" },
    { "n1x2,n1x3", "n1x[2-3]", "n1x[2-3]", "n1x[2-3]" },
    { "a", "a", "a", "a" },
    { "n7", "n7", "n7", "n7" },
    { "n1,m1,n2", "n1,m1,n2", "m1,n[1-2]", "m1,n[1-2]" },
    { "n,n1,n2,n", "n,n[1-2],n", "n,n,n[1-2]", "n,n[1-2]" },
    { "n1,n01,n001", "n[1,01,001]", "n[1,01,001]", "n[1,01,001]" },
    { "n10,n9", "n[10,9]", "n[9-10]", "n[9-10]" },
    { "3,1,2", "[3,1-2]", "[1-3]", "[1-3]" },
};

static void test_fold(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(folds); i++) {
        _cleanup_(hostlist_free) struct hostlist *hl = parse(folds[i].text);
        _cleanup_free_ char *folded = NULL, *sorted = NULL, *unique = NULL;

        assert_int_equal(hostlist_fold(hl, &folded), 0);
        assert_string_equal(folded, folds[i].folded);
        hostlist_sort(hl);
        assert_int_equal(hostlist_fold(hl, &sorted), 0);
        assert_string_equal(sorted, folds[i].sorted);
        hostlist_uniq(hl);
        assert_int_equal(hostlist_fold(hl, &unique), 0);
        assert_string_equal(unique, folds[i].unique);
    }
}

static void test_fold_names(void **state)
{
    const char *names[] = { "n1", "n2", "login" };
    _cleanup_free_ char *text = NULL, *none = NULL;

    (void)state;
    assert_int_equal(hostlist_fold_names(names, ARRAY_SIZE(names), &text), 0);
    assert_string_equal(text, "n[1-2],login");
    assert_int_equal(hostlist_fold_names(NULL, 0, &none), 0);
    assert_string_equal(none, "");
}

/* Whatever is folded reads back as the same names in the same order. */
static void test_round_trip(void **state)
{
    static const char *const prefixes[] = { "n", "node", "r1n", "", "a-b.c" };
    uint32_t seed = 5;

    (void)state;
    for (int round = 0; round < 300; round++) {
        _cleanup_(hostlist_free) struct hostlist *a = NULL, *b = NULL;
        _cleanup_free_ char *text = NULL;

        assert_int_equal(hostlist_new(&a), 0);
        for (int i = 0; i < 40; i++) {
            char name[64];

            seed = seed * 1664525 + 1013904223;
            (void)snprintf(name, sizeof(name), "%s%0*u", prefixes[seed >> 28 & 3],
                           (int)(seed >> 26 & 3), seed >> 16 & 15);
            assert_int_equal(hostlist_push(a, name), 0);
        }
        if (round & 1)
            hostlist_sort(a);
        assert_int_equal(hostlist_fold(a, &text), 0);
        b = parse(text);
        assert_int_equal(hostlist_count(a), hostlist_count(b));
        for (size_t i = 0; i < hostlist_count(a); i++)
            assert_string_equal(hostlist_nth(a, i), hostlist_nth(b, i));
    }
}

/* More nodes than one range may hold are split so that the text can be read again. */
static void test_large(void **state)
{
    _cleanup_(hostlist_free) struct hostlist *hl = parse("n[1-65536],n[65537-100000]"), *again;
    _cleanup_free_ char *text = NULL;

    (void)state;
    assert_int_equal(hostlist_count(hl), 100000);
    assert_string_equal(hostlist_nth(hl, 99999), "n100000");
    assert_int_equal(hostlist_find(hl, "n70000"), 69999);
    assert_int_equal(hostlist_fold(hl, &text), 0);
    assert_string_equal(text, "n[1-65536,65537-100000]");
    again = parse(text);
    assert_int_equal(hostlist_count(again), 100000);
}

static void test_long_names(void **state)
{
    char name[HOSTLIST_MAX_NAME + 8], text[HOSTLIST_MAX_NAME + 8];
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    (void)state;
    memset(name, 'x', sizeof(name));
    name[HOSTLIST_MAX_NAME] = '\0';
    assert_int_equal(hostlist_new(&hl), 0);
    assert_int_equal(hostlist_push(hl, name), 0);
    assert_int_equal(hostlist_push_list(hl, name, NULL), 0);
    name[HOSTLIST_MAX_NAME] = 'x';
    name[HOSTLIST_MAX_NAME + 1] = '\0';
    assert_int_equal(hostlist_push(hl, name), -E2BIG);
    assert_int_equal(hostlist_push_list(hl, name, NULL), -E2BIG);
    /* 255 bytes and a bracket: one digit fits, two do not */
    (void)snprintf(text, sizeof(text), "%.*s[9]", (int)HOSTLIST_MAX_NAME - 1, name);
    assert_int_equal(hostlist_push_list(hl, text, NULL), 0);
    (void)snprintf(text, sizeof(text), "%.*s[9-10]", (int)HOSTLIST_MAX_NAME - 1, name);
    assert_int_equal(hostlist_push_list(hl, text, NULL), -E2BIG);
    assert_int_equal(hostlist_count(hl), 3);
}

static void test_push(void **state)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    static const char *const bad[] = { "", "a,b", "a[1]", "a b", "a]", "a\n" };

    (void)state;
    assert_int_equal(hostlist_new(&hl), 0);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(hostlist_push(hl, bad[i]), -EINVAL);
    assert_int_equal(hostlist_push(hl, NULL), -EINVAL);
    assert_int_equal(hostlist_count(hl), 0);
    assert_int_equal(hostlist_push_list(hl, "n[1-3]", NULL), 0);
    assert_int_equal(hostlist_push_list(hl, "m[1-3],n[3-1]", NULL), -EINVAL);
    assert_int_equal(hostlist_count(hl), 3); /* nothing of the refused text stays */
    assert_int_equal(hostlist_push(hl, "m1"), 0);
    assert_string_equal(hostlist_nth(hl, 3), "m1");
}

/* Adding and removing for long must not grow the list's memory without bound, nor mix names up. */
static void test_remove(void **state)
{
    _cleanup_(hostlist_free) struct hostlist *hl = parse("a,b,c,a");
    char name[32];

    (void)state;
    assert_true(hostlist_remove(hl, "a"));
    assert_int_equal(hostlist_find(hl, "a"), 2);
    assert_false(hostlist_remove(hl, "zz"));
    for (int i = 0; i < 20000; i++) {
        (void)snprintf(name, sizeof(name), "node%d", i);
        assert_int_equal(hostlist_push(hl, name), 0);
        if (i >= 10) {
            (void)snprintf(name, sizeof(name), "node%d", i - 10);
            assert_true(hostlist_remove(hl, name));
        }
    }
    assert_int_equal(hostlist_count(hl), 13);
    assert_string_equal(hostlist_nth(hl, 0), "b");
    assert_string_equal(hostlist_nth(hl, 12), "node19999");
    while (hostlist_count(hl))
        assert_true(hostlist_remove(hl, hostlist_nth(hl, 0)));
    assert_int_equal(hostlist_push(hl, "fresh"), 0);
    assert_string_equal(hostlist_nth(hl, 0), "fresh");
}

static void test_item_length(void **state)
{
    static const struct {
        const char *list;
        size_t len;
    } cases[] = {
        { "", 0 },
        { "n1", 2 },
        { "n1,n2", 2 },
        { ",n2", 0 },
        { "n[1,3-4],n9", 8 },
        { "block{b[1,2],b4},n1", 16 },
        { "n]1,n2", 3 }, /* nothing was open */
        { "n[1,n2", 6 }, /* never closed: all of it */
        { "r1[1-2]n[3,4],x", 13 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(hostlist_item_length(cases[i].list), cases[i].len);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expand),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_fold),       cmocka_unit_test(test_fold_names),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_large),
        cmocka_unit_test(test_long_names), cmocka_unit_test(test_push),
        cmocka_unit_test(test_remove),     cmocka_unit_test(test_item_length),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
