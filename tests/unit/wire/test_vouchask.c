/* test_vouchask.c - the command's half of vouching: what it takes of a daemon's reply, and what a
 * daemon that is none cannot do to it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "wire/auth/vouch.h"

#define UID 1234u
#define GID 77u

static const uint8_t nonce[AUTH_NONCE_SIZE] = { 9 };

/* A daemon of one connection, and what it sends. */
struct daemon {
    char dir[64];
    struct sockaddr_un sa;
    int fd;
    pthread_t thread;
    const struct vouch_secret *with; /* answers truly; else: */
    const uint8_t *bytes;
    size_t len;
    bool silent;    /* nothing comes until the caller has gone */
    size_t request; /* bytes that came */
};

static void send_bytes(int fd, const uint8_t *bytes, size_t len)
{
    ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

    (void)n; /* a caller that has seen enough may have gone */
}

static void *serve_once(void *arg)
{
    struct daemon *d = arg;
    _cleanup_close_ int fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC);
    uint8_t buf[VOUCH_BYTES_MAX], *reply = NULL;
    uint32_t len = 0;
    size_t reply_len = 0;

    if (fd < 0 || recv(fd, &len, sizeof(len), MSG_WAITALL) != (ssize_t)sizeof(len))
        return NULL;
    len = le32toh(len);
    if (len > sizeof(buf) || recv(fd, buf, len, MSG_WAITALL) != (ssize_t)len)
        return NULL;
    d->request = len;
    if (d->silent) {
        (void)recv(fd, buf, 1, 0); /* its end */
    } else if (d->with) {
        if (vouch_answer(d->with, UID, GID, buf, len, &reply, &reply_len) == 0)
            send_bytes(fd, reply, reply_len);
        free(reply);
    } else {
        send_bytes(fd, d->bytes, d->len);
    }
    return NULL;
}

static int setup_daemon(void **state)
{
    struct daemon *d = calloc(1, sizeof(*d));

    assert_non_null(d);
    (void)snprintf(d->dir, sizeof(d->dir), "/tmp/penstock-vouch-XXXXXX");
    assert_non_null(mkdtemp(d->dir));
    d->sa.sun_family = AF_UNIX;
    (void)snprintf(d->sa.sun_path, sizeof(d->sa.sun_path), "%s/" VOUCH_SOCKET, d->dir);
    d->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(d->fd >= 0);
    assert_int_equal(bind(d->fd, (struct sockaddr *)&d->sa, sizeof(d->sa)), 0);
    assert_int_equal(listen(d->fd, 1), 0);
    assert_int_equal(setenv("SLURM_SACK_SOCKET", d->sa.sun_path, 1), 0);
    *state = d;
    return 0;
}

static int teardown_daemon(void **state)
{
    struct daemon *d = *state;

    (void)close(d->fd);
    (void)unlink(d->sa.sun_path);
    (void)rmdir(d->dir);
    (void)unsetenv("SLURM_SACK_SOCKET");
    free(d);
    return 0;
}

static Pst__Hello hello_to(const char *service)
{
    static uint8_t own[AUTH_NONCE_SIZE] = { 3 };
    Pst__Hello hello = PST__HELLO__INIT;

    hello.has_version = hello.has_method = hello.has_nonce = true;
    hello.version = 3;
    hello.method = PST__AUTH_METHOD__AUTH_VOUCH;
    hello.service = (char *)(uintptr_t)service;
    hello.nonce = (ProtobufCBinaryData){ sizeof(own), own };
    return hello;
}

static int ask_daemon(struct daemon *d, Pst__Hello *hello, struct handshake *proofs,
                      Pst__VouchReply **reply, struct err *err)
{
    int r;

    assert_int_equal(pthread_create(&d->thread, NULL, serve_once, d), 0);
    r = vouch_ask(hello, nonce, false, d->silent ? 50 : 60000, proofs, reply, err);
    assert_int_equal(pthread_join(d->thread, NULL), 0);
    return r;
}

/* The Hello says who the daemon saw, and the proofs are those of this Hello. */
static void test_vouched(void **state)
{
    struct daemon *d = *state;
    const struct vouch_secret with = { .secret = { 1 }, .key_id = "k1" };
    Pst__Hello hello = hello_to("slurmctld");
    Pst__VouchReply *reply = NULL;
    struct handshake proofs, want;
    struct err err = { .text = "" };
    uint8_t *bytes = NULL;
    size_t len;

    assert_true(vouch_may_ask());
    d->with = &with;
    assert_int_equal(ask_daemon(d, &hello, &proofs, &reply, &err), 0);
    assert_int_equal(hello.uid, UID);
    assert_int_equal(hello.gid, GID);
    assert_string_equal(hello.key_id, "k1");
    assert_false(hello.has_token);
    assert_int_equal(handshake_bytes(nonce, &hello, &bytes, &len), 0);
    assert_int_equal(handshake_derive(with.secret, bytes, len, &want), 0);
    assert_memory_equal(proofs.client_proof, want.client_proof, AUTH_MAC_SIZE);
    assert_memory_equal(proofs.server_proof, want.server_proof, AUTH_MAC_SIZE);
    assert_memory_equal(proofs.to_server, want.to_server, SEAL_KEY_SIZE);
    assert_memory_equal(proofs.to_client, want.to_client, SEAL_KEY_SIZE);
    free(bytes);
    pst__vouch_reply__free_unpacked(reply, NULL);
}

