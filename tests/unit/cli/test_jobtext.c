/* test_jobtext.c - small grammars of submission options */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/job/jobtext.h"

static const struct {
    const char *text, *canonical; /* NULL = refused */
    unsigned signal, secs;
    bool batch;
} signals[] = {
    { "USR1", "USR1@60", 10, 60, false },
    { "B:USR1@50", "B:USR1@50", 10, 50, true },
    { "SIGTERM@0", "TERM@0", 15, 0, false },
    { "12@3", "USR2@3", 12, 3, false },
    { "R:12@3", NULL, 0, 0, false },
    { "b:usr2", "B:USR2@60", 12, 60, true },
    { "", NULL, 0, 0, false },
    { "USR1@", "USR1@0", 10, 0, false },
    { "USR1@70000", NULL, 0, 0, false },
    { "65", "65@60", 65, 60, false },
    { "128", NULL, 0, 0, false },
};

static void test_signal(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        struct jobtext_signal s = { 0 };
        _cleanup_free_ char *text = NULL;

        assert_int_equal(jobtext_signal_parse(signals[i].text, &s, &text),
                         signals[i].canonical ? 0 : -EINVAL);
        if (!signals[i].canonical)
            continue;
        assert_string_equal(text, signals[i].canonical);
        assert_int_equal(s.signal, signals[i].signal);
        assert_int_equal(s.secs, signals[i].secs);
        assert_int_equal(s.batch_only, signals[i].batch);
    }
}

static const struct {
    const char *text, *out; /* out NULL = refused */
} gres[] = {
    { "gpu", "gres/gpu:1" },
    { "gpu:2", "gres/gpu:2" },
    { "gpu:a100", "gres/gpu:a100:1" },
    { "gpu:a100:2,shard:1", "gres/gpu:a100:2,gres/shard:1" },
    { "gres/gpu:a100:2k", "gres/gpu:a100:2k" },
    { "gpu=3", "gres/gpu:3" },
    { "nosuch:1", NULL },
    { "gpu:", NULL },
    { "gpu:a100:", NULL },
    { "gpu:a:b:1", NULL },
    { "gpu:1,", NULL },
    { "", NULL },
};

static void test_gres(void **state)
{
    _cleanup_free_ char *none = NULL;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(gres); i++) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(jobtext_gres(gres[i].text, "gpu,shard", &text), gres[i].out ? 0 : -EINVAL);
        if (gres[i].out)
            assert_string_equal(text, gres[i].out);
    }
    assert_int_equal(jobtext_gres("none", "gpu", &none), 0);
    assert_null(none);
    assert_int_equal(jobtext_gres("gpu:1", NULL, &none), -EINVAL);
}

static const struct {
    const char *text, *out;
} gpus[] = {
    { "3", "gres/gpu:3" },
    { "a100:2", "gres/gpu:a100:2" },
    { "a100:2,h100:1", "gres/gpu:a100:2,gres/gpu:h100:1" },
    { "abc", "gres/gpu:abc:1" },
    { "a100:", NULL },
    { "", NULL },
    { "1,", NULL },
};

static void test_gpus(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(gpus); i++) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(jobtext_gpus(gpus[i].text, &text), gpus[i].out ? 0 : -EINVAL);
        if (gpus[i].out)
            assert_string_equal(text, gpus[i].out);
    }
}

static const struct {
    const char *tres, *gpus, *out;
    unsigned cpus;
    bool ok;
} per_task[] = {
    { "cpu=2", NULL, NULL, 2, true },
    { NULL, "1", "gres/gpu=1", 0, true },
    { NULL, "a100:2", "gres/gpu:a100=2", 0, true },
    { "cpu=4,license/x=1", "1", "license/x=1,gres/gpu=1", 4, true },
    { "gres/gpu:2", NULL, "gres/gpu=2", 0, true },
    { "mem=5", NULL, NULL, 0, false },
    { "cpu=0", NULL, NULL, 0, false },
    { "cpu", NULL, NULL, 0, false },
    { "cpu=2,", NULL, NULL, 0, false },
};

static void test_per_task(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(per_task); i++) {
        _cleanup_free_ char *text = NULL;
        uint32_t cpus = 0;
        int r = jobtext_per_task(per_task[i].tres, per_task[i].gpus, &text, &cpus);

        assert_int_equal(r == 0, per_task[i].ok);
        if (r < 0)
            continue;
        assert_int_equal(cpus, per_task[i].cpus);
        assert_int_equal(text != NULL, per_task[i].out != NULL);
        if (text)
            assert_string_equal(text, per_task[i].out);
    }
}

static void test_mail(void **state)
{
    uint32_t bits = 99;

    (void)state;
    assert_int_equal(jobtext_mail_parse("BEGIN,end", &bits), 0);
    assert_int_equal(bits, 3);
    assert_int_equal(jobtext_mail_parse("ALL", &bits), 0);
    assert_int_equal(bits, 0x50f);
    assert_int_equal(jobtext_mail_parse("NONE", &bits), 0);
    assert_int_equal(bits, 0);
    assert_int_equal(jobtext_mail_parse("", &bits), -EINVAL);
}

static void test_counts(void **state)
{
    uint32_t min, max, sct[3], counts[8];

    (void)state;
    assert_int_equal(jobtext_nodes_parse("2-1k", &min, &max), 0);
    assert_int_equal(min, 2);
    assert_int_equal(max, 1024);
    assert_int_equal(jobtext_nodes_parse("4000m", &min, &max), -EINVAL);
    assert_int_equal(jobtext_count_parse("99999999999", &min), -EINVAL);
    assert_int_equal(jobtext_geometry_parse("2:*:1", sct), 0);
    assert_int_equal(sct[0], 2);
    assert_int_equal(sct[1], 0);
    assert_int_equal(sct[2], 1);
    assert_int_equal(jobtext_geometry_parse("2:", sct), -EINVAL);
    assert_int_equal(jobtext_node_counts("4-8:2,2,4", counts, ARRAY_SIZE(counts)), 4);
    assert_int_equal(counts[0] * 1000 + counts[1] * 100 + counts[2] * 10 + counts[3], 2468);
    assert_int_equal(jobtext_node_counts("3", counts, ARRAY_SIZE(counts)), 1);
    assert_int_equal(jobtext_node_counts("1-9", counts, ARRAY_SIZE(counts)), -E2BIG);
    assert_int_equal(jobtext_node_counts("2,", counts, ARRAY_SIZE(counts)), -EINVAL);
    assert_int_equal(jobtext_node_counts("4-2", counts, ARRAY_SIZE(counts)), -EINVAL);
    assert_int_equal(jobtext_node_counts("0,2", counts, ARRAY_SIZE(counts)), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signal),   cmocka_unit_test(test_gres), cmocka_unit_test(test_gpus),
        cmocka_unit_test(test_per_task), cmocka_unit_test(test_mail), cmocka_unit_test(test_counts),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
