/* cpuspec.h - which cores of a node are kept for the system (CoreSpecCount) */
#pragma once

#include <stdint.h>

/* The i-th of them, counted socket by socket: the last core of the last socket first, then the last
 * of the others in turn, then their last but one. */
static inline uint32_t cpuspec_core(uint32_t sockets, uint32_t cores_per_socket, uint32_t i)
{
    return (sockets - 1 - i % sockets) * cores_per_socket + cores_per_socket - 1 - i / sockets;
}

/* The same with SchedulerParameters=spec_cores_first: the first core of the first socket, then the
 * first of the others in turn, then their second ones. */
static inline uint32_t cpuspec_first_core(uint32_t sockets, uint32_t cores_per_socket, uint32_t i)
{
    return i % sockets * cores_per_socket + i / sockets;
}
