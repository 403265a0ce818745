/* test_array.c - index sets of job arrays: the argument's grammar, and the stored form against a
 * bitmap */
#include "model_util.h"

#include "base/bitmap.h"
#include "base/strbuf.h"

static const struct {
    const char *text;
    const char *stored; /* NULL: refused */
    uint32_t throttle, count;
} cases[] = {
    { "0", "0", 0, 1 },
    { "7", "7", 0, 1 },
    { "0-31", "0-31", 0, 32 },
    { "0-31:2", "0-30:2", 0, 16 },
    { "3,1,2", "1-3", 0, 3 },
    { "1-3,2-5", "1-5", 0, 5 },
    { "1,1,1", "1", 0, 1 },
    { "5-5", "5", 0, 1 },
    { "0-10:100", "0", 0, 1 },
    { "0-7%2", "0-7%2", 2, 8 },
    { "1,3,5%1", "1,3,5%1", 1, 3 },
    { "0-3%100", "0-3%100", 100, 4 },
    { "0-3%0", "0-3", 0, 4 },
    { "1000", "1000", 0, 1 },
    { "1-1000:999", "1,1000", 0, 2 },
    { "1001", NULL, 0, 0 },
    { "0-1001", NULL, 0, 0 },
    { "", NULL, 0, 0 },
    { ",", "0", 0, 1 },
    { "1,", "1", 0, 1 },
    { ",1", "1", 0, 1 },
    { "1-", NULL, 0, 0 },
    { "-1", NULL, 0, 0 },
    { "5-3", NULL, 0, 0 },
    { "1-5:", NULL, 0, 0 },
    { "1-5:0", NULL, 0, 0 },
    { "1:2", NULL, 0, 0 },
    { "1-5%", "1-5", 0, 5 },
    { "1-5%-1", "1-5", 0, 5 },
    { "1-5%+1", "1-5%1", 1, 5 },
    { "%2", "0%2", 2, 1 },
    { "0-28:4%3", "0-28:4%3", 3, 8 },
    { "0-10:2", "0,2,4,6,8,10", 0, 6 },
    { "1-5%x", "1-5", 0, 5 },
    { "1-5%2x", "1-5%2", 2, 5 },
    { "[1-3]%2", "1-3%2", 2, 3 },
    { "1-5%2,7", "1-5,7%2", 2, 6 },
    { "1 2", NULL, 0, 0 },
    { " 1", "1", 0, 1 },
    { "a", NULL, 0, 0 },
    { "[1-3]", "1-3", 0, 3 },
    { "[1-3", NULL, 0, 0 },
    { "1-5x", NULL, 0, 0 },
    { "99999999999999999999", NULL, 0, 0 },
    { "0-5:99999999999999999999", NULL, 0, 0 },
    { "0-5%99999999999", NULL, 0, 0 },
};

static void test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *tasks = NULL;
        uint32_t throttle = 77, count = 77;
        struct err err = { .text = "" };
        int r = array_parse(cases[i].text, 1000, &tasks, &throttle, &count, &err);

        if ((r == 0) != (cases[i].stored != NULL))
            print_error("# %s\n", cases[i].text);
        if (!cases[i].stored) {
            assert_int_equal(r, -EINVAL);
            assert_null(tasks);
            assert_string_equal(err.text, "Invalid job array specification");
            continue;
        }
        assert_int_equal(r, 0);
        assert_string_equal(tasks, cases[i].stored);
        assert_int_equal(throttle, cases[i].throttle);
        assert_int_equal(count, cases[i].count);
        assert_int_equal(array_count(tasks), cases[i].count);
        assert_int_equal(array_throttle(tasks), cases[i].throttle);
        assert_true(array_contains(tasks, array_first(tasks)));
    }
}

/* A long text that names the same indexes again and again is work for nothing. */
static void test_repetition(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    _cleanup_free_ char *tasks = NULL;
    uint32_t throttle, count;

    (void)state;
    for (unsigned i = 0; i < 7; i++)
        strbuf_add(&sb, "0-1000,");
    strbuf_add(&sb, "0-1000");
    assert_int_equal(array_parse(strbuf_str(&sb), 1000, &tasks, &throttle, &count, NULL), 0);
    assert_string_equal(tasks, "0-1000");
    strbuf_add(&sb, ",5");
    assert_int_equal(array_parse(strbuf_str(&sb), 1000, &tasks, &throttle, &count, NULL), -EINVAL);
    strbuf_done(&sb);
}

static void test_nothing(void **state)
{
    (void)state;
    assert_int_equal(array_count(NULL), 0);
    assert_int_equal(array_throttle(NULL), 0);
    assert_false(array_contains(NULL, 0));
    assert_int_equal(array_count(""), 0);
}

