/* billing.h - what an allocation is billed: TRESBillingWeights; pure */
#pragma once

#include "base/billweights.h"

#include "job.pb-c.h"

/* Weights as of base/billweights.h.  NULL: its CPUs. */
double billing_of(const char *weights, enum billing_sum how, const Pst__Alloc *alloc,
                  const char *licenses);
