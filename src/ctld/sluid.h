/* sluid.h - the id of one run of a job: 14 characters that sort by time and never come again */
#pragma once

#include "ctld/ctld.h"

/* Set r->sluid for the run r->db_id, which begins now_us.  Core thread. */
void sluid_set(const struct ctld *ctld, Pst__JobRecord *r, int64_t now_us);
