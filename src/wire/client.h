/* client.h - blocking calls from a command (or the step launcher) over a kept connection
 *
 * No threads, no event loop: poll(2) with deadlines, so that a command starts in about a
 * millisecond. One thread at a time per client.  All functions return 0 or a negative errno; when
 * the peer answered with an Error, -EREMOTEIO, and client_error() tells code and text. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/frame.h"
#include "wire/keepalive.h"

struct client;
struct client_watch;
struct tls_ctx;
struct auth_keys;
struct idkey;
typedef struct Pst__SignedCredential Pst__SignedCredential;

/* The server's address, and the caller's identity.  Strings borrowed for the call. */
struct client_target {
    const char *host; /* controller or node address */
    uint16_t port;
    bool try_local;           /* first the local socket (wire_local_name), then TCP */
    const char *cluster;      /* ClusterName */
    const char *key_file;     /* used when readable and the connection is TCP; NULL = none */
    const char *munge_socket; /* NULL = default */
    uint32_t munge_ttl_s;     /* life of a munge credential; 0: munged's own */
    unsigned keepalive[KEEPALIVE_PARTS]; /* of the connection that a daemon keeps */
    bool use_munge;                      /* AuthType=auth/munge */
    bool client_ids; /* AuthInfo=use_client_ids: tell what this host knows of the user */
    const char *jwt; /* SLURM_JWT, wins over the others when set */
    /* the user to act for, whom root and SlurmUser may name; NULL or empty = oneself */
    const char *act_as;
    int timeout_ms;  /* connect and each call, MessageTimeout */
    bool keeps_text; /* see client_keeps_text() */
    const char *program;
    /* the service that we mean to reach, which it must prove: "slurmdbd", "slurmd"; NULL =
     * "slurmctld" */
    const char *service;
    const char *name; /* which one: the node's name for slurmd */
    /* To slurmd: the credential of the request to come, and the key that came with it. */
    const Pst__SignedCredential *credential;
    ProtobufCBinaryData launch_key;
    bool node_launch; /* that key comes from the node's own key (NodeAddr.launch_key) */
    /* Of a node: its own pair and the public key of the controllers; NULL = it proves itself as
     * others do.  Both stay as long as the target. */
    const struct idkey *identity;
    const uint8_t *controller_key;
    bool may_relearn; /* where that key is not proved, the next attempt asks as if none was known */
    /* Over TCP: encrypt, NULL = do not.  A reference is taken. */
    struct tls_ctx *tls;
    /* NULL, or where another thread ends the attempt (client_watch.h). */
    struct client_watch *watch;
};

/* The key to reach a node with: the node's own, where the controller gave one, else the step's. */
void client_set_launch(struct client_target *target, const ProtobufCBinaryData *of_step,
                       const ProtobufCBinaryData *of_node);

/* Name of the controller's abstract local socket: "\0penstock/ctld/<port>".  Fills a sockaddr_un;
 * returns its length.  The server at the other end must run as root, as slurm_uid or as ourselves.
 */
struct sockaddr_un;
unsigned wire_local_name(uint16_t port, struct sockaddr_un *ret_sa);

/* How identity is proved: credential; else jwt; else the local socket (the kernel vouches for
 * both ends); else munge; else the key file, claiming geteuid().  Over TCP the server proves
 * itself before the call returns, and what follows is sealed (seal.h): nothing between can change
 * it.  On the local socket the server's verdict is not waited for: it may come as -EREMOTEIO
 * from the first call.  With a credential one request follows, sealed; then the connection is
 * plain, for the program that it is handed to.  A local socket held by a foreign user is passed
 * over for TCP, and is -EACCES when there is no TCP. Errors: -ECONNREFUSED, -EHOSTUNREACH,
 * -ETIMEDOUT, -EACCES (also: the server does not prove itself), -EBUSY server full,
 * -EPROTONOSUPPORT the server wants TLS, -EPROTO (also: its certificate is refused); err
 * has the sentence, Slurm's for a controller that cannot be reached. */
int client_connect(const struct client_target *target, uid_t slurm_uid, struct client **ret_client,
                   struct err *err);
/* The same in two halves over TCP alone, so that many connections can be made at once: begin
 * does not wait (-EHOSTUNREACH, -ENOTUNIQ when the host has several addresses to try in turn);
 * greet waits for the connection and says Hello; end waits for the server's proof.  Only for
 * targets with a credential. */
