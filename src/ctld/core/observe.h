/* observe.h - what every change of the model sets in motion: views, the scheduler's model,
 * caches */
#pragma once

#include "ctld/ctld.h"

void observe_init(struct ctld *ctld); /* from now on the cluster's changes are followed */
/* Tell views and scheduler about everything there is (after recovery). */
void observe_all(struct ctld *ctld);
