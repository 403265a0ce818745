/* nodekey.h - the node's own key, and what it knows the controllers by
 *
 * The pair is made at the first start, in SlurmdSpoolDir.  The public key of the controllers is
 * read from slurmctld.pub beside slurm.conf, else it is the one that the first controller told at
 * the first registration, which is kept.  From then on only who has the key of the controllers
 * gives orders here, and only what that key signed is a credential.  Main thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "noded/noded.h"

/* Without libsodium, or when the files cannot be read, the node has no key: what is wrong is
 * logged, and with a controller's key that cannot be read the daemon does not start (-EINVAL). */
int nodekey_load(struct noded *d, struct err *err);
/* The controller told its key.  The first one is kept: true, and the caller tells who needs it. */
bool nodekey_learn(struct noded *d, const uint8_t *key, size_t len);
/* NULL: not known yet. */
const uint8_t *nodekey_controller(const struct noded *d);
void nodekey_done(struct noded *d);
