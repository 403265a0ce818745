/* ssllib.c - see ssllib.h
 *
 * Owns the table, filled once under pthread_once, so any thread may call. */
#include "wire/tls/ssllib.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

#define LIBSSL "libssl.so.3"
#define LIBCRYPTO "libcrypto.so.3"

static struct {
    pthread_once_t once;
    struct ssllib fns;
    bool ok;
} lib = { .once = PTHREAD_ONCE_INIT };

static void load_openssl(void)
{
    void *crypto = dlopen(LIBCRYPTO, RTLD_NOW | RTLD_LOCAL);
    void *ssl = crypto ? dlopen(LIBSSL, RTLD_NOW | RTLD_LOCAL) : NULL;
    bool ok = ssl != NULL;

    if (!ok)
        return;
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
    lib.ok = ok;
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

const char *ssllib_reason(const struct ssllib *fns)
{
    unsigned long e = fns->ERR_peek_last_error();
    const char *text = e ? fns->ERR_reason_error_string(e) : NULL;

    return text ? text : "reason unknown";
}
