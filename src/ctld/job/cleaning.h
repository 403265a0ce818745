/* cleaning.h - the end of a job on its nodes
 *
 * A job that ended holds its nodes until each of them has said that nothing of the job is left
 * there, and until its EpilogSlurmctld is over.  Then it is released, or queued again.  The node of
 * the script learns of the end first; the others follow when the script has its signal.  Which
 * nodes are awaited is kept here by job id and not journaled: after a restart all are awaited
 * again.
 *
 * An external job that keeps its nodes holds them until whoever made it says that they are free
 * (keeps_nodes=no), or each was set down by hand; after keep_nodes_time they are drained.  What
 * such a job started is unknown to its nodes.  Core thread. */
#pragma once

#include "ctld/ctld.h"

struct cleanings; /* job id -> nodes that are awaited */

int cleanings_new(struct cleanings **ret);             /* -ENOMEM */
struct cleanings *cleanings_free(struct cleanings *c); /* always NULL */

/* j was ended by the commit lsn: tell its nodes, and await those that can answer.  text goes to the
 * job's standard error, static; NULL = none. */
void cleaning_begin(struct ctld *ctld, struct job *j, uint64_t lsn, const char *text);
/* An end whose cleaning was under way when the controller stopped. */
void cleaning_recover(struct ctld *ctld, struct job *j);
/* Are nodes of j to answer yet, or have all of them answered? */
bool cleaning_is_on(const struct ctld *ctld, const struct job *j);
/* Is this node of the allocation awaited? */
bool cleaning_awaits(const struct ctld *ctld, const struct job *j, size_t position);
/* Is any node awaited? */
bool cleaning_awaits_any(const struct ctld *ctld, const struct job *j);
/* A node of the allocation is not awaited any more.  False: it is no node of j. */
bool cleaning_passed(struct ctld *ctld, const struct job *j, uint32_t node_id);
/* The script of a job that ended has its signal: the other nodes' steps get theirs. */
void cleaning_script_told(struct ctld *ctld, struct job *j);
/* No node is awaited any more. */
void cleaning_pass_all(struct ctld *ctld, const struct job *j);
/* A job that ended so early and keeps its nodes yet; NULL: there is none. */
struct job *cleaning_kept_since(struct ctld *ctld, int64_t end_us);
/* Scripts whose node does not answer: the other nodes wait no longer.  Twice a second. */
void cleaning_tick(struct ctld *ctld, int64_t now_us);
/* j is released, queued again or forgotten. */
void cleaning_forget(struct ctld *ctld, const struct job *j);
