/* restgzip.c - gzip by zlib; see restgzip.h */
#include "rest/restgzip.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "base/cleanup.h"

#define GZIP_WINDOW (15 + 16) /* zlib: a window of 32 KiB, in gzip's frame */
#define UNPACK_BYTES (64u * 1024)
#define PACK_BYTES (32u * 1024)
#define PACK_LEVEL 1 /* an answer is made as fast as its reader reads */

/* ---- who wants it ---------------------------------------------------------------------------- */

/* "q=0", "q=0.0", "q=0.000" */
static bool is_weight_zero(const char *p, const char *end)
{
    while (p < end && strchr("; \t", *p))
        p++;
    if (end - p < 3 || strncasecmp(p, "q=0", 3) != 0)
        return false;
    for (p += 3; p < end && *p != ' '; p++)
        if (*p != '.' && *p != '0')
            return false;
    return true;
}

bool restgzip_accepted(const char *header)
{
    bool any = false;

    for (const char *p = header; p && *p;) {
        const char *end = p + strcspn(p, ",");
        const char *name = p + strspn(p, " \t");
        size_t len = strcspn(name, ",; \t");
        bool zero = is_weight_zero(name + len, end);

        if ((len == 4 && strncasecmp(name, "gzip", 4) == 0) ||
            (len == 6 && strncasecmp(name, "x-gzip", 6) == 0))
            return !zero;
        any = any || (len == 1 && *name == '*' && !zero);
        p = *end ? end + 1 : end;
    }
    return any;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static int unpack_all(z_stream *z, size_t max, struct strbuf *ret)
{
    int r = Z_OK;

    while (r != Z_STREAM_END || z->avail_in) {
        char *room;

        if (r == Z_STREAM_END && inflateReset(z) != Z_OK)
            return -EBADMSG;
        room = strbuf_room(ret, UNPACK_BYTES);
        if (!room)
            return -ENOMEM;
        z->next_out = (Bytef *)room;
        z->avail_out = UNPACK_BYTES;
        r = inflate(z, Z_NO_FLUSH);
        if (r != Z_OK && r != Z_STREAM_END)
            return r == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
        strbuf_grew(ret, UNPACK_BYTES - z->avail_out);
        if (ret->len > max)
            return -EFBIG;
    }
    return 0;
}

int restgzip_unpack(const char *data, size_t len, size_t max, struct strbuf *ret)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)len }; /* only read */
    int r;

    if (len > UINT32_MAX)
        return -EFBIG;
    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
        return -ENOMEM;
    r = unpack_all(&z, max, ret);
    (void)inflateEnd(&z);
    if (r < 0)
        strbuf_done(ret);
    return r;
}

/* ---- answers --------------------------------------------------------------------------------- */

int restgzip_pack(const char *data, size_t len, struct strbuf *ret)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)len }; /* only read */
    char *room;
    size_t bound;
    int r;

    if (len > UINT32_MAX / 2 ||
        deflateInit2(&z, PACK_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    bound = deflateBound(&z, len);
    room = strbuf_room(ret, bound);
    z.next_out = (Bytef *)room;
    z.avail_out = (uInt)bound;
    r = room && deflate(&z, Z_FINISH) == Z_STREAM_END ? 0 : -ENOMEM;
    if (r == 0)
        strbuf_grew(ret, bound - z.avail_out);
    (void)deflateEnd(&z);
    return r;
}

struct restgzip {
    restgzip_source *source;
    void *ctx;
    z_stream z;
    bool at_end, finished;
    char plain[PACK_BYTES];
};

int restgzip_new(restgzip_source *source, void *ctx, struct restgzip **ret)
{
    struct restgzip *gz = calloc(1, sizeof(*gz));

    if (!gz)
        return -ENOMEM;
    gz->source = source;
    gz->ctx = ctx;
    if (deflateInit2(&gz->z, PACK_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(gz);
        return -ENOMEM;
    }
    *ret = gz;
    return 0;
}

struct restgzip *restgzip_free(struct restgzip *gz)
{
    if (gz)
        (void)deflateEnd(&gz->z);
    free(gz);
    return NULL;
}

static ssize_t fill_plain(struct restgzip *gz)
{
    ssize_t n = gz->source(gz->ctx, gz->plain, sizeof(gz->plain));

    gz->at_end = n == 0;
    if (n > 0) {
        gz->z.next_in = (Bytef *)gz->plain;
        gz->z.avail_in = (uInt)n;
    }
    return n;
}

ssize_t restgzip_read(struct restgzip *gz, char *buf, size_t size)
{
    size = MIN(size, (size_t)UINT32_MAX);
    gz->z.next_out = (Bytef *)buf;
    gz->z.avail_out = (uInt)size;
    while (!gz->finished && gz->z.avail_out == size) {
        ssize_t n = gz->z.avail_in || gz->at_end ? 1 : fill_plain(gz);
        int r;

        if (n < 0)
            return n;
        r = deflate(&gz->z, gz->at_end ? Z_FINISH : Z_NO_FLUSH);
        gz->finished = r == Z_STREAM_END;
        if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
            return -EIO;
    }
    return (ssize_t)(size - gz->z.avail_out);
}
