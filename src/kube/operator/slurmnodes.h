/* slurmnodes.h - the nodes of a cluster, as slurmctld has them, over slurmrestd
 *
 * Nodes and jobs are listed when the stream of changes has begun, and followed by it.  While the
 * stream is cut nothing is known.  Three answers: yes, no, not known; what is not answered is not
 * known, and only slurmctld's own words are a no.  One thread: the loop's. */
#pragma once

#include "kube/api/kubecall.h"

struct slurmnodes;

/* Something has changed; name NULL: everything may have. */
typedef void slurmnodes_changed_fn(void *ctx, const char *name);

/* cluster: the name of the cluster, copied; what the slurmrestd of another one answers is not known
 * here.  s stays the caller's and is freed first.  -ENOMEM. */
int slurmnodes_new(struct kubeserver *s, const char *cluster, slurmnodes_changed_fn *changed,
                   void *ctx, struct slurmnodes **ret);
struct slurmnodes *slurmnodes_free(struct slurmnodes *l); /* always NULL */
/* Is what follows known at present? */
bool slurmnodes_is_known(const struct slurmnodes *l);
/* Why not, as the beginning of a sentence; l may be NULL. */
const char *slurmnodes_why_unknown(const struct slurmnodes *l);
/* name, state, reason, reason_changed_at, comment, topology, features, active_features, cpus,
 * last_busy, reservation as slurmrestd writes them; NULL: slurmctld has no such node, or nothing is
 * known.  Borrowed until the next turn. */
const json_t *slurmnodes_get(const struct slurmnodes *l, const char *name);
/* All nodes, in order of names; none when they are not known. */
void slurmnodes_walk(const struct slurmnodes *l, void (*fn)(void *ctx, const json_t *node),
                     void *ctx);
/* Follow jobs that wait, too; from now on they are in slurmnodes_pending(). */
void slurmnodes_want_pending(struct slurmnodes *l);
/* An object: ids of jobs that wait, and would start if there were nodes, to partition, nodes, cpus,
 * exclusive, tasks, features.  NULL: not known.  Borrowed until the next turn. */
const json_t *slurmnodes_pending(const struct slurmnodes *l);
/* Since when slurmctld is known to have no such node, monotonic; 0: it is not known. */
int64_t slurmnodes_missed_us(const struct slurmnodes *l, const char *name);
/* When the last running job of the node must be over, seconds since the epoch; 0: no job runs
 * there, INT64_MAX: never. */
int64_t slurmnodes_deadline(struct slurmnodes *l, const char *name);

enum slurmnodes_drained {
    SLURMNODES_UNKNOWN,
    SLURMNODES_YES, /* no job is there, and none will be */
    SLURMNODES_NO,
    SLURMNODES_GONE, /* slurmctld says that it has no such node */
};
typedef void slurmnodes_drained_fn(void *ctx, enum slurmnodes_drained answer);

/* Ask now, whatever was known.  done is called once unless the link or its server is freed. */
int slurmnodes_ask_drained(struct slurmnodes *l, const char *name, slurmnodes_drained_fn *done,
                           void *ctx);
/* Change a node (POST node/NAME). */
int slurmnodes_change(struct slurmnodes *l, const char *name, const json_t *body, kubecall_fn *done,
                      void *ctx);
/* Delete the record of a node that is down and silent, holds no job and has this comment still: it
 * is asked for first.  done is told what was answered last; status 200 without errors: it is gone,
 * or is not to go any more. */
int slurmnodes_prune(struct slurmnodes *l, const char *name, const char *comment, kubecall_fn *done,
                     void *ctx);
/* A reservation: GET and DELETE of the name, POST of a body. */
int slurmnodes_reservation(struct slurmnodes *l, const char *method, const char *name,
                           const json_t *body, kubecall_fn *done, void *ctx);
/* Read all nodes anew: something may have changed that is not told. */
void slurmnodes_refresh(struct slurmnodes *l);
/* Did slurmctld itself say that it has no such node? */
bool slurmnodes_says_gone(const struct kubereply *reply);
