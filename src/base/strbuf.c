/* strbuf.c - a growing string; see strbuf.h.
 *
 * Invariants: buf is NULL with len == cap == 0, or buf holds len bytes and a NUL and cap > len.
 * Once `failed` is set nothing is added any more, so what is there is a prefix of what was asked
 * for. */
#include "base/strbuf.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { FIRST_CAP = 64 };

/* Room for `more` bytes and the NUL. */
static bool reserve_bytes(struct strbuf *sb, size_t more)
{
    size_t cap = sb->cap ? sb->cap : FIRST_CAP;
    char *buf;

    if (sb->failed)
        return false;
    if (more >= SIZE_MAX / 2 - sb->len) {
        sb->failed = true;
        return false;
    }
    if (sb->len + more < sb->cap)
        return true;
    while (cap <= sb->len + more)
        cap *= 2;
    buf = realloc(sb->buf, cap);
    if (!buf) {
        sb->failed = true;
        return false;
    }
    sb->buf = buf;
    sb->cap = cap;
    return true;
}

void strbuf_addn(struct strbuf *sb, const void *data, size_t n)
{
    if (!reserve_bytes(sb, n))
        return;
    if (n)
        memcpy(sb->buf + sb->len, data, n);
    sb->len += n;
    sb->buf[sb->len] = '\0';
}

char *strbuf_more(struct strbuf *sb, size_t n)
{
    return reserve_bytes(sb, n) ? sb->buf + sb->len : NULL;
}

void strbuf_add(struct strbuf *sb, const char *text)
{
    strbuf_addn(sb, text, strlen(text));
}

void strbuf_addc(struct strbuf *sb, char c)
{
    if (!reserve_bytes(sb, 1))
        return;
    sb->buf[sb->len++] = c;
    sb->buf[sb->len] = '\0';
}

void strbuf_addv(struct strbuf *sb, const char *fmt, va_list ap)
{
    va_list again;
    int n;

    if (!reserve_bytes(sb, 0))
        return;
    va_copy(again, ap);
    n = vsnprintf(sb->buf + sb->len, sb->cap - sb->len, fmt, ap);
    if (n < 0) {
        sb->failed = true;
    } else if ((size_t)n >= sb->cap - sb->len) {
        if (reserve_bytes(sb, (size_t)n)) {
            (void)vsnprintf(sb->buf + sb->len, (size_t)n + 1, fmt, again); /* known to fit */
            sb->len += (size_t)n;
        }
    } else {
        sb->len += (size_t)n;
    }
    va_end(again);
    if (sb->failed)
        sb->buf[sb->len] = '\0'; /* take back a half-written piece */
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    strbuf_addv(sb, fmt, ap);
    va_end(ap);
}

void strbuf_pad(struct strbuf *sb, char c, size_t n)
{
    if (!reserve_bytes(sb, n))
        return;
    memset(sb->buf + sb->len, c, n);
    sb->len += n;
    sb->buf[sb->len] = '\0';
}

void strbuf_reset(struct strbuf *sb)
{
    sb->len = 0;
    sb->failed = false;
    if (sb->buf)
        sb->buf[0] = '\0';
}

const char *strbuf_str(const struct strbuf *sb)
{
    return sb->buf ? sb->buf : "";
}

int strbuf_detach(struct strbuf *sb, char **ret)
{
    if (!reserve_bytes(sb, 0)) {
        strbuf_done(sb);
        return -ENOMEM;
    }
    sb->buf[sb->len] = '\0';
    *ret = sb->buf;
    *sb = (struct strbuf)STRBUF_INIT;
    return 0;
}

void strbuf_done(struct strbuf *sb)
{
    int saved = errno;

    free(sb->buf);
    *sb = (struct strbuf)STRBUF_INIT;
    errno = saved;
}