static void test_without(void **state)
{
    static const struct {
        const char *from;
        uint32_t index;
        int rc;
        const char *left;
    } rows[] = {
        { "0-3", 0, 0, "1-3" },      { "0-3", 3, 0, "0-2" },        { "0-3", 1, 0, "0,2-3" },
        { "0-2", 1, 0, "0,2" },      { "1-2", 1, 0, "2" },          { "5", 5, 0, NULL },
        { "5%3", 5, 0, NULL },       { "1-3%2", 2, 0, "1,3%2" },    { "1,9", 9, 0, "1" },
        { "1-3", 4, -ENOENT, NULL }, { "1-3,7", 5, -ENOENT, NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *left = NULL;

        assert_int_equal(array_without(rows[i].from, rows[i].index, &left), rows[i].rc);
        if (rows[i].left)
            assert_string_equal(left, rows[i].left);
        else
            assert_null(left);
    }
}

static const struct {
    const char *a, *b, *minus, *both;
} sets[] = {
    { "0-9", "3-5", "0-2,6-9", "3-5" },
    { "0-9%4", "0-9", NULL, "0-9" },
    { "0-9%4", "20", "0-9%4", NULL },
    { "1,3,5", "0-9", NULL, "1,3,5" },
    { "0-9", "0,2,4,6,8", "1,3,5,7,9", "0,2,4,6,8" },
    { "0-199:2", "0-99", "100-198:2", "0-98:2" },
    { "0-199", "1-199:2", "0-198:2", "1-199:2" },
    { "0-5,10-20", "4-12,20", "0-3,13-19", "4-5,10-12,20" },
    { "7", "7", NULL, "7" },
};

static void test_sets(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
        _cleanup_free_ char *minus = NULL, *both = NULL;

        assert_int_equal(array_minus(sets[i].a, sets[i].b, &minus), 0);
        assert_int_equal(array_and(sets[i].a, sets[i].b, &both), 0);
        if (sets[i].minus)
            assert_string_equal(minus, sets[i].minus);
        else
            assert_null(minus);
        if (sets[i].both)
            assert_string_equal(both, sets[i].both);
        else
            assert_null(both);
    }
}

/* Half a million tasks at a distance: the text stays short while they leave one by one. */
static void test_stepped(void **state)
{
    _cleanup_free_ char *tasks = NULL;
    uint32_t throttle, count, left = 250000;

    (void)state;
    assert_int_equal(array_parse("0-499999:2%7", 499999, &tasks, &throttle, &count, NULL), 0);
    assert_string_equal(tasks, "0-499998:2%7");
    assert_int_equal(count, left);
    assert_true(array_contains(tasks, 400000));
    assert_false(array_contains(tasks, 400001));
    while (tasks) {
        char one[16];

        assert_int_equal(array_count(tasks), left);
        assert_true(strlen(tasks) < 50);
        (void)snprintf(one, sizeof(one), "%u", array_first(tasks));
        assert_int_equal(array_take(&tasks, one), 0);
        left--;
    }
    assert_int_equal(left, 0);
}

/* Tasks leave one after the other, in any order; a bitmap says what is left. */
static void test_random(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        uint32_t max = 1 + rnd_below(&seed, 200), left, throttle;
        struct bitmap *bm = NULL;
        struct strbuf sb = STRBUF_INIT;
        char *tasks = NULL;

        assert_int_equal(bitmap_new(max + 1, &bm), 0);
        for (unsigned i = 0, n = 1 + rnd_below(&seed, 40); i < n; i++) {
            uint32_t k = rnd_below(&seed, max + 1);

            bitmap_set(bm, k);
            strbuf_addf(&sb, i ? ",%u" : "%u", k);
        }
        strbuf_add(&sb, "%5");
        assert_int_equal(array_parse(strbuf_str(&sb), max, &tasks, &throttle, &left, NULL), 0);
        strbuf_done(&sb);
        while (tasks) {
            uint32_t k = rnd_below(&seed, max + 1);
            char *next = NULL;

            assert_int_equal(array_count(tasks), bitmap_count(bm));
            assert_int_equal(array_first(tasks), bitmap_next(bm, 0));
            assert_int_equal(array_throttle(tasks), 5);
            for (uint32_t i = 0; i <= max; i++)
                assert_int_equal(array_contains(tasks, i), bitmap_test(bm, i));
            k = bitmap_next(bm, k);
            if (k > max)
                continue;
            assert_int_equal(array_without(tasks, k, &next), 0);
            bitmap_clear(bm, k);
            free(tasks);
            tasks = next;
        }
        assert_true(bitmap_empty(bm));
        bitmap_free(bm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),   cmocka_unit_test(test_repetition),
        cmocka_unit_test(test_nothing), cmocka_unit_test(test_without),
        cmocka_unit_test(test_random),  cmocka_unit_test(test_sets),
        cmocka_unit_test(test_stepped),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
