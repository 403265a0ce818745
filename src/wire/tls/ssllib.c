/* ssllib.c - see ssllib.h
 *
 * Owns the table, filled once under pthread_once, so any thread may call, and the context of a
 * brief program. */
#include "wire/tls/ssllib.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/cleanup.h"

#define LIBSSL "libssl.so.3"
#define LIBCRYPTO "libcrypto.so.3"

/* What a brief program leaves out, see ssllib_be_brief(). */
#define BRIEF                                                                                      \
    (OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS | OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ATEXIT)

static struct {
    pthread_once_t once;
    void *ssl;
    struct ssllib fns;
    bool ok, brief;
    pthread_mutex_t lock;  /* of what follows */
    OSSL_LIB_CTX *context; /* lives as long as the process */
    bool asked;
} lib = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

static void load_openssl(void)
{
    void *crypto = dlopen(LIBCRYPTO, RTLD_NOW | RTLD_LOCAL);
    void *ssl = crypto ? dlopen(LIBSSL, RTLD_NOW | RTLD_LOCAL) : NULL;
    bool ok = ssl != NULL;

    if (!ok)
        return;
    lib.ssl = ssl;
#define X(fn)                                                                                      \
    lib.fns.fn = (__typeof__(lib.fns.fn))dlsym(ssl, #fn);                                          \
    ok = ok && lib.fns.fn;
    SSLLIB_SSL(X)
#undef X
#define X(fn)                                                                                      \
    lib.fns.fn = (__typeof__(lib.fns.fn))dlsym(crypto, #fn);                                       \
    ok = ok && lib.fns.fn;
    SSLLIB_CRYPTO(X)
#undef X
    if (ok && lib.brief)
        ok = lib.fns.OPENSSL_init_crypto(BRIEF, NULL) == 1 &&
             lib.fns.OPENSSL_init_ssl(BRIEF | OPENSSL_INIT_NO_LOAD_SSL_STRINGS, NULL) == 1;
    lib.ok = ok;
}

void ssllib_be_brief(bool brief)
{
    lib.brief = brief;
}

int ssllib_load(const struct ssllib **ret_lib, struct err *err)
{
    if (pthread_once(&lib.once, load_openssl) != 0 || !lib.ok)
        return err_set(err, -ENOSYS, "TLS needs %s of OpenSSL 3, which is not installed", LIBSSL);
    *ret_lib = &lib.fns;
    return 0;
}

const struct ssllib *ssllib_loaded(void)
{
    return &lib.fns;
}

OSSL_LIB_CTX *ssllib_context(OSSL_LIB_CTX *(*make)(struct ssllib *lib))
{
    OSSL_LIB_CTX *context;

    (void)pthread_mutex_lock(&lib.lock); /* fails for a broken mutex only, as the next */
    if (lib.brief && !lib.asked)
        lib.context = make(&lib.fns);
    lib.asked = true;
    context = lib.context;
    (void)pthread_mutex_unlock(&lib.lock);
    return context;
}

/* Again and again is fine; a text that is missing is "reason unknown". */
static void load_texts(void)
{
    static const char *const names[] = { "ERR_load_ERR_strings", "ERR_load_EVP_strings",
                                         "ERR_load_EC_strings",  "ERR_load_ASN1_strings",
                                         "ERR_load_PEM_strings", "ERR_load_X509_strings",
                                         "ERR_load_SSL_strings" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        int (*load)(void) = (int (*)(void))dlsym(lib.ssl, names[i]); /* libcrypto is below it */

        if (load)
            (void)load();
    }
}

const char *ssllib_reason(const struct ssllib *fns)
{
    unsigned long e = fns->ERR_peek_last_error();
    const char *text;

    if (lib.brief)
        load_texts();
    text = e ? fns->ERR_reason_error_string(e) : NULL;

    return text ? text : "reason unknown";
}
