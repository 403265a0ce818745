/* connpending.h - requests of a connection that are not answered yet (private to wire/server/)
 *
 * Small ones are counted, large ones are weighed, too: their bodies wait in memory.  The
 * connection's thread; zero is an empty one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PENDING_LARGE 2048u /* bytes of a request that is weighed */

struct conn_pending {
    unsigned n;                  /* all of them */
    size_t large_bytes;          /* of the large ones */
    struct pending_large *large; /* owned */
    unsigned n_large, cap_large;
};

/* A request of len bytes goes to its handler.  Without memory a large one weighs nothing. */
void conn_pending_add(struct conn_pending *p, uint32_t id, size_t len);
/* The last frame of the answer to it leaves.  False: nothing is waited for. */
bool conn_pending_end(struct conn_pending *p, uint32_t id);
void conn_pending_done(struct conn_pending *p);
