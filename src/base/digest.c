/* digest.c - SHA-256 by libcrypto; see digest.h.
 *
 * The algorithm is looked up once: each look-up takes libcrypto longer than a short script does. */
#include "base/digest.h"

#include <errno.h>
#include <stdlib.h>

#include <openssl/evp.h>

#include "base/processonce.h"

struct digest_run; /* is an EVP_MD_CTX */

static void *fetch_sha256(void)
{
    return EVP_MD_fetch(NULL, "SHA256", NULL);
}

/* NULL: no memory. */
static const EVP_MD *digest_algorithm(void)
{
    return processonce(fetch_sha256);
}

int digest_of(const void *data, size_t len, struct digest *ret)
{
    const EVP_MD *md = digest_algorithm();

    return md && EVP_Digest(data, len, ret->bytes, NULL, md, NULL) == 1 ? 0 : -ENOMEM;
}

int digest_begin(struct digest_run **ret_run)
{
    const EVP_MD *md = digest_algorithm();
    EVP_MD_CTX *ctx = md ? EVP_MD_CTX_new() : NULL;

    if (!ctx || EVP_DigestInit_ex(ctx, md, NULL) != 1) {
        EVP_MD_CTX_free(ctx);
        return -ENOMEM;
    }
    *ret_run = (struct digest_run *)ctx;
    return 0;
}

int digest_add(struct digest_run *run, const void *data, size_t len)
{
    return EVP_DigestUpdate((EVP_MD_CTX *)run, data, len) == 1 ? 0 : -ENOMEM;
}

int digest_end(struct digest_run *run, struct digest *ret)
{
    int r = EVP_DigestFinal_ex((EVP_MD_CTX *)run, ret->bytes, NULL) == 1 ? 0 : -ENOMEM;

    digest_drop(run);
    return r;
}

struct digest_run *digest_drop(struct digest_run *run)
{
    EVP_MD_CTX_free((EVP_MD_CTX *)run);
    return NULL;
}
