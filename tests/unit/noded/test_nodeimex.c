/* test_nodeimex.c - the driver of IMEX channels in /proc/devices, and a step without a channel */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "noded/plan/nodeimex.h"

static void test_major(void **state)
{
    static const struct {
        const char *text;
        uint32_t major;
    } cases[] = {
        { "Character devices:\n  1 mem\n235 nvidia-caps-imex-channels\n\nBlock devices:\n  8 sd\n",
          235 },
        { "Character devices:\n  1 mem\n\nBlock devices:\n235 nvidia-caps-imex-channels\n", 0 },
        { "Character devices:\n235 nvidia-caps-imex-channels2\n234 nvidia-caps\n", 0 },
        { "", 0 },
        { "Character devices:\nx nvidia-caps-imex-channels\n", 0 },
    };
    char root[] = "/tmp/penstock-nodeimex-XXXXXX", dir[64], path[80];

    (void)state;
    assert_non_null(mkdtemp(root));
    assert_int_equal(nodeimex_major(root), 0); /* no such file */
    (void)snprintf(dir, sizeof(dir), "%s/proc", root);
    (void)snprintf(path, sizeof(path), "%s/devices", dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FILE *f = fopen(path, "w");

        assert_non_null(f);
        assert_true(fputs(cases[i].text, f) >= 0);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(nodeimex_major(root), cases[i].major);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(rmdir(root), 0);
}

static void test_no_channel(void **state)
{
    struct noded d = { .name = (char *)"n1", .imex_major = 235 };
    Pst__StepFile sf = PST__STEP_FILE__INIT;
    Pst__JobOnNode on = PST__JOB_ON_NODE__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;

    (void)state;
    on.job = &job;
    sf.job = &on;
    assert_int_equal(nodeimex_plan(&d, &sf), 0);
    assert_false(sf.has_imex_channel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_major),
        cmocka_unit_test(test_no_channel),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
