/* fuzz_tls.c - bytes that reach an end of TLS before the other has proved anything
 *
 * The first byte chooses the end (a server with certificates and keys, one with a stream's key, a
 * client of each), the second the size of the pieces.  Nothing of what strangers send may come out
 * as data, and an end that has failed stays so. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/tls/tls.h"

#define INPUT_MAX 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tls_ctx *ctx;

static int find_key(void *arg, const uint8_t *id, size_t n, uint8_t ret_key[TLS_KEY_SIZE])
{
    (void)arg;
    assert(n <= TLS_ID_MAX);
    if (n == 0 || id[0] != 'a')
        return -ENOKEY;
    memset(ret_key, 1, TLS_KEY_SIZE);
    return 0;
}

static struct tls *open_end(unsigned kind, int fd)
{
    static const uint8_t key[TLS_KEY_SIZE] = { 1, 2, 3 };
    struct tls *t = NULL;
    int r = kind == 0   ? tls_new_server(ctx, fd, find_key, NULL, &t)
            : kind == 1 ? tls_new_stream_server(ctx, fd, key, &t)
            : kind == 2 ? tls_new_client(ctx, fd, &t)
                        : tls_new_stream_client(ctx, fd, key, &t);

    assert(r == 0);
    return t;
}

/* Read what has come; false: the end has failed, or the peer is gone. */
static bool read_some(struct tls *t)
{
    uint8_t byte;
    ssize_t n = tls_peek(t, &byte, 1);

    assert(n <= 0); /* nobody has proved anything */
    if (n == -EPROTO) {
        assert(tls_why(t));
        assert(tls_read(t, &byte, 1) == -EPROTO && tls_write(t, &byte, 1) == -EPROTO);
    }
    return n == -EAGAIN;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tls_config config = { .kind = TLS_AUTO, .any_server = true, .need_cert = true };
    size_t piece, part;
    bool open = true;
    struct tls *t;
    int fd[2];

    if (size < 2 || size > INPUT_MAX)
        return 0;
    if (!ctx && tls_ctx_new(&config, &ctx, NULL) < 0)
        abort();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
        return 0;
    t = open_end(data[0] % 4, fd[0]);
    piece = data[1] + (size_t)1;
    data += 2;
    size -= 2;
    open = read_some(t);
    for (; open && size; size -= part, data += part) {
        part = MIN(piece, size);
        if (send(fd[1], data, part, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)part)
            break;
        open = read_some(t);
    }
    (void)shutdown(fd[1], SHUT_WR);
    (void)read_some(t);
    (void)tls_free(t); /* always NULL */
    (void)close(fd[0]);
    (void)close(fd[1]);
    return 0;
}
