/* xsetup.c - another cookie in an X program's first message; see xsetup.h */
#include "wire/x11/xsetup.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define HEAD 12u
#define NAME_MAX_BYTES 64u

static size_t read_u16(const uint8_t *p, bool high_first)
{
    return high_first ? (size_t)p[0] << 8 | p[1] : (size_t)p[1] << 8 | p[0];
}

static size_t pad_size(size_t n)
{
    return (n + 3) & ~(size_t)3;
}

static bool is_cookie(const uint8_t *bytes, size_t len, const struct xauth_cookie *cookie)
{
    unsigned differs = 0;

    if (len != cookie->len)
        return false;
    for (size_t i = 0; i < len; i++)
        differs |= (unsigned)(bytes[i] ^ cookie->bytes[i]);
    return differs == 0;
}

static void add_padded(struct strbuf *sb, const void *bytes, size_t n)
{
    strbuf_addn(sb, bytes, n);
    strbuf_pad(sb, '\0', pad_size(n) - n);
}

long xsetup_swap(const void *data, size_t len, const struct xauth_cookie *shown,
                 const struct xauth_cookie *real, struct strbuf *sb)
{
    const uint8_t *p = data;
    uint8_t head[HEAD];
    size_t name, cookie, whole;
    bool high_first;

    if (len > 0 && p[0] != 'B' && p[0] != 'l')
        return -EBADMSG;
    if (len < HEAD)
        return 0;
    high_first = p[0] == 'B';
    name = read_u16(p + 6, high_first);
    cookie = read_u16(p + 8, high_first);
    if (name > NAME_MAX_BYTES || cookie > XAUTH_COOKIE_MAX)
        return -EACCES;
    whole = HEAD + pad_size(name) + pad_size(cookie);
    if (len < whole)
        return 0;
    if (name != strlen(XAUTH_NAME) || memcmp(p + HEAD, XAUTH_NAME, name) != 0 ||
        !is_cookie(p + HEAD + pad_size(name), cookie, shown))
        return -EACCES;
    memcpy(head, p, HEAD);
    head[8] = (uint8_t)(high_first ? real->len >> 8 : real->len & 255);
    head[9] = (uint8_t)(high_first ? real->len & 255 : real->len >> 8);
    strbuf_addn(sb, head, HEAD);
    add_padded(sb, XAUTH_NAME, name);
    add_padded(sb, real->bytes, real->len);
    return sb->failed ? -ENOMEM : (long)whole;
}
