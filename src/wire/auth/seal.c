/* seal.c - see seal.h */
#include "wire/auth/seal.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/auth/crypto.h"

struct seal {
    struct crypto_mac *mac;
    uint64_t next; /* number of the next frame */
};

int seal_new(const uint8_t key[SEAL_KEY_SIZE], struct seal **ret_seal)
{
    struct seal *seal = calloc(1, sizeof(*seal));
    int r = seal ? crypto_mac_new(key, &seal->mac) : -ENOMEM;

    if (r < 0) {
        free(seal);
        return r;
    }
    *ret_seal = seal;
    return 0;
}

struct seal *seal_free(struct seal *seal)
{
    if (seal)
        seal->mac = crypto_mac_free(seal->mac);
    free(seal);
    return NULL;
}

void seal_tag(struct seal *seal, const uint8_t header[SEAL_HEADER_SIZE], const void *body,
              size_t len, uint8_t tag[SEAL_TAG_SIZE])
{
    uint64_t number = htole64(seal->next++);
    uint8_t mac[CRYPTO_SHA256_SIZE];

    crypto_mac_begin(seal->mac);
    crypto_mac_add(seal->mac, &number, sizeof(number));
    crypto_mac_add(seal->mac, header, SEAL_HEADER_SIZE);
    crypto_mac_add(seal->mac, body, len);
    crypto_mac_end(seal->mac, mac);
    memcpy(tag, mac, SEAL_TAG_SIZE);
}

bool seal_fits(struct seal *seal, const uint8_t header[SEAL_HEADER_SIZE], const void *body,
               size_t len, const uint8_t tag[SEAL_TAG_SIZE])
{
    uint8_t want[SEAL_TAG_SIZE];

    seal_tag(seal, header, body, len, want);
    return crypto_equal(want, tag, SEAL_TAG_SIZE);
}
