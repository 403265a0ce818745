/* kubequantity.c - see kubequantity.h */
#include "kube/api/kubequantity.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define TEXT_MAX 64u

static const struct {
    char suffix[3];
    long double factor;
} suffixes[] = {
    { "", 1.0L },
    { "n", 1e-9L },
    { "u", 1e-6L },
    { "m", 1e-3L },
    { "k", 1e3L },
    { "M", 1e6L },
    { "G", 1e9L },
    { "T", 1e12L },
    { "P", 1e15L },
    { "E", 1e18L },
    { "Ki", 1024.0L },
    { "Mi", 1048576.0L },
    { "Gi", 1073741824.0L },
    { "Ti", 0x1p40L },
    { "Pi", 0x1p50L },
    { "Ei", 0x1p60L },
};

/* The exponent of 2e3 or 2E-3; 0: none is there. */
static size_t exponent_length(const char *text)
{
    size_t sign, digits;

    if (*text != 'e' && *text != 'E')
        return 0;
    sign = text[1] == '+' || text[1] == '-';
    digits = strspn(text + 1 + sign, "0123456789");
    return digits ? 1 + sign + digits : 0;
}

static int scale_value(long double value, const char *suffix, int64_t *ret_milli)
{
    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
        if (strcmp(suffix, suffixes[i].suffix) == 0) {
            long double milli = ceill(value * suffixes[i].factor * 1000.0L);

            if (!(milli <= 9.2e18L))
                return -ERANGE;
            *ret_milli = (int64_t)milli;
            return 0;
        }
    return -EINVAL;
}

int kubequantity_parse(const char *text, int64_t *ret_milli)
{
    size_t plus = *text == '+', whole, part, n;
    char number[TEXT_MAX];

    if (*text == '-')
        return -ERANGE;
    text += plus;
    whole = strspn(text, "0123456789");
    n = whole;
    part = text[n] == '.' ? strspn(text + n + 1, "0123456789") : 0;
    n += text[n] == '.' ? 1 + part : 0;
    if (!whole && !part)
        return -EINVAL;
    n += exponent_length(text + n);
    if (n >= sizeof(number))
        return -ERANGE;
    memcpy(number, text, n);
    number[n] = '\0';
    return scale_value(strtold(number, NULL), text + n, ret_milli);
}

int kubequantity_read(const json_t *value, int64_t *ret_milli)
{
    char text[TEXT_MAX];

    if (!value)
        return -ENOENT;
    if (json_is_string(value))
        return kubequantity_parse(json_string_value(value), ret_milli);
    if (!json_is_number(value))
        return -EINVAL;
    (void)snprintf(text, sizeof(text), "%.9f", json_number_value(value));
    return kubequantity_parse(text, ret_milli);
}

int64_t kubequantity_units(int64_t milli)
{
    return milli / 1000 + (milli % 1000 > 0);
}
