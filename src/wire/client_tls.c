/* client_tls.c - a command's connection inside TLS
 *
 * A connection to slurmd with a step's credential has two lives.  In the first, whose keys come
 * from the credential's key, slurmd reads one request.  That request carries a key of our choice;
 * whoever slurmd hands the descriptor to (a step daemon, a relay, a writer of files) begins TLS
 * anew with that key.  We say the first words of the second life right behind the request.  Should
 * slurmd refuse, its answer comes in a record of the first: a record's first byte tells which, for
 * one of a new handshake is never of the type that data is. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "wire/auth/auth.h"
#include "wire/hello.h"
#include "wire/client_impl.h"
#include "wire/client_tls.h"

#define RECORD_DATA 0x17 /* RFC 8446 */

/* Whose is the next record?  *ret_tls; 0 at the end of the connection, -EAGAIN. */
static int choose_reader(struct client *c, struct tls **ret_tls)
{
    uint8_t type = RECORD_DATA;
    ssize_t n = 1;

    *ret_tls = c->tls;
    if (!c->next_tls)
        return 1;
    if (!c->first_busy)
        n = recv(c->fd, &type, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0)
        return errno == EINTR ? -EAGAIN : -errno;
    if (n == 0)
        return 0;
    if (type == RECORD_DATA) {
        c->first_busy = true;
        return 1;
    }
    (void)tls_free(c->tls); /* always NULL */
    c->tls = TAKE_PTR(c->next_tls);
    tls_hold(c->tls, false);
    *ret_tls = c->tls;
    return 1;
}

ssize_t client_tls_recv(struct client *c, uint8_t *buf, size_t n)
{
    struct tls *t;
    int r = choose_reader(c, &t);
    ssize_t got;

    if (r <= 0)
        return r;
    got = tls_read(t, buf, n);
    if (c->next_tls && got > 0)
        c->first_busy = tls_has_input(t);
    return got;
}

ssize_t client_tls_send(struct client *c, const uint8_t *data, size_t len)
{
    size_t sent = 0;

    while (sent < len) {
        struct tls *t = c->next_tls ? c->next_tls : c->tls;
        ssize_t n;

        tls_more(t, len - sent > TLS_RECORD_MAX);
        n = tls_write(t, data + sent, len - sent);

        if (n == -EAGAIN && c->next_tls && tls_write_waits_read(t)) {
            struct tls *from;
            int r = choose_reader(c, &from);

            if (r == 1 && c->next_tls)
                return -EPIPE; /* slurmd refuses: its reason is to be read */
            if (r == 1)
                continue;
        }
        if (n < 0)
            return sent ? (ssize_t)sent : n;
        sent += (size_t)n;
    }
    return (ssize_t)sent;
}

int client_tls_begin(struct client *c, const struct client_target *target)
{
    uint8_t id[TLS_ID_MAX], key[TLS_KEY_SIZE];
    size_t n = 0;
    int r;

    c->tls_ctx = tls_ctx_ref(target->tls);
    if (target->credential) {
        r = hello_tls_key(target, id, &n, key);
        if (r == 0)
            r = tls_new_client_key(c->tls_ctx, c->fd, id, n, key, &c->tls);
        explicit_bzero(key, sizeof(key));
        if (r == 0)
            r = auth_random(c->stream_key, sizeof(c->stream_key));
        c->has_stream_key = r == 0;
    } else {
        r = tls_new_client(c->tls_ctx, c->fd, &c->tls);
        if (r == 0)
            tls_read_ahead(c->tls);
    }
    return r;
}

int client_tls_hand_over(struct client *c)
{
    uint8_t nothing;
    int r = tls_new_stream_client(c->tls_ctx, c->fd, c->stream_key, &c->next_tls);

    explicit_bzero(c->stream_key, sizeof(c->stream_key));
    c->has_stream_key = false;
    if (r < 0)
        return r;
    tls_hold(c->next_tls, true);
    (void)tls_read(c->next_tls, &nothing, 1); /* sends its first words; what fails shows later */
    return 0;
}

ProtobufCBinaryData client_stream_key(struct client *c)
{
    return (ProtobufCBinaryData){ c->has_stream_key ? sizeof(c->stream_key) : 0, c->stream_key };
}

short client_tls_send_events(const struct client *c)
{
    return tls_write_waits_read(c->next_tls ? c->next_tls : c->tls) ? POLLIN : POLLOUT;
}

short client_tls_recv_events(const struct client *c)
{
    return tls_read_waits_write(c->tls) ? POLLOUT : POLLIN;
}

const char *client_tls_why(const struct client *c, int r)
{
    bool lost = c->broken || r == -EPIPE || r == -ECONNRESET;
    const char *why = c->tls ? tls_why(c->tls) : NULL;

    if (!why && c->next_tls)
        why = tls_why(c->next_tls);
    if (!why && c->tls && lost && !tls_is_up(c->tls))
        why = "TLS: the peer closed the connection: either it has no TLSType, or it refuses us";
    return why;
}
