/* certsign.h - certificates of nodes, signed by a script of the site (CertmgrType=certmgr/script)
 *
 * A node asks with a request (CSR) and a token, or with the certificate that it has.  The scripts
 * run beside the core (notify/programs.h); one request of a node at a time.  Core thread.
 * docs/design/0026-node-certificates.md. */
#pragma once

#include "ctld/ctld.h"
#include "wire/server/server.h"

struct certsign;

/* Has this peer shown a certificate that is valid, and proved the key that is bound to the node?
 * Then it needs no token.  What name a certificate has is its signer's to decide, and proves
 * nothing here. */
bool certsign_needs_no_token(struct ctld *ctld, const struct peer *peer, uint32_t node_id);
