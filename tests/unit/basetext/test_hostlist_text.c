/* test_hostlist_text.c - the bracket grammar at its limits, and what is none */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/strbuf.h"

/* The names of text, with blanks between; the caller frees. */
static char *names_of(const char *text)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    struct err err = { .text = "" };
    struct strbuf all = STRBUF_INIT;
    char *joined = NULL;

    if (hostlist_parse(text, &hl, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    for (size_t i = 0; i < hostlist_count(hl); i++)
        strbuf_addf(&all, "%s%s", i ? " " : "", hostlist_nth(hl, i));
    assert_int_equal(strbuf_detach(&all, &joined), 0);
    return joined;
}

static void test_order_and_width(void **state)
{
    static const struct {
        const char *text, *names;
    } rows[] = {
        { "", "" },
        { " \t\n,,", "" },
        { "n[08-11]", "n08 n09 n10 n11" },
        { "n[8-011]", "n8 n9 n10 n11" }, /* the width of the first counts */
        { "n[3,1,3]", "n3 n1 n3" },
        { "[1,3-4]", "1 3 4" },
        { "a[1-2]b[1-2]-ib", "a1b1-ib a1b2-ib a2b1-ib a2b2-ib" },
        /* of three, the last but one turns slowest */
        { "r[1-2]c[1-2]n[1-2]", "r1c1n1 r1c1n2 r2c1n1 r2c1n2 r1c2n1 r1c2n2 r2c2n1 r2c2n2" },
        { "n[999999999999999999]", "n999999999999999999" },
        { "a b\tc\nd,e", "a b c d e" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *names = names_of(rows[i].text);

        assert_string_equal(names, rows[i].names);
    }
}

/* A refusal names the part that is wrong, and leaves the list as it was. */
static void test_refused(void **state)
{
    static const struct {
        const char *text;
        int r;
        const char *say;
    } rows[] = {
        { "n[", -EINVAL, "unbalanced bracket in 'n['" },
        { "n[1", -EINVAL, "unbalanced bracket in 'n[1'" },
        { "n]", -EINVAL, "unbalanced bracket in 'n]'" },
        { "n[1]]", -EINVAL, "unbalanced bracket in 'n[1]]'" },
        { "n[]", -EINVAL, "Invalid range: `'" },
        { "n[1,]", -EINVAL, "Invalid range: `'" },
        { "n[,1]", -EINVAL, "Invalid range: `'" },
        { "n[1-]", -EINVAL, "Invalid range: `1-'" },
        { "n[-1]", -EINVAL, "Invalid range: `-1'" },
        { "n[3-1]", -EINVAL, "Invalid range: `3-1'" },
        { "n[1-2-3]", -EINVAL, "Invalid range: `1-2-3'" },
        { "n[ 1]", -EINVAL, "Invalid range: ` 1'" },
        { "n[a]", -EINVAL, "Invalid range: `a'" },
        { "n[[1]]", -EINVAL, "Invalid range: `[1'" },
        { "n[1000000000000000000]", -EINVAL, "Invalid range: `1000000000000000000'" },
        { "n[0-65536]", -E2BIG, "Too many hosts in range `0-65536'" },
        { "n\x01", -EINVAL, "invalid character in 'n\x01'" },
        { "a[1]b[1]c[1]\x7f", -EINVAL, "invalid character in 'a[1]b[1]c[1]\x7f'" },
        { "a[1]b[1]c[1]]", -EINVAL, "unbalanced bracket in 'a[1]b[1]c[1]]'" },
        { "[1][1][1][1][1][1][1][1][1]", -E2BIG, "more than 8 brackets in one name" },
        { "n[1-65536][1-65536]", -E2BIG, "host list holds more than 1048576 names" },
    };
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    (void)state;
    assert_int_equal(hostlist_parse("keep", &hl, NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct err err = { .text = "" };
        char text[64];

        (void)snprintf(text, sizeof(text), "fine[1-2],%s", rows[i].text);
        print_message("# %zu\n", i);
        assert_int_equal(hostlist_push_list(hl, text, &err), rows[i].r);
        assert_string_equal(err.text, rows[i].say);
        assert_int_equal(hostlist_count(hl), 1);
        assert_string_equal(hostlist_nth(hl, 0), "keep");
    }
}

/* A name of `len` bytes before `tail`, which is the rest of the item. */
static int push_long(struct hostlist *hl, size_t len, const char *tail, struct err *err)
{
    char name[2 * HOSTLIST_MAX_NAME];

    memset(name, 'x', len);
    (void)snprintf(name + len, sizeof(name) - len, "%s", tail);
    return hostlist_push_list(hl, name, err);
}

static void test_limits(void **state)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL, *two = NULL, *three = NULL;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(hostlist_parse("n[0-65535]", &hl, NULL), 0);
    assert_int_equal(hostlist_count(hl), HOSTLIST_MAX_RANGE);
    assert_int_equal(hostlist_parse_most("a,n[1-2]", 2, &two, &err), -E2BIG);
    assert_string_equal(err.text, "host list holds more than 2 names");
    assert_null(two);
    assert_int_equal(hostlist_parse_most("a,n[1-2]", 3, &three, &err), 0);
    assert_int_equal(hostlist_count(three), 3);
    assert_int_equal(hostlist_push_list(three, "b", &err), -E2BIG);
}

/* As long as a name may be, of letters, of one bracket, and of three (another way of reading). */
static void test_name_length(void **state)
{
    static const char *const tails[] = { "", "[7]", "[1][2]", "[1][2][3]" };
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(hostlist_new(&hl), 0);
    for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
        size_t most = HOSTLIST_MAX_NAME - i; /* a digit for each bracket */

        assert_int_equal(push_long(hl, most, tails[i], &err), 0);
        assert_int_equal(strlen(hostlist_nth(hl, i)), HOSTLIST_MAX_NAME);
        assert_int_equal(push_long(hl, most + 1, tails[i], &err), -E2BIG);
        assert_memory_equal(err.text, "host name longer than 256 bytes in 'xxx", 39);
        assert_int_equal(hostlist_count(hl), i + 1);
    }
}

static void test_fold(void **state)
{
    static const struct {
        const char *names, *folded;
    } rows[] = {
        { "", "" },
        { "a", "a" },
        { "n1,n1", "n[1,1]" },
        { "n9,n10", "n[9-10]" },
        { "n09,n10", "n[09-10]" },
        { "n09,n9", "n[09,9]" },
        { "n3,n1,n2", "n[3,1-2]" },
        { "n1,m1,n2", "n1,m1,n2" },
        { "a1b1,a1b2", "a1b[1-2]" },
        { "n1-ib,n2-ib", "n1-ib,n2-ib" },
        { "1,2,3", "[1-3]" },
        { "n999999999999999998,n999999999999999999", "n[999999999999999998-999999999999999999]" },
        /* more digits than a number has belong to the prefix in part */
        { "n1000000000000000001,n1000000000000000002",
          "n1[000000000000000001-000000000000000002]" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(hostlist_free) struct hostlist *hl = NULL, *again = NULL;
        _cleanup_free_ char *folded = NULL;

        assert_int_equal(hostlist_parse(rows[i].names, &hl, NULL), 0);
        assert_int_equal(hostlist_fold(hl, &folded), 0);
        assert_string_equal(folded, rows[i].folded);
        assert_int_equal(hostlist_parse(folded, &again, NULL), 0);
        assert_int_equal(hostlist_count(again), hostlist_count(hl));
        for (size_t j = 0; j < hostlist_count(hl); j++)
            assert_string_equal(hostlist_nth(again, j), hostlist_nth(hl, j));
    }
}

static void test_items(void **state)
{
    (void)state;
    assert_int_equal(hostlist_item_length(""), 0);
    assert_int_equal(hostlist_item_length(",a"), 0);
    assert_int_equal(hostlist_item_length("a,b"), 1);
    assert_int_equal(hostlist_item_length("n[1,2],x"), 6);
    assert_int_equal(hostlist_item_length("block{b[1,2],b3},y"), 16);
    assert_int_equal(hostlist_item_length("n[1,2"), 5); /* never closed */
    assert_int_equal(hostlist_item_length("]a,b"), 2);  /* never opened */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_width),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_name_length),
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_items),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
