/* dialer.h - a kept, self-healing connection from a daemon to another, on the caller's uv loop
 *
 * slurmd -> slurmctld.  Reconnects with back-off (50 ms doubling to 1 s, with jitter),
 * authenticates each time, and reports up and down.  All callbacks on the loop's thread. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/cleanup.h" /* before uv.h, which brings in another MIN */
#include <uv.h>

#include "wire/client.h"

struct dialer;

struct dialer_hooks {
    void (*on_up)(void *ctx);
    void (*on_down)(void *ctx, const char *why);
    void (*on_request)(void *ctx, const struct frame *frame); /* from the controller */
    /* Reply to a request sent with dialer_request: r 0, or -EREMOTEIO when frame is an Error;
     * -ECONNRESET with frame NULL for those outstanding when the connection was lost (called before
     * on_down). */
    void (*on_reply)(void *ctx, uint32_t id, int r, const struct frame *frame);
};

/* Several targets (SlurmctldHost in order) are tried in turn. */
/* Strings of the targets are copied. */
int dialer_new(uv_loop_t *loop, const struct client_target *targets, size_t n, uid_t slurm_uid,
               const struct dialer_hooks *hooks, void *ctx, struct dialer **ret_dialer);
void dialer_start(struct dialer *d);
/* Others, once the present connection is lost, or all of the present ones have been tried.  -EINVAL
 * none, -ENOMEM: those from before stay. */
int dialer_set_targets(struct dialer *d, const struct client_target *targets, size_t n);
/* Another certificate, for connections to come; NULL changes nothing.  A reference is taken. */
void dialer_set_tls(struct dialer *d, struct tls_ctx *tls);
/* Who the controllers are, for connections to come; key stays as long as the dialer.  may_relearn:
 * where nobody proves that key the dialer asks in turns as if it knew none. */
void dialer_set_controller(struct dialer *d, const uint8_t *key, bool may_relearn);
bool dialer_is_up(const struct dialer *d);
/* Errors: -ENOTCONN when not up, -ENOBUFS too much waits to be sent, -EMSGSIZE, -ENOMEM. */
int dialer_request(struct dialer *d, unsigned op, const ProtobufCMessage *msg, uint32_t *ret_id);
int dialer_reply(struct dialer *d, unsigned op, uint32_t id, const ProtobufCMessage *msg);
int dialer_reply_error(struct dialer *d, unsigned op, uint32_t id, int code, const char *text);
/* The controller at the other end is not the one to speak to: leave it and try the next target.  As
 * when the connection is lost, but that its own target comes last. */
void dialer_next(struct dialer *d, const char *why);
/* Leave the server, and dial again. */
void dialer_drop(struct dialer *d, const char *why);
/* Close; the memory goes when libuv is done (run the loop once more).  When it was up, outstanding
 * requests and on_down are still reported from there. */
void dialer_close(struct dialer *d);
