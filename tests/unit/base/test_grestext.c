/* test_grestext.c - one GRES of a list as text */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/gres/grestext.h"

static const struct {
    const char *text, *name, *type; /* name NULL: none */
    uint64_t count;
    bool no_consume;
} words[] = {
    { "gpu", "gpu", NULL, 1, false },
    { "gres/gpu:2", "gpu", NULL, 2, false },
    { "gpu=2", "gpu", NULL, 2, false },
    { "gpu:a100", "gpu", "a100", 1, false },
    { "gpu:a100=2", "gpu", "a100", 2, false },
    { "gpu:a100:2(S:0-1)", "gpu", "a100", 2, false },
    { "bb:no_consume:1K", "bb", NULL, 1024, true },
    { "bb:fast:no_consume:2", "bb", "fast", 2, true },
    { "gpu:-1", "gpu", "-1", 1, false },
    { "gpu:a:b:3", "gpu", "a:b", 3, false },
    { "gpu::1", "gpu", "", 1, false },
    { "gpu:", NULL, NULL, 0, false },
    { "", NULL, NULL, 0, false },
    { "gres/", NULL, NULL, 0, false },
    { ":1", NULL, NULL, 0, false },
    { "license/x:1", NULL, NULL, 0, false },
    { "gpu:\x01", NULL, NULL, 0, false },
};

static void test_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        char word[64];
        struct gres_text g;

        (void)snprintf(word, sizeof(word), "%s", words[i].text);
        assert_int_equal(gres_text_parse(word, &g), words[i].name != NULL);
        if (!words[i].name)
            continue;
        assert_string_equal(g.name, words[i].name);
        assert_int_equal(g.type != NULL, words[i].type != NULL);
        if (g.type)
            assert_string_equal(g.type, words[i].type);
        assert_int_equal(g.count, words[i].count);
        assert_int_equal(g.no_consume, words[i].no_consume);
    }
}

static void test_counts(void **state)
{
    bool any;

    (void)state;
    assert_int_equal(gres_text_count("gres/gpu:1,gres/gpu:1", "gpu", NULL, NULL), 1);
    assert_int_equal(gres_text_count("gpu:a100:2,gpu:k80:1", "gpu", NULL, NULL), 3);
    assert_int_equal(gres_text_count("gpu:a100:2,gpu:k80:1", "gpu", "k80", NULL), 1);
    assert_int_equal(gres_text_count("gpu:0", "gpu", NULL, &any), 0);
    assert_true(any);
    assert_int_equal(gres_text_count("nic:2", "gpu", NULL, &any), 0);
    assert_false(any);
    assert_int_equal(gres_text_count(NULL, "gpu", NULL, NULL), 0);
}

static void test_order(void **state)
{
    _cleanup_free_ char *text = gres_text_order("bb:2,gpu:b:1,nic:4,gpu:a:1", "gpu,shard,nic");

    (void)state;
    assert_string_equal(text, "gpu:b:1,gpu:a:1,nic:4,bb:2");
}

/* gres.conf(5): shards and MPS percentages are parts of GPUs. */
static void test_shared(void **state)
{
    (void)state;
    assert_true(gres_shares_gpu("shard"));
    assert_true(gres_shares_gpu("mps"));
    assert_false(gres_shares_gpu("gpu"));
    assert_false(gres_shares_gpu("shards"));
    assert_false(gres_shares_gpu(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_shared),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
