/* operator.h - a cluster in pods: custom resources made to be what they say
 *
 * Informers tell what has changed; a change costs the work of one custom resource, which compares
 * what should be with what is, and sends the difference.  One thread: the loop's. */
#pragma once

#include "kube/api/kubecall.h"

struct operator_options {
    const char *namespace_; /* whose objects are served, several with commas; NULL: all */
    const char *image;      /* of containers that name none; NULL: none */
    const char *rest_url;   /* of slurmrestd, instead of each RestApi's Service; NULL: none */
    const char *slurm_user; /* of the operator's own tokens */
    const json_t *node_conditions; /* an array; NULL: none */
    int64_t patience_s; /* what waits longer is told of, and is not waited for; 0: ten minutes */
    bool groups[2];     /* which groups of opkinds.h the server has */
    bool monitors;      /* it has ServiceMonitors */
};

struct operator_;
/* The texts of o are borrowed.  -ENOMEM. */
int operator_new(struct kubeserver *kube, const struct operator_options *o, struct operator_ **ret);
/* Drop what is under way: before the kubeserver is freed. */
void operator_stop(struct operator_ *op);
struct operator_ *operator_free(struct operator_ *op); /* always NULL */
