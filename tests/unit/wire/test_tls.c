/* test_tls.c - TLS over a pair of sockets: certificates, keys of both ends, binding, bad bytes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "wire/tls/ssllib.h"
#include "wire/tls/tls.h"
#include "wire/tls/tlsbio.h"
#include "wire/tls/tlsctx.h"
#include "wire/tls/tlspair.h"

struct ends {
    int fd[2];
    struct tls *client, *server;
};

static struct tls_ctx *context(bool any_server, bool need_cert)
{
    struct tls_config c = { .kind = TLS_AUTO, .any_server = any_server, .need_cert = need_cert };
    struct tls_ctx *ctx = NULL;
    struct err err = { .text = "" };

    if (tls_ctx_load(&c, &ctx, &err) < 0)
        fail_msg("%s", err.text);
    return ctx;
}

static void open_ends(struct ends *e)
{
    *e = (struct ends){ .client = NULL };
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, e->fd), 0);
}

static void close_ends(struct ends *e)
{
    e->client = tls_free(e->client);
    e->server = tls_free(e->server);
    (void)close(e->fd[0]);
    (void)close(e->fd[1]);
}

/* Both ends in turns, until both are up or one fails: what the client and the server were told. */
static void shake_hands(struct ends *e, ssize_t *ret_client, ssize_t *ret_server)
{
    char byte;

    *ret_client = *ret_server = -EAGAIN;
    for (int i = 0; i < 10; i++) {
        if (*ret_client == -EAGAIN)
            *ret_client = tls_write(e->client, "x", 1);
        if (*ret_server == -EAGAIN)
            *ret_server = tls_peek(e->server, &byte, 1);
    }
}

static void test_own_pair(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = context(false, true),
                                            *client = context(true, false);
    uint8_t here[TLS_BINDING_SIZE], there[TLS_BINDING_SIZE];
    char byte, name[8], many[50000] = { 1 };
    ssize_t a, b;
    struct ends e;

    (void)state;
    open_ends(&e);
    assert_int_equal(tls_new_client(client, e.fd[0], &e.client), 0);
    assert_int_equal(tls_new_server(server, e.fd[1], NULL, NULL, &e.server), 0);
    assert_int_equal(tls_binding(e.client, here), -EPROTO);
    shake_hands(&e, &a, &b);
    assert_int_equal(a, 1);
    assert_int_equal(b, 1);
    assert_true(tls_is_up(e.client) && tls_is_up(e.server));
    assert_int_equal(tls_binding(e.client, here), 0);
    assert_int_equal(tls_binding(e.server, there), 0);
    assert_memory_equal(here, there, sizeof(here));
    assert_false(tls_peer_name(e.server, name, sizeof(name)));
    assert_true(tls_peer_name(e.client, name, sizeof(name)));
    assert_string_equal(name, "self");
    assert_int_equal(tls_read(e.server, &byte, 1), 1);
    assert_int_equal(byte, 'x');
    /* a record at a time, and the rest of one without the socket */
    assert_in_range(tls_write(e.server, many, sizeof(many)), 1, 16384);
    assert_int_equal(tls_read(e.client, &byte, 1), 1);
    assert_true(tls_has_input(e.client));
    close_ends(&e);
}

static int find_a(void *arg, const uint8_t *id, size_t n, uint8_t ret_key[TLS_KEY_SIZE])
{
    (void)arg;
    if (n != 1 || id[0] != 'a')
        return -ENOKEY;
    memset(ret_key, 7, TLS_KEY_SIZE);
    return 0;
}

/* tls/auto at both ends: no certificate is shown, and two connections have nothing in common. */
static void test_nobody(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = context(true, true),
                                            *client = context(true, false);
    uint8_t here[2][TLS_BINDING_SIZE], there[TLS_BINDING_SIZE];
    char name[8];
    ssize_t a, b;
    struct ends e;

    (void)state;
    for (int i = 0; i < 2; i++) {
        open_ends(&e);
        assert_int_equal(tls_new_client(client, e.fd[0], &e.client), 0);
        assert_int_equal(tls_new_server(server, e.fd[1], i ? NULL : find_a, NULL, &e.server), 0);
        shake_hands(&e, &a, &b);
        assert_int_equal(a, 1);
        assert_int_equal(b, 1);
        assert_false(tls_peer_name(e.client, name, sizeof(name)));
        assert_false(tls_peer_name(e.server, name, sizeof(name)));
        assert_int_equal(tls_binding(e.client, here[i]), 0);
        assert_int_equal(tls_binding(e.server, there), 0);
        assert_memory_equal(here[i], there, sizeof(there));
        close_ends(&e);
    }
    assert_memory_not_equal(here[0], here[1], sizeof(here[0]));
}

