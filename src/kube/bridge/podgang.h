/* podgang.h - pods that are placed together, and the next thing to be done for them
 *
 * What is to be done is decided from the pods and the job alone, so that a bridge which starts anew
 * goes on where another was killed.  Pure. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "kube/bridge/slurmlink.h"

enum podgang_action {
    GANG_REST,    /* nothing */
    GANG_WAIT,    /* there are too few pods: say so */
    GANG_SUBMIT,  /* a job for the pods that wait */
    GANG_ASK,     /* the job's state is not known: ask */
    GANG_CANCEL,  /* the job has no pods any more, or is given up */
    GANG_GIVE_UP, /* write on the pods that their job is given up; then it is cancelled */
    GANG_MARK,    /* label the pods with their job */
    GANG_PLACE,   /* the job runs and all are marked: bind them */
    GANG_END,     /* the job has ended: delete its pods */
    GANG_AGAIN,   /* the job was given up, and has ended: the pods are free for another */
};

struct podgang_view {
    const json_t *pods;         /* array, in their order */
    int64_t least;              /* so many are needed */
    const struct slurmjob *job; /* NULL: none */
};

enum podgang_action podgang_decide(const struct podgang_view *v);
/* Is the pod one of those that the job was made for? */
bool podgang_has_pod(const struct slurmjob *job, const json_t *pod);
/* Was the job made for this gang?  Of a job whose comment is not known it may be. */
bool podgang_owns(const struct slurmjob *job, const char *gang);
/* Are all pods of the job that live on their nodes? */
bool podgang_is_placed(const struct podgang_view *v);
/* Is nothing in the way of the pod's end?  Then its finalizer is to be taken away. */
bool podgang_lets_go(const struct podgang_view *v, const json_t *pod);
/* How often a job of these pods was given up. */
int64_t podgang_attempt(const json_t *pods);
/* Is the pod marked with the job? */
bool podgang_is_marked(const struct slurmjob *job, const json_t *pod);
/* Put pods in the order of their ranks, then names. */
void podgang_sort(json_t *pods);
