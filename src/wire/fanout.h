/* fanout.h - requests of launches and file transfers to many nodes: one connection each, or a
 * tree of relays
 *
 * Used by srun, sbcast and by the relays themselves, so that each level does the same.  Up to
 * `width` (FANOUT_WIDTH_MIN at least) nodes get a connection each; more are dealt into `width`
 * pieces, and the first node of a piece that answers runs a relay (OP_RELAY) for all of it.
 * Connections are begun together and finished in turn: a node that does not answer costs the
 * others one time limit.  Blocking; one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "wire/client.h"

#define FANOUT_WIDTH_MIN 2u /* a relay for all that its own caller has would never end */

struct fan_link {
    struct client *client; /* owned; NULL: no node is reached through it any more */
    uint32_t lo,
        hi;     /* numbers of its nodes, both included; links do not overlap and are in order */
    bool relay; /* frames are OP_RELAY_FRAME */
};

struct fanout {
    /* borrowed; nodes by ascending number.  What differs by node is set in open->launch or
     * open->bcast for the time of the call and unset after it */
    Pst__RelayOpen *open;
    const char *program;
    struct tls_ctx *tls; /* borrowed; NULL: connections are plain */
    void (*launching)(
        void *ctx, const Pst__RelayNode *node); /* before a node's own request; NULL = not told */
    void (*lost)(void *ctx, uint32_t lo, uint32_t hi, const char *why);
    void *ctx;
    struct fan_link *links; /* by fanout_open(); free with fanout_done() */
    size_t n_links;
};

/* Send every request.  lost() is called for nodes that it does not reach.  0, -ENOMEM. */
int fanout_open(struct fanout *f);
void fanout_done(struct fanout *f); /* closes what is open */
/* The link to a node, or NULL. */
struct fan_link *fanout_find(const struct fanout *f, uint32_t number);
/* Send a message of the step to nodes lo..hi of a link; a link without relay has one node.  As
 * client_send_nonblock(). */
int fanout_send(struct fan_link *link, uint32_t lo, uint32_t hi, unsigned op,
                const ProtobufCMessage *msg);
