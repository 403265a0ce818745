/* test_sslfew.c - OpenSSL loaded with the algorithms of TLS alone, unless a site chose others
 *
 * The library is loaded once in a process, so each case is a process of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "wire/tls/sslfew.h"
#include "wire/tls/ssllib.h"
#include "wire/tls/tls.h"
#include "wire/tls/tlsctx.h"

#define CHOSEN                                                                                     \
    "openssl_conf = init\n[init]\nproviders = list\n"                                              \
    "[list]\ndefault = on\nbase = on\n[on]\nactivate = 1\n"

/* Steps of a child that fail, as its exit code. */
enum { FINE, NO_CONTEXT, NO_HANDSHAKE, OTHER_BINDING, WRONG_CONTEXT, NO_RECORD };

static struct tls_ctx *context(bool any_server, bool need_cert)
{
    struct tls_config c = { .kind = TLS_AUTO, .any_server = any_server, .need_cert = need_cert };
    struct tls_ctx *ctx = NULL;

    return tls_ctx_load(&c, &ctx, NULL) < 0 ? NULL : ctx;
}

/* Both ends in turns: the server has a certificate, or takes the key that everybody knows. */
static int shake_hands(bool with_certificate)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = context(!with_certificate, true),
                                            *client = context(true, false);
    _cleanup_(tls_free) struct tls *a = NULL, *b = NULL;
    uint8_t here[TLS_BINDING_SIZE], there[TLS_BINDING_SIZE];
    ssize_t put = -EAGAIN, got = -EAGAIN;
    int fd[2];
    char byte;

    if (!server || !client || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0 ||
        tls_new_client(client, fd[0], &a) < 0 || tls_new_server(server, fd[1], NULL, NULL, &b) < 0)
        return NO_CONTEXT;
    for (int i = 0; i < 10; i++) {
        if (put == -EAGAIN)
            put = tls_write(a, "x", 1);
        if (got == -EAGAIN)
            got = tls_read(b, &byte, 1);
    }
    if (put != 1 || got != 1 || byte != 'x')
        return NO_HANDSHAKE;
    if (tls_binding(a, here) < 0 || tls_binding(b, there) < 0 || memcmp(here, there, sizeof(here)))
        return OTHER_BINDING;
    return tls_write(b, "y", 1) == 1 && tls_read(a, &byte, 1) == 1 && byte == 'y' ? FINE
                                                                                  : NO_RECORD;
}

static int run_child(bool brief, bool want_context)
{
    int r;

    tls_be_brief(brief);
    r = shake_hands(true);
    if (r == FINE)
        r = shake_hands(false);
    return r == FINE && (ssllib_context(sslfew_context) != NULL) != want_context ? WRONG_CONTEXT
                                                                                 : r;
}

/* conf: what stands in openssl.cnf; NULL: what the host has. */
static void expect_context(bool brief, const char *conf, bool want_context)
{
    char path[] = "/tmp/penstock-sslfew-XXXXXX";
    int fd = mkstemp(path), status;
    pid_t pid;

    assert_true(fd >= 0);
    if (conf)
        assert_int_equal(write(fd, conf, strlen(conf)), (ssize_t)strlen(conf));
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (conf && setenv("OPENSSL_CONF", path, 1) < 0)
            _exit(NO_CONTEXT);
        _exit(run_child(brief, want_context));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(path), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), FINE);
}

static void test_brief(void **state)
{
    (void)state;
    expect_context(true, "", true);
    expect_context(false, "", false); /* a daemon, a library */
}

/* Two providers are a choice of the site. */
static void test_choice_of_the_site(void **state)
{
    (void)state;
    expect_context(true, CHOSEN, false);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_brief),
        cmocka_unit_test(test_choice_of_the_site),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
