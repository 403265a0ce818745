/* nodeusers.h - the users for whom a node may vouch: ordinary users who have a job on the node
 *
 * A node without the cluster's key vouches for commands that run there (wire/auth/vouch.h).  The
 * controller believes the node about users who have a job on it that holds resources.  It does not
 * believe the node about users who may do more than ordinary users: root, SlurmUser, SlurmdUser,
 * users with an AdminLevel, and coordinators of accounts.  So root on a node gains nothing that he
 * does not have already: the processes of the users on his node.  Design:
 * docs/design/0024-vouching.md.
 *
 * I/O threads read a table of pairs of node and user.  A job needs one entry for each node. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nodeusers;

struct nodeuser {
    uint32_t uid, gid; /* of a job */
    const char *name;  /* NULL: not known */
};

struct nodeusers *nodeusers_new(void); /* NULL: out of memory */
void nodeusers_free(struct nodeusers *u);
/* The job holds these n nodes, and no others, for the user.  ordinary: nodes may vouch for this
 * user. */
void nodeusers_hold(struct nodeusers *u, uint32_t job_id, const struct nodeuser *who,
                    const uint32_t *node_ids, size_t n, bool ordinary);
void nodeusers_drop(struct nodeusers *u, uint32_t job_id);
/* Rights of users have changed: ask is_ordinary() about the user of every job. */
void nodeusers_judge(struct nodeusers *u,
                     bool (*is_ordinary)(void *ctx, uint32_t uid, const char *user), void *ctx);
/* May the node vouch for the user: has he a job there, and is he an ordinary user?  *ret_gid is the
 * group of such a job.  Any thread. */
bool nodeusers_has(struct nodeusers *u, uint32_t node_id, uint32_t uid, uint32_t *ret_gid);
