/* audit.h - penstock journal audit: who changed what, when, and from where
 *
 * A transaction of the log has its user, operation and address since they are noted
 * (Transaction.uid, op, from).  Older ones, and those of accounting, are shown with "-". */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "event.pb-c.h"

struct audit_filter {
    bool all;           /* also what the controller does by itself, and what nodes tell */
    bool by_uid, by_op; /* uid and op count */
    uint32_t uid, op;
    uint32_t job;              /* 0: any */
    int64_t from_us, until_us; /* INT64_MAX: no end */
};

/* Is it asked for? */
bool audit_matches(const struct audit_filter *f, const Pst__Transaction *tx);
/* One line, or one JSON object on a line. */
void audit_print(FILE *out, bool json, uint64_t lsn, const Pst__Transaction *tx);
