/* test_httplib.c - what libmicrohttpd says and does to paths, as all servers of ours have it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "http/httplib.h"

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    httplib_log(NULL, fmt, ap);
    va_end(ap);
}

/* The library's sentences end with newlines, and hold what callers sent. */
static void test_log(void **state)
{
    char path[] = "/tmp/penstock-httplib-XXXXXX", lines[4096], lengthy[1000];
    int fd = mkstemp(path);
    FILE *f;
    size_t n;

    (void)state;
    assert_true(fd >= 0);
    memset(lengthy, 'x', sizeof(lengthy) - 1);
    lengthy[sizeof(lengthy) - 1] = '\0';
    assert_int_equal(log_open("test", path, LOG_DEBUG, false), 0);
    say("one %d\nforged\n", 1);
    say("%s", lengthy);
    log_set_level(LOG_VERBOSE);
    say("nobody wants to know");
    assert_int_equal(log_open("test", NULL, LOG_INFO, false), 0);
    f = fdopen(fd, "r");
    assert_non_null(f);
    n = fread(lines, 1, sizeof(lines) - 1, f);
    lines[n] = '\0';
    assert_int_equal(fclose(f), 0);
    assert_int_equal(unlink(path), 0);
    assert_non_null(strstr(lines, "debug: http: one 1\n"));
    assert_null(strstr(lines, "forged"));
    assert_null(strstr(lines, "nobody"));
    lengthy[511] = '\0';
    assert_non_null(strstr(lines, lengthy));
    lengthy[511] = 'x';
    lengthy[512] = '\0';
    assert_null(strstr(lines, lengthy));
}

static void test_escapes_stay(void **state)
{
    char path[] = "/job/a%2Fb%00c%";

    (void)state;
    assert_int_equal(httplib_keep_escapes(NULL, NULL, path), strlen(path));
    assert_string_equal(path, "/job/a%2Fb%00c%");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_escapes_stay),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
