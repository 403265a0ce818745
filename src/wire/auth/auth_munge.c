/* auth_munge.c - munge credentials, through libmunge loaded when first needed
 *
 * Owns the library handle, kept for the life of the process; loaded once, any thread may call.
 * Calls talk to munged over its socket and block for about a millisecond: event loops run them on a
 * worker. The prototypes and numbers below are libmunge's public interface, stable since its
 * version 2. */
#include "wire/auth/auth.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/process/loadlib.h"
#include "base/processonce.h"

enum {
    OPT_TTL = 4,
    OPT_SOCKET = 8,
    OPT_UID_RESTRICTION = 9,
    MUNGE_SUCCESS = 0,
    MUNGE_NO_MEMORY = 5,
    MUNGE_EXPIRED = 15,
    MUNGE_REWOUND = 16,
    MUNGE_PAYLOAD_MAX = 1048576,
};

struct munge {
    int (*encode)(char **cred, void *ctx, const void *buf, int len);
    int (*decode)(const char *cred, void *ctx, void **buf, int *len, uid_t *uid, gid_t *gid);
    const char *(*text)(int e);
    const char *(*ctx_text)(void *ctx);
    void *(*ctx_new)(void);
    void (*ctx_free)(void *ctx);
    int (*ctx_set)(void *ctx, int opt, ...);
};

static void *load_munge(void)
{
    _cleanup_free_ struct munge *lib = calloc(1, sizeof(*lib));

    if (!lib)
        return NULL;
    const struct loadlib_symbol symbols[] = {
        { "munge_encode", &lib->encode },      { "munge_decode", &lib->decode },
        { "munge_strerror", &lib->text },      { "munge_ctx_strerror", &lib->ctx_text },
        { "munge_ctx_create", &lib->ctx_new }, { "munge_ctx_destroy", &lib->ctx_free },
        { "munge_ctx_set", &lib->ctx_set },
    };
    if (loadlib(NULL, "libmunge.so.2", NULL, RTLD_LOCAL, symbols, ARRAY_SIZE(symbols), NULL) < 0)
        return NULL;
    return TAKE_PTR(lib);
}

static int open_ctx(const char *socket_path, const struct munge **ret_lib, void **ret_ctx,
                    struct err *err)
{
    const struct munge *lib = processonce(load_munge);
    void *ctx;

    if (!lib)
        return err_set(err, -ENOSYS, "munge: the library libmunge.so.2 is not installed");
    ctx = lib->ctx_new();
    if (!ctx)
        return err_nomem_of(err, "munge");
    if (socket_path && lib->ctx_set(ctx, OPT_SOCKET, socket_path) != MUNGE_SUCCESS) {
        lib->ctx_free(ctx);
        return err_set(err, -EINVAL, "munge: socket %s cannot be used", socket_path);
    }
    *ret_lib = lib;
    *ret_ctx = ctx;
    return 0;
}

/* Turn a munge result into an errno and a sentence. */
static int report_error(const struct munge *lib, void *ctx, int e, struct err *err)
{
    const char *detail = lib->ctx_text(ctx);
    int r = -EACCES;

    if (e == MUNGE_EXPIRED || e == MUNGE_REWOUND)
        r = -EKEYEXPIRED;
    else if (e == MUNGE_NO_MEMORY)
        r = -ENOMEM;
    return err_set(err, r, "munge: %s", detail ? detail : lib->text(e));
}

static int encode_credential(const char *socket_path, uint32_t ttl_s, const uid_t *reader,
                             const void *payload, size_t len, char **ret_cred, struct err *err)
{
    const struct munge *lib;
    void *ctx;
    char *cred = NULL;
    int e, r;

    if (len > MUNGE_PAYLOAD_MAX)
        return err_set(err, -EINVAL, "munge: payload too large");
    r = open_ctx(socket_path, &lib, &ctx, err);
    if (r < 0)
        return r;
    e = reader ? lib->ctx_set(ctx, OPT_UID_RESTRICTION, *reader) : MUNGE_SUCCESS;
    if (e == MUNGE_SUCCESS && ttl_s)
        e = lib->ctx_set(ctx, OPT_TTL, (int)MIN(ttl_s, (uint32_t)INT_MAX));
    if (e == MUNGE_SUCCESS)
        e = lib->encode(&cred, ctx, payload, (int)len);
    if (e == MUNGE_SUCCESS) {
        *ret_cred = cred;
    } else {
        r = report_error(lib, ctx, e, err);
        free(cred);
    }
    lib->ctx_free(ctx);
    return r;
}

int auth_munge_encode(const char *socket_path, uint32_t ttl_s, const void *payload, size_t len,
                      char **ret_cred, struct err *err)
{
    return encode_credential(socket_path, ttl_s, NULL, payload, len, ret_cred, err);
}

int auth_munge_encode_for(const char *socket_path, uint32_t ttl_s, uid_t reader,
                          const void *payload, size_t len, char **ret_cred, struct err *err)
{
    return encode_credential(socket_path, ttl_s, &reader, payload, len, ret_cred, err);
}

int auth_munge_decode(const char *socket_path, const char *cred, uid_t *ret_uid, gid_t *ret_gid,
                      void **ret_payload, size_t *ret_len, struct err *err)
{
    const struct munge *lib;
    void *ctx, *payload = NULL;
    uid_t uid = (uid_t)-1;
    gid_t gid = (gid_t)-1;
    int e, len = 0, r;

    r = open_ctx(socket_path, &lib, &ctx, err);
    if (r < 0)
        return r;
    e = lib->decode(cred, ctx, &payload, &len, &uid, &gid);
    if (e == MUNGE_SUCCESS) {
        *ret_uid = uid;
        *ret_gid = gid;
        *ret_payload = payload;
        *ret_len = (size_t)len;
    } else { /* some failures hand out a payload all the same */
        r = report_error(lib, ctx, e, err);
        free(payload);
    }
    lib->ctx_free(ctx);
    return r;
}
