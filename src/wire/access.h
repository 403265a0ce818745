/* access.h - which role may ask for which operation: the table access.def, and the questions put
 * to it
 *
 * Constant data and pure functions, any thread.  Listeners (connjudge.c), the nodes' connection to
 * the controller (dialer.c), and whoever reads frames (frame.c, client.c) ask here before a body
 * is unpacked. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* who receives */
enum access_at {
    ACCESS_CTLD,
    ACCESS_DBD,
    ACCESS_SLURMD,
    ACCESS_STEP,
    ACCESS_COMMAND,
    ACCESS_AT_MAX_,
};

#define ACCESS_AT(at) (1u << (at)) /* of a set of receivers */

/* the least that a sender must be */
enum access_role {
    ACCESS_NONE,    /* the operation is not served here */
    ACCESS_ANYBODY, /* every peer, also before a greeting */
    /* a sender with a credential of the controller's and the key that came with it */
    ACCESS_CREDENTIAL,
    ACCESS_USER,  /* any user with a proven identity */
    ACCESS_ADMIN, /* root, SlurmUser, and users with the AdminLevel Administrator */
    ACCESS_ROOT,  /* root and SlurmUser */
    /* root and SlurmdUser; reports: on the connection that registered as that node */
    ACCESS_NODE,
    ACCESS_CONTROLLER, /* the controller that the node dialled */
    ACCESS_PEER,       /* the other end of a connection that was handed over */
};

/* how the sender proved its identity */
enum access_way {
    ACCESS_LOCAL = 1u << 0,
    ACCESS_KEY = 1u << 1,
    ACCESS_TOKEN = 1u << 2,
    ACCESS_NODE_KEY = 1u << 3, /* a node's own */
    ACCESS_ANY_WAY = ACCESS_LOCAL | ACCESS_KEY | ACCESS_TOKEN,
};

/* which frames make sense */
enum access_frame {
    ACCESS_Q = 1u << 0,
    ACCESS_W = 1u << 1,
    ACCESS_R = 1u << 2,
    ACCESS_M = 1u << 3,
};

struct access_row {
    uint8_t at[ACCESS_AT_MAX_]; /* enum access_role */
    uint8_t ways;
    uint8_t frames;
};

/* NULL: no such operation. */
const struct access_row *access_row(unsigned op);
/* ACCESS_NONE for what is not served there, or unknown. */
enum access_role access_role(enum access_at at, unsigned op);
/* Does a frame with these flags make sense for op?  Of an operation that this release does not
 * know every frame does: a newer peer is answered. */
bool access_frame_ok(unsigned op, uint32_t flags);
/* May a request or one-way frame of op be sent to the end that made the connection, or that it
 * was handed to: a command, a step, a node?  Requests to servers may not. */
bool access_asked_of_caller(unsigned op);
