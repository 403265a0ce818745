/* lz4.c - see lz4.h; loaded as crypto.c does it */
#include "wire/lz4.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>

typedef int pack_fn(const char *from, char *to, int len, int room);

static struct {
    pthread_once_t once;
    pack_fn *pack, *unpack;
} lib = { .once = PTHREAD_ONCE_INIT };

static void load_lz4(void)
{
    void *handle = dlopen("liblz4.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        return;
    lib.pack = (pack_fn *)dlsym(handle, "LZ4_compress_default");
    lib.unpack = (pack_fn *)dlsym(handle, "LZ4_decompress_safe");
}

int lz4_available(void)
{
    return pthread_once(&lib.once, load_lz4) != 0 || !lib.pack || !lib.unpack ? -ENOSYS : 0;
}

int lz4_pack(const uint8_t *data, size_t len, uint8_t *ret_out, size_t room)
{
    int n, r = lz4_available();

    if (r < 0)
        return r;
    if (len > INT_MAX || room > INT_MAX)
        return -E2BIG;
    n = lib.pack((const char *)data, (char *)ret_out, (int)len, (int)room);
    return n > 0 ? n : -ENOSPC;
}

int lz4_unpack(const uint8_t *block, size_t size, uint8_t *ret_out, size_t len)
{
    int r = lz4_available();

    if (r < 0)
        return r;
    if (len > INT_MAX || size > INT_MAX)
        return -E2BIG;
    return lib.unpack((const char *)block, (char *)ret_out, (int)size, (int)len) == (int)len
               ? 0
               : -EBADMSG;
}
