/* bridgework.h - the next action of a gang */
#pragma once

#include "kube/bridge/bridge_impl.h"

/* Of the queue; ctx is the bridge. */
void bridgework_do(void *ctx, const char *key);
