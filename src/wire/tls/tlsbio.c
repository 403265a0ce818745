/* tlsbio.c - see tlsbio.h */
#include "wire/tls/tlsbio.h"

#include <errno.h>
#include <sys/socket.h>

static int read_socket(BIO *bio, char *buf, int n)
{
    const struct ssllib *lib = ssllib_loaded();
    struct tlsbio *t = lib->BIO_get_data(bio);
    ssize_t got;

    lib->BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    if (t->held) {
        lib->BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
        return -1;
    }
    do {
        got = recv(t->fd, buf, (size_t)n, MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        lib->BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
    else if (got < 0)
        t->failed = errno;
    return (int)got;
}

static int write_socket(BIO *bio, const char *buf, int n)
{
    const struct ssllib *lib = ssllib_loaded();
    struct tlsbio *t = lib->BIO_get_data(bio);
    ssize_t put;

    lib->BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    do {
        put = send(t->fd, buf, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL | (t->more ? MSG_MORE : 0));
    } while (put < 0 && errno == EINTR);
    if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS))
        lib->BIO_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
    else if (put < 0)
        t->failed = errno;
    return (int)put;
}

static long control_socket(BIO *bio, int cmd, long num, void *ptr)
{
    (void)bio;
    (void)num;
    (void)ptr;
    return cmd == BIO_CTRL_FLUSH; /* nothing is kept back here */
}

BIO_METHOD *tlsbio_method(const struct ssllib *lib)
{
    BIO_METHOD *m = lib->BIO_meth_new(BIO_TYPE_SOURCE_SINK, "penstock socket");

    if (m && (lib->BIO_meth_set_read(m, read_socket) != 1 ||
              lib->BIO_meth_set_write(m, write_socket) != 1 ||
              lib->BIO_meth_set_ctrl(m, control_socket) != 1)) {
        lib->BIO_meth_free(m);
        return NULL;
    }
    return m;
}
