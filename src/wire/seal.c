/* seal.c - see seal.h */
#include "wire/seal.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/crypto.h"

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

int seal_tag(struct seal *seal, const uint8_t header[FRAME_HEADER_SIZE], const void *body, size_t len,
             uint8_t tag[SEAL_TAG_SIZE])
{
    uint64_t number = htole64(seal->next++);
    uint8_t mac[CRYPTO_SHA256_SIZE];
    int r;

    crypto_mac_begin(seal->mac);
    crypto_mac_add(seal->mac, &number, sizeof(number));
    crypto_mac_add(seal->mac, header, FRAME_HEADER_SIZE);
    crypto_mac_add(seal->mac, body, len);
    r = crypto_mac_end(seal->mac, mac);
    if (r == 0)
        memcpy(tag, mac, SEAL_TAG_SIZE);
    return r;
}

int seal_check(struct seal *seal, const uint8_t header[FRAME_HEADER_SIZE], const void *body, size_t len,
               const uint8_t tag[SEAL_TAG_SIZE])
{
    uint8_t want[SEAL_TAG_SIZE];
    int r = seal_tag(seal, header, body, len, want);

    if (r < 0)
        return r;
    return crypto_equal(want, tag, SEAL_TAG_SIZE) ? 0 : -EBADMSG;
}
