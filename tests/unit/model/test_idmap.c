/* test_idmap.c - the hash tables against a plain array, through growth, removal and reuse */
#include "model_util.h"

#include "model/tables/idmap.h"

#define KEYS 700u

static void test_empty(void **state)
{
    struct idmap m = { 0 };
    struct namemap names = { 0 };
    size_t pos = 0;

    (void)state;
    assert_null(idmap_get(&m, 1));
    assert_null(idmap_remove(&m, 1));
    assert_null(idmap_next(&m, &pos));
    assert_null(namemap_get(&names, "a"));
    assert_null(namemap_remove(&names, "a"));
    idmap_done(&m);
    namemap_done(&names);
}

static void test_keys_that_are_none(void **state)
{
    static const uint64_t none[] = { 0, UINT64_MAX };
    struct idmap m = { 0 };
    int value;

    (void)state;
    assert_int_equal(idmap_put(&m, 7, &value), 0);
    assert_ptr_equal(idmap_remove(&m, 7), &value); /* leaves a mark that must not be found */
    assert_int_equal(idmap_put(&m, 8, &value), 0);
    for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
        assert_int_equal(idmap_put(&m, none[i], &value), -EINVAL);
        assert_null(idmap_get(&m, none[i]));
        assert_null(idmap_remove(&m, none[i]));
    }
    assert_int_equal(m.count, 1);
    assert_int_equal(idmap_put(&m, UINT64_MAX - 1, &value), 0);
    assert_ptr_equal(idmap_get(&m, UINT64_MAX - 1), &value);
    idmap_done(&m);
}

static void test_place(void **state)
{
    struct idmap m = { 0 };
    int one, two;

    (void)state;
    assert_null(idmap_place(&m, 7));
    assert_int_equal(idmap_put(&m, 7, &one), 0);
    assert_null(idmap_place(&m, 8));
    *idmap_place(&m, 7) = &two;
    assert_ptr_equal(idmap_get(&m, 7), &two);
    assert_int_equal(m.count, 1);
    idmap_done(&m);
}

/* Random work on both; the reference is an array by key. */
static void test_idmap_random(void **state)
{
    static char values[KEYS];
    void *want[KEYS] = { NULL };
    struct idmap m = { 0 };
    uint64_t seed = 1;
    size_t count = 0;

    (void)state;
    for (unsigned step = 0; step < 200000; step++) {
        uint32_t k = 1 + rnd_below(&seed, KEYS - 1);
        uint64_t key = (uint64_t)k << (k % 3 * 20); /* ids, and numbers far apart */

        switch (rnd_below(&seed, 3)) {
        case 0:
            assert_int_equal(idmap_put(&m, key, &values[k]), 0);
            count += want[k] == NULL;
            want[k] = &values[k];
            break;
        case 1:
            assert_ptr_equal(idmap_remove(&m, key), want[k]);
            count -= want[k] != NULL;
            want[k] = NULL;
            break;
        default:
            assert_ptr_equal(idmap_get(&m, key), want[k]);
        }
        assert_int_equal(m.count, count);
    }
    assert_true(m.cap <= 4096); /* removals do not make it grow */
    for (size_t pos = 0; idmap_next(&m, &pos);)
        count--;
    assert_int_equal(count, 0);
    idmap_done(&m);
}

static void test_walk_and_remove(void **state)
{
    static char values[KEYS];
    struct idmap m = { 0 };
    unsigned seen = 0;
    char *v;

    (void)state;
    for (uint32_t k = 1; k < KEYS; k++)
        assert_int_equal(idmap_put(&m, k, &values[k]), 0);
    for (size_t pos = 0; (v = idmap_next(&m, &pos)); seen++)
        assert_ptr_equal(idmap_remove(&m, (uint64_t)(v - values)), v);
    assert_int_equal(seen, KEYS - 1);
    assert_int_equal(m.count, 0);
    idmap_done(&m);
}

static void test_namemap_random(void **state)
{
    static char values[KEYS], names[KEYS][16];
    void *want[KEYS] = { NULL };
    struct namemap m = { 0 };
    uint64_t seed = 2;

    (void)state;
    for (uint32_t k = 0; k < KEYS; k++)
        (void)snprintf(names[k], sizeof(names[k]), "%.*s%u", (int)(k % 3), "nn", k);
    for (unsigned step = 0; step < 100000; step++) {
        uint32_t k = rnd_below(&seed, KEYS);

        switch (rnd_below(&seed, 3)) {
        case 0:
            assert_int_equal(namemap_put(&m, names[k], &values[k]), 0);
            want[k] = &values[k];
            break;
        case 1:
            assert_ptr_equal(namemap_remove(&m, names[k]), want[k]);
            want[k] = NULL;
            break;
        default:
            assert_ptr_equal(namemap_get(&m, names[k]), want[k]);
        }
    }
    namemap_done(&m);
}

/* The key of an entry is replaced with its value: the old one may be freed. */
static void test_namemap_replaces_key(void **state)
{
    struct namemap m = { 0 };
    char *first = strdup("name"), second[] = "name";
    int a, b;

    (void)state;
    assert_int_equal(namemap_put(&m, first, &a), 0);
    assert_int_equal(namemap_put(&m, second, &b), 0);
    free(first);
    assert_ptr_equal(namemap_get(&m, "name"), &b);
    assert_int_equal(m.count, 1);
    namemap_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_keys_that_are_none),
        cmocka_unit_test(test_place),
        cmocka_unit_test(test_idmap_random),
        cmocka_unit_test(test_walk_and_remove),
        cmocka_unit_test(test_namemap_random),
        cmocka_unit_test(test_namemap_replaces_key),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
