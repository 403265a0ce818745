/* simtopo.h - topology.conf and topology.yaml for `penstock sim` */
#pragma once

#include "conf/topo/conf_topo.h"
#include "sim/machine.h"
#include "sim/world.h"

/* Read the topology file beside the slurm.conf at `path`.  Warnings go to standard error.  The
 * caller owns *ret.  Errors: those of conf_topos_load(). */
int simtopo_files(const struct conf *conf, const char *path, struct conf_topos **ret,
                  struct err *err);
/* The topologies beside the slurm.conf at `path`, on a machine that was made of it.  Warnings go to
 * standard error.  Errors: those of conf_topos_load() and topo_new(); err has file and line. */
int simtopo_conf(const struct conf *conf, const char *path, struct sim_machine *m, struct err *err);
/* The topologies in force on a cluster whose slurm.conf is `conf`: the files beside it, and what
 * nodes say themselves. */
int simtopo_live(const struct conf *conf, struct world *w, struct err *err);
