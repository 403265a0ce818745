/* bridgeact.h - requests of an action, and what pods are told */
#pragma once

#include "kube/bridge/bridge_impl.h"

/* r: what the start of a request gave. */
void bridgeact_count(struct gang *g, int r);
/* The answer of one; ctx is the gang. */
void bridgeact_take(void *ctx, const struct kubereply *reply);
/* When all are answered the action ends. */
void bridgeact_end(struct gang *g);
/* Change this very pod; patch is taken. */
void bridgeact_patch(struct gang *g, const json_t *pod, const char *sub, json_t *patch);
/* Say once why the pods wait: a condition and an event on each. */
void bridgeact_tell(struct gang *g, const json_t *pods, const char *reason, const char *text);
