/* rollup.h - usage summed up by hour, day and month, and asked for
 *
 * Hours are summed as soon as a source has said that nothing older will come (sources.fed_us);
 * records that come late set the mark back, and the hours from there are made again.  Days and
 * months are local time. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "acct/sql/sql.h"
#include "base/err.h"
#include "acct.pb-c.h"

/* Sum up what is due, at most some days of one source in one call and one transaction.  1: there is
 * more. Errors: of sql.h, -ENOMEM. */
int acct_roll_up(struct sql *db, struct err *err);

/* The whole answer; the caller frees it with pst__usage_reply__free_unpacked(). */
int acct_usage(struct sql *db, const char *location, const Pst__UsageRequest *req,
               const atomic_bool *cancel, Pst__UsageReply **ret_reply, struct err *err);
