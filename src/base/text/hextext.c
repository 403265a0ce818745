/* hextext.c - see hextext.h */
#include "base/text/hextext.h"

#include <stdint.h>

void hextext_write(const void *bytes, size_t n, char *text)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *p = bytes;

    for (size_t i = 0; i < n; i++) {
        text[2 * i] = digits[p[i] >> 4];
        text[2 * i + 1] = digits[p[i] & 15];
    }
    text[2 * n] = '\0';
}
