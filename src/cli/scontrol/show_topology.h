/* show_topology.h - scontrol show topology and show topoconf */
#pragma once

#include "base/hostlist.h"
#include "cli/scontrol/scontrol.h"

/* The words behind topology: a name, unit=x, node=list, --map. */
void scontrol_show_topology(struct scontrol *s, int argc, char **argv);
void scontrol_show_topoconf(struct scontrol *s, const char *name);
/* Functions of units of the default topology in *names become the names of their nodes; *names is
 * replaced.  One that cannot be read, or whose unit is not there, stays: a name of no node.  Asks
 * the controller once, and only when there is a function. */
void scontrol_expand_units(struct scontrol *s, struct hostlist **names);
