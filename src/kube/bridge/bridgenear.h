/* bridgenear.h - pods that say something of other pods: which pods are there, and where they may go
 *
 * Pods of other schedulers are followed only once a pod of ours says something of pods. */
#pragma once

#include "kube/bridge/bridge_impl.h"

void bridgenear_begin(struct bridge *b);
void bridgenear_stop(struct bridge *b);
/* A pod of a gang has changed. */
void bridgenear_see(struct bridge *b, const json_t *before, const json_t *now, const char *gang);
/* Can a job be made for the pods that wait?  If not, they are told why. */
bool bridgenear_is_open(struct gang *g, const json_t *pods);
/* A job is about to be made for the pods: where is one to be that keeps pods like itself away?
 * Others take it for being there, for a while, so that pods which come together go apart. */
void bridgenear_plan(struct gang *g, const json_t *pods);
/* slurmctld refuses the job: was there a plan?  If so it is dropped, and none is made again. */
bool bridgenear_unplan(struct gang *g);
/* The names of nodes that a job of the pods must not have whatever their own words are: what other
 * pods say, and those of bad_nodes.  *ret_all: none is left.  The caller's; NULL: no memory, or
 * pods of others are not known yet. */
json_t *bridgenear_exclude(struct gang *g, const json_t *pods, bool *ret_all);
enum bridgenear_answer { BRIDGENEAR_YES, BRIDGENEAR_LATER, BRIDGENEAR_NO };
/* May the pods have the nodes of the places (bridgevolume_place()) as pods are there now?  LATER:
 * they may when those have come whose jobs were made for it; never for long. */
enum bridgenear_answer bridgenear_judge(struct gang *g, const json_t *pods, const json_t *places);
/* The pod is being bound: it is there from now on.  NULL: it is not. */
void bridgenear_give(struct bridge *b, const json_t *pod, const char *node);
