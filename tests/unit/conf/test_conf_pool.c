/* test_conf_pool.c - strings freed together, growing vectors, and the table of node names */
#include "conf_util.h"

#include "base/cleanup.h"
#include "conf/conf_priv.h"

static void test_strings(void **state)
{
    struct conf_pool *pool = NULL;
    char *kept[2000], text[32], big[20000];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        (void)snprintf(text, sizeof(text), "node number %zu", i);
        kept[i] = conf_pool_strdup(&pool, text);
        assert_non_null(kept[i]);
    }
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    assert_string_equal(conf_pool_strdup(&pool, big), big); /* more than a chunk */
    assert_string_equal(conf_pool_strndup(&pool, "abcdef", 3), "abc");
    assert_string_equal(conf_pool_strdup(&pool, ""), "");
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        (void)snprintf(text, sizeof(text), "node number %zu", i);
        assert_string_equal(kept[i], text); /* none stands in the place of another */
    }
    assert_null(conf_pool_free(pool));
    assert_null(conf_pool_free(NULL));
}

static void test_grow(void **state)
{
    uint32_t *v = NULL;
    size_t cap = 0;

    (void)state;
    for (uint32_t n = 0; n < 1000; n++) {
        assert_int_equal(conf_grow(&v, &cap, n, sizeof(*v)), 0);
        assert_true(cap > n);
        v[n] = n;
    }
    for (uint32_t n = 0; n < 1000; n++)
        assert_int_equal(v[n], n);
    free(v);
}

static void test_hash(void **state)
{
    (void)state;
    assert_true(conf_hash("n1") == conf_hash("n1"));
    assert_true(conf_hash("n1") != conf_hash("n2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_grow),
        cmocka_unit_test(test_hash),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
