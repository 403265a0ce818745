/* stepcpus.h - which CPUs of a node an exact step gets: pure */
#pragma once

#include <stdint.h>

#include "base/bitmap.h"

/* The node's CPUs as allocations number them: socket by socket, core by core, thread by thread. */
struct stepcpus_node {
    uint32_t sockets, cores, threads; /* cores of a socket, threads of a core */
};

/* Take `count` CPUs out of those in free_cpus for tasks of cpt CPUs each.  dist as --distribution
 * has it: its second level says how tasks go over the sockets, cyclic when it is not named: each
 * task on the next one (fcyclic: each core), a task's own cores side by side; block: one socket
 * after the other.  Tasks smaller than a core share one. ret has as many bits as free_cpus; when
 * the geometry does not have as many CPUs, the lowest are taken.  -ENOMEM. */
int stepcpus_pick(const struct bitmap *free_cpus, const struct stepcpus_node *node,
                  const char *dist, uint32_t cpt, uint32_t count, struct bitmap **ret);

/* Add to taken what free_cpus has of the same cores: an exact step owns its cores whole.
 * -ENOMEM. */
int stepcpus_widen(const struct bitmap *free_cpus, const struct stepcpus_node *node,
                   struct bitmap *taken);
