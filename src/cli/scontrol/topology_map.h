/* topology_map.h - scontrol show topology --map: a line for each leaf, block or ring, with the
 * states of its nodes and the jobs on them */
#pragma once

#include "cli/scontrol/scontrol.h"

/* Ask for nodes and jobs and print the map of t.  Failures are told. */
void topology_map(struct scontrol *s, const Pst__TopologyReply *t);
