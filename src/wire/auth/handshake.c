/* handshake.c - see handshake.h */
#include "wire/auth/handshake.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "wire/auth/crypto.h"

#define PREFIX "PSTK handshake 2"
#define LABEL_SIZE 16u
#define IDENTITY "identity" /* before one, so that no act_as can be taken for it */

static uint8_t *put_field(uint8_t *p, const void *data, size_t len)
{
    uint32_t le = htole32((uint32_t)len);

    p = (uint8_t *)mempcpy(p, &le, sizeof(le));
    return len ? (uint8_t *)mempcpy(p, data, len) : p;
}

static uint8_t *put_text(uint8_t *p, const char *text)
{
    return put_field(p, text, text ? strlen(text) : 0);
}

static size_t text_size(const char *text)
{
    return sizeof(uint32_t) + (text ? strlen(text) : 0);
}

int handshake_bytes(const uint8_t server_nonce[AUTH_NONCE_SIZE], const Pst__Hello *hello,
                    uint8_t **ret_bytes, size_t *ret_len)
{
    uint32_t numbers[] = { htole32((uint32_t)hello->method), htole32(hello->version),
                           htole32(hello->uid), htole32(hello->gid) };
    size_t size =
        sizeof(PREFIX) + 2 * AUTH_NONCE_SIZE + sizeof(numbers) + text_size(hello->cluster) +
        text_size(hello->service) + text_size(hello->name) + text_size(hello->key_id) +
        sizeof(uint32_t) + hello->token.len + (hello->act_as ? text_size(hello->act_as) : 0) +
        (hello->identity.len ? text_size(IDENTITY) + sizeof(uint32_t) + hello->identity.len : 0);
    uint8_t *buf, *p;

    if (hello->nonce.len != AUTH_NONCE_SIZE)
        return -EINVAL;
    buf = malloc(size);
    if (!buf)
        return -ENOMEM;
    p = (uint8_t *)mempcpy(buf, PREFIX, sizeof(PREFIX));
    p = (uint8_t *)mempcpy(p, server_nonce, AUTH_NONCE_SIZE);
    p = (uint8_t *)mempcpy(p, hello->nonce.data, AUTH_NONCE_SIZE);
    p = (uint8_t *)mempcpy(p, numbers, sizeof(numbers));
    p = put_text(p, hello->cluster);
    p = put_text(p, hello->service);
    p = put_text(p, hello->name);
    p = put_text(p, hello->key_id);
    p = put_field(p, hello->token.data, hello->token.len);
    if (hello->act_as) /* a Hello without it has the bytes of older releases */
        p = put_text(p, hello->act_as);
    if (hello->identity.len)
        p = put_field(put_text(p, IDENTITY), hello->identity.data, hello->identity.len);
    *ret_bytes = buf;
    *ret_len = (size_t)(p - buf);
    return 0;
}

void handshake_bind(uint8_t server_nonce[AUTH_NONCE_SIZE], const uint8_t *binding, size_t len)
{
    uint8_t bound[CRYPTO_SHA256_SIZE];

    crypto_hmac(binding, len, server_nonce, AUTH_NONCE_SIZE, bound);
    memcpy(server_nonce, bound, AUTH_NONCE_SIZE);
}

int handshake_derive(const uint8_t secret[HANDSHAKE_SECRET_SIZE], const uint8_t *bytes, size_t len,
                     struct handshake *ret)
{
    const struct {
        char label[LABEL_SIZE];
        uint8_t *out;
    } values[] = {
        { "client proof", ret->client_proof },
        { "server proof", ret->server_proof },
        { "to server", ret->to_server },
        { "to client", ret->to_client },
    };
    struct crypto_mac *mac = NULL;
    int r = crypto_mac_new(secret, &mac);

    for (size_t i = 0; i < ARRAY_SIZE(values) && r == 0; i++) {
        crypto_mac_begin(mac);
        crypto_mac_add(mac, values[i].label, LABEL_SIZE);
        crypto_mac_add(mac, bytes, len);
        crypto_mac_end(mac, values[i].out);
    }
    (void)crypto_mac_free(mac); /* always NULL */
    return r;
}
