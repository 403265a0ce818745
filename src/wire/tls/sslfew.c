/* sslfew.c - see sslfew.h
 *
 * Two contexts of the library: the usual one with the default provider, and ours.  Our provider
 * passes on the default one's algorithms with the default one's own data, so what they need
 * themselves (a digest of a key derivation) they find in the usual context.  The library asks
 * without an argument of ours, so the default provider and the tables are in struct ssllib, written
 * before the first context of TLS. */
#include "wire/tls/sslfew.h"

#include <errno.h>
#include <openssl/core_dispatch.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"

#define OWN_NAME "penstock"

/* Of these operations the algorithms that TLS 1.3 and its certificates use, by their usual names;
 * of all others each. */
static const struct choice {
    int operation;
    const char *names[SSLLIB_CHOICE_MAX];
} choices[] = {
    { OSSL_OP_CIPHER, { "AES-128-GCM", "AES-256-GCM", "ChaCha20-Poly1305" } },
    { OSSL_OP_DIGEST,
      { "MD5", "SHA1", "SHA2-224", "SHA2-256", "SHA2-384", "SHA2-512", "SHA3-256", "SHA3-384",
        "SHA3-512" } },
};

_Static_assert(ARRAY_SIZE(choices) == SSLLIB_CHOICES, "a table for each");

/* names: of one algorithm, with colons in between; the first is the usual one. */
static bool is_wanted(const struct choice *c, const char *names)
{
    for (size_t i = 0; i < SSLLIB_CHOICE_MAX && c->names[i]; i++) {
        size_t n = strlen(c->names[i]);

        if (strncmp(names, c->names[i], n) == 0 && (names[n] == ':' || names[n] == '\0'))
            return true;
    }
    return false;
}

/* False: they have other names here. */
static bool choose_algorithms(struct ssllib *lib)
{
    for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
        int no_cache = 0;
        const OSSL_ALGORITHM *all =
            lib->OSSL_PROVIDER_query_operation(lib->whole, choices[i].operation, &no_cache);
        size_t n = 0;

        for (; all && all->algorithm_names && n < SSLLIB_CHOICE_MAX; all++)
            if (is_wanted(&choices[i], all->algorithm_names))
                lib->chosen[i][n++] = *all; /* the table ends with an empty row */
        if (n == 0)
            return false;
    }
    return true;
}

static const OSSL_ALGORITHM *query_operation(void *provctx, int operation, int *ret_no_cache)
{
    const struct ssllib *lib = ssllib_loaded();

    (void)provctx;
    for (size_t i = 0; i < ARRAY_SIZE(choices); i++)
        if (choices[i].operation == operation) {
            *ret_no_cache = 0;
            return lib->chosen[i];
        }
    return lib->OSSL_PROVIDER_query_operation(lib->whole, operation, ret_no_cache);
}

static int get_capabilities(void *provctx, const char *capability, OSSL_CALLBACK *cb, void *arg)
{
    const struct ssllib *lib = ssllib_loaded();

    (void)provctx;
    return lib->OSSL_PROVIDER_get_capabilities(lib->whole, capability, cb, arg);
}

static const OSSL_DISPATCH own_functions[] = {
    { OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))query_operation },
    { OSSL_FUNC_PROVIDER_GET_CAPABILITIES, (void (*)(void))get_capabilities },
    { 0, NULL },
};

static int start_provider(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in,
                          const OSSL_DISPATCH **out, void **provctx)
{
    const struct ssllib *lib = ssllib_loaded();

    (void)handle;
    (void)in;
    *out = own_functions;
    *provctx = lib->OSSL_PROVIDER_get0_provider_ctx(lib->whole);
    return 1;
}

static int count_provider(OSSL_PROVIDER *provider, void *arg)
{
    unsigned *others = arg;

    *others += strcmp(ssllib_loaded()->OSSL_PROVIDER_get0_name(provider), "default") != 0;
    return 1;
}

/* A site that chooses providers or properties in openssl.cnf (FIPS) gets what it chose. */
static bool is_usual(const struct ssllib *lib)
{
    unsigned others = 0;

    return lib->OSSL_PROVIDER_do_all(NULL, count_provider, &others) == 1 && others == 0 &&
           lib->EVP_default_properties_is_fips_enabled(NULL) == 0;
}

static bool fill_random(unsigned char *buf, size_t n)
{
    while (n) {
        ssize_t got = getrandom(buf, n, 0);

        if (got < 0 && errno != EINTR)
            return false;
        buf += MAX(got, 0);
        n -= (size_t)MAX(got, 0);
    }
    return true;
}

static int random_bytes(unsigned char *buf, int n)
{
    return n >= 0 && fill_random(buf, (size_t)n);
}

static int random_status(void)
{
    return 1;
}

/* The library's own generator needs a cipher, and so all of them.  RAND_METHOD is deprecated, but
 * nothing else is asked by both contexts. */
static bool use_kernel_random(const struct ssllib *lib)
{
    static const RAND_METHOD method = { .bytes = random_bytes,
                                        .pseudorand = random_bytes,
                                        .status = random_status };

    return lib->RAND_set_rand_method(&method) == 1;
}

OSSL_LIB_CTX *sslfew_context(struct ssllib *lib)
{
    OSSL_LIB_CTX *own;

    if (!is_usual(lib))
        return NULL;
    lib->whole = lib->OSSL_PROVIDER_load(NULL, "default");
    if (!lib->whole || !choose_algorithms(lib))
        return NULL;
    own = lib->OSSL_LIB_CTX_new();
    if (own && lib->OSSL_PROVIDER_add_builtin(own, OWN_NAME, start_provider) == 1 &&
        lib->OSSL_PROVIDER_load(own, OWN_NAME) && use_kernel_random(lib))
        return own;
    lib->ERR_clear_error();
    return NULL; /* what was made stays: the usual context works with it */
}
