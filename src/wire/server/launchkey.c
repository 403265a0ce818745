/* launchkey.c - the key that proves that a credential is the caller's; see launchkey.h */
#include "wire/server/launchkey.h"

#include <errno.h>
#include <string.h>

int conn_launch_key(const struct server_config *config, const struct auth_keys *keys,
                    const char *kid, const uint8_t mac[AUTH_MAC_SIZE], uint8_t key[AUTH_MAC_SIZE])
{
    if (strcmp(kid, IDKEY_LAUNCH_KID) == 0) {
        if (!config->hooks.launch_secret || !config->hooks.launch_secret(config->ctx, key))
            return -ENOKEY;
        idkey_mix(key, mac);
        return 0;
    }
    return keys ? auth_derive(keys, kid, AUTH_FOR_LAUNCH, mac, AUTH_MAC_SIZE, key, NULL) : -ENOKEY;
}
