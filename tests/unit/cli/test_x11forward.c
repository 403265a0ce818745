/* test_x11forward.c - which display is shown on, and which cannot be; nodes that do not answer */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/base/nodeconnect.h"
#include "cli/x11/x11forward.h"
#include "wire/x11/xaddress.h"
#include "wire/x11/xauthority.h"

static char dir[] = "/tmp/x11forward.XXXXXX", authority[64], display[32];
static int server = -1;

/* A display of this test's own, on a port of 6000 and more. */
static int listen_as_server(void **state)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    unsigned n = 100;

    (void)state;
    server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    do {
        n++;
        in.sin_port = htons((uint16_t)(XADDRESS_PORT + n));
    } while (bind(server, (const struct sockaddr *)&in, sizeof(in)) < 0 && n < 2000);
    if (listen(server, 8) < 0 || !mkdtemp(dir))
        return -1;
    (void)snprintf(authority, sizeof(authority), "%s/authority", dir);
    (void)snprintf(display, sizeof(display), "127.0.0.1:%u", n);
    return 0;
}

static int remove_all(void **state)
{
    (void)state;
    (void)close(server);
    (void)unlink(authority);
    return rmdir(dir);
}

static void write_authority(const char *host, unsigned number)
{
    static const struct xauth_cookie cookie = { "0123456789abcdef", 16 };
    struct strbuf sb = STRBUF_INIT;
    FILE *f = fopen(authority, "we");

    assert_non_null(f);
    xauthority_add(&sb, XAUTH_LOCAL, host, number, &cookie);
    assert_int_equal(fwrite(sb.buf, 1, sb.len, f), sb.len);
    assert_int_equal(fclose(f), 0);
    strbuf_done(&sb);
}

/* In a process of its own, since what cannot be ends it.  Returns its status; text gets its
 * errors. */
static int try_display(const char *name, char *text, size_t size)
{
    struct cli cli = { .program = "srun" };
    struct jobopts jo;
    ssize_t n, at = 0;
    int fd[2], status;
    pid_t pid;

    assert_int_equal(pipe(fd), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct x11forward *x;

        (void)dup2(fd[1], 2);
        (void)setenv("DISPLAY", name, 1);
        (void)setenv("XAUTHORITY", authority, 1);
        jobopts_init(&jo, JOBOPTS_SRUN);
        (void)jobopts_set(&jo, opts_find(jobopts_command(JOBOPTS_SRUN), JO_X11), NULL,
                          OPT_FROM_ARGV, NULL);
        x = x11forward_new(&cli, &jo);
        x11forward_serve(x); /* no node: no thread */
        _exit(x && !x11forward_stop(x) ? 0 : 99);
    }
    (void)close(fd[1]);
    while ((n = read(fd[0], text + at, size - 1 - (size_t)at)) > 0)
        at += n;
    text[at] = '\0';
    (void)close(fd[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void test_a_display_with_a_cookie_will_do(void **state)
{
    char text[512], host[256] = "";

    (void)state;
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    write_authority(host, (unsigned)strtoul(strchr(display, ':') + 1, NULL, 10));
    assert_int_equal(try_display(display, text, sizeof(text)), 0);
    assert_string_equal(text, "");
}

static void test_what_is_missing_is_told(void **state)
{
    char text[512];

    (void)state;
    write_authority("elsewhere", 1);
    assert_int_equal(try_display(display, text, sizeof(text)), 255);
    assert_non_null(strstr(text, "has no MIT-MAGIC-COOKIE-1 for DISPLAY="));
    assert_int_equal(try_display("127.0.0.1:59535", text, sizeof(text)), 255);
    assert_non_null(strstr(text, "does not answer"));
    (void)unlink(authority);
    assert_int_equal(try_display(display, text, sizeof(text)), 255);
    assert_non_null(strstr(text, "No such file or directory, cannot setup x11 forwarding."));
}

static void test_who_does_not_ask_gets_none(void **state)
{
    struct cli cli = { .program = "salloc" };
    struct jobopts jo;

    (void)state;
    jobopts_init(&jo, JOBOPTS_SALLOC);
    assert_null(x11forward_new(&cli, &jo));
    x11forward_job(NULL, 1);
    x11forward_serve(NULL);
    assert_null(x11forward_stop(NULL));
    jobopts_done(&jo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_display_with_a_cookie_will_do),
        cmocka_unit_test(test_what_is_missing_is_told),
        cmocka_unit_test(test_who_does_not_ask_gets_none),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, listen_as_server, remove_all);
}
