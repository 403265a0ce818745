/* bridgeplace.h - pods that have a job: marked, bound, let go, deleted */
#pragma once

#include "kube/bridge/bridge_impl.h"

void bridgeplace_mark(struct gang *g, const json_t *pods, const struct slurmjob *job);
/* Take the finalizer of pods for whose end nothing is in the way. */
void bridgeplace_release(struct gang *g, const struct podgang_view *v);
void bridgeplace_give_up(struct gang *g, const struct podgang_view *v, const char *why);
void bridgeplace_delete(struct gang *g, const struct podgang_view *v);
/* Bind the pods to the job's nodes; a node that Kubernetes does not know gives the job up. */
void bridgeplace_bind(struct gang *g, const struct podgang_view *v);
