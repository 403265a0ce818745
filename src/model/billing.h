/* billing.h - what an allocation is billed: TRESBillingWeights; pure */
#pragma once

#include "base/err.h"

#include "job.pb-c.h"

enum billing_flag {                             /* PriorityFlags */
                    BILLING_MAX_TRES = 1u << 0, /* of what nodes have only the largest counts */
                    BILLING_MAX_TRES_GRES =
                        1u << 1, /* devices count in full, of the rest the largest */
};

/* Weights such as "CPU=1.0,Mem=0.25G,GRES/gpu=2.0,license/matlab=10": each weight times its count;
 * a weight for memory is for each MiB, or for the unit it ends with.  NULL: its CPUs.  What cannot
 * be read counts nothing. */
double billing_of(const char *weights, unsigned flags, const Pst__Alloc *alloc,
                  const char *licenses);
/* Can all of it be read?  -EINVAL, and err names what not. */
int billing_check(const char *weights, struct err *err);
