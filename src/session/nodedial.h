/* nodedial.h - reach slurmd with a credential of the controller's
 *
 * Nothing here prints or exits.  Any thread. */
#pragma once

#include "api.pb-c.h"
#include "base/err.h"
#include "wire/client.h"

struct conf;
struct tls_ctx;

/* Who connects; everything is borrowed for the call. */
struct nodedial {
    const struct conf *conf;
    const char *program; /* told to slurmd */
    const char *cluster; /* the name of the cluster that the node belongs to; NULL: unknown */
    struct tls_ctx *tls; /* of tls_ctx_of_keys(); NULL: no TLSType */
    int timeout_ms;      /* of the connection and of each call; 0: MessageTimeout */
};

/* Connect to a node of granted, an answer to OP_ACCESS.  The connection takes one request with its
 * credential.  Errors as of client_connect(), the sentence in err. */
int nodedial_step(const struct nodedial *d, const Pst__StepReply *granted,
                  const Pst__NodeAddr *addr, struct client **ret_client, struct err *err);
