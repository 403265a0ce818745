/* billing.c - what an allocation is billed; see billing.h. */
#include "model/account/billing.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/gres/licensetext.h"

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

/* Of "matlab:2;port(n[01-12]):1". */
static double license_count(const char *licenses, const char *want)
{
    size_t len = strlen(want);
    struct license_text l;
    double sum = 0;

    while (licenses && license_text_next(&licenses, &l))
        if (l.name_len == len && strncasecmp(l.name, want, len) == 0)
            sum += (double)license_text_count(&l);
    return sum;
}

static double memory_mib(const Pst__Alloc *a)
{
    double sum = 0;

    for (size_t g = 0; g < a->n_groups; g++)
        sum += (double)a->groups[g]->mem_mib * a->groups[g]->nodes;
    return sum;
}

struct bill {
    const Pst__Alloc *alloc;
    const char *licenses;
};

static double count_of(void *ctx, const char *name)
{
    const struct bill *b = ctx;

    if (strcmp(name, "cpu") == 0)
        return b->alloc->total_cpus;
    if (strcmp(name, "mem") == 0)
        return memory_mib(b->alloc);
    if (strcmp(name, "node") == 0)
        return (double)b->alloc->n_node_ids;
    if (strncmp(name, "gres/", 5) == 0)
        return gres_count(b->alloc, name + 5);
    if (strncmp(name, "license/", 8) == 0)
        return license_count(b->licenses, name + 8);
    return 0;
}

double billing_of(const char *weights, enum billing_sum how, const Pst__Alloc *a,
                  const char *licenses)
{
    struct bill b = { a, licenses };

    return weights && *weights ? billing_exact(weights, how, count_of, &b) : a->total_cpus;
}