/* What everybody knows opens no stream, whatever the context is. */
static void test_nobody_has_no_stream(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = context(true, false),
                                            *client = context(true, false);
    const uint8_t key[TLS_KEY_SIZE] = { 1 };
    ssize_t a, b;
    struct ends e;

    (void)state;
    open_ends(&e);
    assert_int_equal(tls_new_client(client, e.fd[0], &e.client), 0);
    assert_int_equal(tls_new_stream_server(server, e.fd[1], key, &e.server), 0);
    shake_hands(&e, &a, &b);
    assert_int_equal(b, -EPROTO);
    assert_int_not_equal(a, 1);
    close_ends(&e);
}

static void test_unknown_server(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = context(true, true),
                                            *client = context(false, false);
    ssize_t a, b;
    struct ends e;

    (void)state;
    open_ends(&e);
    assert_int_equal(tls_new_client(client, e.fd[0], &e.client), 0);
    assert_int_equal(tls_new_server(server, e.fd[1], NULL, NULL, &e.server), 0);
    shake_hands(&e, &a, &b);
    assert_int_equal(a, -EPROTO);
    assert_int_equal(b, -EPROTO);
    assert_non_null(strstr(tls_why(e.client), "the certificate of the peer is refused"));
    assert_non_null(strstr(tls_why(e.server), "unknown ca"));
    assert_int_equal(tls_write(e.client, "x", 1), -EPROTO); /* and stays so */
    close_ends(&e);
}

/* A server with the key of "a" (sevens), a client that names `id` and has a key of `byte`s. */
static void try_key(uint8_t id, int byte, ssize_t *ret_client, ssize_t *ret_server)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = context(true, true),
                                            *client = context(false, false);
    uint8_t key[TLS_KEY_SIZE];
    struct ends e;

    memset(key, byte, sizeof(key));
    open_ends(&e);
    assert_int_equal(tls_new_client_key(client, e.fd[0], &id, 1, key, &e.client), 0);
    assert_int_equal(tls_new_server(server, e.fd[1], find_a, NULL, &e.server), 0);
    shake_hands(&e, ret_client, ret_server);
    close_ends(&e);
}

static void test_keys(void **state)
{
    ssize_t a, b;

    (void)state;
    try_key('a', 7, &a, &b);
    assert_int_equal(a, 1);
    assert_int_equal(b, 1);
    try_key('a', 8, &a, &b); /* another key of that name */
    assert_int_equal(b, -EPROTO);
    try_key('b', 7, &a,
            &b); /* a name that the server has no key for: its certificate will not do */
    assert_int_equal(a, -EPROTO);
}

static void test_stream_keys(void **state)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *ctx = context(false, false);
    uint8_t key[TLS_KEY_SIZE] = { 1 }, other[TLS_KEY_SIZE] = { 2 };
    ssize_t a, b;
    char byte;
    struct ends e;

    (void)state;
    open_ends(&e);
    assert_int_equal(tls_new_stream_client(ctx, e.fd[0], key, &e.client), 0);
    assert_int_equal(tls_new_stream_server(ctx, e.fd[1], key, &e.server), 0);
    tls_hold(e.client, true); /* its first words leave, nothing is read */
    assert_int_equal(tls_read(e.client, &byte, 1), -EAGAIN);
    assert_int_equal(tls_peek(e.server, &byte, 1), -EAGAIN);
    assert_int_equal(tls_write(e.client, "x", 1), -EAGAIN);
    assert_true(tls_write_waits_read(e.client));
    assert_false(tls_is_up(e.client));
    tls_hold(e.client, false);
    shake_hands(&e, &a, &b);
    assert_int_equal(a, 1);
    assert_int_equal(b, 1);
    close_ends(&e);
    open_ends(&e);
    assert_int_equal(tls_new_stream_client(ctx, e.fd[0], key, &e.client), 0);
    assert_int_equal(tls_new_stream_server(ctx, e.fd[1], other, &e.server), 0);
    shake_hands(&e, &a, &b);
    assert_int_equal(b, -EPROTO);
    close_ends(&e);
}

