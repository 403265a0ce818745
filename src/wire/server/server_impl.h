/* server_impl.h - what server.c, conn.c and server_hello.c share (private to wire/)
 *
 * A worker is a thread with a uv loop; it owns its connections.  Other threads reach it through its
 * mailbox only (worker_post). */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "wire/server/connpending.h"
#include "wire/server/link.h"
#include "wire/server/quota.h"
#include "wire/server/server.h"

#include "wire/auth/auth.h"

#define SERVER_LISTENERS 2u
#define CONN_STREAMS_MAX 32u              /* waiting streams; then the connection is not read */
#define CONN_PENDING_MAX 4096u            /* likewise for requests not answered, and their ... */
#define CONN_LARGE_BYTES (16u * WIRE_MIB) /* ... bytes */
#define CONN_HELLO_BYTES (64u * WIRE_KIB) /* all that an unknown peer may send */

struct tlspipe;
struct worker;

struct server {
    struct server_config config;
    char *cluster, *name;
    pthread_mutex_t auth_lock;       /* of config.keys, config.tokens and config.tls */
    int listen_fd[SERVER_LISTENERS]; /* TCP, local; -1 = none */
    uint16_t port;
    struct worker *workers;
    struct quota *quota;
    int farewell; /* server_set_farewell(); 0: none */
    void (*on_hello)(struct conn *c, const struct frame *frame); /* conn_hello() */
    bool stopped;
    atomic_uint n_conns;
    atomic_uint_fast64_t next_conn_id;
};

enum conn_state {
    CONN_NEW,  /* has not said Hello */
    CONN_AUTH, /* identity is being checked on a worker thread of libuv; not read meanwhile */
    CONN_OPEN,
};

struct stream {
    struct stream *next_stream;
    bool (*next)(struct conn *c, void *arg);
    void (*done)(void *arg);
    void *arg;
    uint8_t *buf; /* a frame that is made, instead of next */
    size_t len;
};

struct conn {
    struct link link;
    struct worker *worker;
    struct conn *prev, *next; /* in worker->conns */
    atomic_uint refs;
    atomic_bool gone; /* socket closed: nothing is sent any more */
    atomic_uint last_id;
    uint64_t id;
    enum conn_state state;
    bool local;
    bool speaks_http;
    bool in_stream; /* a stream's next() runs */
    int64_t born_mono_us;
    struct peer peer;
    Pst__ClientIdent *ident; /* NULL: nobody whom we believe told one */
    uint8_t nonce[AUTH_NONCE_SIZE];
    void *data;
    struct stream *streams, **streams_end;
    unsigned n_streams;
    struct quota_seat seat;
    bool exempt;       /* root, ourselves, SlurmUser: let in without limits of its user */
    bool one_too_many; /* its user has too many: the first request is told so */
    struct conn_pending pending;
    size_t stream_bytes;    /* of frames that streams hold */
    int64_t active_mono_us; /* last request or answer */
};

enum mail_kind {
    MAIL_FD,
    MAIL_SEND,
    MAIL_RUN,
    MAIL_CLOSE,
    MAIL_DROP,
    MAIL_STREAM,
    MAIL_STOP,
    MAIL_LOCAL
};

struct mail {
    struct mail *next;
    enum mail_kind kind;
    struct conn *conn; /* referenced; NULL for FD, STOP and LOCAL */
    int fd;
    bool local;
    uint8_t *buf;
    size_t len;
    void (*fn)(struct conn *c, void *arg);
    void *arg;
    struct stream *stream;
};

struct worker {
    struct server *server;
    unsigned index;
    pthread_t thread;
    _Atomic(pthread_t) owner; /* who runs the loop, see worker_is_mine(); 0: nobody */
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t tick;
    struct link_loop ll;
    struct conn *conns;
    struct tlspipe *pipes;
    atomic_uint n_conns;
    bool ready;   /* loop and handles are there */
    bool running; /* the thread exists */
    bool stopping;
    int64_t stop_mono_us;               /* hard close after this */
    uv_poll_t listen[SERVER_LISTENERS]; /* worker 0 */
    /* the local socket's name is taken: loop time to try again; worker 0 */
    uint64_t local_again_ms;
    uint64_t accept_again_ms; /* out of descriptors: loop time to try again, 0 = accepting */
    pthread_mutex_t lock;     /* of what follows */
    struct mail *mail, **mail_end;
    bool closed; /* the mailbox is read no more */
};

/* Take over what belongs to the worker's thread, and give it up. */
static inline void worker_own(struct worker *w, bool own)
{
    atomic_store(&w->owner, own ? pthread_self() : 0);
}

/* Is the present thread the one that runs the worker's loop? */
static inline bool worker_is_mine(struct worker *w)
{
    return pthread_equal(atomic_load_explicit(&w->owner, memory_order_relaxed), pthread_self());
}

/* Hand mail (malloc'd) over; false when the worker is gone: the mail stays the caller's. */
bool worker_post(struct worker *w, struct mail *mail);
/* One connection too many: say so and close it. */
void server_turn_away(int fd);
/* A connection on fd (taken in any case). */
void conn_new(struct worker *w, int fd, bool local);
void conn_mail(struct mail *mail);      /* on the worker's thread */
void conn_mail_drop(struct mail *mail); /* release without doing it */
void conn_tick(struct conn *c, int64_t now_mono_us);
/* Send Error, then close. */
void conn_refuse(struct conn *c, const struct frame *frame, int code, const char *text);
/* Let in: requests reach the hooks from now on. */
void conn_open(struct conn *c);

/* server_hello.c: frame is OP_HELLO on a connection in CONN_NEW. */
void conn_hello(struct conn *c, const struct frame *frame);
