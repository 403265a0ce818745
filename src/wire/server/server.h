/* server.h - the listening side: libuv loops on threads of their own, many connections, bounded
 * memory
 *
 * Each of the server's threads runs one uv loop and owns the connections it accepted; callbacks run
 * on the owning thread.  A connection is authenticated before its first request reaches
 * `on_request`. Limits: a peer that has not said Hello within 10 s, sends a frame over its cap,
 * leaves a frame half sent for 60 s, or lets its output queue pass out_limit bytes (for streams:
 * the producer is paused instead, see on_drain) is disconnected with one log line.  What one
 * user or one address may hold of connections and bytes is limited too (quota.h); root,
 * ourselves and slurm_uid are not. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "job.pb-c.h"

#include "base/err.h"
#include "wire/access.h"
#include "wire/auth/idkey.h"
#include "wire/auth/tokens.h"
#include "wire/frame.h"
#include "wire/keepalive.h"
#include "wire/shared.h"

struct server;
struct tls_ctx;
struct conn; /* counted: conn_ref/conn_unref; outlives its socket while referenced */
struct peer {
    uid_t uid;
    gid_t gid;
    unsigned method;  /* enum AuthMethod */
    uint16_t version; /* spoken on this connection: min(ours, theirs) */
    char host[256];
    char program[32];
    bool tls;       /* encrypted */
    bool certified; /* by a certificate that we trust, whose common name is: */
    char cert_name[128];
    char addr[64]; /* numeric address, "local" for the socket */
    uint32_t pid;
    uint8_t node_key[IDKEY_SIZE]; /* method AUTH_NODE: the key that was proved (uid -1) ... */
    bool node_enrols;             /* ... together with the cluster's key */
    /* method AUTH_VOUCH: the daemon that vouched has no key of the cluster but node_key, so that
     * may_vouch is asked */
    bool node_vouched;
    uint8_t step_mac[AUTH_MAC_SIZE]; /* method AUTH_STEP: of the credential whose key was proved */
};

struct server_hooks {
    /* A request (or one-way) that access.def lets the peer ask for, within its op's cap, not
     * unpacked (frame_unpack() checks the caps of fields).  frame and body are borrowed for the
     * call.  Must not block. */
    void (*on_request)(void *ctx, struct conn *c, const struct frame *frame);
    /* A reply to a request that we sent on this connection (conn_request).  May be NULL:
     * then a peer that sends a reply is disconnected. */
    void (*on_reply)(void *ctx, struct conn *c, const struct frame *frame);
    /* The connection is gone (called once, on its thread; only for connections that were let
     * in). */
    void (*on_close)(void *ctx, struct conn *c);
    /* Accepting thread started (index) / ends; for per-thread state.  May be NULL. */
    void (*on_thread)(void *ctx, unsigned index, bool start);
    /* A caller from the network who speaks HTTP; takes fd (non-blocking, nothing read yet).  `head`
     * are the first n bytes that will be read from it: KNOCK_HTTP_SIZE, or fewer of a caller who
     * has left or sent no more in its first record of TLS.  On an I/O thread; must not block.
     * NULL: such callers are disconnected. */
    void (*on_http)(void *ctx, int fd, const char *head, size_t n);
    /* DebugFlags=AuditTLS: a handshake is over, or why it failed (NULL).  Any I/O thread.  May be
     * NULL. */
    void (*on_tls)(void *ctx, const struct peer *peer, const char *why);
    /* Is this the key of a node?  Any I/O thread; must not block.  NULL: no node has one. */
    bool (*knows_node)(void *ctx, const uint8_t key[IDKEY_SIZE]);
    /* May the node with this key vouch for this user now?  Asked when he says Hello, and by whoever
     * serves his requests.  *ret_gid: the user's group when this host does not know him.  Any I/O
     * thread; must not block.  NULL: no node vouches. */
    bool (*may_vouch)(void *ctx, const uint8_t key[IDKEY_SIZE], uid_t uid, gid_t *ret_gid);
    /* slurmd: the secret that the node's own key has with the controllers' for launch keys
     * (IDKEY_FOR_LAUNCH); false: there is none yet.  Any I/O thread.  NULL: none. */
    bool (*launch_secret)(void *ctx, uint8_t secret[32]);
};

