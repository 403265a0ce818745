/* cleaning.h - the end of a job on its nodes
 *
 * A job that ended holds its nodes until each of them has said that nothing of the job is left
 * there, and until its EpilogSlurmctld is over.  Then the job is released, or queued again.  The
 * node of the script is told of the end first; the other nodes are told when the script has got its
 * signal.  This module keeps by job id which nodes have not answered yet ("are awaited").  That is
 * not journaled: after a restart the answers of all nodes are awaited again.
 *
 * The nodes of an external job do not know what the job started there.  If such a job keeps its
 * nodes, it holds them until the program that made the job says that they are free
 * (keeps_nodes=no), or until an administrator has set each of them down; after keep_nodes_time the
 * nodes are drained.  Core thread. */
#pragma once

#include "ctld/ctld.h"

/* why a job was ended, as its stderr is told */
#define CLEANING_NODE_FAILURE "DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"
#define CLEANING_PREEMPTION "DUE TO PREEMPTION"

struct cleanings; /* job id -> nodes that are awaited */

int cleanings_new(struct cleanings **ret);             /* -ENOMEM */
struct cleanings *cleanings_free(struct cleanings *c); /* always NULL */

/* j was ended by the commit lsn: tell its nodes, and await those that can answer.  text goes to the
 * job's standard error, static; NULL = none. */
void cleaning_begin(struct ctld *ctld, struct job *j, uint64_t lsn, const char *text);
/* What nodes are told of a job that has ended, made from its state: for a node that was away when
 * the others were told.  NULL = nothing. */
const char *cleaning_text(const Pst__JobRecord *r);
/* After a restart: go on with a job whose nodes were still cleaning up when the controller
 * stopped. */
void cleaning_recover(struct ctld *ctld, struct job *j);
/* Has cleaning_begin() been called for j, and cleaning_forget() not yet? */
bool cleaning_is_on(const struct ctld *ctld, const struct job *j);
/* Is this node of the allocation awaited? */
bool cleaning_awaits(const struct ctld *ctld, const struct job *j, size_t position);
/* Is any node awaited? */
bool cleaning_awaits_any(const struct ctld *ctld, const struct job *j);
/* A node of the allocation is not awaited any more.  False: it is no node of j. */
bool cleaning_passed(struct ctld *ctld, const struct job *j, uint32_t node_id);
/* The script of a job that ended has got its signal: now the other nodes end their steps. */
void cleaning_script_told(struct ctld *ctld, struct job *j);
/* No node is awaited any more. */
void cleaning_pass_all(struct ctld *ctld, const struct job *j);
/* A job that ended at end_us or before and still keeps its nodes; NULL: there is none. */
struct job *cleaning_kept_since(struct ctld *ctld, int64_t end_us);
/* Where the node of a script does not answer, tell the other nodes without it.  Called twice a
 * second. */
void cleaning_tick(struct ctld *ctld, int64_t now_us);
/* j is released, queued again or forgotten. */
void cleaning_forget(struct ctld *ctld, const struct job *j);
