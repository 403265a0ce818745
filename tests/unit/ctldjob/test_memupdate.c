/* test_memupdate.c - what --mem-update leaves a job */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ctld/step/memupdate.h"

static void test_want(void **state)
{
    static const struct {
        uint64_t held_mib, used_kib;
        uint32_t margin;
        uint64_t want_mib;
    } cases[] = {
        { 400, 100 * 1024, 30, 130 },
        { 400, 100 * 1024 + 1, 0, 101 }, /* rounded up: never less than is used */
        { 400, 1024, 30, 40 },           /* a tenth at least */
        { 405, 0, 0, 41 },               /* rounded up, too */
        { 1, 0, 0, 0 },                  /* there is no less than 1 MiB */
        { 400, 400 * 1024, 0, 0 },       /* nothing to give back */
        { 400, 350 * 1024, 30, 0 },      /* it never gets more */
        { 400, UINT64_MAX, 10000, 0 },   /* whatever a node says */
        { UINT64_C(1) << 40, UINT64_MAX, 10000, 0 },
        { 0, 0, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(memupdate_want_mib(cases[i].held_mib, cases[i].used_kib, cases[i].margin),
                         cases[i].want_mib);
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_want) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
