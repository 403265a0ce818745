/* billing.h - what an allocation is billed: TRESBillingWeights; pure */
#pragma once

#include "base/gres/billweights.h"

#include "job.pb-c.h"

/* weights: as base/billweights.h reads them; NULL: each CPU of the allocation counts one. */
double billing_of(const char *weights, enum billing_sum how, const Pst__Alloc *alloc,
                  const char *licenses);
