/* idlemodel.h - the cluster as the scheduler would see it if it were idle and healthy
 *
 * A submission asks it whether a job could ever start.  It has nodes and partitions, no jobs; what
 * changed is handed to it when the next question comes.  Selection itself answers, so that a job is
 * refused for the reasons, and only for those, for which it could never be placed.  Core thread. */
#pragma once

#include "ctld/ctld.h"

struct idlemodel;

int idlemodel_new(struct idlemodel **ret);
struct idlemodel *idlemodel_free(struct idlemodel *m);

/* What changed. */
void idlemodel_node(struct idlemodel *m, uint32_t node_id); /* or it is gone */
void idlemodel_parts(struct idlemodel *m);
void idlemodel_forget(struct idlemodel *m); /* everything: the configuration is another */

/* Could the job be placed in this one of its partitions?  True as well when that cannot be found
 * out. */
bool idlemodel_places(struct idlemodel *m, const struct ctld *ctld, const struct partition *p,
                      const Pst__JobRecord *r);
/* Was it the topology that could not give what was asked for last? */
bool idlemodel_lacks_topology(const struct idlemodel *m);
