/* test_emscript.c - what scripts take on emulated nodes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "emulate/emscript.h"

static void test_scripts(void **state)
{
    static const struct {
        const char *text;
        uint64_t run_ms;
        unsigned exit_code;
    } rows[] = {
        { "", 0, 0 },
        { "#!/bin/sh\n#SBATCH -n2\nsleep 2\n", 2000, 0 },
        { "#!/bin/sh\nsleep 2; exit 3", 2000, 3 },
        { "sleep 0.25\nsleep 1m ; sleep 2h", 7260250, 0 },
        { "sleep 1d", 86400000, 0 },
        { "  \tsleep   1\t\r\n", 1000, 0 },
        { "exit 7\nsleep 100\n", 0, 7 },
        { "exit 300\n", 0, 44 },
        { "false\n", 0, 1 },
        { "false\ntrue\n", 0, 0 },
        { "false\nexit\n", 0, 1 },
        { "# sleep 5; sleep 6\nsleep 1\n", 1000, 0 },
        { "srun -n4 --exclusive sleep 3\n", 3000, 0 },
        { "srun\n", 0, 0 },
        { "hostname\nmpirun ./a.out\n", 0, 0 },
        { "sleep\nsleep x\nsleep 1x\nsleep -5\nsleep nan\nsleep 1mm\n", 0, 0 },
        { "sleep 1e300\nsleep inf\n", EMSCRIPT_MS_MAX, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct emscript s = emscript_read((const uint8_t *)rows[i].text, strlen(rows[i].text));

        assert_int_equal(s.run_ms, rows[i].run_ms);
        assert_int_equal(s.exit_code, rows[i].exit_code);
    }
}

static void test_nothing_is_read_behind_the_end(void **state)
{
    static const uint8_t text[] = { 's', 'l', 'e', 'e', 'p', ' ', '1', '0' };

    (void)state;
    assert_int_equal(emscript_read(text, 7).run_ms, 1000);
    assert_int_equal(emscript_read(NULL, 0).run_ms, 0);
}

static void test_a_command_that_is_too_long_means_nothing(void **state)
{
    uint8_t text[600];

    (void)state;
    memset(text, ' ', sizeof(text));
    memcpy(text, "sleep", 5);
    text[598] = '9';
    text[599] = '\n';
    assert_int_equal(emscript_read(text, sizeof(text)).run_ms, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_nothing_is_read_behind_the_end),
        cmocka_unit_test(test_a_command_that_is_too_long_means_nothing),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
