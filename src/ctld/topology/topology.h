/* topology.h - the topologies in force: what the files say, and what single nodes say of themselves
 *
 * The room owns the set.  A node's own word is the field `topology` of its record: "" = it is in no
 * unit; absent = the files alone count.  The field is in the journal, so it survives a restart; a
 * changed value in slurm.conf takes its place.  The set is made anew when nodes come and go, when
 * their field changes, and when the configuration is read again. */
#pragma once

#include "base/bitmap.h"
#include "ctld/ctld.h"
#include "feed/topologies.h"

/* Would node_id be where the text says: "name:unit,..."?  1 with *ret_text, which the caller puts
 * into the node's record as `topology`, in a transaction of the same batch; free() it.  The node
 * need not have a record yet.
 * -EINVAL: a topology or unit that is not there, or has no room; err has the sentence, and the
 * client is told ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE.  Core thread. */
int topology_join(struct ctld *ctld, uint32_t node_id, const char *text, char **ret_text,
                  struct err *err);
/* What topology_join() said does not come: the transaction was given up.  Core thread. */
void topology_forget(struct ctld *ctld);

/* The set in force; NULL before the service has started.  topology_now(): core thread, valid until
 * the batch ends.  topology_get(): any thread, one reference is the caller's. */
const struct topologies *topology_now(const struct ctld *ctld);
struct topologies *topology_get(struct ctld *ctld);
/* The set, with a reference, when it changed since the last call; else NULL.  For the feed of the
 * scheduler; core thread. */
struct topologies *topology_take_changed(struct ctld *ctld);

/* The topologies of a configuration: what a start or a reconfiguration would refuse.  Problems are
 * noted, a sentence is in err. */
int topology_check_conf(const struct conf *conf, struct conf_problems *problems, struct err *err);
