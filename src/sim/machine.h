/* machine.h - the nodes and partitions a simulation runs on
 *
 * Owns copies of everything it names.  Pure data, one thread per object. */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "sched/sched.h"
#include "sched/topo/topo.h"

#define MACHINE_MAX_NODES 131072u

struct conf;

struct sim_machine {
    struct sched_node *nodes; /* id = index */
    uint32_t nnodes;
    struct sched_partition *parts; /* the first is the default one */
    uint32_t nparts;
    uint64_t cpus;       /* of nodes that run jobs */
    struct topo **topos; /* the default first; none = flat */
    size_t ntopos;
    void **owned;
    size_t nowned, cap_owned;
};

/* As slurm.conf says; nodes that are DOWN, DRAIN or FUTURE there run nothing.  Errors: -ENOMEM,
 * -EINVAL no node or no partition. */
int machine_from_conf(const struct conf *conf, struct sim_machine **ret_m, struct err *err);
/* Blocks of so many neighbouring nodes, b1 and on; the last may have fewer.  Sizes as in
 * topology.conf, none: derived.  Errors: -EINVAL, -ENOMEM. */
int machine_set_blocks(struct sim_machine *m, uint32_t block_nodes, const uint32_t *sizes,
                       size_t nsizes, struct err *err);
/* Copy the topologies of a machine, the default first; those that it has go.  Errors: -ENOMEM,
 * those of topo_new(). */
int machine_set_topologies(struct sim_machine *m, const struct topo_spec *specs, size_t n,
                           struct err *err);
/* The default one; NULL = flat. */
const struct topo *machine_topology(const struct sim_machine *m);
void machine_drop_topologies(struct sim_machine *m);
struct sim_machine *machine_free(struct sim_machine *m); /* always NULL */
DEFINE_CLEANUP(struct sim_machine *, machine_free)
/* Partition of that name, or the first. */
uint32_t machine_partition(const struct sim_machine *m, const char *name);
