/* sharefeed.h - associations, QOS and what they have used, for the priorities of the scheduler;
 * pure */
#pragma once

#include "feed/records.h"

/* All of this cluster's associations with their shares and usage at now, and the priority of each
 * QOS: FEED_SHARES. */
struct feed *feed_of_shares(const struct cluster *c, const char *cluster_name, int64_t now_us);
int feed_apply_shares(struct sched *s, const struct feed_shares *all);

/* Is it one that shares are computed for: alive, of this cluster, and not the root itself? */
bool share_counts(const struct assoc *a, const struct assoc *root, const char *cluster_name);
/* The one above whose children it is among; 0 = the root. */
uint32_t share_parent(const struct assoc *a, const struct assoc *root);
/* What a has used that none of the children alive has: all of a user's. */
double share_own_usage(const struct cluster *c, const struct assoc *a, const char *cluster_name,
                       int64_t now_us);
