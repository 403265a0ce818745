/* bench_tls_stream.c - what TLS costs each end of a stream, beside the same stream in clear
 *
 * Two threads, a connection over TCP on this host, frames of 64 KiB as a step's output is sent,
 * MIB of them (300); plain and TLS in turns, ROUNDS times (5), the least of each.  It is the floor
 * of what srun and a step daemon pay more with TLS: nothing but the connection is here. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "wire/tls/tls.h"
#include "wire/tls/tlsctx.h"

#define FRAME (65536u + 32u)
#define READ_SIZE 65536u

struct stream {
    int fd[2];
    size_t bytes;
    bool tls;
    double reader_us;
    struct tls_ctx *ctx;
    uint8_t key[TLS_KEY_SIZE];
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_tls_stream: %s: %s\n", what, why);
    exit(1);
}

/* Of this thread. */
static double cpu_us(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) < 0)
        die("clock", strerror(errno));
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void wait_for(int fd, short events)
{
    struct pollfd p = { .fd = fd, .events = events };

    if (poll(&p, 1, 10000) <= 0)
        die("the other end", "nothing happens");
}

static size_t read_piece(struct stream *s, struct tls *t, void *buf, size_t n)
{
    for (;;) {
        ssize_t got = t ? tls_read(t, buf, n) : recv(s->fd[1], buf, n, MSG_DONTWAIT);

        if (got > 0)
            return (size_t)got;
        if (got == 0 || !(t ? got == -EAGAIN : errno == EAGAIN))
            die("read", t && tls_why(t) ? tls_why(t) : "the stream ended");
        wait_for(s->fd[1], POLLIN);
    }
}

static size_t write_piece(struct stream *s, struct tls *t, const void *buf, size_t n)
{
    for (;;) {
        ssize_t put;

        if (t)
            tls_more(t, n > TLS_RECORD_MAX);
        put = t ? tls_write(t, buf, n) : send(s->fd[0], buf, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put > 0)
            return (size_t)put;
        if (!(t ? put == -EAGAIN : errno == EAGAIN))
            die("write", t && tls_why(t) ? tls_why(t) : strerror(errno));
        wait_for(s->fd[0], t && tls_write_waits_read(t) ? POLLIN : POLLOUT);
    }
}

static void *read_all(void *arg)
{
    struct stream *s = arg;
    _cleanup_(tls_free) struct tls *t = NULL;
    _cleanup_free_ char *buf = malloc(READ_SIZE);
    double start;

    if (!buf || (s->tls && tls_new_stream_client(s->ctx, s->fd[1], s->key, &t) < 0))
        die("reader", "out of memory");
    while (t && tls_write(t, "x", 1) == -EAGAIN) /* the handshake is not measured */
        wait_for(s->fd[1], POLLIN);
    start = cpu_us();
    for (size_t n = 0; n < s->bytes;)
        n += read_piece(s, t, buf, READ_SIZE);
    s->reader_us = cpu_us() - start;
    return NULL;
}

static double write_all(struct stream *s)
{
    _cleanup_(tls_free) struct tls *t = NULL;
    _cleanup_free_ char *buf = calloc(1, FRAME);
    double start;
    char byte;

    if (!buf || (s->tls && tls_new_stream_server(s->ctx, s->fd[0], s->key, &t) < 0))
        die("writer", "out of memory");
    while (t && tls_read(t, &byte, 1) == -EAGAIN)
        wait_for(s->fd[0], POLLIN);
    start = cpu_us();
    for (size_t n = 0; n < s->bytes;) {
        size_t len = MIN((size_t)FRAME, s->bytes - n);

        for (size_t at = 0; at < len;)
            at += write_piece(s, t, buf + at, len - at);
        n += len;
    }
    return cpu_us() - start;
}

static void connect_ends(struct stream *s)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(a);
    _cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    s->fd[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || s->fd[1] < 0 || bind(listener, (struct sockaddr *)&a, len) < 0 ||
        listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&a, &len) < 0 ||
        connect(s->fd[1], (struct sockaddr *)&a, len) < 0)
        die("connection", strerror(errno));
    s->fd[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (s->fd[0] < 0)
        die("connection", strerror(errno));
}

static void measure(struct stream *s, double *least_writer, double *least_reader)
{
    pthread_t reader;
    double writer_us;

    connect_ends(s);
    if (pthread_create(&reader, NULL, read_all, s) != 0)
        die("reader", "no thread");
    writer_us = write_all(s);
    if (pthread_join(reader, NULL) != 0)
        die("reader", "lost");
    (void)close(s->fd[0]); /* everything was read, as for the next */
    (void)close(s->fd[1]);
    if (*least_writer == 0 || writer_us < *least_writer)
        *least_writer = writer_us;
    if (*least_reader == 0 || s->reader_us < *least_reader)
        *least_reader = s->reader_us;
}

int main(int argc, char **argv)
{
    struct stream s = { .bytes = 0 };
    double least[2][2] = { { 0 } };
    uint64_t mib = 300, rounds = 5;
    struct err err = { .text = "" };

    if (argc > 3 || (argc > 1 && parse_u64(argv[1], 1, 100000, &mib) < 0) ||
        (argc > 2 && parse_u64(argv[2], 1, 1000, &rounds) < 0)) {
        fprintf(stderr, "usage: bench_tls_stream [MIB [ROUNDS]]\n");
        return 2;
    }
    tls_be_brief(true);
    if (tls_ctx_of_keys(&s.ctx, &err) < 0)
        die("TLS", err.text);
    s.bytes = (size_t)mib << 20;
    for (uint64_t i = 0; i < rounds; i++)
        for (int k = 0; k < 2; k++) {
            s.tls = k == 1;
            measure(&s, &least[k][0], &least[k][1]);
        }
    s.ctx = tls_ctx_unref(s.ctx);
    printf("{\"bench\": \"tls_stream\", \"mib\": %ju, \"writer_plain_us_per_mib\": %.0f, "
           "\"writer_tls_us_per_mib\": %.0f, \"reader_plain_us_per_mib\": %.0f, "
           "\"reader_tls_us_per_mib\": %.0f}\n",
           (uintmax_t)mib, least[0][0] / (double)mib, least[1][0] / (double)mib,
           least[0][1] / (double)mib, least[1][1] / (double)mib);
    return 0;
}
