/* policy_tres.h - how much of a TRES a job asks for; pure */
#pragma once

#include "base/gres/billweights.h"
#include "base/strbuf.h"
#include "conf/layers/resources.h"
#include "model/cluster.h"

enum policy_tres_type { /* as the words for limits tell them apart, in the order of JobReason */
                        POLICY_CPU,
                        POLICY_MEM,
                        POLICY_NODE,
                        POLICY_ENERGY,
                        POLICY_BB,
                        POLICY_GRES,
                        POLICY_LICENSE,
                        POLICY_BILLING,
                        POLICY_OTHER,
};
enum policy_tres_type policy_tres_type(const struct assoc_mgr *am, uint32_t tres_id);

/* At least what r asks for, on all its nodes or on one of them; p, whose weights bill, may be
 * NULL.  res: what variables of resources stand for. */
uint64_t policy_tres_asked(const struct assoc_mgr *am, const struct resources *res,
                           const struct partition *p, enum billing_sum how, const Pst__JobRecord *r,
                           uint32_t tres_id, bool per_node);

/* What r asks for of the GRES that `tracked` (AccountingStorageTRES, may be NULL) names, appended:
 * "gres/gpu=2,gres/gpu:a100=2". */
void policy_tres_put_gres(struct strbuf *sb, const struct resources *res, const Pst__JobRecord *r,
                          const char *tracked);
/* What r asks for of a node by --mem=0: the memory of p's smallest node.  0 where r asks otherwise,
 * so that only such a job costs a look at each node. */
uint64_t policy_whole_memory(const struct cluster *c, const struct partition *p,
                             const Pst__JobRecord *r);