static void test_old_and_hostile(void **state)
{
    static const char *const first[] = { "\x16\x03\x01\xff\xff", "GET / HTTP/1.1\r\n\r\n",
                                         "\x16\x03\x01\x00\x04\x01\x00\x00\x00\x16\x03" };
    _cleanup_(tls_ctx_unref) struct tls_ctx *server = context(true, true);
    char byte;
    struct ends e;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
        open_ends(&e);
        assert_int_equal(tls_new_server(server, e.fd[1], find_a, NULL, &e.server), 0);
        assert_true(send(e.fd[0], first[i], i == 2 ? 9 : strlen(first[i]), 0) > 0);
        assert_int_equal(tls_peek(e.server, &byte, 1), -EPROTO);
        assert_non_null(tls_why(e.server));
        close_ends(&e);
    }
}

static void put_file(const char *path, BIO *bio, mode_t mode)
{
    char text[4096];
    FILE *f = fopen(path, "w");
    int n = ssllib_loaded()->BIO_ctrl(bio, BIO_CTRL_PENDING, 0, NULL) > 0;

    assert_non_null(f);
    assert_true(n);
    char *data = NULL;
    long len = ssllib_loaded()->BIO_ctrl(bio, BIO_CTRL_INFO, 0, &data);

    assert_in_range(len, 1, sizeof(text));
    assert_int_equal(fwrite(data, 1, (size_t)len, f), (size_t)len);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, mode), 0);
    (void)ssllib_loaded()->BIO_free(bio);
}

/* The sentence for a key file of that mode. */
static void test_files(void **state)
{
    char dir[] = "/tmp/test_tls.XXXXXX", cert[64], key[64];
    struct tls_config c = {
        .kind = TLS_FILES, .cert_file = cert, .key_file = key, .owner = getuid()
    };
    const struct ssllib *lib;
    struct err err = { .text = "" };
    struct tls_ctx *ctx = NULL;
    EVP_PKEY *pair;
    BIO *bio;
    X509 *x;

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(cert, sizeof(cert), "%s/cert.pem", dir);
    (void)snprintf(key, sizeof(key), "%s/key.pem", dir);
    assert_int_equal(ssllib_load(&lib, &err), 0);
    pair = tlspair_key(lib);
    x = tlspair_certificate(lib, "node1", pair, 60);
    assert_non_null(x);
    bio = lib->BIO_new(lib->BIO_s_mem());
    assert_int_equal(lib->PEM_write_bio_X509(bio, x), 1);
    put_file(cert, bio, 0644);
    bio = lib->BIO_new(lib->BIO_s_mem());
    assert_int_equal(lib->PEM_write_bio_PrivateKey(bio, pair, NULL, NULL, 0, NULL, NULL), 1);
    put_file(key, bio, 0644);
    lib->X509_free(x);
    lib->EVP_PKEY_free(pair);
    assert_int_equal(tls_ctx_new(&c, &ctx, &err), -EACCES);
    assert_non_null(strstr(err.text, "can be read by others (mode 644)"));
    assert_int_equal(chmod(key, 0600), 0);
    assert_int_equal(tls_ctx_new(&c, &ctx, &err), 0);
    ctx = tls_ctx_unref(ctx);
    c.key_file = cert;
    assert_int_equal(chmod(cert, 0600), 0);
    assert_int_equal(tls_ctx_new(&c, &ctx, &err), -EINVAL);
    assert_non_null(strstr(err.text, "holds no private key"));
    c.cert_file = dir;
    assert_int_equal(tls_ctx_new(&c, &ctx, &err), -EINVAL);
    (void)unlink(cert);
    (void)unlink(key);
    (void)rmdir(dir);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_pair),
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_nobody_has_no_stream),
        cmocka_unit_test(test_unknown_server),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_stream_keys),
        cmocka_unit_test(test_old_and_hostile),
        cmocka_unit_test(test_files),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
