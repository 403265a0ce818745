/* test_pingtext.c - what a controller says of itself, in one line */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "session/pingtext.h"

static void assert_text(Pst__PingReply *r, const char *want)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    ping_text(r, &sb);
    assert_string_equal(strbuf_str(&sb), want);
}

static void test_active(void **state)
{
    Pst__PingReply r = PST__PING_REPLY__INIT;

    assert_text(&r, "active");
    r.has_lsn = r.has_term = true;
    r.lsn = 1234;
    assert_text(&r, "active, record 1234"); /* the only controller has no term */
    r.term = 3;
    assert_text(&r, "active, term 3, record 1234");
    (void)state;
}

static void test_standby(void **state)
{
    char why[] = "nobody\n\033[2J";
    Pst__PingReply r = PST__PING_REPLY__INIT;

    r.has_standby = r.standby = r.has_term = r.has_lsn = r.has_lag = true;
    r.term = 3;
    r.lsn = 1230;
    r.lag = 4;
    assert_text(&r, "stands by, term 3, record 1230, 4 behind");
    r.has_in_sync = r.in_sync = true;
    assert_text(&r, "stands by, term 3, record 1230, 4 behind, in sync");
    r.in_sync = false;
    r.standby_why = why;
    assert_text(&r, "stands by, term 3, record 1230, 4 behind, not in sync: nobody ?[2J");
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_active),
        cmocka_unit_test(test_standby),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
