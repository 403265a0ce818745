/* kiosk.h - sack.socket: the daemon vouches for commands of its host
 *
 * A thread of its own answers VouchRequests (wire/auth/vouch.h) on sack.socket in
 * RUNTIME_DIRECTORY, else in /run/SERVICE.  With the cluster's key it vouches for every caller;
 * without it, with the node's own key, which slurmctld believes for few
 * (docs/design/0024-vouching.md).
 *
 * A caller has 5 seconds, a user 16 of 64 places.  While all are taken a caller has a tenth of a
 * second, so that one user with many numbers (user namespaces) stops nobody. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/auth/auth.h"
#include "wire/auth/idkey.h"

struct kiosk;

/* Listen, for everybody of this host; the folder is made for `owner` when it is not there.
 * service: "slurm", "slurmctld", "slurmdbd".  Errors: -EADDRINUSE another daemon has the socket,
 * -ENAMETOOLONG, those of mkdir(2) and bind(2); err says which. */
int kiosk_open(const char *service, uid_t owner, struct kiosk **ret, struct err *err);
/* The path of the socket; NULL: it is /run/slurm/sack.socket, where commands look by themselves. */
const char *kiosk_given_path(const struct kiosk *k);
/* The cluster's key (a reference is taken), or NULL: none is here.  Any thread. */
void kiosk_set_keys(struct kiosk *k, struct auth_keys *keys);
/* What to vouch with where no key of the cluster is.  Any thread.  Errors: those of
 * idkey_secret(). */
int kiosk_set_node(struct kiosk *k, const struct idkey *identity,
                   const uint8_t controller_key[IDKEY_SIZE]);
/* End the thread and remove the socket, and the folder if it was made here and is empty.  NULL is a
 * no-op; always NULL. */
struct kiosk *kiosk_close(struct kiosk *k);
