/* idlemodel.h - the cluster as the scheduler would see it if it were idle and healthy
 *
 * A submission asks this model whether a job could ever start.  The model has nodes and partitions
 * and no jobs; changes of the cluster are applied when the next question comes.  The code of the
 * scheduler's own selection answers, so a job is refused exactly when selection could never place
 * it.  Core thread. */
#pragma once

#include "ctld/ctld.h"

struct idlemodel;

int idlemodel_new(struct idlemodel **ret);
struct idlemodel *idlemodel_free(struct idlemodel *m);

/* Note a change: of a node, which may be gone; of partitions; of the configuration. */
void idlemodel_node(struct idlemodel *m, uint32_t node_id);
void idlemodel_parts(struct idlemodel *m);
void idlemodel_forget(struct idlemodel *m);

/* Could the job be placed in the partition p?  Also true when the model cannot answer: no
 * memory. */
bool idlemodel_places(struct idlemodel *m, const struct ctld *ctld, const struct partition *p,
                      const Pst__JobRecord *r);
/* Did the last question fail because of the topology? */
bool idlemodel_lacks_topology(const struct idlemodel *m);
