/* resize.h - running jobs that give nodes back
 *
 * scontrol update JobId= NumNodes=, NodeList= or MinMemoryNode= of a running job.  Jobs shrink;
 * they do not grow. */
#pragma once

#include "ctld/ctld.h"

/* Does set change the size of r, which runs? */
bool resize_asked(const Pst__JobRecord *r, const Pst__JobRecord *set);

/* The most memory that r has on a node; 0: none is counted. */
uint64_t resize_memory_held(const Pst__JobRecord *r);
/* Less memory on each node: alloc, ReqTRES and limits of its nodes follow.  0 or an ESLURM code:
 * ESLURM_JOB_NOT_PENDING for more than it has. */
int resize_memory(struct ctld *ctld, struct job *j, uint64_t mib, uint64_t *ret_lsn);
/* The same for --mem-update, which counts as done with it: nodes that have less keep what they
 * have; 0: no change but that. */
int resize_memory_used(struct ctld *ctld, struct job *j, uint64_t mib);
/* Keep max_nodes (else min_nodes) nodes of the allocation, or those of req_nodes; *ret_lsn is that
 * of the change. 0 or an ESLURM code: ESLURM_NOT_SUPPORTED for more nodes than it has,
 * ESLURM_INVALID_NODE_NAME for names that do not exist or are not of the job, and for lists without
 * the batch host. */
int resize_job(struct ctld *ctld, struct job *j, const Pst__JobRecord *set, uint64_t *ret_lsn);
/* The job goes on without a node that is lost.  0 or an ESLURM code: nothing has changed. */
int resize_drop_node(struct ctld *ctld, struct job *j, uint32_t node_id);
