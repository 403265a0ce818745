/* bridgeleave.h - pods that are being ended and still run: their nodes are not given away yet
 *
 * A job ends at once; its pods end when their containers have.  slurmctld keeps its nodes until the
 * bridge says that they are free.  No other pod is bound there meanwhile: the kubelet would refuse
 * it. */
#pragma once

#include "kube/bridge/bridge_impl.h"

void bridgeleave_see(struct bridge *b, const json_t *before, const json_t *now);
/* The job of a gang has ended: its pods leave from now on, whenever they are deleted. */
void bridgeleave_end(struct gang *g, const struct slurmjob *job);
/* Tell slurmctld that the nodes of this job are free, when it waits for that and no pod of it runs
 * or may begin; else it is told again. */
#define BRIDGELEAVE_SENT_US (INT64_C(10) * 1000000)
void bridgeleave_let_go(struct bridge *b, const struct slurmjob *job);
void bridgeleave_stop(struct bridge *b);
/* Is every node of the places (bridgevolume_place()) left?  If not, the gang is woken when it is,
 * and the pods are told.  Not longer than bridge_options.wait_us: then the kubelet decides. */
bool bridgeleave_is_done(struct gang *g, const json_t *pods, const json_t *places);