struct server_config {
    uint16_t port;         /* 0 = none, unless any_port */
    bool any_port;         /* the kernel chooses; see server_port() */
    const char *bind_addr; /* NULL = any */
    bool no_ipv4;          /* any address of IPv6 alone; not where the kernel has none */
    bool local_socket;     /* also the abstract socket of wire_local_name(port) */
    unsigned threads;      /* >= 1 */
    /* 0 = as many as there are descriptors; beyond it a peer is told EPST_BUSY */
    unsigned max_connections;
    /* that have not said who they are, in all and of an address or user; 0 = a quarter of
     * max_connections, a quarter of those */
    unsigned max_waiting, max_waiting_each;
    unsigned max_user; /* of one user; 0 = an eighth of max_connections */
    size_t user_bytes; /* held for one user or address; 0 = 32 MiB */
    size_t all_bytes;  /* held for all of them: beyond it each has a quarter; 0 = 256 MiB */
    /* users' connections that wait for nothing; 0 = 1 h.  When there are many: 30 s */
    unsigned idle_timeout_ms;
    size_t out_limit;          /* bytes queued to one peer; 0 = 64 MiB */
    unsigned hello_timeout_ms; /* 0 = 10 s */
    unsigned stall_timeout_ms; /* for half a frame, or output that is not read; 0 = 60 s */
    unsigned write_timeout_ms; /* for output that is not read; 0 = stall_timeout_ms */
    const char *cluster;
    struct auth_keys *keys; /* may be NULL; a reference is taken */
    bool use_munge;
    const char *munge_socket;
    uint32_t munge_ttl_s; /* life of our munge credentials; 0: munged's own */
    unsigned keepalive[KEEPALIVE_PARTS];
    /* "slurmctld", "slurmdbd", "slurmd": whom callers must have meant to reach */
    const char *service;
    const char *name; /* which one: a node's name, else NULL.  Borrowed */
    /* NULL: TCP is plain, and callers with TLS are disconnected; else those without.  A reference
     * is taken */
    struct tls_ctx *tls;
    struct auth_tokens *tokens; /* that speak for their users; a reference is taken; NULL: none */
    const struct idkey
        *identity; /* slurmctld: what nodes know it by; stays as long as the server */
    /* slurmd: who has a step's credential and launch key may say Hello (peer uid -1) */
    bool step_keys;
    /* ACCESS_AT() of what this listener is: it serves what access.def says, 0 = nothing */
    unsigned serves;
    uid_t slurm_uid, slurmd_uid; /* beside root: whose daemons may ask for what daemons do */
    struct server_hooks hooks;
    void *ctx;
};

/* Bind and listen (so that errors are seen before daemonizing), start threads with server_start().
 * Errors: -EADDRINUSE, ...; err has the sentence. */
int server_new(const struct server_config *config, struct server **ret_server, struct err *err);
int server_start(struct server *s);
/* Other keys and ways to prove an identity, for connections to come; any thread.  A reference to
 * keys is taken. */
void server_set_auth(struct server *s, struct auth_keys *keys, struct auth_tokens *tokens);
/* Listen on the local socket too, from now on; any thread, once the threads are there. */
void server_open_local(struct server *s);
/* Another certificate, for connections to come; any thread.  A reference is taken.  Whether there
 * is TLS does not change. */
void server_set_tls(struct server *s, struct tls_ctx *tls);
uint16_t server_port(const struct server *s); /* as bound */
/* What server_stop() says last on each connection, an Error with the id 0: requests that have no
 * answer by then were not carried out.  The caller sees to it that this is so. */
void server_set_farewell(struct server *s, int code);
/* Send what is queued (half a second at most), close everything, join the threads.  Not from a
 * hook. */
