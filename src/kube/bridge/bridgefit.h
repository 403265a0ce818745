/* bridgefit.h - are there nodes for the pods of a job at all? */
#pragma once

#include "base/strbuf.h"
#include "kube/bridge/bridge_impl.h"

struct bridgefit {
    size_t nodes, fit; /* that Kubernetes has; that every pod may have */
    size_t cordoned, tainted, unnamed, lacking, kept; /* why others do not fit, the first reason */
};

/* What is said when fewer nodes fit than are needed, by reasons.  Pure. */
void bridgefit_write(const struct bridgefit *f, size_t needed, struct strbuf *out);
/* Are there as many nodes as pods, one for each?  others: names of Slurm that none may have for
 * what other pods say; excluded: the job's list, which says at once that there are.  If not, why
 * gets the sentence. */
bool bridgefit_judge(const struct gang *g, const json_t *pods, const json_t *others,
                     const char *excluded, struct strbuf *why);
