/* billing.h - what resources are charged: TRESBillingWeights as text, and their sum; pure */
#pragma once

#include <stdint.h>

enum billing_sum { /* PriorityFlags */
    BILLING_ALL,      /* the sum */
    BILLING_MAX,      /* MAX_TRES: the largest of what nodes have, and what the cluster has */
    BILLING_MAX_GRES, /* MAX_TRES_GRES: as before, and GRES beside it */
};

/* weights: "CPU=1.0,Mem=0.25G,GRES/gpu=2.0"; memory's weight is for its unit, MiB without one.  amount gives how much there is of
 * a TRES by its name, in lower case (memory in MiB).  Parts that are not name=number are passed over. */
uint64_t billing(const char *weights, enum billing_sum how, uint64_t (*amount)(void *ctx, const char *name), void *ctx);
