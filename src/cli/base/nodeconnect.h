/* nodeconnect.h - connections to slurmd with a credential of the controller's */
#pragma once

#include "api.pb-c.h"
#include "base/err.h"
#include "cli/base/cli.h"

/* Connect to a node of granted, an answer to OP_ACCESS.  The connection takes one request with its
 * credential.  Errors as of client_connect(), the sentence in err. */
int nodeconnect_step(struct cli *cli, const Pst__StepReply *granted, const Pst__NodeAddr *addr,
                     struct client **ret_client, struct err *err);
