/* connjudge.h - may a peer ask a listener for an operation?
 *
 * The one place that compares a request with access.def.  Pure; any thread. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "wire/server/server.h"

struct conn_judge {
    unsigned serves; /* by the listener: a set of ACCESS_AT() */
    uid_t slurm_uid, slurmd_uid;
    bool open; /* the peer said who it is, and was let in */
    const struct peer *peer;
};

/* 0, or the code that the request is refused with: EPST_AUTH before the peer was let in,
 * EPST_BAD_REQUEST the operation is not served there, ESLURM_ACCESS_DENIED. */
int conn_judge(const struct conn_judge *j, unsigned op);
