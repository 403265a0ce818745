/* test_knock.c - the first bytes on a TCP port */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "wire/knock.h"

static void test_callers(void **state)
{
    static const struct {
        const char *bytes;
        enum knock_caller caller;
    } cases[] = {
        { KNOCK, KNOCK_OURS },     { KNOCK "PSTK", KNOCK_OURS },
        { "PSTK", KNOCK_UNKNOWN }, { "GET / HTTP/1.1", KNOCK_HTTP },
        { "HEAD", KNOCK_HTTP },    { "POST /", KNOCK_HTTP },
        { "PUT /", KNOCK_HTTP },   { "PATCH", KNOCK_HTTP },
        { "DELETE", KNOCK_HTTP },  { "OPTIONS", KNOCK_HTTP },
        { "GET", KNOCK_UNKNOWN },                                     /* not whole */
        { "GETX", KNOCK_UNKNOWN },                                    /* another word */
        { "get ", KNOCK_UNKNOWN },                                    /* methods are upper case */
        { "PUTS", KNOCK_UNKNOWN }, { "\x16\x03\x01\x02", KNOCK_TLS }, /* a handshake */
        { "", KNOCK_UNKNOWN },     { "PST", KNOCK_UNKNOWN },
        { "SSH-", KNOCK_UNKNOWN },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(knock_caller((const uint8_t *)cases[i].bytes, strlen(cases[i].bytes)),
                         cases[i].caller);
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_callers) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
