/* peer_util.h - the daemon that a command asks, played without a thread; needs wire_dep
 *
 * Answers are put before the command runs and lie in its socket, in the order of its requests; what
 * it asked is taken afterwards.  The ids of requests are counted here as in the client. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api.pb-c.h"
#include "base/err.h"
#include "wire/client.h"
#include "wire/frame.h"

#ifndef UTIL
#define UTIL __attribute__((unused)) static
#endif

#define PEER_ROOM (4 << 20) /* bytes of answers and of requests */

struct peer {
    struct client *client; /* the command's end; it may free it */
    int fd;
    uint32_t answered; /* ids that have one */
    uint32_t asked;    /* ids that were taken */
};

UTIL void peer_begin(struct peer *p)
{
    int fds[2], room = PEER_ROOM;

    *p = (struct peer){ .fd = -1 };
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
    p->fd = fds[0];
    assert_int_equal(client_from_fd(fds[1], &p->client), 0);
    client_set_timeout(p->client, 5000); /* an answer that was forgotten */
}

UTIL void peer_end(struct peer *p)
{
    p->client = client_free(p->client);
    if (p->fd >= 0)
        (void)close(p->fd);
    p->fd = -1;
}

/* Behind a command that ran in a child: the requests of the next one are counted from the first
 * again. */
UTIL void peer_renew(struct peer *p)
{
    peer_end(p);
    peer_begin(p);
}

UTIL void peer_put(struct peer *p, uint8_t *buf, size_t len)
{
    assert_int_equal(send(p->fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL), len);
    free(buf);
}

/* The next request gets this; NULL: an answer without a body. */
UTIL void peer_answer(struct peer *p, unsigned op, const ProtobufCMessage *msg)
{
    uint8_t *buf = NULL;
    size_t len = 0;

    assert_int_equal(frame_pack(op, FRAME_REPLY, ++p->answered, 0, msg, &buf, &len), 0);
    peer_put(p, buf, len);
}

/* ... an error; text NULL: the standard one. */
UTIL void peer_refuse(struct peer *p, unsigned op, int code, const char *text)
{
    uint8_t *buf = NULL;
    size_t len = 0;

    assert_int_equal(frame_pack_error(op, ++p->answered, code, text, &buf, &len), 0);
    peer_put(p, buf, len);
}

/* ... a stream of these records, told as of this time (0: none is told). */
UTIL void peer_list_at(struct peer *p, unsigned op, const void *records, size_t n, int64_t now_us)
{
    const ProtobufCMessage *const *list = records;
    Pst__RecordBatch batch = PST__RECORD_BATCH__INIT;

    batch.n_records = n;
    batch.records = calloc(n + 1, sizeof(*batch.records));
    assert_non_null(batch.records);
    for (size_t i = 0; i < n; i++) {
        batch.records[i].len = protobuf_c_message_get_packed_size(list[i]);
        batch.records[i].data = malloc(batch.records[i].len + 1);
        assert_non_null(batch.records[i].data);
        (void)protobuf_c_message_pack(list[i], batch.records[i].data);
    }
    batch.has_now_us = now_us != 0;
    batch.now_us = now_us;
    peer_answer(p, op, &batch.base);
    for (size_t i = 0; i < n; i++)
        free(batch.records[i].data);
    free(batch.records);
}

UTIL void peer_list(struct peer *p, unsigned op, const void *records, size_t n)
{
    peer_list_at(p, op, records, n, 0);
}

/* Read exactly len bytes that are there; false: there is nothing. */
UTIL bool peer_read(struct peer *p, uint8_t *buf, size_t len)
{
    ssize_t n = recv(p->fd, buf, len, MSG_DONTWAIT | MSG_WAITALL);

    if (n <= 0)
        return false;
    assert_int_equal(n, len);
    return true;
}

/* The next request that was made, of this op and as this message; free_unpacked() by the caller.
 * A test fails where there is none. */
UTIL void *peer_take(struct peer *p, unsigned op, const ProtobufCMessageDescriptor *desc)
{
    uint8_t header[FRAME_HEADER_SIZE];
    struct frame f;
    uint8_t *body;
    ProtobufCMessage *msg = NULL;
    struct err err = { .text = "" };

    assert_true(peer_read(p, header, sizeof(header)));
    assert_int_equal(frame_decode_header(header, &f), 0);
    assert_int_equal(f.op, op);
    if (!(f.flags & FRAME_ONEWAY))
        assert_int_equal(f.id, ++p->asked);
    body = malloc(f.len + 1);
    assert_non_null(body);
    assert_true(!f.len || peer_read(p, body, f.len));
    f.body = body;
    if (frame_unpack_body(&f, desc, &msg, &err) < 0)
        fail_msg("%s", err.text);
    free(body);
    return msg;
}

/* Was nothing asked but what was taken? */
UTIL bool peer_is_quiet(struct peer *p)
{
    uint8_t byte;

    return recv(p->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) <= 0;
}

#define PEER_TAKE(p, op, name)                                                                     \
    ((__typeof__(pst__##name##__unpack(NULL, 0, NULL)))peer_take((p), (op),                        \
                                                                 &pst__##name##__descriptor))
