/* test_confserver.c - names of controllers: as people write them, as name servers tell them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "configless/confserver.h"

static const struct {
    const char *text;
    size_t n; /* 0: refused */
    const char *last;
    uint16_t port; /* of the last one */
} cases[] = {
    { "ctl", 1, "ctl", 6817 },
    { "ctl:7000", 1, "ctl", 7000 },
    { "a:1,b", 2, "b", 6817 },
    { "[::1]", 1, "::1", 6817 },
    { "a,[fe80::1]:65535", 2, "fe80::1", 65535 },
    { "", 0, NULL, 0 },
    { "a,", 0, NULL, 0 },
    { ":1", 0, NULL, 0 },
    { "a:", 0, NULL, 0 },
    { "a:0", 0, NULL, 0 },
    { "a:65536", 0, NULL, 0 },
    { "a:1x", 0, NULL, 0 },
    { "::1", 0, NULL, 0 },
    { "[::1", 0, NULL, 0 },
    { "[::1]x", 0, NULL, 0 },
    { "a b", 0, NULL, 0 },
    { "a,b,c,d,e,f,g,h,i", 0, NULL, 0 },
};

static void test_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct confservers s = { .n = 0 };
        struct err err = { .text = "" };
        int r = confserver_parse(cases[i].text, &s, &err);

        if ((r == 0) != (cases[i].n > 0) || (r == 0) != (err.text[0] == '\0'))
            fail_msg("\"%s\": %d %s", cases[i].text, r, err.text);
        assert_int_equal(s.n, cases[i].n);
        if (cases[i].n == 0)
            continue;
        assert_string_equal(s.list[s.n - 1].host, cases[i].last);
        assert_int_equal(s.list[s.n - 1].port, cases[i].port);
    }
}

/* Two records of _slurmctld._tcp.x: priority 20 b:7001, then priority 10 a:7000. */
static const uint8_t answer[] =
    "\x12\x34\x81\x80\x00\x01\x00\x02\x00\x00\x00\x00"
    "\x0a_slurmctld\x04_tcp\x01x\x00\x00\x21\x00\x01"
    "\xc0\x0c\x00\x21\x00\x01\x00\x00\x00\x3c\x00\x0b\x00\x14\x00\x00\x1b\x59\x01"
    "b\x01x\x00"
    "\xc0\x0c\x00\x21\x00\x01\x00\x00\x00\x3c\x00\x0b\x00\x0a\x00\x00\x1b\x58\x01"
    "a\x01x\x00";

static void test_answer(void **state)
{
    struct confservers s = { .n = 0 };

    (void)state;
    assert_int_equal(confserver_read_answer(answer, sizeof(answer) - 1, &s), 0);
    assert_int_equal(s.n, 2);
    assert_string_equal(s.list[0].host, "a.x");
    assert_int_equal(s.list[0].port, 7000);
    assert_string_equal(s.list[1].host, "b.x");
    assert_int_equal(s.list[1].port, 7001);
    for (size_t len = 0; len < sizeof(answer) - 1; len++)
        assert_int_equal(confserver_read_answer(answer, len, &s), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_answer),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
