/* opnodeset.h - a NodeSet, made to be what it says */
#pragma once

#include "kube/operator/operator_impl.h"

/* Start the requests that are needed; see opapply.h. */
void opnodeset_reconcile(struct opwork *w);
