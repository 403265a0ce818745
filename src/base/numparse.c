/* numparse.c - whole-string integers and sizes; declared in timefmt.h.
 *
 * Pure functions on text from people: every digit is checked, nothing is skipped, overflow is
 * -ERANGE. */
#include "base/timefmt.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The digits at *p, advancing it; false when there is none. */
static bool take_digits(const char **p, uint64_t *ret, bool *ret_overflow)
{
    const char *s = *p;
    uint64_t v = 0;

    if (*s < '0' || *s > '9')
        return false;
    for (; *s >= '0' && *s <= '9'; s++) {
        if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v)) {
            *ret_overflow = true;
            v = UINT64_MAX / 10; /* keep reading: syntax errors go first */
        }
    }
    *p = s;
    *ret = v;
    return true;
}

int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
    bool overflow = false;
    uint64_t v;

    if (!text || !take_digits(&text, &v, &overflow) || *text)
        return -EINVAL;
    if (overflow || v < min || v > max)
        return -ERANGE;
    *ret = v;
    return 0;
}

int parse_i64(const char *text, int64_t min, int64_t max, int64_t *ret)
{
    bool overflow = false, negative;
    uint64_t u;
    int64_t v;

    if (!text)
        return -EINVAL;
    negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    if (!take_digits(&text, &u, &overflow) || *text)
        return -EINVAL;
    if (overflow || u > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return -ERANGE;
    v = negative ? (int64_t)(0 - u) : (int64_t)u;
    if (v < min || v > max)
        return -ERANGE;
    *ret = v;
    return 0;
}

/* Powers of 1024 named by a letter; -1 when unknown. */
static int unit_power(char c)
{
    static const char letters[] = "KMGTP";
    const char *at = c ? strchr(letters, toupper((unsigned char)c)) : NULL;

    return at ? (int)(at - letters) + 1 : -1;
}

/* value * 1024^power; false on overflow. */
static bool scale_up(uint64_t value, int power, uint64_t *ret)
{
    return !__builtin_mul_overflow(value, UINT64_C(1) << (10 * power), ret);
}

int size_mib_parse(const char *text, uint64_t *ret_mib, struct err *err)
{
    const char *p = text ? text : "";
    bool overflow = false;
    uint64_t v, mib;
    int power = 2;

    if (!take_digits(&p, &v, &overflow))
        return err_set(err, -EINVAL, "invalid size '%.64s'", text ? text : "");
    if (*p) {
        power = unit_power(*p++);
        if (toupper((unsigned char)*p) == 'B')
            p++;
        if (power < 0 || *p)
            return err_set(err, -EINVAL, "invalid size '%.64s'", text);
    }
    if (power == 1)
        mib = v / 1024 + (v % 1024 != 0);
    else if (!scale_up(v, power - 2, &mib))
        overflow = true;
    if (overflow)
        return err_set(err, -ERANGE, "size '%.64s' is too large", text);
    *ret_mib = mib;
    return 0;
}

int size_count_parse(const char *text, uint64_t *ret_count, struct err *err)
{
    const char *p = text ? text : "";
    bool overflow = false;
    uint64_t v, count;
    int power = 0;

    if (!take_digits(&p, &v, &overflow))
        return err_set(err, -EINVAL, "invalid count '%.64s'", text ? text : "");
    if (*p) {
        power = unit_power(*p++);
        if (power < 0 || *p)
            return err_set(err, -EINVAL, "invalid count '%.64s'", text);
    }
    if (overflow || !scale_up(v, power, &count))
        return err_set(err, -ERANGE, "count '%.64s' is too large", text);
    *ret_count = count;
    return 0;
}

void size_mib_fmt(uint64_t mib, bool noconvert, char *buf, size_t size)
{
    static const char units[] = "MGTPE";
    uint64_t whole = mib;
    bool half = false;
    size_t unit = 0;

    /* A larger unit only where two decimals tell the value exactly: halves of it. */
    while (!noconvert && !half && whole >= 1024 && whole % 512 == 0 && unit + 2 < sizeof(units)) {
        half = whole % 1024 != 0;
        whole /= 1024;
        unit++;
    }
    (void)snprintf(buf, size, "%llu%s%c", (unsigned long long)whole, half ? ".50" : "",
                   units[unit]); /* a cut text is the caller's choice of size */
}
