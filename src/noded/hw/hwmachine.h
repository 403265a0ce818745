/* hwmachine.h - the processors and memory of this machine, as hwloc tells them */
#pragma once

#include <stdint.h>

struct conf;

struct hwloc_topology;

/* What counts as a socket, and with MACHINE_ECORES also the small cores of a hybrid processor
 * (SlurmdParameters=allow_ecores). */
enum machine_socket {
    MACHINE_PACKAGE,
    MACHINE_L3CACHE, /* SlurmdParameters=l3cache_as_socket */
    MACHINE_NUMA,    /* numa_node_as_socket */
    MACHINE_SOCKETS = 3,
    MACHINE_ECORES = 4,
};

struct machine {
    uint32_t cpus, sockets, cores_per_socket, threads_per_core;
    uint64_t memory_mib;
};

/* What the words of --parameters (a comma list, NULL: none) say, else the configuration's (NULL:
 * none).  The cache is asked for before the NUMA node. */
enum machine_socket machine_socket_of(const struct conf *conf, const char *parameters);
/* A machine without such caches or nodes is counted by its packages.  -EIO, -ENOMEM. */
int machine_look(enum machine_socket socket, struct machine *ret);
/* Leave the small cores out of a loaded topology, unless they count.  One of small cores alone, or
 * of cores that are all alike, stays whole. */
void machine_restrict(struct hwloc_topology *topo, enum machine_socket socket);
