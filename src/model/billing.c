/* billing.c - what an allocation is billed; see billing.h. */
#include "model/billing.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

#define NAME_MAX_BYTES 128u

struct weight {
    char name[NAME_MAX_BYTES];
    double each; /* of memory: of a MiB */
};

/* The next of the list; NULL: the end.  *ret_ok: it could be read. */
static const char *next_weight(const char *p, struct weight *w, bool *ret_ok)
{
    size_t len = strcspn(p, ","), name = strcspn(p, "=");
    static const char units[] = "KMGTP";
    const char *unit;
    char *end;

    if (!*p)
        return NULL;
    *ret_ok = name < len && name > 0 && name < sizeof(w->name);
    if (*ret_ok) {
        memcpy(w->name, p, name);
        w->name[name] = '\0';
        w->each = strtod(p + name + 1, &end);
        *ret_ok = end > p + name + 1 && w->each >= 0;
        unit =
            strcasecmp(w->name, "mem") == 0 && end < p + len ? strchr(units, *end & ~0x20) : NULL;
        if (unit) {
            for (end++; unit > units + 1; unit--)
                w->each /= 1024;
            if (unit == units)
                w->each *= 1024;
        }
        *ret_ok = *ret_ok && end == p + len;
    }
    return p + len + (p[len] == ',');
}

static double gres_count(const Pst__Alloc *a, const char *want)
{
    size_t len = strcspn(want, ":");
    double sum = 0;

    for (size_t g = 0; g < a->n_groups; g++) {
        for (size_t i = 0; i < a->groups[g]->n_gres; i++) {
            const Pst__GresAlloc *ga = a->groups[g]->gres[i];

            if (strncasecmp(ga->name, want, len) != 0 || ga->name[len] ||
                (want[len] && (!ga->type || strcasecmp(ga->type, want + len + 1) != 0)))
                continue;
            sum += (double)ga->count * a->groups[g]->nodes;
        }
    }
    return sum;
}

/* Of "matlab:2,ansys:1". */
static double license_count(const char *licenses, const char *want)
{
    size_t len = strlen(want);

    for (const char *p = licenses ? licenses : ""; *p; p += strcspn(p, ","), p += *p == ',')
        if (strncasecmp(p, want, len) == 0 && (p[len] == ':' || p[len] == ',' || !p[len]))
            return p[len] == ':' ? strtod(p + len + 1, NULL) : 1;
    return 0;
}

static double memory(const Pst__Alloc *a)
{
    double sum = 0;

    for (size_t g = 0; g < a->n_groups; g++)
        sum += (double)a->groups[g]->mem_mib * a->groups[g]->nodes;
    return sum;
}

static double count_of(const char *name, const Pst__Alloc *a, const char *licenses)
{
    if (strcasecmp(name, "cpu") == 0)
        return a->total_cpus;
    if (strcasecmp(name, "mem") == 0)
        return memory(a);
    if (strcasecmp(name, "node") == 0)
        return (double)a->n_node_ids;
    if (strncasecmp(name, "gres/", 5) == 0)
        return gres_count(a, name + 5);
    if (strncasecmp(name, "license/", 8) == 0)
        return license_count(licenses, name + 8);
    return 0;
}

double billing_of(const char *weights, unsigned flags, const Pst__Alloc *a, const char *licenses)
{
    double sum = 0, most = 0;
    struct weight w;
    bool ok = false;

    if (!weights || !*weights)
        return a->total_cpus;
    for (const char *p = weights; (p = next_weight(p, &w, &ok));) {
        double part = ok ? w.each * count_of(w.name, a, licenses) : 0;
        bool global = strncasecmp(w.name, "license/", 8) == 0 || strncasecmp(w.name, "bb/", 3) == 0;
        bool gres = strncasecmp(w.name, "gres/", 5) == 0;

        if (global || !(flags & (BILLING_MAX_TRES | BILLING_MAX_TRES_GRES)) ||
            (gres && (flags & BILLING_MAX_TRES_GRES)))
            sum += part;
        else
            most = MAX(most, part);
    }
    return sum + most;
}

int billing_check(const char *weights, struct err *err)
{
    struct weight w;
    bool ok = false;

    for (const char *p = weights ? weights : "", *at = p; (p = next_weight(p, &w, &ok)); at = p)
        if (!ok)
            return err_set(err, -EINVAL, "'%.*s' is not of the form name=number",
                           (int)strcspn(at, ","), at);
    return 0;
}
