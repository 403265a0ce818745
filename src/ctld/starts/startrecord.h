/* startrecord.h - the start of one job, as it goes into a transaction
 *
 * A task of an array leaves the array's record and becomes a job of its own.  Core thread. */
#pragma once

#include "ctld/ctld.h"
#include "sched/sched.h"

struct start_pass { /* of the scheduler, that proposed the start */
    uint64_t number;
    bool backfill;
};

struct started { /* one job of a transaction */
    uint32_t proposed, id;
};

/* Put the start that d proposes into tx: the record, its allocation, the batch and extern steps.
 * What d needs must hold. */
struct started startrecord_put(struct ctld *ctld, Pst__Transaction *tx,
                               const struct start_pass *pass, const struct sched_decision *d,
                               int64_t now);