void server_stop(struct server *s);
/* Stops first.  References to connections must be gone, or not be used for more than
 * conn_unref(). */
struct server *server_free(struct server *s);
unsigned server_connections(const struct server *s);

/* Lines of DebugFlags, where its subject is on: AuditTLS, of a handshake, for on_tls; AuditRPCs, of
 * a request. */
void server_log_tls(const struct peer *peer, const char *why);
void server_log_request(const struct peer *peer, unsigned op);

/* When the frame being handled was received (CLOCK_MONOTONIC, microseconds); in on_request only.
 * The frame's deadline counts from here. */
int64_t conn_arrival_mono_us(const struct conn *c);
const struct peer *conn_peer(const struct conn *c);
/* use_client_ids: what the user's host says of him, told by who has the cluster's key; it stays as
 * long as the connection.  NULL: nothing. */
const Pst__ClientIdent *conn_ident(const struct conn *c);
struct conn *conn_ref(struct conn *c);
struct conn *conn_unref(struct conn *c); /* always NULL */
uint64_t conn_id(const struct conn *c);  /* unique in the process's life */
void *conn_data(const struct conn *c);   /* per-connection user pointer, owning thread only */
void conn_set_data(struct conn *c, void *data);

/* Queue a frame; any thread; never blocks.  `buf` is taken (malloc'd by frame_pack).  Silently
 * dropped when the connection is gone: on_close told so. */
void conn_send_take(struct conn *c, uint8_t *buf, size_t len);
int conn_reply(struct conn *c, unsigned op, uint32_t id, uint32_t flags,
               const ProtobufCMessage *msg);
int conn_error(struct conn *c, unsigned op, uint32_t id, int code, const char *text);
/* A frame whose body others get too; takes a reference of its own.  Owning thread only; dropped
 * in silence when the connection is closing. */
void conn_send_shared(struct conn *c, unsigned op, uint32_t flags, uint32_t id,
                      struct shared_bytes *body);
/* Bytes queued and not yet taken by the socket; owning thread only. */
size_t conn_out_bytes(const struct conn *c);
/* Send a request of ours on it; the reply comes to on_reply with the id given back. */
int conn_request(struct conn *c, unsigned op, uint32_t flags, const ProtobufCMessage *msg,
                 uint32_t *ret_id);
/* A streamed reply that waits for room: `next` is called on the connection's thread, from the end
 * of the present callback on and whenever the output queue is below half of out_limit; it sends at
 * least one frame and returns true while it has more.  done(arg) runs once at the end or when the
 * connection is lost, on the connection's thread (out of memory: on the caller's, at once). Streams
 * of one connection run one after the other. */
void conn_stream(struct conn *c, bool (*next)(struct conn *c, void *arg), void (*done)(void *arg),
                 void *arg);
/* As conn_stream(), for one frame that is made already (malloc'd, taken); it counts for the
 * peer's user from now on. */
void conn_stream_frame(struct conn *c, uint8_t *buf, size_t len);
/* Does its user hold more of the server's memory than his share?  Any thread. */
bool conn_user_over(struct conn *c);
/* Run fn(c, arg) on the connection's thread, exactly once, also when the connection is gone by
 * then. Errors: -ENOMEM, fn does not run. */
int conn_run(struct conn *c, void (*fn)(struct conn *c, void *arg), void *arg);
/* Any thread.  What was queued before is still sent; the connection closes then. */
void conn_close(struct conn *c);
/* The frames to come carry no tag any more, in neither direction: for a server that goes on with
 * a step's connection itself.  Owning thread only. */
void conn_unseal(struct conn *c);
/* Stop reading and hand the socket over: owning thread only, from on_request.  *ret_fd is the
 * caller's; the connection closes here without shutting the socket down.  Bytes already received
 * beyond the last frame: none (the peer waits for an answer before sending more), nothing queued to
 * send, otherwise -EBUSY. */
int conn_detach_fd(struct conn *c, int *ret_fd);
