/* hwmachine.c - the processors and memory of this machine, as hwloc tells them; see hwmachine.h */
#include "noded/hw/hwmachine.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/wordlist.h"
#include "conf/conf.h"

#include <hwloc.h> /* last: it brings MIN and MAX of its own */

enum machine_socket machine_socket_of(const struct conf *conf, const char *parameters)
{
    static const struct {
        const char *word;
        enum machine_socket socket;
    } words[] = {
        { "l3cache_as_socket", MACHINE_L3CACHE },
        { "numa_node_as_socket", MACHINE_NUMA },
    };

    unsigned ecores =
        wordlist_has_nocase(parameters, "allow_ecores") ||
                (conf && conf_option(conf, CONF_SLURMD_PARAMETERS, "allow_ecores", NULL, NULL))
            ? MACHINE_ECORES
            : 0;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (wordlist_has_nocase(parameters, words[i].word))
            return (enum machine_socket)(words[i].socket | ecores);
    for (size_t i = 0; conf && i < sizeof(words) / sizeof(words[0]); i++)
        if (conf_option(conf, CONF_SLURMD_PARAMETERS, words[i].word, NULL, NULL))
            return (enum machine_socket)(words[i].socket | ecores);
    return (enum machine_socket)(MACHINE_PACKAGE | ecores);
}

static uint32_t count_objects(hwloc_topology_t topo, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(topo, type);

    return n > 0 ? (uint32_t)n : 0;
}

/* Sets of processors that are nearest to some memory: memory of two kinds beside the same
 * processors is one, and memory without processors is none. */
static uint32_t count_numa(hwloc_topology_t topo)
{
    hwloc_const_bitmap_t last = NULL;
    uint32_t n = 0;

    for (hwloc_obj_t obj = NULL;
         (obj = hwloc_get_next_obj_by_type(topo, HWLOC_OBJ_NUMANODE, obj));) {
        if (hwloc_bitmap_iszero(obj->cpuset) || (last && hwloc_bitmap_isequal(last, obj->cpuset)))
            continue;
        last = obj->cpuset;
        n++;
    }
    return n;
}

static uint32_t count_sockets(hwloc_topology_t topo, enum machine_socket socket)
{
    unsigned what = socket & MACHINE_SOCKETS;
    uint32_t n = what == MACHINE_L3CACHE ? count_objects(topo, HWLOC_OBJ_L3CACHE)
                 : what == MACHINE_NUMA  ? count_numa(topo)
                                         : 0;

    return n ? n : MAX(1u, count_objects(topo, HWLOC_OBJ_PACKAGE));
}

static bool is_small(hwloc_topology_t topo, unsigned kind, hwloc_bitmap_t set)
{
    struct hwloc_info_s *infos = NULL;
    unsigned n = 0;

    if (hwloc_cpukinds_get_info(topo, kind, set, NULL, &n, &infos, 0) < 0)
        return false;
    for (unsigned i = 0; i < n; i++)
        if (strcmp(infos[i].name, "CoreType") == 0 && strcmp(infos[i].value, "IntelAtom") == 0)
            return true;
    return false;
}

void machine_restrict(struct hwloc_topology *topo, enum machine_socket socket)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc(),
                   big = hwloc_bitmap_dup(hwloc_topology_get_topology_cpuset(topo));
    int n = hwloc_cpukinds_get_nr(topo, 0);

    for (int i = 0; set && big && !(socket & MACHINE_ECORES) && i < n; i++)
        if (is_small(topo, (unsigned)i, set))
            (void)hwloc_bitmap_andnot(big, big, set); /* without memory they count */
    if (big && !hwloc_bitmap_iszero(big))
        (void)hwloc_topology_restrict(topo, big, 0); /* likewise */
    hwloc_bitmap_free(set);
    hwloc_bitmap_free(big);
}

int machine_look(enum machine_socket socket, struct machine *ret)
{
    struct sysinfo si;
    hwloc_topology_t topo;
    uint32_t cores;

    if (hwloc_topology_init(&topo) < 0)
        return -ENOMEM;
    /* Cores of one thread each add no structure, nor do packages of one machine, nor a cache of
     * each package: they are counted all the same. */
    if (hwloc_topology_set_all_types_filter(topo, HWLOC_TYPE_FILTER_KEEP_STRUCTURE) < 0 ||
        hwloc_topology_set_type_filter(topo, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
        hwloc_topology_set_type_filter(topo, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
        hwloc_topology_set_type_filter(topo, HWLOC_OBJ_L3CACHE, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
        hwloc_topology_load(topo) < 0) {
        hwloc_topology_destroy(topo);
        return -EIO;
    }
    machine_restrict(topo, socket);
    ret->cpus = MAX(1u, count_objects(topo, HWLOC_OBJ_PU));
    cores = MAX(1u, count_objects(topo, HWLOC_OBJ_CORE));
    ret->sockets = count_sockets(topo, socket);
    hwloc_topology_destroy(topo);
    ret->cores_per_socket = MAX(1u, cores / ret->sockets);
    ret->threads_per_core = MAX(1u, ret->cpus / cores);
    ret->memory_mib = sysinfo(&si) == 0 ? (uint64_t)si.totalram * si.mem_unit >> 20 : 1;
    return 0;
}
