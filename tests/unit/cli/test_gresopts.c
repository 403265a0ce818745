/* test_gresopts.c - options that ask for generic resources */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/job/gresopts.h"

static const struct {
    const char *text, *out; /* out NULL = refused */
} gres[] = {
    { "gpu", "gres/gpu" },
    { "gpu:2", "gres/gpu:2" },
    { "gpu:a100", "gres/gpu:a100" },
    { "gpu:a100:2,shard:1", "gres/gpu:a100:2,gres/shard:1" },
    { "gres/gpu:a100:2k", "gres/gpu:a100:2k" },
    { "gpu=3", "gres/gpu=3" },
    { "gpu:a:b:1", "gres/gpu:a:b:1" },
    { "gpu:1,", "gres/gpu:1,gres/" },
    { "", "gres/" },
    { ":1", "gres/:1" },
    { "nosuch:1", NULL },
    { "GPU:1", NULL },
    { "gpu:", NULL },
    { "gpu:a100:", NULL },
    { "gpu:a100:x", NULL },
    { "gpu:\n1", NULL },
};

static void test_gres(void **state)
{
    _cleanup_free_ char *none = NULL;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(gres); i++) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(gresopts_list(gres[i].text, "gpu,shard", &text, NULL),
                         gres[i].out ? 0 : -EINVAL);
        if (gres[i].out)
            assert_string_equal(text, gres[i].out);
    }
    assert_int_equal(gresopts_list("none", "gpu", &none, NULL), 0);
    assert_null(none);
    assert_int_equal(gresopts_list("gpu:1", NULL, &none, NULL), -EINVAL);
}

static const struct {
    const char *text, *out;
} gpus[] = {
    { "3", "gres/gpu:3" },
    { "a100:2", "gres/gpu:a100:2" },
    { "a100:2,h100:1", "gres/gpu:a100:2,gres/gpu:h100:1" },
    { "abc", "gres/gpu:abc" },
    { "-1", "gres/gpu:-1" },
    { "a100:", NULL },
    { "a100:x", NULL },
    { "1,", NULL },
};

static void test_gpus(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(gpus); i++) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(gresopts_gpus(gpus[i].text, ':', &text, NULL), gpus[i].out ? 0 : -EINVAL);
        if (gpus[i].out)
            assert_string_equal(text, gpus[i].out);
    }
}

static void give(struct jobopts *jo, enum jobopt id, const char *value)
{
    if (!value)
        return;
    jo->value[id] = strdup(value);
    jo->from[id] = 1 + OPT_FROM_ARGV;
}

static const struct {
    const char *tres, *gpus, *cpus_given, *out, *bind;
    unsigned cpus;
} per_task[] = {
    { "cpu=2", NULL, NULL, "cpu=2", NULL, 2 },
    { NULL, "1", NULL, "gres/gpu=1", "gres/gpu:per_task:1", 0 },
    { NULL, "a100:2", "3", "cpu=3,gres/gpu:a100=2", "gres/gpu:per_task:2", 3 },
    { "cpu=4,license/x=1", "1", NULL, "cpu=4,license/x=1,gres/gpu=1", "gres/gpu:per_task:1", 4 },
    { "gres/gpu:2", NULL, NULL, "gres/gpu:2", "gres/gpu:per_task:2", 0 },
    { "gres/nic:1", NULL, NULL, "gres/nic:1", "gres/nic:per_task:1", 0 },
    { NULL, "0", NULL, NULL, NULL, 0 },
    { "", NULL, NULL, "", NULL, 0 },
    { NULL, NULL, NULL, NULL, NULL, 0 },
};

static void test_per_task(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(per_task); i++) {
        _cleanup_free_ char *text = NULL, *bind = NULL;
        struct jobopts jo;
        uint32_t cpus = 99;

        jobopts_init(&jo, JOBOPTS_SALLOC);
        give(&jo, JO_TRES_PER_TASK, per_task[i].tres);
        give(&jo, JO_GPUS_PER_TASK, per_task[i].gpus);
        give(&jo, JO_CPUS_PER_TASK, per_task[i].cpus_given);
        assert_int_equal(gresopts_per_task(&jo, &text, &cpus), 0);
        assert_int_equal(cpus, per_task[i].cpus);
        assert_int_equal(text != NULL, per_task[i].out != NULL);
        if (text)
            assert_string_equal(text, per_task[i].out);
        bind = gresopts_bind(&jo);
        assert_int_equal(bind != NULL, per_task[i].bind != NULL);
        if (bind)
            assert_string_equal(bind, per_task[i].bind);
        jobopts_done(&jo);
    }
}

/* Tasks and nodes that counts of GPUs say. */
static void test_counts(void **state)
{
    struct jobopts jo;

    (void)state;
    jobopts_init(&jo, JOBOPTS_SRUN);
    give(&jo, JO_GPUS, "4");
    give(&jo, JO_GPUS_PER_TASK, "2");
    assert_int_equal(gresopts_check(&jo), 0);
    assert_int_equal(jobopts_num(&jo, JO_NTASKS, 0), 2);
    jobopts_done(&jo);
    jobopts_init(&jo, JOBOPTS_SRUN);
    give(&jo, JO_GPUS, "4");
    give(&jo, JO_GPUS_PER_NODE, "2");
    assert_int_equal(gresopts_check(&jo), 0);
    assert_string_equal(jobopts_get(&jo, JO_NODES), "2");
    jobopts_done(&jo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gres),
        cmocka_unit_test(test_gpus),
        cmocka_unit_test(test_per_task),
        cmocka_unit_test(test_counts),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
