/* sluid.c - see sluid.h.  Pure functions. */
#include "base/sluid.h"

#include <string.h>

#define TIME_BITS 42
#define SEQUENCE_BITS 10
#define DIGITS 13

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

uint64_t sluid_next(uint64_t last, uint32_t cluster, int64_t now_us)
{
    uint64_t ms_mask = (UINT64_C(1) << TIME_BITS) - 1;
    uint64_t now = ((uint64_t)cluster << TIME_BITS | ((uint64_t)(now_us / 1000) & ms_mask))
                   << SEQUENCE_BITS;

    /* Counting on carries from the sequence into the milliseconds: 1,024 in one of them borrow
     * the next. */
    return now > last ? now : last + 1;
}

const char *sluid_text(uint64_t id, char buf[static SLUID_TEXT_SIZE])
{
    buf[0] = 's';
    for (unsigned i = 0; i < DIGITS; i++)
        buf[DIGITS - i] = alphabet[id >> (5 * i) & 31];
    buf[DIGITS + 1] = '\0';
    return buf;
}

static int digit_value(char c)
{
    const char *at;

    if (c >= 'a' && c <= 'z')
        c = (char)(c - 'a' + 'A');
    if (c == 'O')
        c = '0';
    if (c == 'I' || c == 'L')
        c = '1';
    at = c ? strchr(alphabet, c) : NULL;
    return at ? (int)(at - alphabet) : -1;
}

uint64_t sluid_parse(const char *text)
{
    uint64_t id = 0;

    if (strlen(text) != DIGITS + 1 || (text[0] != 's' && text[0] != 'S'))
        return 0;
    for (unsigned i = 1; i <= DIGITS; i++) {
        int d = digit_value(text[i]);

        if (d < 0 || (i == 1 && d > 15)) /* the first digit holds four bits */
            return 0;
        id = id << 5 | (uint64_t)d;
    }
    return id;
}
