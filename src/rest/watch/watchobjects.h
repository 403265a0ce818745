/* watchobjects.h - jobs as GET job/{id} shows them, beside their changes */
#pragma once

#include "rest/watch/restwatch_impl.h"

/* Ask slurmctld as the source's caller for the jobs that the items are about, and put each into its
 * items.  A job that is gone, or that cannot be asked for now, has none. */
void watchobjects_add(const struct watch_source *s, struct watch_item **items, size_t n);
