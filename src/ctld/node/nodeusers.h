/* nodeusers.h - for which users a node may vouch: those who have a job on it, and no rights over
 * others
 *
 * A node without the cluster's key vouches for commands that run there (wire/auth/vouch.h).  It is
 * believed for users who have a job on it that holds resources, and for nobody who could do more
 * than an ordinary user: not for root, SlurmUser and SlurmdUser, not for users with an AdminLevel
 * or
 * who coordinate an account.  So root on a node gains what he has already: the processes of its
 * users.  Design: docs/design/0024-vouching.md.
 *
 * The service keeps a table of node and user for I/O threads.  A job costs an entry a node. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nodeusers;

struct nodeusers *nodeusers_new(void); /* NULL: out of memory */
void nodeusers_free(struct nodeusers *u);
/* The job holds these n nodes for a user; what was held before is not any more.  user: his name, or
 * NULL.  ordinary: may nodes vouch for him? */
void nodeusers_hold(struct nodeusers *u, uint32_t job_id, uint32_t uid, const char *user,
                    const uint32_t *node_ids, size_t n, bool ordinary);
void nodeusers_drop(struct nodeusers *u, uint32_t job_id);
/* Rights have changed: is_ordinary() is asked for the user of every job. */
void nodeusers_judge(struct nodeusers *u,
                     bool (*is_ordinary)(void *ctx, uint32_t uid, const char *user), void *ctx);
/* Has the user a job on the node that counts?  Any thread. */
bool nodeusers_has(struct nodeusers *u, uint32_t node_id, uint32_t uid);
