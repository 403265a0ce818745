/* test_syslogsink.c - what the system's log gets: by level, as it stands in the log, nothing
 * without the key */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/sink/syslogsink.h"

struct box {
    char dir[64], path[96], file[96];
    int fd; /* of the system's log */
};

static int make_box(void **state)
{
    struct box *b = calloc(1, sizeof(*b));
    struct sockaddr_un addr = { .sun_family = AF_UNIX };

    assert_non_null(b);
    (void)snprintf(b->dir, sizeof(b->dir), "/tmp/test_syslogsink.XXXXXX");
    assert_non_null(mkdtemp(b->dir));
    (void)snprintf(b->path, sizeof(b->path), "%s/log", b->dir);
    (void)snprintf(b->file, sizeof(b->file), "%s/file", b->dir);
    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", b->path);
    b->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(b->fd >= 0);
    assert_int_equal(bind(b->fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    assert_int_equal(log_open("testd", b->file, LOG_INFO, false), 0);
    *state = b;
    return 0;
}

static int drop_box(void **state)
{
    struct box *b = *state;

    assert_int_equal(log_set_syslog(NULL, b->path), 0);
    assert_int_equal(log_open("testd", NULL, LOG_QUIET, false), 0);
    (void)close(b->fd);
    (void)unlink(b->path);
    (void)unlink(b->file);
    (void)rmdir(b->dir);
    free(b);
    return 0;
}

/* The next line that was sent, without the process's number; "" none. */
static const char *sent_line(const struct box *b, char *buf, size_t size)
{
    char raw[4096], *number;
    ssize_t n = recv(b->fd, raw, sizeof(raw) - 1, 0);

    buf[0] = '\0';
    if (n < 0)
        return buf;
    raw[n] = '\0';
    number = strchr(raw, '[');
    assert_non_null(number);
    assert_int_equal(strtol(number + 1, &number, 10), getpid());
    (void)snprintf(buf, size, "%.*s%s", (int)(strchr(raw, '[') - raw), raw, number);
    return buf;
}

static void test_levels(void **state)
{
    const struct box *b = *state;
    char buf[4096], text[256];
    FILE *f;
    size_t n;

    log_info("before");
    assert_string_equal(sent_line(b, buf, sizeof(buf)), "");
    assert_int_equal(log_set_syslog("error", b->path), 0);
    log_info("not there");
    log_error("bad\nline");
    assert_string_equal(sent_line(b, buf, sizeof(buf)), "<27>testd]: error: bad line");
    assert_string_equal(sent_line(b, buf, sizeof(buf)), "");
    assert_int_equal(log_set_syslog("debug", b->path), 0); /* more than the file has */
    log_debug("close");
    log_info("plain");
    assert_string_equal(sent_line(b, buf, sizeof(buf)), "<31>testd]: debug: close");
    assert_string_equal(sent_line(b, buf, sizeof(buf)), "<30>testd]: plain");
    assert_int_equal(log_set_syslog(NULL, b->path), 0);
    log_error("off");
    assert_string_equal(sent_line(b, buf, sizeof(buf)), "");
    f = fopen(b->file, "re");
    assert_non_null(f);
    n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = '\0';
    (void)fclose(f);
    assert_non_null(strstr(text, "error: bad line\n"));
    assert_non_null(strstr(text, "plain\n"));
    assert_non_null(strstr(text, "error: off\n"));
    assert_null(strstr(text, "close"));
}

/* A system's log that nobody reads takes no time. */
static void test_full_and_gone(void **state)
{
    const struct box *b = *state;
    char buf[4096];

    assert_int_equal(log_set_syslog("error", b->path), 0);
    for (int i = 0; i < 2000; i++)
        log_error("line %d", i);
    assert_string_equal(sent_line(b, buf, sizeof(buf)), "<27>testd]: error: line 0");
    assert_int_equal(unlink(b->path), 0);
    log_error("nobody listens");
    assert_int_equal(log_set_syslog("loud", b->path), -EINVAL);
}

static void test_long_path(void **state)
{
    struct syslogsink s = SYSLOGSINK_INIT;
    char path[200];

    (void)state;
    memset(path, 'x', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    syslogsink_set(&s, LOG_ERROR, path);
    assert_int_equal(syslogsink_level(&s), 0);
    syslogsink_set(&s, LOG_ERROR, "/nosuch");
    assert_int_equal(syslogsink_level(&s), LOG_ERROR);
    syslogsink_send(&s, "testd", 3, "lost", 4);
    (void)close(s.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_levels, make_box, drop_box),
        cmocka_unit_test_setup_teardown(test_full_and_gone, make_box, drop_box),
        cmocka_unit_test(test_long_path),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
