/* gpufreq.c - see gpufreq.h */
#include "base/bind/gpufreq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DIGITS_MAX 9

static const struct {
    const char *name;
    enum gpufreq_level level;
} levels[] = { { "low", GPUFREQ_LOW },
               { "medium", GPUFREQ_MEDIUM },
               { "high", GPUFREQ_HIGH },
               { "highm1", GPUFREQ_HIGHM1 } };

static bool is_word(const char *p, size_t len, const char *word)
{
    return len == strlen(word) && strncasecmp(p, word, len) == 0;
}

static int parse_frequency(const char *p, size_t len, struct gpufreq_want *ret)
{
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (is_word(p, len, levels[i].name)) {
            *ret = (struct gpufreq_want){ .level = levels[i].level };
            return 0;
        }
    if (len == 0 || len > DIGITS_MAX || strspn(p, "0123456789") < len)
        return -EINVAL;
    *ret = (struct gpufreq_want){ .level = GPUFREQ_MHZ, .mhz = (uint32_t)strtoul(p, NULL, 10) };
    return 0;
}

int gpufreq_parse(const char *text, struct gpufreq *ret)
{
    *ret = (struct gpufreq){ .verbose = false };
    for (const char *p = text;; p++) {
        size_t len = strcspn(p, ","), type = strcspn(p, "=");
        int r = 0;

        if (is_word(p, len, "verbose"))
            ret->verbose = true;
        else if (type >= len)
            r = parse_frequency(p, len, &ret->graphics);
        else if (is_word(p, type, "memory"))
            r = parse_frequency(p + type + 1, len - type - 1, &ret->memory);
        else
            r = -EINVAL;
        p += len;
        if (r < 0 || !*p)
            return r;
    }
}

static int by_mhz(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    return (x > y) - (x < y);
}

static uint32_t nearest_to(uint32_t mhz, const unsigned *sorted, size_t n)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++) {
        uint32_t was = sorted[best] > mhz ? sorted[best] - mhz : mhz - sorted[best];
        uint32_t is = sorted[i] > mhz ? sorted[i] - mhz : mhz - sorted[i];

        if (is < was)
            best = i;
    }
    return sorted[best];
}

uint32_t gpufreq_choose(const struct gpufreq_want *want, uint32_t now, unsigned *mhz, size_t n)
{
    if (n == 0)
        return 0;
    qsort(mhz, n, sizeof(*mhz), by_mhz);
    switch (want->level) {
    case GPUFREQ_LOW:
        return mhz[0];
    case GPUFREQ_MEDIUM:
        return mhz[(n - 1) / 2];
    case GPUFREQ_HIGH:
        return mhz[n - 1];
    case GPUFREQ_HIGHM1:
        return mhz[n > 1 ? n - 2 : 0];
    case GPUFREQ_MHZ:
        return nearest_to(want->mhz, mhz, n);
    case GPUFREQ_NONE:
        break;
    }
    return nearest_to(now, mhz, n);
}
