/* hwmachine.h - the processors and memory of this machine, as hwloc tells them */
#pragma once

#include <stdint.h>

struct conf;

/* What counts as a socket. */
enum machine_socket {
    MACHINE_PACKAGE,
    MACHINE_L3CACHE, /* SlurmdParameters=l3cache_as_socket */
    MACHINE_NUMA,    /* numa_node_as_socket */
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
