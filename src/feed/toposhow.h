/* toposhow.h - topologies as operators see them: records and YAML */
#pragma once

#include "api.pb-c.h"
#include "feed/topologies.h"

/* The units of a topology (NULL: the default one) in the order in which they are shown, the names
 * of all topologies, and the YAML.  The caller frees *ret with free_unpacked().
 * Errors: -ENOENT no such topology, -ENOMEM. */
int toposhow_reply(const struct topologies *t, const char *name, Pst__TopologyReply **ret);

/* As `scontrol show topoconf` prints it: of topology.yaml what reads back as the same topologies; of
 * topology.conf a document without units, as Slurm has it. */
void toposhow_yaml(const struct topologies *t, struct strbuf *sb);
