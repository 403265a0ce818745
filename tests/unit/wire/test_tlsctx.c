/* test_tlsctx.c - files of TLS: whose they may be, who may read them, what may stand in them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "wire/tls/tlsctx.h"

static const char *const names[] = { "ca", "crl", "cert", "key" };

struct folder {
    char dir[64], paths[ARRAY_SIZE(names)][96];
};

static int setup_folder(void **state)
{
    struct folder *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    (void)snprintf(f->dir, sizeof(f->dir), "/tmp/penstock-tlsctx-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        (void)snprintf(f->paths[i], sizeof(f->paths[i]), "%s/%s", f->dir, names[i]);
    *state = f;
    return 0;
}

static int teardown_folder(void **state)
{
    struct folder *f = *state;
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        (void)unlink(f->paths[i]); /* not every test makes it */
    r = rmdir(f->dir);
    free(f);
    return r;
}

static void write_file(const char *path, mode_t mode, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
}

/* What a context of this file says: FILE, and this sentence behind its path. */
static void assert_refused(struct folder *f, size_t which, int r, const char *sentence)
{
    char *path = f->paths[which];
    struct tls_config c = { .kind = TLS_FILES };
    struct tls_ctx *ctx = NULL;
    struct err err = { .text = "" };
    char want[256];

    *(which == 0   ? &c.ca_file
      : which == 1 ? &c.crl_file
      : which == 2 ? &c.cert_file
                   : &c.key_file) = path;
    (void)snprintf(want, sizeof(want), "%s%s", path, sentence);
    assert_int_equal(tls_ctx_new(&c, &ctx, &err), r);
    assert_string_equal(err.text, want);
    assert_null(ctx);
}

static void test_rights(void **state)
{
    struct folder *f = *state;

    assert_refused(f, 0, -ENOENT, " cannot be read: No such file or directory");
    write_file(f->paths[3], 0640, "");
    assert_refused(f, 3, -EACCES, " can be read by others (mode 640): it must be of mode 600");
    write_file(f->paths[2], 0664, "");
    assert_refused(f, 2, -EACCES, " can be written by others (mode 664)");
    (void)unlink(f->paths[0]);
    assert_int_equal(mkdir(f->paths[0], 0700), 0);
    assert_refused(f, 0, -EINVAL, " is no file");
    assert_int_equal(rmdir(f->paths[0]), 0);
    if (geteuid() != 0)
        return; /* a file of another user cannot be made */
    write_file(f->paths[0], 0644, "");
    assert_int_equal(chown(f->paths[0], 12345, 12345), 0);
    assert_refused(f, 0, -EACCES, " belongs to user 12345: it must be root's or user 0's");
}

/* Empty, no PEM, or PEM of something else. */
static void test_contents(void **state)
{
    static const char *const texts[] = {
        "", "no PEM\n", "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n"
    };
    struct folder *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        for (size_t k = 0; k < ARRAY_SIZE(names); k++)
            write_file(f->paths[k], 0600, texts[i]);
        assert_refused(f, 0, -EINVAL, " holds no certificate (PEM)");
        assert_refused(f, 1, -EINVAL, " holds no list of revoked certificates (PEM)");
        assert_refused(f, 2, -EINVAL, " holds no certificate (PEM)");
        assert_refused(f, 3, -EINVAL, " holds no private key (PEM, without a password)");
    }
}

/* No files at all: a daemon makes a pair for itself, a command needs none. */
static void test_without(void **state)
{
    struct tls_config none = { .kind = TLS_NONE };
    struct tls_config daemon = { .kind = TLS_AUTO, .need_cert = true, .any_server = true };
    struct tls_ctx *ctx = (struct tls_ctx *)(uintptr_t)1;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(tls_ctx_load(&none, &ctx, &err), 0);
    assert_null(ctx);
    assert_int_equal(tls_ctx_load(&daemon, &ctx, &err), 0);
    assert_non_null(ctx);
    assert_null(tls_ctx_unref(tls_ctx_ref(ctx)));
    ctx = tls_ctx_unref(ctx);
    assert_null(tls_ctx_ref(NULL));
    assert_int_equal(tls_ctx_of_keys(&ctx, &err), 0);
    ctx = tls_ctx_unref(ctx);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup_folder, teardown_folder)
    const struct CMUnitTest tests[] = { T(test_rights), T(test_contents), T(test_without) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
