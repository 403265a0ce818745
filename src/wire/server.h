/* server.h - the listening side: libuv loops on threads of their own, many connections, bounded memory
 *
 * Each of the server's threads runs one uv loop and owns the connections it accepted; callbacks run on
 * the owning thread.  A connection is authenticated before its first request reaches `on_request`.
 * Limits: a peer that has not said Hello within 10 s, sends a frame over its cap, leaves a frame half
 * sent for 60 s, or lets its output queue pass out_limit bytes (for streams: the producer is paused
 * instead, see on_drain) is disconnected with one log line. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/frame.h"

struct server;
struct conn; /* counted: conn_ref/conn_unref; outlives its socket while referenced */
struct auth_keys;

struct peer {
    uid_t uid;
    gid_t gid;
    unsigned method;      /* enum AuthMethod */
    uint16_t version;     /* spoken on this connection: min(ours, theirs) */
    char host[256];
    char program[32];
    char addr[64];        /* numeric address, "local" for the socket */
    uint32_t pid;
};

struct server_hooks {
    /* A request (or one-way) arrived, caps checked, not unpacked.  frame and body are borrowed for the
     * call.  Must not block. */
    void (*on_request)(void *ctx, struct conn *c, const struct frame *frame);
    /* A reply to a request that we sent on this connection (conn_request). May be NULL. */
    void (*on_reply)(void *ctx, struct conn *c, const struct frame *frame);
    /* The connection is gone (called once, on its thread). */
    void (*on_close)(void *ctx, struct conn *c);
    /* Accepting thread started (index) / ends; for per-thread state.  May be NULL. */
    void (*on_thread)(void *ctx, unsigned index, bool start);
};

struct server_config {
    uint16_t port;              /* 0 = none */
    const char *bind_addr;      /* NULL = any */
    bool local_socket;          /* also the abstract socket of wire_local_name(port) */
    unsigned threads;           /* >= 1 */
    unsigned max_connections;
    size_t out_limit;           /* bytes queued to one peer */
    const char *cluster;
    const struct auth_keys *keys; /* borrowed; may be NULL */
    bool use_munge;
    const char *munge_socket;
    bool no_auth_ops;           /* slurmd: LAUNCH_STEP and the like need no Hello */
    struct server_hooks hooks;
    void *ctx;
};

/* Bind and listen (so that errors are seen before daemonizing), start threads with server_start().
 * Errors: -EADDRINUSE, ...; err has the sentence. */
int server_new(const struct server_config *config, struct server **ret_server, struct err *err);
int server_start(struct server *s);
uint16_t server_port(const struct server *s); /* as bound */
void server_stop(struct server *s);           /* close everything, join the threads */
struct server *server_free(struct server *s);
unsigned server_connections(const struct server *s);

const struct peer *conn_peer(const struct conn *c);
struct conn *conn_ref(struct conn *c);
struct conn *conn_unref(struct conn *c); /* always NULL */
uint64_t conn_id(const struct conn *c);  /* unique in the process's life */
void *conn_data(const struct conn *c);   /* per-connection user pointer, owning thread only */
void conn_set_data(struct conn *c, void *data);

/* Queue a frame; any thread; never blocks.  `buf` is taken (malloc'd by frame_pack).  Silently dropped
 * when the connection is gone: on_close told so. */
void conn_send_take(struct conn *c, uint8_t *buf, size_t len);
int conn_reply(struct conn *c, unsigned op, uint32_t id, uint32_t flags, const ProtobufCMessage *msg);
int conn_error(struct conn *c, unsigned op, uint32_t id, int code, const char *text);
/* Send a request of ours on it; the reply comes to on_reply with the id given back. */
int conn_request(struct conn *c, unsigned op, uint32_t flags, const ProtobufCMessage *msg,
                 uint32_t *ret_id);
/* A streamed reply that waits for room: `next` is called on the connection's thread now and whenever
 * the output queue has drained below half of out_limit; it sends some frames and returns true while
 * it has more.  done(arg) runs once at the end or when the connection is lost. */
void conn_stream(struct conn *c, bool (*next)(struct conn *c, void *arg), void (*done)(void *arg),
                 void *arg);
/* Run fn(arg) on the connection's thread. */
void conn_run(struct conn *c, void (*fn)(struct conn *c, void *arg), void *arg);
void conn_close(struct conn *c); /* any thread */
/* Stop reading and hand the socket over: fn gets a dup'd descriptor on the owning thread, then the
 * connection closes here without shutting it down.  Bytes already received beyond the last frame: none (the
 * peer waits for an answer before sending more), otherwise -EBUSY. */
int conn_detach_fd(struct conn *c, int *ret_fd);
