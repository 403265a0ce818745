/* billweights.h - what resources are charged: TRESBillingWeights as text, and their sum; pure */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* PriorityFlags */
enum billing_sum {
    BILLING_ALL, /* the sum */
    /* MAX_TRES: the largest of what nodes have, and what the cluster has */
    BILLING_MAX,
    BILLING_MAX_GRES, /* MAX_TRES_GRES: as before, and GRES beside it */
};

/* How much there is of a TRES by its name, in lower case (memory in MiB). */
typedef double billing_amount_fn(void *ctx, const char *name);

/* weights: "CPU=1.0,Mem=0.25G,GRES/gpu=2.0"; memory's weight is for its unit, MiB without one.
 * Parts that cannot be read are passed over. */
double billing_exact(const char *weights, enum billing_sum how, billing_amount_fn *amount,
                     void *ctx);
/* The same in whole numbers, as limits count it. */
uint64_t billing(const char *weights, enum billing_sum how, billing_amount_fn *amount, void *ctx);
/* Can all of it be read (NULL: there is nothing)?  -EINVAL, and err names what not. */
int billing_check(const char *weights, struct err *err);
