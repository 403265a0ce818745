/* toposhow.h - topologies as operators see them: records and YAML */
#pragma once

#include "api.pb-c.h"
#include "feed/topologies.h"

/* The units of a topology (NULL: the default one) in the order in which they are shown, the names
 * of all topologies, and the YAML.  The caller frees *ret with free_unpacked().
 * Errors: -ENOENT no such topology, -ENOMEM. */
int toposhow_reply(const struct topologies *t, const char *name, Pst__TopologyReply **ret);
