/* client_impl.h - the state of a client, for client.c and client_connect.c (private to wire/) */
#pragma once

#include <stdint.h>

#include "wire/client.h"
#include "wire/hello.h"
#include "wire/auth/seal.h"
#include "wire/tls/tls.h"

struct client {
    int fd;                          /* -1 once handed away */
    bool broken;                     /* the byte stream cannot be trusted any more */
    bool handshake;                  /* a reply to our Hello is still to come */
    bool keeps_text;                 /* of client_target */
    bool seal_once;                  /* one more frame of ours is sealed, then none */
    struct seal *seal_in, *seal_out; /* owned; NULL: frames carry no tag in that direction */
    struct hello_sent sent;          /* until the reply to our Hello is checked */
    struct tls *tls;                 /* owned; NULL: the connection is plain */
    /* A step's: of who goes on with the connection once slurmd has handed it over.  Until that one
     * answers, slurmd may still refuse, on `tls`. */
    struct tls *next_tls;
    struct tls_ctx *tls_ctx; /* referenced */
    bool first_busy;         /* a record of `tls` is half read, beside next_tls */
    bool has_stream_key;     /* the next request carries it, and next_tls comes behind that */
    uint8_t stream_key[TLS_KEY_SIZE];
    size_t tls_left;  /* bytes of the output that are still for `tls` */
    uint16_t version; /* written into every header */
    int timeout_ms;   /* <= 0: none */
    uint32_t last_id;
    /* input: [in_pos, in_len) is unread; a frame handed out lies before in_pos */
    uint8_t *in;
    size_t in_cap, in_pos, in_len;
    /* output: [out_pos, out_len) the socket has not taken */
    uint8_t *out;
    size_t out_cap, out_pos, out_len;
    size_t gather;    /* so many bytes wait for more of them; 0: none do */
    int error_code;   /* of the last -EREMOTEIO */
    char *error_text; /* NULL = the code's standard text */
    /* the last request, until it is answered: sent again when the peer asks for patience */
    uint8_t *asked;
    size_t asked_len;
    uint32_t asked_id;
    client_again_fn *again; /* NULL: there is no other controller */
    void *again_ctx;
};

/* A client without a socket.  -ENOMEM. */
int client_alloc(int timeout_ms, struct client **ret_client);
/* Append to the output and send as much as goes.  takes buf in any case. */
int client_queue_take(struct client *c, uint8_t *buf, size_t len);
/* Next frame whatever it is, handshake frames included.  As client_recv(). */
int client_recv_any(struct client *c, int64_t deadline_mono_us, struct frame *ret_frame);
/* Remember the Error in frame; always -EREMOTEIO. */
int client_take_error(struct client *c, const struct frame *frame);
/* client_backoff.c: keep the bytes of a request; out of memory: it is not sent again. */
void client_keep_asked(struct client *c, uint32_t id, const uint8_t *buf, size_t len);
/* Is the frame an answer to the kept request? */
bool client_is_asked(const struct client *c, const struct frame *frame);
/* The frame is such an answer, and its error is in c->error_code.  When that asks to send the
 * request again later: waits a second, by which *deadline_mono_us moves, and gives the request's
 * bytes, which the caller frees.  Else NULL, and the request is forgotten. */
uint8_t *client_back_off(struct client *c, const struct frame *frame, size_t *ret_len,
                         int64_t *deadline_mono_us);
/* INT64_MAX when timeout_ms <= 0. */
int64_t client_deadline(int timeout_ms);
/* Milliseconds for poll(2) until the deadline, -1 for none. */
int client_wait_ms(int64_t deadline_mono_us);
