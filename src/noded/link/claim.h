/* claim.h - slurmd -F: which node of state FUTURE is this?
 *
 * Asked once, before the daemon does anything else: its folders have the node's name. */
#pragma once

#include "base/err.h"
#include "noded/noded.h"

struct claimed {
    char *name; /* the caller frees both */
    char *line; /* of a node that slurm.conf does not name; NULL: it does */
};

/* Ask the controllers of conf in turn, for MessageTimeout in all.  host: this machine's name, by
 * which the controller knows it again; feature: of the node, NULL for any.  Blocks.  Errors with a
 * sentence: -EREMOTEIO no node of state FUTURE is for this machine, others of client_connect(). */
int claim_node(const struct conf *conf, const char *host, const char *feature, struct claimed *ret,
               struct err *err);
