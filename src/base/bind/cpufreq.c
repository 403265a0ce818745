/* cpufreq.c - see cpufreq.h */
#include "base/bind/cpufreq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/compare/order.h"

static const char *const governors[] = { "conservative", "ondemand",  "performance",
                                         "powersave",    "schedutil", "userspace" };

static const struct {
    const char *word;
    enum cpufreq_level level;
} levels[] = { { "low", CPUFREQ_LOW },
               { "medium", CPUFREQ_MEDIUM },
               { "high", CPUFREQ_HIGH },
               { "highm1", CPUFREQ_HIGHM1 } };

static const char *find_governor(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(governors); i++)
        if (strcasecmp(governors[i], text) == 0)
            return governors[i];
    return NULL;
}

/* Read the len bytes at p as a frequency. */
static bool read_frequency(const char *p, size_t len, enum cpufreq_level *ret, uint32_t *ret_khz)
{
    if (len > 0 && len < 10 && strspn(p, "0123456789") >= len) {
        *ret = CPUFREQ_KHZ;
        *ret_khz = (uint32_t)strtoul(p, NULL, 10);
        return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
        if (strlen(levels[i].word) == len && strncasecmp(levels[i].word, p, len) == 0) {
            *ret = levels[i].level;
            return true;
        }
    return false;
}

int cpufreq_parse(const char *text, struct cpufreq *ret, struct err *err)
{
    size_t len = strcspn(text, ":"), low = MIN(strcspn(text, "-"), len);
    struct cpufreq f = { .governor = find_governor(text) };
    bool good = f.governor != NULL;

    if (!good && read_frequency(text, low, &f.low, &f.low_khz)) {
        good = low == len || read_frequency(text + low + 1, len - low - 1, &f.high, &f.high_khz);
        if (text[len])
            f.governor = find_governor(text + len + 1);
        good = good && (!text[len] || f.governor);
    }
    if (!good)
        return err_set(err, -EINVAL, "unrecognized --cpu-freq argument \"%.200s\"", text);
    *ret = f;
    return 0;
}

void cpufreq_list(const char *text, struct cpufreq_range *range)
{
    range->n = 0;
    for (const char *p = text; *p && range->n < CPUFREQ_STEPS_MAX;) {
        size_t len;

        p += strspn(p, " \t\n");
        len = strcspn(p, " \t\n");
        if (len > 0 && len < 10 && strspn(p, "0123456789") == len)
            range->khz[range->n++] = (uint32_t)strtoul(p, NULL, 10);
        p += len;
    }
    qsort(range->khz, range->n, sizeof(range->khz[0]), order_u32);
}

static uint32_t find_nearest(const struct cpufreq_range *range, uint32_t khz)
{
    uint32_t best = range->khz[0];

    for (size_t i = 1; i < range->n; i++) {
        uint32_t far = khz > best ? khz - best : best - khz,
                 near = khz > range->khz[i] ? khz - range->khz[i] : range->khz[i] - khz;

        if (near < far)
            best = range->khz[i];
    }
    return best;
}

uint32_t cpufreq_khz(const struct cpufreq_range *range, enum cpufreq_level level, uint32_t khz)
{
    uint32_t low = range->n ? range->khz[0] : range->min_khz,
             high = range->n ? range->khz[range->n - 1] : range->max_khz;

    switch (level) {
    case CPUFREQ_KHZ:
        return range->n ? find_nearest(range, khz) : MIN(MAX(khz, low), high);
    case CPUFREQ_LOW:
        return low;
    case CPUFREQ_MEDIUM:
        return range->n ? range->khz[(range->n - 1) / 2] : low + (high - low) / 2;
    case CPUFREQ_HIGH:
        return high;
    case CPUFREQ_HIGHM1:
        return range->n > 1 ? range->khz[range->n - 2] : high;
    case CPUFREQ_NONE:
        break;
    }
    return 0;
}
