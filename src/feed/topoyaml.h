/* topoyaml.h - topologies as topology.yaml */
#pragma once

#include "feed/topologies.h"

/* As `scontrol show topoconf` prints it: of topology.yaml what reads back as the same topologies;
 * of topology.conf a document without units, as Slurm has it. */
void topoyaml_write(const struct topologies *t, struct strbuf *sb);
