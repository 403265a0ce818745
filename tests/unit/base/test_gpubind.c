/* test_gpubind.c - which GPUs each task sees */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/bind/gpubind.h"

/* Of each of 5 tasks, words apart: "0,1 2 - ...". */
static void seen(const char *text, uint32_t n_gpus, const char *near, char *buf, size_t size)
{
    struct gpubind b;
    struct bitmap *close = NULL;
    size_t at = 0;

    assert_int_equal(gpubind_parse(text, &b, NULL), 0);
    if (near) {
        assert_int_equal(bitmap_new(n_gpus, &close), 0);
        if (*near)
            assert_int_equal(bitmap_parse(close, near, NULL), 0);
    }
    buf[0] = '\0';
    for (uint32_t task = 0; task < 5; task++) {
        struct bitmap *bm;
        char *list = NULL;
        bool ours;

        assert_int_equal(bitmap_new(n_gpus, &bm), 0);
        ours = gpubind_task(&b, task, close, bm);
        assert_int_equal(bitmap_format(bm, &list), 0);
        at +=
            (size_t)snprintf(buf + at, size - at, "%s%s%s", task ? " " : "", list, ours ? "" : "!");
        free(list);
        bitmap_free(bm);
    }
    bitmap_free(close);
    gpubind_done(&b);
}

static void test_tasks(void **state)
{
    static const struct {
        const char *text;
        uint32_t gpus;
        const char *near, *want;
    } cases[] = {
        { "none", 4, NULL, "0-3 0-3 0-3 0-3 0-3" },
        { NULL, 2, NULL, "0-1 0-1 0-1 0-1 0-1" },
        { "verbose", 2, NULL, "0-1 0-1 0-1 0-1 0-1" },
        { "closest", 4, "2-3", "2-3 2-3 2-3 2-3 2-3" },
        { "closest", 4, "", "0-3 0-3 0-3 0-3 0-3" },
        { "closest", 4, NULL, "0-3 0-3 0-3 0-3 0-3" },
        { "single:1", 2, NULL, "0 1 0 1 0" },
        { "single:2", 3, NULL, "0 0 1 1 2" },
        { "per_task:1", 4, NULL, "0 1 2 3 0" },
        { "per_task:2", 4, NULL, "0-1 2-3 0-1 2-3 0-1" },
        { "per_task:9", 2, NULL, "0-1 0-1 0-1 0-1 0-1" },
        { "map_gpu:1,0", 2, NULL, "1 0 1 0 1" },
        { "map_gpu:1*2,0", 2, NULL, "1 1 0 1 1" },
        { "map_gpu:5,1", 2, NULL, "0! 1 0! 1 0!" },
        { "mask_gpu:0x3,0x1", 2, NULL, "0-1 0 0-1 0 0-1" },
        { "mask_gpu:c", 2, NULL, "0! 0! 0! 0! 0!" },
        { "gres/gpu:verbose,single:1", 2, NULL, "0 1 0 1 0" },
        { "gres/gpu:map:1", 2, NULL, "1 1 1 1 1" },
        { "QUIET,Per_Task:1", 2, NULL, "0 1 0 1 0" },
    };
    char buf[128];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        seen(cases[i].text, cases[i].gpus, cases[i].near, buf, sizeof(buf));
        assert_string_equal(buf, cases[i].want);
    }
}

static void test_refused(void **state)
{
    static const char *const bad[] = {
        "nonsense",       "single",           "single:",
        "single:0",       "single:x",         "per_task:-1",
        "map_gpu:",       "map_gpu:1,",       "map_gpu:,1",
        "map_gpu:64",     "map_gpu:1*",       "map_gpu:1*0",
        "map_gpu:1*9999", "mask_gpu:0",       "mask_gpu:0xg",
        "none:1",         "closest,single:1", "verbosesingle:1",
        "verbose,x",      "map_gpu:-1",       "mask_gpu:11111111111111111"
    };
    struct gpubind b;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err err = { .text = "" };

        assert_int_equal(gpubind_parse(bad[i], &b, &err), -EINVAL);
        assert_non_null(strstr(err.text, bad[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_tasks),
                                        cmocka_unit_test(test_refused) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
