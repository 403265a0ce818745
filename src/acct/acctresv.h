/* acctresv.h - reservations in the store: their periods, and who pays for what they leave unused;
 * acct/ only
 *
 * A row is a period: as long as time, nodes and TRES of a reservation stay the same.  One that
 * floats (TIME_FLOAT) is never used and has none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acct/assocs.h"
#include "acct/sql/sql.h"
#include "acctop.pb-c.h"
#include "event.pb-c.h"

enum resv_state {
    RESV_PLANNED, /* may be changed, or deleted without a trace */
    RESV_ACTIVE,  /* end_us is when it shall end */
    RESV_OVER,
};

/* RESV_PUT, RESV_REMOVE; others are no matter here.  *earliest_us becomes the instant from which
 * usage is to be summed up again, when that is earlier. */
int resv_apply(struct sql *db, int64_t source, const Pst__Event *ev, int64_t time_us,
               int64_t *earliest_us);
/* The source begins anew: no end of the open ones will come. */
int resv_close_all(struct sql *db, int64_t source, int64_t time_us);

/* Is this association charged for idle time?  Those named as users or accounts are. */
bool resv_charges(const Pst__ReservationRecord *rec, const char *cluster,
                  const struct assoc_row *a);

/* Seconds of [from, to) in which a period counts, given that hours are summed up to rolled_us. */
int64_t resv_seconds(int64_t start_us, int64_t end_us, int64_t from_s, int64_t to_s);

typedef int resv_row_fn(void *ctx, const ProtobufCMessage *record); /* AcctResvRecord */
int resv_list(struct sql *db, const Pst__AcctCond *where, resv_row_fn *fn, void *ctx);
