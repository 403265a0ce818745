/* prologs.h - PrologFlags=Alloc: an allocation is ready when the prologs of all its nodes are done
 *
 * Core thread.  From its start until then the job's record says node_prologs, and users see the
 * reason Prolog.  The job is RUNNING: its time counts.
 * The journal does not keep which nodes have answered: after a restart of either side they are
 * asked again, and a node that is done answers at once. */
#pragma once

#include "ctld/ctld.h"
#include "model/cluster.h"

struct prologs; /* which nodes are awaited */

int prologs_new(struct prologs **ret);           /* -ENOMEM */
struct prologs *prologs_free(struct prologs *p); /* always NULL */

/* Does PrologFlags have prologs run when a job starts? */
bool launch_prepares(const struct ctld *ctld);
/* PrologFlags=Contain: jobs get an extern step. */
bool launch_contains(const struct ctld *ctld);
/* May its programs show windows where it was submitted? */
bool launch_forwards_x11(const struct ctld *ctld);
/* PrologFlags=DeferBatch: the script waits for the prologs of all nodes. */
bool prologs_defer_batch(const struct ctld *ctld);
/* Is there anything to wait for when a job starts? */
bool prologs_wanted(const struct ctld *ctld);

static inline bool job_awaits_node_prologs(const Pst__JobRecord *r)
{
    return r->has_node_prologs && r->node_prologs;
}

/* Must the client that asked for the allocation wait for nodes that boot? */
bool prologs_hold_grant(const struct ctld *ctld, const struct job *j);
/* Must the client that was granted the allocation wait for prologs?  Not with NoHold. */
bool prologs_hold_ready(const struct ctld *ctld, const struct job *j);
/* Must the script wait for more than its own node (DeferBatch)?  Of a heterogeneous job all
 * components count, here and there. */
bool prologs_hold_batch(const struct ctld *ctld, const struct job *j);
/* Have all nodes answered since this controller started? */
bool prologs_over(const struct ctld *ctld, const struct job *j);
/* Has this node of the allocation not yet answered? */
bool prologs_await(const struct ctld *ctld, const struct job *j, size_t position);
/* The node at this position is not awaited any more.  True: no other is. */
bool prologs_note_passed(struct ctld *ctld, const struct job *j, size_t position);

/* prologsteps.c
 *
 * The job no longer waits for this node: the node's prolog is done, or the node is lost and the job
 * goes on without it.  After the last node the job is launched. */
void prologs_passed(struct ctld *ctld, struct job *j, uint32_t node_id);
/* Node n reports that its prolog is done. */
void prologs_done(struct ctld *ctld, const struct node *n, const Pst__RunningStep *run);
/* A run begins, or j is about to be forgotten: no node has answered. */
void prologs_forget(struct ctld *ctld, const struct job *j);
/* The allocation has become smaller: ask all nodes that are left again. */
void prologs_resized(struct ctld *ctld, struct job *j, uint64_t lsn);
