/* test_bitmap.c - bitmaps against a plain array of bool, at sizes around word borders */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"

enum { MODEL_BITS = 200 };

static const uint32_t sizes[] = { 0, 1, 63, 64, 65, 127, 128, 129, MODEL_BITS };

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

static struct bitmap *make(uint32_t nbits)
{
    struct bitmap *bm = NULL;

    assert_int_equal(bitmap_new(nbits, &bm), 0);
    return bm;
}

/* Fill bm and its model with the same random bits. */
static void scatter(struct bitmap *bm, bool *model, uint32_t *seed)
{
    for (uint32_t i = 0; i < bm->nbits; i++) {
        model[i] = next_random(seed) & 1;
        if (model[i])
            bitmap_set(bm, i);
        else
            bitmap_clear(bm, i);
    }
}

static void check(const struct bitmap *bm, const bool *model)
{
    uint32_t n = 0, seen = 0;

    for (uint32_t i = 0; i < bm->nbits; i++) {
        assert_int_equal(bitmap_test(bm, i), model[i]);
        n += model[i];
    }
    assert_int_equal(bitmap_count(bm), n);
    assert_int_equal(bitmap_empty(bm), n == 0);
    BITMAP_FOREACH (bm, i) {
        assert_true(model[i]);
        seen++;
    }
    assert_int_equal(seen, n);
    assert_int_equal(bitmap_next(bm, bm->nbits + 5), bm->nbits);
}

static void test_set_operations(void **state)
{
    uint32_t seed = 7;

    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
        _cleanup_(bitmap_free) struct bitmap *a = make(sizes[s]), *b = make(sizes[s]);
        bool ma[MODEL_BITS + 1], mb[MODEL_BITS + 1];
        uint32_t both = 0;
        bool subset = true;

        scatter(a, ma, &seed);
        scatter(b, mb, &seed);
        check(a, ma);
        for (uint32_t i = 0; i < sizes[s]; i++) {
            both += ma[i] && mb[i];
            subset = subset && (!ma[i] || mb[i]);
        }
        assert_int_equal(bitmap_count_and(a, b), both);
        assert_int_equal(bitmap_overlaps(a, b), both > 0);
        assert_int_equal(bitmap_subset(a, b), subset);
        bitmap_or(a, b);
        assert_true(bitmap_subset(b, a));
        for (uint32_t i = 0; i < sizes[s]; i++)
            ma[i] = ma[i] || mb[i];
        check(a, ma);
        bitmap_andnot(a, b);
        for (uint32_t i = 0; i < sizes[s]; i++)
            ma[i] = ma[i] && !mb[i];
        check(a, ma);
        bitmap_copy(a, b);
        assert_true(bitmap_equal(a, b));
        bitmap_fill(a);
        assert_int_equal(bitmap_count(a), sizes[s]);
        bitmap_and(a, b);
        assert_true(bitmap_equal(a, b));
        bitmap_zero(a);
        assert_true(bitmap_empty(a));
    }
}

static void test_ranges(void **state)
{
    (void)state;
    for (uint32_t first = 0; first < 140; first += 7) {
        for (uint32_t count = 0; first + count <= 140; count++) {
            _cleanup_(bitmap_free) struct bitmap *bm = make(140);

            bitmap_set_range(bm, first, count);
            assert_int_equal(bitmap_count(bm), count);
            assert_int_equal(bitmap_next(bm, 0), count ? first : 140);
        }
    }
}

static void test_sizes(void **state)
{
    struct bitmap *bm = NULL, *copy = NULL;

    (void)state;
    assert_int_equal(bitmap_new(BITMAP_MAX_BITS + 1, &bm), -E2BIG);
    assert_null(bm);
    bm = make(70);
    bitmap_fill(bm);
    assert_int_equal(bitmap_dup(bm, &copy), 0);
    assert_true(bitmap_equal(bm, copy));
    assert_int_equal(bitmap_resize(&bm, 200), 0);
    assert_int_equal(bitmap_count(bm), 70);
    assert_int_equal(bitmap_resize(&bm, 65), 0);
    assert_int_equal(bitmap_count(bm), 65);
    assert_int_equal(bitmap_resize(&bm, 128), 0);
    assert_int_equal(bitmap_count(bm), 65);
    assert_int_equal(bitmap_resize(&bm, BITMAP_MAX_BITS + 1), -E2BIG);
    assert_int_equal(bm->nbits, 128);
    assert_null(bitmap_free(bm));
    assert_null(bitmap_free(copy));
    assert_null(bitmap_free(NULL));
}

static const struct {
    const char *text;
    int rc;
    const char *shown;
} texts[] = {
    { "", 0, "" },
    { "0", 0, "0" },
    { "0-3,8", 0, "0-3,8" },
    { "8,3,2,1,0", 0, "0-3,8" },
    { "63-64", 0, "63-64" },
    { "99", 0, "99" },
    { "0-99", 0, "0-99" },
    { "1-2,2-5", 0, "1-5" },
    { "100", -ERANGE, "" },
    { "5,0-100", -ERANGE, "" },
    { "99999999999999999999", -ERANGE, "" },
    { "3-1", -EINVAL, "" },
    { "1,", -EINVAL, "" },
    { ",1", -EINVAL, "" },
    { "1-", -EINVAL, "" },
    { "-1", -EINVAL, "" },
    { "1 2", -EINVAL, "" },
    { "0x1", -EINVAL, "" },
};

static void test_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        _cleanup_(bitmap_free) struct bitmap *bm = make(100);
        _cleanup_free_ char *shown = NULL;
        struct err err = { .text = "" };

        assert_int_equal(bitmap_parse(bm, texts[i].text, &err), texts[i].rc);
        assert_int_equal(err.text[0] != '\0', texts[i].rc != 0);
        assert_int_equal(bitmap_format(bm, &shown), 0);
        assert_string_equal(shown, texts[i].shown); /* refused texts change nothing */
    }
}

/* Of numbers that are not below nbits, those that are. */
static void test_text_within(void **state)
{
    static const struct {
        const char *text;
        int rc;
        const char *shown;
    } rows[] = {
        { "3,99", 0, "3,99" },
        { "100", 0, "" },
        { "5,90-200", 0, "5,90-99" },
        { "100-200,7", 0, "7" },
        { "99999999999999999999,1", 0, "1" },
        { "4,3-1", -EINVAL, "" },
        { "4,200-", -EINVAL, "" },
        { "", 0, "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(bitmap_free) struct bitmap *bm = make(100);
        _cleanup_free_ char *shown = NULL;

        assert_int_equal(bitmap_parse_within(bm, rows[i].text), rows[i].rc);
        assert_int_equal(bitmap_format(bm, &shown), 0);
        assert_string_equal(shown, rows[i].shown);
    }
}

static void test_text_round_trip(void **state)
{
    uint32_t seed = 99;

    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
        _cleanup_(bitmap_free) struct bitmap *a = make(sizes[s]), *b = make(sizes[s]);
        bool model[MODEL_BITS + 1];
        _cleanup_free_ char *text = NULL;

        scatter(a, model, &seed);
        assert_int_equal(bitmap_format(a, &text), 0);
        assert_int_equal(bitmap_parse(b, text, NULL), 0);
        assert_true(bitmap_equal(a, b));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_operations), cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_sizes),          cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_within),    cmocka_unit_test(test_text_round_trip),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
