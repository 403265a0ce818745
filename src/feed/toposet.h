/* toposet.h - the topologies of a cluster while nodes join and leave their units
 *
 * What topology.conf and topology.yaml say, with nodes by their ids, and changed by what single
 * nodes say of themselves: Topology= of a NodeName line, of `scontrol update NodeName=`, of a node
 * that registers.  A membership is a text, a comma list of topology:unit:
 *
 *   block   name:block          the block must be there
 *   tree    name:s1:s2:...:leaf  s1 must be there; those behind it are made where they are missing
 *   ring    name:ring:position  from 0; later nodes move up; a new ring begins with position 0
 *   torus   name:torus:x:y:z    the cell must be free
 *
 * A node with a membership is in no other topology and no other unit.  Out of memory ends the
 * program.  One thread at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "conf/topo/conf_topo.h"
#include "feed/topomember.h"
#include "sched/topo/topo.h"

struct toposet;

/* The id of a node, TOPO_NONE: there is none of that name. */
typedef uint32_t toposet_id_fn(void *arg, const char *name);

/* As the files say; conf gives TopologyParam.  The caller owns the object. */
struct toposet *toposet_new(const struct conf_topos *files, const struct conf *conf,
                            toposet_id_fn *id_of, void *arg);
struct toposet *toposet_free(struct toposet *ts); /* always NULL */
DEFINE_CLEANUP(struct toposet *, toposet_free)

/* How many of the units of the i-th one are of the files. */
size_t toposet_file_units(const struct toposet *ts, size_t i);
/* The topologies as descriptions, valid until ts changes; the default first. */
size_t toposet_specs(struct toposet *ts, const struct topo_spec **ret_specs);
