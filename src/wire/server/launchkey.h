/* launchkey.h - the key that proves that a credential is the caller's, as slurmd makes it
 *
 * Pure but for the hook of the configuration; any thread. */
#pragma once

#include "wire/server/server.h"

/* The launch key of the credential with this MAC: of the node's own key (IDKEY_LAUNCH_KID) or of
 * the cluster's key kid.  -ENOKEY: we have no such key. */
int conn_launch_key(const struct server_config *config, const struct auth_keys *keys,
                    const char *kid, const uint8_t mac[AUTH_MAC_SIZE], uint8_t key[AUTH_MAC_SIZE]);