/* The daemon's sentence is the user's. */
static void test_refused(void **state)
{
    struct daemon *d = *state;
    const struct vouch_secret with = { .key_id = "k1" };
    Pst__Hello hello = hello_to("slurmd");
    Pst__VouchReply *reply = NULL;
    struct handshake proofs;
    struct err err = { .text = "" };

    d->with = &with;
    assert_int_equal(ask_daemon(d, &hello, &proofs, &reply, &err), -EACCES);
    assert_string_equal(err.text, "Invalid authentication credential: this daemon vouches to "
                                  "slurmctld and slurmdbd alone");
    assert_null(reply);
    assert_false(hello.has_uid);
}

/* Bytes that are no reply, no proofs, too many, too few or none. */
static void test_hostile(void **state)
{
    static const uint8_t empty[] = { 0, 0, 0, 0 }, large[] = { 0xff, 0xff, 0xff, 0x7f };
    static const uint8_t garbage[] = { 3, 0, 0, 0, 0xff, 0xff, 0xff };
    static const uint8_t cut[] = { 9, 0, 0, 0, 1 };
    static const struct {
        const uint8_t *bytes;
        size_t len;
        int r;
        const char *text;
    } rows[] = {
        { empty, sizeof(empty), -EPROTO, "gives a reply without proofs" },
        { large, sizeof(large), -EPROTO, "Protocol error" },
        { garbage, sizeof(garbage), -EPROTO, "Protocol error" },
        { cut, sizeof(cut), -ECONNRESET, "Connection reset by peer" },
        { empty, 0, -ECONNRESET, "Connection reset by peer" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct daemon *d = *state;
        Pst__Hello hello = hello_to("slurmctld");
        Pst__VouchReply *reply = NULL;
        struct handshake proofs;
        struct err err = { .text = "" };

        d->bytes = rows[i].bytes;
        d->len = rows[i].len;
        assert_int_equal(ask_daemon(d, &hello, &proofs, &reply, &err), rows[i].r);
        assert_non_null(strstr(err.text, rows[i].text));
        assert_null(reply);
        assert_true(d->request > 0);
        assert_false(hello.has_uid);
    }
}

static void test_silent(void **state)
{
    struct daemon *d = *state;
    Pst__Hello hello = hello_to("slurmctld");
    Pst__VouchReply *reply = NULL;
    struct handshake proofs;
    struct err err = { .text = "" };

    d->silent = true;
    assert_int_equal(ask_daemon(d, &hello, &proofs, &reply, &err), -ETIMEDOUT);
    assert_null(reply);
}

static void test_nobody(void **state)
{
    struct daemon *d = *state;
    Pst__Hello hello = hello_to("slurmctld");
    Pst__VouchReply *reply = NULL;
    struct handshake proofs;
    struct err err = { .text = "" };
    char path[256], huge[VOUCH_BYTES_MAX + 1];

    (void)snprintf(path, sizeof(path), "%s/none", d->dir);
    assert_int_equal(setenv("SLURM_SACK_SOCKET", path, 1), 0);
    assert_false(vouch_may_ask());
    assert_int_equal(vouch_ask(&hello, nonce, false, 1000, &proofs, &reply, &err), -ENOENT);
    assert_non_null(strstr(err.text, "no daemon answers at " VOUCH_SOCKET));
    memset(path, 'x', sizeof(path) - 1); /* no path of a socket is so long */
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(setenv("SLURM_SACK_SOCKET", path, 1), 0);
    assert_int_equal(vouch_ask(&hello, nonce, false, 1000, &proofs, &reply, &err), -ENOENT);
    memset(huge, 's', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    hello.service = huge;
    assert_int_equal(vouch_ask(&hello, nonce, false, 1000, &proofs, &reply, &err), -EMSGSIZE);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup_daemon, teardown_daemon)
    const struct CMUnitTest tests[] = { T(test_vouched), T(test_refused), T(test_hostile),
                                        T(test_silent), T(test_nobody) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
