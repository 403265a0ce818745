/* bridgevolume.h - claims, volumes and classes, followed; volumes that are made for a node */
#pragma once

#include "kube/bridge/bridge_impl.h"
#include "kube/claim/podvolume.h"

int bridgevolume_begin(struct bridge *b);
void bridgevolume_stop(struct bridge *b);
/* A pod of the gang is there, or (there false) is gone: its claims wake the gang. */
void bridgevolume_see(struct bridge *b, const json_t *pod, const char *gang, bool there);
/* exclusion.needs: ctx is the bridge. */
json_t *bridgevolume_needs(void *ctx, const json_t *pod);
/* Can a job be made for the pods that wait?  If not, they are told why. */
bool bridgevolume_is_open(struct gang *g, const json_t *pods);

enum bridgevolume_answer {
    BRIDGEVOLUME_READY, /* every volume is there, and can be reached */
    BRIDGEVOLUME_WAIT,  /* some are being made */
    BRIDGEVOLUME_BAD,   /* one cannot be had on its node, which is noted where it cannot change */
};
/* Pods of a job that runs: nodes is an array of objects {pod, node}.  Claims that wait for a node
 * are told theirs. */
enum bridgevolume_answer bridgevolume_place(struct gang *g, const json_t *places);
