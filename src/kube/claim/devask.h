/* devask.h - devices of classes that a pod asks for (DRA)
 *
 * A container asks for them as resources, DEVASK_PREFIX and the name of a DeviceClass.  Pure. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

#define DEVASK_PREFIX "deviceclass.resource.kubernetes.io/"
#define DEVASK_CPU "dra.cpu" /* the class and the driver of CPUs */
#define DEVASK_GPU "gpu."    /* so begin those of GPUs: "gpu.nvidia.com" */
#define DEVASK_MOST 32u      /* devices of a claim: what an API server lets in */

/* An array of {class, container, resource, count}, in the order of the containers; empty: the pod
 * asks for none.  Errors: -EINVAL (err: a class that is none of these, a count that is none, a
 * class that two containers want, too many devices), -ENOMEM. */
int devask_read(const json_t *pod, json_t **ret, struct err *err);
/* So many CPUs of an array; 0: none. */
int64_t devask_cpus(const json_t *asks);
/* Raise the counts of `most`, an object of classes of GPUs, to those of an array.  -ENOMEM. */
int devask_raise(json_t *most, const json_t *asks);
/* What a job asks for of such an object: "gres/gpu:gpu.nvidia.com=2"; "": nothing. */
void devask_write(const json_t *most, struct strbuf *out);
