/* feasible.h - could this job ever run? asked at submission, before a job is accepted
 *
 * Nodes of equal make form a class; a question costs one test per class and a count over
 * bitmaps, not a look at every node.  Core thread. */
#pragma once

#include "ctld/ctld.h"

int feasible_new(struct feasible **ret);
struct feasible *feasible_free(struct feasible *f);
void feasible_invalidate(struct feasible *f); /* nodes changed */
void feasible_place_anew(struct feasible *f); /* topologies changed */

/* How many nodes the tasks of r fill at least, be there so many or not; 0 when it cannot be
 * said. */
uint32_t feasible_nodes(struct feasible *f, const struct cluster *c, const struct partition *p,
                        const Pst__JobRecord *r, bool memory_counts);

/* How many nodes the devices of a text such as "gres/gpu:5" fill at least, be there so many or not;
 * 0 when it cannot be said. */
uint32_t feasible_gres_nodes(struct feasible *f, const struct cluster *c, const struct partition *p,
                             const char *want);

/* 0, or an ESLURM code; *ret_hint (static, may stay NULL) is the sentence that comes before the
 * code's text. */
int feasible_check(struct feasible *f, const struct cluster *c, const struct partition *p,
                   const Pst__JobRecord *r, bool memory_counts, const char **ret_hint);

/* Is each name of a constraint expression a feature of some node? */
bool feasible_features_known(struct feasible *f, const struct cluster *c, const char *expr);

/* CPUs that p gives to jobs in all: of each node at most its MaxCPUsPerNode. */
uint64_t feasible_cpus_within(const struct cluster *c, const struct partition *p);

/* For what feasible_check() finds nothing against: could selection place it on the idle and healthy
 * cluster? */
bool feasible_exactly(struct feasible *f, const struct ctld *ctld, const struct partition *p,
                      const Pst__JobRecord *r, bool memory_counts);
/* When feasible_exactly() just said no: the code for the client. */
int feasible_code(const struct feasible *f);
