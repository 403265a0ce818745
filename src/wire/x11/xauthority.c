/* xauthority.c - entries of .Xauthority files; see xauthority.h */
#include "wire/x11/xauthority.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum field {
    FIELD_ADDRESS,
    FIELD_NUMBER,
    FIELD_NAME,
    FIELD_COOKIE,
    FIELD_MAX_,
};

struct entry {
    unsigned family;
    struct {
        const uint8_t *at;
        size_t len;
    } f[FIELD_MAX_];
    const uint8_t *start, *end;
};

/* Read the next entry at *at.  False: there is no whole one. */
static bool read_entry(const uint8_t **at, const uint8_t *end, struct entry *e)
{
    const uint8_t *p = *at;

    if (end - p < 2)
        return false;
    e->start = p;
    e->family = (unsigned)p[0] << 8 | p[1];
    p += 2;
    for (size_t i = 0; i < FIELD_MAX_; i++) {
        if (end - p < 2)
            return false;
        e->f[i].len = (size_t)p[0] << 8 | p[1];
        p += 2;
        if ((size_t)(end - p) < e->f[i].len)
            return false;
        e->f[i].at = p;
        p += e->f[i].len;
    }
    e->end = *at = p;
    return true;
}

static bool field_is(const struct entry *e, enum field f, const void *bytes, size_t len)
{
    return e->f[f].len == len && (len == 0 || memcmp(e->f[f].at, bytes, len) == 0);
}

static bool field_is_text(const struct entry *e, enum field f, const char *text)
{
    return field_is(e, f, text, strlen(text));
}

static bool address_fits(const struct entry *e, const struct xauth_want *want)
{
    switch (e->family) {
    case XAUTH_WILD:
        return true;
    case XAUTH_LOCAL:
        return want->local_name && field_is_text(e, FIELD_ADDRESS, want->local_name);
    case XAUTH_INTERNET:
    case XAUTH_INTERNET6:
        return !want->local_name && want->addr_len > 0 &&
               field_is(e, FIELD_ADDRESS, want->addr, want->addr_len);
    default:
        return false;
    }
}

int xauthority_find(const void *data, size_t len, const struct xauth_want *want,
                    struct xauth_cookie *ret_cookie)
{
    const uint8_t *at = data, *end = at + len;
    char number[16];
    struct entry e;

    (void)snprintf(number, sizeof(number), "%u", want->display);
    while (read_entry(&at, end, &e)) {
        bool any = e.f[FIELD_NUMBER].len == 0; /* of every display of that address */

        if (!(any || field_is_text(&e, FIELD_NUMBER, number)) || !address_fits(&e, want) ||
            !field_is_text(&e, FIELD_NAME, XAUTH_NAME) || e.f[FIELD_COOKIE].len == 0 ||
            e.f[FIELD_COOKIE].len > XAUTH_COOKIE_MAX)
            continue;
        memcpy(ret_cookie->bytes, e.f[FIELD_COOKIE].at, e.f[FIELD_COOKIE].len);
        ret_cookie->len = e.f[FIELD_COOKIE].len;
        return 0;
    }
    return -ENOENT;
}

static void add_field(struct strbuf *sb, const void *bytes, size_t len)
{
    strbuf_addc(sb, (char)(len >> 8));
    strbuf_addc(sb, (char)(len & 255));
    strbuf_addn(sb, bytes, len);
}

void xauthority_add(struct strbuf *sb, enum xauth_family family, const char *address,
                    unsigned display, const struct xauth_cookie *cookie)
{
    char number[16];

    (void)snprintf(number, sizeof(number), "%u", display);
    strbuf_addc(sb, (char)(family >> 8));
    strbuf_addc(sb, (char)(family & 255));
    add_field(sb, address, strlen(address));
    add_field(sb, number, strlen(number));
    add_field(sb, XAUTH_NAME, strlen(XAUTH_NAME));
    add_field(sb, cookie->bytes, cookie->len);
}

void xauthority_without(const void *data, size_t len, const char *address, unsigned display,
                        struct strbuf *sb)
{
    const uint8_t *at = data, *end = at + len;
    char number[16];
    struct entry e;

    (void)snprintf(number, sizeof(number), "%u", display);
    while (read_entry(&at, end, &e)) {
        if (e.family == XAUTH_LOCAL && field_is_text(&e, FIELD_ADDRESS, address) &&
            field_is_text(&e, FIELD_NUMBER, number) && field_is_text(&e, FIELD_NAME, XAUTH_NAME))
            continue;
        strbuf_addn(sb, e.start, (size_t)(e.end - e.start));
    }
}
