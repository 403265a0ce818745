/* nodekey.h - the node's own key, and what it knows the controllers by
 *
 * The pair is made at the first start, in SlurmdSpoolDir.  The public key of the controllers is
 * read from slurmctld.pub beside slurm.conf, else it is the one that the first controller told at
 * the first registration, which is kept.  From then on only what that key signed is a credential,
 * and with PinNodeKeys only who has that key gives orders here.  Main thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "noded/noded.h"

/* Without libsodium, or when the files cannot be read, the node has no key: what is wrong is
 * logged, and with a controller's key that cannot be read the daemon does not start (-EINVAL). */
int nodekey_load(struct noded *d, struct err *err);
/* May another key take the place of the one that was learnt?  Not of one that stands beside
 * slurm.conf, and not with PinNodeKeys. */
bool nodekey_may_relearn(const struct noded *d);
/* The controller told its key.  It is kept when none is, or another one may be: true, and the
 * caller tells who needs it. */
bool nodekey_learn(struct noded *d, const uint8_t *key, size_t len);
/* NULL: not known yet. */
const uint8_t *nodekey_controller(const struct noded *d);
/* With auth/slurm: vouch for commands of this node from now on (daemon/kiosk.h), with the keys that
 * are here.  Without a socket commands do without: that is logged. */
void nodekey_vouch(struct noded *d);
void nodekey_done(struct noded *d);
