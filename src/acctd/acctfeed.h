/* acctfeed.h - controllers that bring their records to slurmdbd
 *
 * A source for each cluster: its store handle, opened at its first registration.  Any thread. */
#pragma once

#include "acctd/serve.h"

struct feeds;

int feeds_new(const char *location, struct feeds **ret); /* -ENOMEM */
/* fn is told the WCKey of each job that starts, see acct_tell_keys().  Before the first
 * registration. */
typedef void feeds_key_fn(void *ctx, const char *cluster, const char *user, const char *key);
void feeds_tell_keys(struct feeds *f, feeds_key_fn *fn, void *ctx);
/* A connection is gone: perhaps a controller's.  Any thread; never blocks for long. */
void feeds_conn_closed(struct feeds *f, struct conn *conn);
/* Begin an event, "slurmctld disconnect", for each controller that is gone; its registration ends
 * it. */
int feeds_note_gone(struct feeds *f, struct sql *db, struct err *err);
struct feeds *feeds_free(struct feeds *f); /* always NULL; no call may be under way */

serve_fn feed_register; /* OP_DBD_REGISTER */
serve_fn feed_store;    /* OP_DBD_FEED */
