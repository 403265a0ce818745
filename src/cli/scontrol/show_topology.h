/* show_topology.h - scontrol show topology and show topoconf */
#pragma once

#include "cli/scontrol/scontrol.h"

/* The words behind topology: a name, unit=x, node=list, --map. */
void scontrol_show_topology(struct scontrol *s, int argc, char **argv);
void scontrol_show_topoconf(struct scontrol *s, const char *name);
