/* front.h - the controller's door: I/O threads that decode requests and answer queries
 *
 * A request is looked up among the operations of the services, unpacked, and posted to the core,
 * or answered here from a view. */
#pragma once

#include <stdatomic.h>
#include <pthread.h>

#include "ctld/ctld.h"
#include "wire/server/rpcstat.h"

/* Big answers leave one at a time: sixteen clients that all print a queue of 50,000 jobs would
 * else keep every CPU busy and all other clients waiting.  A command keeps its turn until it has
 * printed and closes the connection; another program keeps it until its answer is sent.  A slow
 * client loses its turn, and when its answer stands still, many others that wait have theirs at
 * once: they may be as slow. */
struct query;
struct query_gate {
    pthread_mutex_t lock;
    uint64_t holder; /* connection whose turn it is, 0 = free */
    int64_t since_mono_us;
    int64_t moved_mono_us;     /* when the holder's answer last went on */
    bool sending;              /* there is more of it */
    struct query *head, *tail; /* waiting */
};

struct front {
    atomic_bool client_ids; /* AuthInfo=use_client_ids */
    struct ctld *ctld;
    struct query_gate gate;
    struct server *server;
    struct kiosk *kiosk; /* NULL: this controller vouches for nobody */
    struct rpc_stat rpcs[OP_MAX_];
    struct users *users;
    struct userstat *userstat;
    struct ratelimit *rate;
};

int front_new(struct ctld *ctld, struct front **ret, struct err *err); /* binds */
void front_configure(struct front *f); /* what the configuration says now; core thread */
int front_start(struct front *f);
struct front *front_free(struct front *f); /* closes every connection */

/* query.c: answer a query from the current view; on the connection's thread. */
void query_start(struct front *f, struct conn *c, const struct frame *frame);
void query_conn_closed(struct front *f, uint64_t conn); /* its turn is over; any thread */
/* Take the turn from a holder that is slow; now and then, any thread. */
void query_gate_tick(struct front *f);
