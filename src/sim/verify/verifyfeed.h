/* verifyfeed.h - the scheduler is told what the records say, as slurmctld tells it */
#pragma once

#include "sim/verify/verifystate.h"

/* The observer of v->cluster; v->limits is made. */
void verifyfeed_attach(struct verify *v);
/* A controller begins: its scheduler knows nothing but what the model holds.  -ENOMEM. */
int verifyfeed_begin(struct verify *v);
/* Records up to this one, or the next one alone.  Errors: -EUCLEAN (err), -ENOMEM. */
int verifyfeed_up_to(struct verify *v, uint64_t lsn, struct err *err);
int verifyfeed_next(struct verify *v, struct err *err);
void verifyfeed_shares(struct verify *v, int64_t now_us);
bool verifyfeed_is_boot(const Pst__Transaction *tx);
