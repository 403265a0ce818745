/* billing.c - what resources are charged; see billing.h. */
#include "base/billing.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define NAME_MAX_LEN 128u

/* MiB of the unit behind a weight. */
static double unit_mib(const char *text)
{
    switch (toupper((unsigned char)*text)) {
    case 'K':
        return 1.0 / 1024;
    case 'G':
        return 1024;
    case 'T':
        return 1024.0 * 1024;
    case 'P':
        return 1024.0 * 1024 * 1024;
    default:
        return 1;
    }
}

/* "Mem=0.25G" -> "mem", and the weight of one of it. */
static bool take(const char *part, size_t len, char *name, double *ret_weight)
{
    const char *equals = memchr(part, '=', len);
    size_t n = equals ? (size_t)(equals - part) : 0;
    char *end;

    if (!n || n >= NAME_MAX_LEN)
        return false;
    for (size_t i = 0; i < n; i++)
        name[i] = (char)tolower((unsigned char)part[i]);
    name[n] = '\0';
    *ret_weight = strtod(equals + 1, &end);
    if (end == equals + 1)
        return false;
    if (strcmp(name, "mem") == 0)
        *ret_weight /= unit_mib(end);
    return true;
}

uint64_t billing(const char *weights, enum billing_sum how, uint64_t (*amount)(void *ctx, const char *name), void *ctx)
{
    double all = 0, most = 0, gres = 0, global = 0, total;

    for (const char *p = weights; *p;) {
        size_t len = strcspn(p, ",");
        char name[NAME_MAX_LEN];
        double weight, worth;

        if (take(p, len, name, &weight)) {
            worth = weight * (double)amount(ctx, name);
            all += worth;
            if (strncmp(name, "license/", 8) == 0 || strncmp(name, "bb/", 3) == 0)
                global += worth;
            else if (how == BILLING_MAX_GRES && strncmp(name, "gres/", 5) == 0)
                gres += worth;
            else
                most = MAX(most, worth);
        }
        p += len + (p[len] == ',');
    }
    total = how == BILLING_ALL ? all : most + gres + global;
    return total > 0 ? (uint64_t)total : 0;
}
