/* resourcefeed.h - resources with layers (resources.yaml) as the scheduler takes them */
#pragma once

#include "conf/layers/resources.h"
#include "feed/records.h"

/* All of them; nodes that the cluster does not have are left out. */
struct feed *feed_of_resources(const struct cluster *c, const struct resources *all);
int feed_apply_resources(struct sched *s, const struct feed_resources *all);
