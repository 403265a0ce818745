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
/* Since when, or from when on, they may: after --delay-boot or delay_boot of SchedulerParameters.
 * eligible_us: when the job became, or becomes, eligible. */
int64_t bootfeatures_from(const struct ctld *ctld, const Pst__JobRecord *r, int64_t eligible_us);
/* The wait of a job without --delay-boot, in seconds. */
uint32_t bootfeatures_delay_s(const struct ctld *ctld);
/* No node could satisfy the constraint without features that exclude each other. */
bool bootfeatures_contradict(const struct ctld *ctld, const Pst__JobRecord *r);

/* The features that node i of n has to boot with, "a,b", for every node; "" where the active ones
 * do.  False: it is not to be had so.  The caller frees *ret_list with bootfeatures_free(). */
bool bootfeatures_plan(const struct ctld *ctld, const Pst__JobRecord *r, const uint32_t *node_ids,
                       size_t n, char ***ret_list);
void bootfeatures_free(char **list, size_t n);

/* A node registers: put what features it has and can have into set, as far as that is new.  Those
 * that helpers.conf does not give to the node are left out.  *ret_lacks: that the features for
 * which it booted are not all active. */
void bootfeatures_register(const struct ctld *ctld, Pst__Transaction *tx,
                           const Pst__NodeRecord *old, const Pst__NodeRecord *reg,
                           Pst__NodeRecord *set, bool *ret_lacks);
