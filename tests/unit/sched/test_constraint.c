/* test_constraint.c - constraint expressions: what parses, and which nodes satisfy them */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "sched/base/constraint.h"

/* Eight nodes; node i has a, b, c where bit 0, 1, 2 of i is set. */
static struct bitmap *have[3];

static const struct bitmap *lookup(void *arg, const char *name, size_t len)
{
    (void)arg;
    return len == 1 && name[0] >= 'a' && name[0] <= 'c' ? have[name[0] - 'a'] : NULL;
}

/* "mask" of each alternative, counted sets as " n*mask", joined by " / ". */
static void describe(const struct constraint *f, struct strbuf *sb)
{
    struct bitmap *mask = NULL;

    assert_int_equal(bitmap_new(8, &mask), 0);
    for (uint32_t alt = 0; alt < constraint_alts(f); alt++) {
        bitmap_fill(mask);
        assert_int_equal(constraint_mask(f, alt, lookup, NULL, mask), 0);
        strbuf_addf(sb, "%s%02x", alt ? " / " : "", (unsigned)mask->words[0]);
        for (uint32_t i = 0; i < constraint_counts(f, alt); i++) {
            uint32_t n;

            assert_int_equal(constraint_count_mask(f, alt, i, lookup, NULL, mask, &n), 0);
            strbuf_addf(sb, " %u*%02x", n, (unsigned)mask->words[0]);
        }
    }
    bitmap_free(mask);
}

static const struct {
    const char *text, *masks; /* NULL = -EINVAL */
} cases[] = {
    { "a", "aa" },
    { "zz", "00" },
    { "!a", "55" },
    { "a&b", "88" },
    { "a|b", "ee" },
    { "a|b&c", "ea" },
    { "(a|b)&c", "e0" },
    { "a&!(b|c)", "02" },
    { "!!a", "aa" },
    { "[a|b]", "aa / cc" },
    { "[a|b|c]", "aa / cc / f0" },
    { "c&[a|b]", "a0 / c0" },
    { "[a&b|c]", "88 / f0" },
    { "[a]", "aa" },
    { "a*2", "aa 2*aa" },
    { "[a*2&b*1]", "ee 2*aa 1*cc" },
    { "[c&a*2]", "a0 2*aa" },
    { "(a&b)*4", "88 4*88" },
    { "a&", "aa" },
    { "a,b", "88" },
    { "[(a|b)]", "aa / cc" },
    { "", NULL },
    { "&", NULL },
    { "a&&b", NULL },
    { "a||b", NULL },
    { "((a))", NULL },
    { "[[a]]", NULL },
    { "(a", NULL },
    { "a)", NULL },
    { "[a|b", NULL },
    { "a*", NULL },
    { "a*0", NULL },
    { "a*x", NULL },
    { "a b", NULL },
    { "a*2&b*3", NULL },
    { "c&a*2", NULL },
    { "[a*2|b*2]", NULL },
    { "[(a&b)*1|c]", NULL },
    { "!(a*2)", NULL },
    { "a*2|b", NULL },
    { "[a|b]|c", NULL },
    { "[a|b]&[b|c]", NULL },
    { "[a|[b|c]]", NULL },
};

static void test_cases(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(bitmap_new(8, &have[i]), 0);
        for (uint32_t n = 0; n < 8; n++)
            if (n >> i & 1)
                bitmap_set(have[i], n);
    }
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
        _cleanup_(constraint_free) struct constraint *f = NULL;
        struct err err = { .text = "" };
        int r = constraint_parse(cases[i].text, &f, &err);

        assert_int_equal(r, cases[i].masks ? 0 : -EINVAL);
        assert_int_equal(r == 0, err.text[0] == '\0');
        assert_int_equal(r == 0, f != NULL);
        if (!f)
            continue;
        describe(f, &sb);
        assert_string_equal(strbuf_str(&sb), cases[i].masks);
    }
    for (uint32_t i = 0; i < 3; i++)
        bitmap_free(have[i]);
}

static void repeat(struct strbuf *sb, const char *text, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        strbuf_addf(sb, "%s", text);
}

static void test_limits(void **state)
{
    static const struct {
        const char *open, *middle, *close, *end;
        uint32_t n;
        int rc;
    } limits[] = {
        { "(", "a", ")", "", 1, 0 },
        { "(", "a", ")", "", 2, -EINVAL },
        { "!", "a", "", "", CONSTRAINT_DEPTH_MAX - 1, 0 },
        { "!", "a", "", "", CONSTRAINT_DEPTH_MAX, -E2BIG },
        { "", "a", "&a", "", 255, 0 },
        { "", "a", "&a", "", 256, -E2BIG },
        { "a", "a", "a", "", CONSTRAINT_TEXT_MAX, -E2BIG },
        { "", "[a*1", "&a*1", "]", CONSTRAINT_COUNTS_MAX - 1, 0 },
        { "", "[a*1", "&a*1", "]", CONSTRAINT_COUNTS_MAX, -E2BIG },
        { "", "a*1000001", "", "", 0, -E2BIG },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
        _cleanup_(constraint_free) struct constraint *f = NULL;

        repeat(&sb, limits[i].open, limits[i].n);
        strbuf_add(&sb, limits[i].middle);
        repeat(&sb, limits[i].close, limits[i].n);
        strbuf_add(&sb, limits[i].end);
        assert_int_equal(constraint_parse(strbuf_str(&sb), &f, NULL), limits[i].rc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases),
                                        cmocka_unit_test(test_limits) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
