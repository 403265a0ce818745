/* billweights.c - what resources are charged; see billweights.h. */
#include "base/gres/billweights.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define NAME_MAX_LEN 128u

/* MiB of the unit at *text, which moves behind it. */
static double unit_mib(char **text)
{
    static const char units[] = "KMGTP";
    const char *unit = **text ? strchr(units, toupper((unsigned char)**text)) : NULL;
    double mib = 1.0 / 1024;

    if (!unit)
        return 1;
    for (const char *u = units; u < unit; u++)
        mib *= 1024;
    (*text)++;
    return mib;
}

/* "Mem=0.25G" -> "mem", and the weight of one of it. */
static bool take_weight(const char *part, size_t len, char *name, double *ret_weight)
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
    if (end == equals + 1 || !(*ret_weight >= 0) || isinf(*ret_weight))
        return false;
    if (strcmp(name, "mem") == 0 && end < part + len)
        *ret_weight /= unit_mib(&end);
    return end == part + len;
}

double billing_exact(const char *weights, enum billing_sum how, billing_amount_fn *amount,
                     void *ctx)
{
    double sum = 0, most = 0;

    for (const char *p = weights; *p;) {
        size_t len = strcspn(p, ",");
        char name[NAME_MAX_LEN];
        double weight;

        if (take_weight(p, len, name, &weight)) {
            bool global = strncmp(name, "license/", 8) == 0 || strncmp(name, "bb/", 3) == 0;
            bool gres = how == BILLING_MAX_GRES && strncmp(name, "gres/", 5) == 0;
            double worth = weight * amount(ctx, name);

            if (how == BILLING_ALL || global || gres)
                sum += worth;
            else
                most = MAX(most, worth);
        }
        p += len + (p[len] == ',');
    }
    return sum + most;
}

uint64_t billing(const char *weights, enum billing_sum how, billing_amount_fn *amount, void *ctx)
{
    double sum = billing_exact(weights, how, amount, ctx);

    return sum < 0x1p64 ? (uint64_t)sum : UINT64_MAX;
}

int billing_check(const char *weights, struct err *err)
{
    for (const char *p = weights ? weights : ""; *p;) {
        size_t len = strcspn(p, ",");
        char name[NAME_MAX_LEN];
        double weight;

        if (!take_weight(p, len, name, &weight))
            return err_set(err, -EINVAL, "'%.*s' is not of the form name=number", (int)len, p);
        p += len + (p[len] == ',');
    }
    return 0;
}
