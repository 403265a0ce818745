/* test_profsend.c - samples to a server of this test's own: what it gets, and one that is away */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "noded/hw/profsend.h"
#include "base/timefmt.h"
#include "stepd/use/stepprof.h"

static char dir[64];

static int begin(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/penstock-profsend-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return rmdir(dir); /* the socket has gone */
}

/* A server: its descriptor, and its address. */
static int open_server(char *host, size_t size)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(sa);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
    (void)snprintf(host, size, "127.0.0.1:%u", ntohs(sa.sin_port));
    return fd;
}

/* Take one request, up to the end of `last`, and answer it. */
static void serve_one(int server, char *got, size_t size, const char *last)
{
    static const char answer[] = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
    int fd = accept(server, NULL, NULL);
    size_t len = 0;
    ssize_t n;

    assert_true(fd >= 0);
    got[0] = '\0';
    while (!strstr(got, last) && len + 1 < size && (n = read(fd, got + len, size - len - 1)) > 0) {
        len += (size_t)n;
        got[len] = '\0';
    }
    assert_int_equal(write(fd, answer, sizeof(answer) - 1), sizeof(answer) - 1);
    (void)close(fd);
}

static void leave_lines(const char *lines)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    (void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/%s", dir, PROFILE_SOCKET);
    assert_int_equal(sendto(fd, lines, strlen(lines), 0, (struct sockaddr *)&sa, sizeof(sa)),
                     strlen(lines));
    (void)close(fd);
}

static void end_loop(uv_loop_t *loop)
{
    (void)uv_run(loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(loop), 0);
}

/* What one sender posts of these lines. */
static void post(const struct conf_influx *influx, int server, char *got, size_t size)
{
    uv_loop_t loop;
    struct profsend *p = NULL;
    struct err err = { .text = "" };
    struct stat st;
    char path[128];

    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(profsend_new(&loop, dir, influx, &p, &err), 0);
    (void)snprintf(path, sizeof(path), "%s/%s", dir, PROFILE_SOCKET);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_true(profsend_is(p, influx));
    leave_lines("no end of line");
    leave_lines("RSS,job=7 value=1 1000\n");
    leave_lines("RSS,job=8 value=2 1000\n");
    (void)uv_run(&loop, UV_RUN_ONCE);
    serve_one(server, got, size, "job=8 value=2 1000\n");
    p = profsend_close(p);
    end_loop(&loop);
}

static void test_first_version(void **state)
{
    char host[64], got[4096];
    int server = open_server(host, sizeof(host));
    struct conf_influx influx = { .host = host,
                                  .database = "my db",
                                  .policy = "week",
                                  .user = "u",
                                  .pass = "secret",
                                  .every_s = 1,
                                  .timeout_s = 10 };

    (void)state;
    post(&influx, server, got, sizeof(got));
    assert_non_null(strstr(got, "POST /write?db=my%20db&rp=week&precision=ms HTTP/1.1\r\n"));
    assert_non_null(strstr(got, "Authorization: Basic dTpzZWNyZXQ=\r\n"));
    assert_non_null(strstr(got, "\r\n\r\nRSS,job=7 value=1 1000\nRSS,job=8 value=2 1000\n"));
    (void)close(server);
}

static void test_second_version(void **state)
{
    char host[64], url[80], got[4096];
    int server = open_server(host, sizeof(host));
    struct conf_influx influx = {
        .host = url, .database = "b", .policy = "o&x", .pass = "t0k", .every_s = 1, .timeout_s = 10
    };

    (void)state;
    (void)snprintf(url, sizeof(url), "http://%s", host);
    post(&influx, server, got, sizeof(got));
    assert_non_null(strstr(got, "POST /api/v2/write?bucket=b&org=o%26x&precision=ms HTTP/1.1\r\n"));
    assert_non_null(strstr(got, "Authorization: Token t0k\r\n"));
    (void)close(server);
}

/* A server that takes connections and never answers: closing lasts a moment, no longer. */
static void test_silent_server(void **state)
{
    char host[64];
    int server = open_server(host, sizeof(host));
    struct conf_influx influx = { .host = host, .database = "b", .every_s = 600, .timeout_s = 600 };
    struct conf_influx other = influx;
    struct err err = { .text = "" };
    struct profsend *p = NULL;
    int64_t start;
    uv_loop_t loop;

    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(profsend_new(&loop, dir, &influx, &p, &err), 0);
    other.policy = "p";
    assert_false(profsend_is(p, &other));
    leave_lines("RSS,job=7 value=1 1000\n");
    start = now_mono_us();
    p = profsend_close(p);
    assert_true(now_mono_us() - start < 60 * USEC_PER_SEC); /* of 600 */
    end_loop(&loop);
    (void)close(server);
}

static void test_no_folder(void **state)
{
    struct conf_influx influx = { .host = "h", .database = "b", .every_s = 1, .timeout_s = 1 };
    struct err err = { .text = "" };
    struct profsend *p = NULL;
    uv_loop_t loop;

    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_true(profsend_new(&loop, "/nonexistent/x", &influx, &p, &err) < 0);
    assert_string_equal(err.text, "/nonexistent/x/profile: No such file or directory");
    assert_null(p);
    end_loop(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_version),
        cmocka_unit_test(test_second_version),
        cmocka_unit_test(test_silent_server),
        cmocka_unit_test(test_no_folder),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, begin, end);
}
