/* memupdate.h - --mem-update: a running job keeps the memory that it uses, and a margin
 *
 * Core thread. */
#pragma once

#include "ctld/ctld.h"

extern const struct ctld_service memupdate_service;

/* What a node says of a job that it was asked about. */
void memupdate_report(struct ctld *ctld, const struct node *n, const Pst__JobMemory *said);

/* What the job is to have on a node: used and the margin, no less than a tenth of held; 0: that is
 * no less than it has. */
uint64_t memupdate_want_mib(uint64_t held_mib, uint64_t used_kib, uint32_t margin_percent);
