/* lz4.c - see lz4.h */
#include "wire/lz4.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/process/loadlib.h"
#include "base/processonce.h"

typedef int pack_fn(const char *from, char *to, int len, int room);

struct lz4 {
    pack_fn *pack, *unpack;
};

static void *load_lz4(void)
{
    _cleanup_free_ struct lz4 *lib = calloc(1, sizeof(*lib));

    if (!lib)
        return NULL;
    const struct loadlib_symbol symbols[] = { { "LZ4_compress_default", &lib->pack },
                                              { "LZ4_decompress_safe", &lib->unpack } };
    if (loadlib(NULL, "liblz4.so.1", NULL, RTLD_LOCAL, symbols, ARRAY_SIZE(symbols), NULL) < 0)
        return NULL;
    return TAKE_PTR(lib);
}

int lz4_available(void)
{
    return processonce(load_lz4) ? 0 : -ENOSYS;
}

int lz4_pack(const uint8_t *data, size_t len, uint8_t *ret_out, size_t room)
{
    const struct lz4 *lib = processonce(load_lz4);
    int n;

    if (!lib)
        return -ENOSYS;
    if (len > INT_MAX || room > INT_MAX)
        return -E2BIG;
    n = lib->pack((const char *)data, (char *)ret_out, (int)len, (int)room);
    return n > 0 ? n : -ENOSPC;
}

int lz4_unpack(const uint8_t *block, size_t size, uint8_t *ret_out, size_t len)
{
    const struct lz4 *lib = processonce(load_lz4);

    if (!lib)
        return -ENOSYS;
    if (len > INT_MAX || size > INT_MAX)
        return -E2BIG;
    return lib->unpack((const char *)block, (char *)ret_out, (int)size, (int)len) == (int)len
               ? 0
               : -EBADMSG;
}
