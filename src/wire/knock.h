/* knock.h - the first bytes on a TCP port: who calls
 *
 * A daemon's port serves our protocol and HTTP.  In HTTP the caller speaks first, in our protocol
 * the server does, with its challenge.  So our callers knock: they send KNOCK as soon as the
 * connection stands, and the server answers with the challenge.  That costs no round trip.  A
 * caller that stays silent gets nothing: it may be a browser that opened a connection ahead of its
 * request.  Local sockets have no knock, since nobody speaks HTTP there. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define KNOCK "PST\n"
#define KNOCK_SIZE 4u
/* No request of HTTP is shorter: "GET / HTTP/1.1" and two ends of lines.  They hold the method and
 * the first word of the path, by which a daemon may pass the caller on. */
#define KNOCK_HTTP_SIZE 18u

enum knock_caller {
    KNOCK_OURS,    /* it knocked: take KNOCK_SIZE bytes away */
    KNOCK_HTTP,    /* the beginning of an HTTP request */
    KNOCK_TLS,     /* the beginning of TLS; who calls is told by the first bytes inside */
    KNOCK_UNKNOWN, /* something else, or fewer bytes than KNOCK_SIZE */
};

/* The first bytes that a caller sent. */
struct knock_head {
    uint8_t bytes[KNOCK_HTTP_SIZE];
    size_t n;
};

/* Who sends these first bytes?  They come from anybody. */
enum knock_caller knock_caller(const uint8_t *bytes, size_t n);
/* Knock on a connected socket; KNOCK_SIZE bytes always fit into a new one.  Errors: of send(2). */
int knock_send(int fd);
