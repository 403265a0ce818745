/* safetext.c - see safetext.h */
#include "base/safetext.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

/* ---- characters ------------------------------------------------------------------------------ */

size_t safetext_utf8(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    uint32_t code, least;
    size_t n;

    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        n = 2, code = p[0] & 0x1f, least = 0x80;
    else if ((p[0] & 0xf0) == 0xe0)
        n = 3, code = p[0] & 0x0f, least = 0x800;
    else if (p[0] >= 0xf0 && p[0] <= 0xf4)
        n = 4, code = p[0] & 0x07, least = 0x10000;
    else
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0; /* stops at the NUL as well */
        code = code << 6 | (p[i] & 0x3f);
    }
    if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    return n;
}

bool safetext_is_c1(const char *p)
{
    return (unsigned char)p[0] == 0xc2 && (unsigned char)p[1] >= 0x80 && (unsigned char)p[1] < 0xa0;
}

/* Bytes of the control character that starts at p, which ends before `end`; 0: there is none. */
static size_t control_len(const unsigned char *p, const unsigned char *end)
{
    if (*p < 0x20 || *p == 0x7f)
        return 1;
    return end - p > 1 && safetext_is_c1((const char *)p) ? 2 : 0;
}

#define ALL(byte) (UINT64_MAX / 255 * (byte))

/* Has one of eight bytes its high bit after a subtraction that borrows only below?  Listings are
 * cleaned cell by cell, and almost none has anything to be cleaned. */
static bool has_less(uint64_t eight, uint8_t than)
{
    return (eight - ALL(than)) & ~eight & ALL(0x80);
}

static bool may_have_control(uint64_t eight)
{
    return has_less(eight, 0x20) || has_less(eight ^ ALL(0x7f), 1) ||
           has_less(eight ^ ALL(0xc2), 1);
}

/* Skips what has none. */
static const unsigned char *skip_plain(const unsigned char *p, const unsigned char *end)
{
    uint64_t eight;

    for (; end - p >= 8; p += 8) {
        memcpy(&eight, p, sizeof(eight));
        if (may_have_control(eight))
            break;
    }
    return p;
}

const char *safetext_control(const char *text, const char *also)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + strlen(text);

    for (p = skip_plain(p, end); p < end; p++)
        if (control_len(p, end) && !strchr(also, *p))
            return (const char *)p;
    return NULL;
}

bool safetext_is_line(const char *text)
{
    return !safetext_control(text, "");
}

static bool starts_address(unsigned char c)
{
    return isalnum(c) || c == '_' || c >= 0x80;
}

bool safetext_is_address(const char *text)
{
    bool within = false;

    if (!safetext_is_line(text))
        return false;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == ',' || *p == ' ') {
            within = false;
            continue;
        }
        if (!starts_address(*p) && (!within || !strchr(".-+=%@'", *p)))
            return false;
        within = true;
    }
    return true;
}

bool safetext_is_variable(const char *text)
{
    const char *p = text;

    while (isalnum((unsigned char)*p) || *p == '_')
        p++;
    return p > text && *p == '=' && !isdigit((unsigned char)*text);
}

void safetext_clean_n(char *text, size_t n)
{
    unsigned char *end = (unsigned char *)text + n;
    unsigned char *p =
        (unsigned char *)text + (skip_plain((unsigned char *)text, end) - (unsigned char *)text);

    while (p < end) {
        size_t len = control_len(p, end);

        if (len)
            memset(p, *p == '\t' || *p == '\n' || *p == '\r' ? ' ' : '?', len);
        p += len ? len : 1;
    }
}

void safetext_clean(char *text)
{
    safetext_clean_n(text, strlen(text));
}
