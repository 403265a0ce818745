/* knock.c - the first bytes on a TCP port: who calls */
#include "wire/knock.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

/* RFC 8446: what a record of TLS begins with. */
#define TLS_HANDSHAKE 0x16
#define TLS_MAJOR 0x03

/* The first KNOCK_SIZE bytes of what RFC 9110 and RFC 5789 call methods. */
static const char methods[][KNOCK_SIZE + 1] = { "GET ", "HEAD", "POST", "PUT ", "DELE",
                                                "CONN", "OPTI", "TRAC", "PATC" };

static bool is_method(const uint8_t *bytes)
{
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
        if (memcmp(bytes, methods[i], KNOCK_SIZE) == 0)
            return true;
    return false;
}

enum knock_caller knock_caller(const uint8_t *bytes, size_t n)
{
    if (n < KNOCK_SIZE)
        return KNOCK_UNKNOWN;
    if (memcmp(bytes, KNOCK, KNOCK_SIZE) == 0)
        return KNOCK_OURS;
    if (bytes[0] == TLS_HANDSHAKE && bytes[1] == TLS_MAJOR)
        return KNOCK_TLS;
    return is_method(bytes) ? KNOCK_HTTP : KNOCK_UNKNOWN;
}

int knock_send(int fd)
{
    ssize_t n = send(fd, KNOCK, KNOCK_SIZE, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0)
        return -errno;
    return n == KNOCK_SIZE ? 0 : -EPROTO;
}
