/* bootfeatures.h - nodes that boot to have the features that a job asks for
 *
 * With NodeFeaturesPlugins=node_features/helpers a node says at its registration which of its
 * features can be changed and which of those are active.  A job whose constraint active features
 * do not satisfy may have nodes boot for it, when it has waited as long as its --delay-boot says.
 * Core thread; pure but for bootfeatures_register(), which fills a patch. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctld/ctld.h"

/* May nodes ever boot to satisfy the job's constraint?  Not one with counts, nor for users that
 * AllowUserBoot leaves out. */
bool bootfeatures_may(const struct ctld *ctld, const Pst__JobRecord *r);
/* The moment from which nodes may boot for the job: --delay-boot, or delay_boot of
 * SchedulerParameters, after the job is eligible.  eligible_us: when the job became, or becomes,
 * eligible. */
int64_t bootfeatures_from(const struct ctld *ctld, const Pst__JobRecord *r, int64_t eligible_us);
/* How long a job without --delay-boot waits before nodes boot for it, in seconds. */
uint32_t bootfeatures_delay_s(const struct ctld *ctld);
/* Does the constraint ask every node for features of which helpers.conf lets a node have only
 * one? */
bool bootfeatures_contradict(const struct ctld *ctld, const Pst__JobRecord *r);

/* For each of the n nodes, the features that it has to boot with: "a,b", or "" for a node whose
 * active features are enough.  False: no choice of features satisfies the job on these nodes.  The
 * caller frees *ret_list with bootfeatures_free(). */
bool bootfeatures_plan(const struct ctld *ctld, const Pst__JobRecord *r, const uint32_t *node_ids,
                       size_t n, char ***ret_list);
void bootfeatures_free(char **list, size_t n);

/* A node registers: put its active features and those that it can have into set, where they differ
 * from the record.  Features that helpers.conf does not give to the node are left out.  *ret_lacks:
 * the node booted for certain features, and not all of them are active. */
void bootfeatures_register(const struct ctld *ctld, Pst__Transaction *tx,
                           const Pst__NodeRecord *old, const Pst__NodeRecord *reg,
                           Pst__NodeRecord *set, bool *ret_lacks);
