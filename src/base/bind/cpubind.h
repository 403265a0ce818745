/* cpubind.h - which CPUs of a node each task of a step may use: --cpu-bind
 *
 * Pure.  CPUs are numbered as allocations number them: socket by socket, core by core, the
 * threads of a core next to each other.
 *
 * Form of the text: words parted by commas, [quiet|verbose][,none|threads|cores|sockets|ldoms|
 * rank_ldom|map_cpu:LIST|mask_cpu:LIST|map_ldom:LIST|mask_ldom:LIST].  A list is everything
 * behind its colon; an item may be repeated as ITEM*COUNT; tasks beyond the list begin it again.
 *
 * Without a kind a step is bound to the level (sockets, else cores, else threads) of which it has
 * exactly as many as its tasks need, and to all its CPUs otherwise. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bind/bindlist.h"
#include "base/bitmap.h"
#include "base/err.h"

enum cpubind_kind {
    CPUBIND_AUTO,
    CPUBIND_NONE,
    CPUBIND_THREADS,
    CPUBIND_CORES,
    CPUBIND_SOCKETS,
    CPUBIND_LDOMS,
    CPUBIND_RANK_LDOM,
    CPUBIND_MAP_CPU,
    CPUBIND_MASK_CPU,
    CPUBIND_MAP_LDOM,
    CPUBIND_MASK_LDOM,
};

struct cpubind {
    enum cpubind_kind kind;
    bool verbose, quiet;
    struct bindlist list; /* of a kind that has one */
};

/* Errors: -EINVAL with the sentence, -ENOMEM.  On failure nothing is kept. */
int cpubind_parse(const char *text, struct cpubind *ret, struct err *err);
void cpubind_done(struct cpubind *b);
/* "mask_cpu:", "cores" ...: as SLURM_CPU_BIND_TYPE names a kind. */
const char *cpubind_word(enum cpubind_kind kind);
/* The word of cpubind_parse() for a value of CpuBind ("core"), in any case.  NULL: none ("off"). */
const char *cpubind_of_key(const char *value);

/* Geometry of a node, and of the step on it. */
struct cpubind_node {
    uint32_t sockets, cores, threads; /* cores of a socket, threads of a core */
    uint32_t n_ldoms;                 /* NUMA domains: equal parts of the CPUs, 0 = 1 */
};
struct cpubind_step {
    const struct bitmap *cpus; /* the step's, of sockets * cores * threads bits */
    uint32_t n_tasks, cpus_per_task;
    const char *distribution; /* "block:cyclic:fcyclic"; NULL: cyclic over sockets */
    bool one_thread;          /* only the first thread of each core: --hint=nomultithread */
    /* when the text names no kind and no level fits; CPUBIND_AUTO = all CPUs */
    enum cpubind_kind dflt;
};

/* masks[n_tasks] are the caller's to free; an empty one means: not bound.  *ret_kind is the kind in
 * force.  Errors: -EPERM a list names CPUs that the step does not have, or needs the whole node and
 * the step has a part; -EINVAL an item is no number; -ENOMEM. err has the sentence. */
int cpubind_masks(const struct cpubind *b, const struct cpubind_node *node,
                  const struct cpubind_step *step, struct bitmap **masks,
                  enum cpubind_kind *ret_kind, struct err *err);

/* "0x00F0", as wide as the bitmap.  The caller frees.  -ENOMEM. */
int cpubind_hex(const struct bitmap *mask, char **ret_text);
