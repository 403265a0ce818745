/* conf_topo.h - topology.conf and topology.yaml: which nodes are near to each other
 *
 * The files describe nodes by name; src/feed/toposet.h makes of them what the scheduler takes.  A
 * library of its own, because commands read slurm.conf and have no use for these files.
 *
 * Which file is in force: topology.yaml, where it stands beside slurm.conf; it defines one or more
 * topologies with names.  Else TopologyPlugin says of which kind the one topology "default" is, and
 * topology.conf describes it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "conf/conf.h"

#define CONF_TOPO_MAX 64u        /* topologies of a cluster */
#define CONF_TOPO_UNITS 65536u   /* units of a topology */
#define CONF_TOPO_NAME 64u       /* bytes of a name */
#define CONF_TOPO_LEVELS 20u     /* of switches */
#define CONF_TOPO_RING 16u       /* nodes of a ring */
#define CONF_TOPO_POWERS 16u     /* block sizes are base x 2^k, k below this */
#define CONF_TOPO_PLACES 1024u   /* placements of a torus */
#define CONF_TOPO_CELLS 4194304u /* names of nodes, and cells of toruses, in all files together */

enum conf_topo_kind {
    CONF_TOPO_FLAT,
    CONF_TOPO_TREE,
    CONF_TOPO_BLOCK,
    CONF_TOPO_RING_KIND,
    CONF_TOPO_TORUS,
};

struct conf_topo_place { /* torus: a shape that jobs may have */
    uint32_t dims[3], seed[3], spacing[3];
};

struct conf_topo_unit { /* a switch, base block, ring or torus */
    const char *name;
    const char **nodes; /* names in order; torus: X x Y x Z of them, NULL where no node is */
    size_t nnodes;
    uint32_t *children; /* tree: indexes of the switches below */
    size_t nchildren;
    uint32_t link_speed;
    uint32_t dims[3];
    struct conf_topo_place *places; /* torus; ascending in size */
    size_t nplaces;
    unsigned line;
};

struct conf_topo {
    const char *name;
    enum conf_topo_kind kind;
    bool is_default; /* cluster_default of topology.yaml, as written */
    bool alpha_rank; /* flat: alpha_step_rank */
    struct conf_topo_unit *units;
    size_t nunits;
    uint32_t *block_sizes; /* as written, none: derived; level 0 is always among them */
    size_t nblock_sizes;
    unsigned line;
};

struct conf_topos;

/* Read the file that is in force for this configuration.  The caller owns *ret_topos, which has at
 * least one topology, the default first; c need not live as long.  Problems are noted as by
 * conf_load(): errors refuse the file, warnings (nodes that slurm.conf does not know, units that
 * do not reach every node) do not.
 * Errors: -EINVAL, -ENOMEM. */
int conf_topos_load(const struct conf *c, struct conf_topos **ret_topos,
                    struct conf_problems *problems, struct err *err);
/* The same, from files in another folder than that of slurm.conf. */
int conf_topos_load_in(const struct conf *c, const char *dir, struct conf_topos **ret_topos,
                       struct conf_problems *problems, struct err *err);
/* The same from texts in memory; their names are those of the files, without a folder. */
int conf_topos_load_text(const struct conf *c, const struct conf_text *files, size_t n,
                         struct conf_topos **ret_topos, struct conf_problems *problems,
                         struct err *err);
struct conf_topos *conf_topos_free(struct conf_topos *t); /* always NULL */
DEFINE_CLEANUP(struct conf_topos *, conf_topos_free)

size_t conf_topos_count(const struct conf_topos *t);
const struct conf_topo *conf_topos_nth(const struct conf_topos *t, size_t i);
bool conf_topos_yaml(const struct conf_topos *t); /* from topology.yaml */
