/* doctor.h - looks a Kubernetes cluster over: can the operator work there, and does it?
 *
 * Each check asks what it needs and says one sentence or more.  What cannot be asked, because the
 * asking user may not, is a note and never a failure.  One thread: the loop's. */
#pragma once

#include "kube/doctor/doctorask.h"
#include "kube/doctor/doctorreport.h"

struct doctor {
    struct doctorask ask;
    struct doctorreport *report;
    const char *namespace_;         /* whose objects are looked at; NULL: all */
    const char *operator_namespace; /* of the operator and its service account */
    const char *account;            /* the service account */
    int64_t server_us;              /* the API server's clock, 0: not known */
    bool groups[2];                 /* which of opkinds.h the server has */
};

/* All checks, in their order; the rest is left out when the server does not answer. */
void doctor_run(struct doctor *d);

/* ---- single judgements, pure ----------------------------------------------------------------- */

/* Of the answer of /version: false, and *ret_minor 0: it cannot be read. */
bool doctor_read_version(const json_t *body, int *ret_major, int *ret_minor);
/* How far a clock is from the other one: seconds, positive when ours is ahead. */
enum finding doctor_judge_clock(int64_t ahead_s);
/* Of the conditions of an object that the operator serves.  *ret_text is borrowed. */
enum finding doctor_judge_object(const json_t *object, const char **ret_text);
