/* front.h - the controller's door: I/O threads that decode requests and answer queries
 *
 * A request is checked against ops.c, unpacked, and posted to the core, or answered here from a view. */
#pragma once

#include "ctld/ctld.h"

struct rpc_stat {
    _Atomic uint64_t count, total_us;
};

struct front {
    struct ctld *ctld;
    struct server *server;
    struct rpc_stat rpcs[OP_MAX_];
    struct users *users;
};

int front_new(struct ctld *ctld, struct front **ret, struct err *err); /* binds */
int front_start(struct front *f);
struct front *front_free(struct front *f); /* closes every connection */
void front_count(struct front *f, unsigned op, int64_t elapsed_us); /* any thread */

/* query.c: answer a query from the current view; on the connection's thread. */
void query_start(struct front *f, struct conn *c, const struct frame *frame);
