/* admission.h - limits that refuse a job when it is submitted or changed
 *
 * Core thread. */
#pragma once

#include "ctld/ctld.h"

/* Do limits refuse n more jobs like r now?  0, or ESLURM_ACCOUNTING_POLICY with the word of the
 * limit.  `again`: r counts already (it is being changed). */
int admission_check(const struct ctld *ctld, const struct partition *p, const Pst__JobRecord *r,
                    uint32_t n, bool again, const char **ret_word);

/* The largest time limit that r's QOS and association let it have, UINT32_MAX = no limit.  With
 * limits enforced. */
uint32_t admission_max_wall(const struct ctld *ctld, const Pst__JobRecord *r);