int client_connect_begin(const struct client_target *target, struct client **ret_client);
int client_connect_greet(const struct client_target *target, struct client *c, struct err *err);
int client_connect_end(const struct client_target *target, struct client *c, struct err *err);
struct client *client_free(struct client *c); /* closes; always NULL */
int client_fd(const struct client *c);        /* for poll(2); -1 when broken */
/* Take the descriptor away (to hand to another process); c is freed.  Unread input must be
 * empty. */
int client_release_fd(struct client *c);
/* Wrap an already connected and authenticated descriptor (slurmstepd's side of a handed-over
 * connection). */
int client_from_fd(int fd, struct client **ret_client);
/* The same where the request said that what follows is encrypted, with this key (stream_key); of
 * no bytes: plain.  -EINVAL, -ENOSYS no OpenSSL. */
int client_from_stream(int fd, ProtobufCBinaryData key, struct client **ret_client);
/* The key that the one request of a connection with a credential must carry as its stream_key; of
 * no bytes: the connection is plain. */
ProtobufCBinaryData client_stream_key(struct client *c);

/* Send a request, wait for its one reply; other frames that arrive meanwhile are dropped.
 * *ret_reply is the op's reply message; free it with protobuf_c_message_free_unpacked().  ret_reply
 * may be NULL. */
int client_call(struct client *c, unsigned op, const ProtobufCMessage *request,
                ProtobufCMessage **ret_reply);
/* How to reach the controller that leads now; *ret_client as client_connect() gives it. */
typedef int client_again_fn(void *ctx, struct client **ret_client);
/* Of several controllers: a call that is answered by "not in control any more" was not carried
 * out, so it is sent again over a connection that fn makes, in place of this one.  ctx outlives
 * the client. */
void client_set_again(struct client *c, client_again_fn *fn, void *ctx);
/* From now on a call may take so long, instead of client_target's. */
void client_set_timeout(struct client *c, int timeout_ms);
/* Does the caller want records with their control characters, for output that escapes them?
 * Otherwise whoever unpacks records cleans control characters away: a user could put sequences into
 * the name of a job that another user's terminal would obey, or an end of line into what a script
 * reads by line. */
bool client_keeps_text(const struct client *c);
/* As client_call, with each frame of a streamed reply given to fn; fn returning < 0 ends it.  The
 * timeout holds for each frame. */
typedef int client_stream_fn(void *ctx, const struct frame *frame);
int client_stream(struct client *c, unsigned op, const ProtobufCMessage *request,
                  client_stream_fn *fn, void *ctx);

/* Building blocks for callers with a poll loop of their own (srun, slurmstepd). */
int client_send(struct client *c, unsigned op, uint32_t flags, uint32_t id,
                const ProtobufCMessage *msg);
/* Queue and flush as far as the socket takes it without blocking; client_out_pending() tells the
 * rest. */
int client_send_nonblock(struct client *c, unsigned op, uint32_t flags, uint32_t id,
                         const ProtobufCMessage *msg);
/* Queue a frame as it was received, oneway and with an id of ours. */
int client_forward(struct client *c, unsigned op, const void *body, size_t len);
int client_flush(struct client *c); /* nonblocking; 0 done, -EAGAIN more */
/* Frames wait for client_flush() from now on, until there are more than so many bytes of them: for
 * who sends several in one turn of its loop.  0: they leave at once. */
void client_gather(struct client *c, size_t bytes);
size_t client_out_pending(const struct client *c); /* bytes not yet taken by the socket */
/* POLLOUT when there are some and the socket is what they wait for, else 0. */
short client_out_events(const struct client *c);
/* Next whole frame already received or readable within timeout_ms (0 = no wait, -1 = for ever).
 * Body valid until the next call.  After poll(2) call it until it gives 0: several frames may have
 * come at once.  Frames of a call that timed out or a stream given up show up here too, by their
 * id. Returns 1 with a frame, 0 none yet, -EPIPE closed, -EREMOTEIO our Hello was refused, -EPROTO.
 */
int client_recv(struct client *c, int timeout_ms, struct frame *ret_frame);
uint32_t client_next_id(struct client *c);

int client_error(const struct client *c,
                 const char **ret_text); /* SlurmErr of the last -EREMOTEIO */
/* Sentence for the person: maps a negative errno of these calls (and -EREMOTEIO) to Slurm's
 * wording. */
const char *client_strerror(const struct client *c, int r);
