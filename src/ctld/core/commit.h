/* commit.h - the one way in which the cluster changes.  Core thread. */
#pragma once

#include <stdint.h>

#include "base/timefmt.h"
#include "model/tx.h"

struct ctld;

/* Append tx to the journal and apply it; takes tx.  Gives the lsn, or 0 when the journal refuses
 * (disk full): nothing changed. */
uint64_t core_commit(struct ctld *ctld, Pst__Transaction *tx);

/* The time that queries are answered for: the present, or the moment that is shown. */
int64_t core_shown_now(const struct ctld *ctld);

/* The time of what is committed now. */
static inline int64_t core_now(void)
{
    return now_us();
}
