/* nodespec.c - see nodespec.h.  A core is kept whole though one of its CPUs is named. */
#include "model/words/nodespec.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/bind/cpuspec.h"

static void keep_core(struct bitmap *cpus, uint32_t first, uint32_t threads)
{
    if (first < cpus->nbits)
        bitmap_set_range(cpus, first, MIN(threads, cpus->nbits - first));
}

int nodespec_cpus(const Pst__NodeRecord *n, struct bitmap **ret)
{
    _cleanup_(bitmap_free) struct bitmap *named = NULL, *cpus = NULL;
    uint32_t threads = MAX(n->threads_per_core, 1u), sockets = MAX(n->sockets, 1u);

    *ret = NULL;
    if (!n->cpus || (!n->cpu_spec_list && !n->core_spec))
        return 0;
    if (bitmap_new(n->cpus, &named) < 0 || bitmap_new(n->cpus, &cpus) < 0)
        return -ENOMEM;
    if (n->cpu_spec_list && bitmap_parse(named, n->cpu_spec_list, NULL) < 0)
        return 0; /* beyond what it has */
    BITMAP_FOREACH (named, i)
        keep_core(cpus, i - i % threads, threads);
    for (uint32_t i = 0; !n->cpu_spec_list && i < n->core_spec && i < sockets * n->cores_per_socket;
         i++)
        keep_core(cpus, cpuspec_core(sockets, n->cores_per_socket, i) * threads, threads);
    *ret = cpus;
    cpus = NULL;
    return 0;
}

uint32_t nodespec_effective(const Pst__NodeRecord *n)
{
    _cleanup_(bitmap_free) struct bitmap *kept = NULL;

    if (nodespec_cpus(n, &kept) < 0 || !kept)
        return n->cpus;
    return n->cpus - bitmap_count(kept);
}

const char *nodespec_too_small(const Pst__NodeRecord *have, const Pst__NodeRecord *want,
                               double mem_pct, char *buf, size_t size)
{
    if (have->has_real_memory_mib &&
        (double)have->real_memory_mib * 100 < (double)want->real_memory_mib * mem_pct) {
        (void)snprintf(buf, size, "Low RealMemory (reported:%llu < %.2f%% of configured:%llu)",
                       (unsigned long long)have->real_memory_mib, mem_pct,
                       (unsigned long long)want->real_memory_mib);
        return buf;
    }
    if (have->has_sockets && have->has_cores_per_socket && have->has_threads_per_core &&
        have->sockets * have->cores_per_socket * have->threads_per_core <
            want->sockets * want->cores_per_socket * want->threads_per_core) {
        (void)snprintf(buf, size, "Low socket*core*thread count%s",
                       have->has_cpus && have->cpus < want->cpus ? ", Low CPUs" : "");
        return buf;
    }
    if (have->has_cpus && have->cpus < want->cpus) {
        (void)snprintf(buf, size, "Low CPUs");
        return buf;
    }
    return NULL;
}
