/* fuzz_http.c - what strangers send to the HTTP side of a port, whole requests over a socket
 *
 * The first byte says how the rest is cut into pieces.  The library reads it, and our table of
 * paths, refusals and tokens answer. */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/httphealth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_ready(void *ctx, struct strbuf *told)
{
    strbuf_add(told, "connections: 1\n");
    return true;
}

static struct httphealth *start(void)
{
    static const struct httphealth_config config = { .name = "slurmd", .ready = is_ready };
    struct httphealth *h = NULL;
    struct err err;
    int r = httphealth_new(&config, &h, &err);

    assert(r == 0);
    return h;
}

/* Read until the end; what comes is an answer of ours or nothing. */
static void read_answers(int fd)
{
    char buf[4096];
    ssize_t n = recv(fd, buf, sizeof(buf), 0);

    assert(n <= 0 || (n >= 5 && memcmp(buf, "HTTP/", 5) == 0));
    while (n > 0)
        n = recv(fd, buf, sizeof(buf), 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct httphealth *health; /* for all inputs: its thread is the library's */
    int sv[2], r;
    size_t piece;

    if (size < 1 || size > 65536)
        return 0;
    if (!health)
        health = start();
    r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv);
    assert(r == 0);
    httphealth_take(health, sv[1]);
    piece = data[0] ? (size_t)data[0] * 8 : size;
    for (size_t at = 1; at < size; at += piece)
        if (send(sv[0], data + at, at + piece < size ? piece : size - at, MSG_NOSIGNAL) < 0)
            break;
    (void)shutdown(sv[0], SHUT_WR);
    read_answers(sv[0]);
    (void)close(sv[0]);
    return 0;
}
