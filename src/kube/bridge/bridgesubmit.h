/* bridgesubmit.h - a job for pods that wait, and other nodes for one that waits */
#pragma once

#include "kube/bridge/bridge_impl.h"

void bridgesubmit_job(struct gang *g, const struct podgang_view *v);
void bridgesubmit_exclude(struct gang *g, const struct podgang_view *v);
