/* base64.h - a character of base64 (RFC 4648, section 4) */
#pragma once

/* Its six bits; -1: it is none, or the padding. */
static inline int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}
