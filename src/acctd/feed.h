/* feed.h - controllers that bring their records to slurmdbd
 *
 * A source for each cluster: its store handle, opened at its first registration.  Any thread. */
#pragma once

#include "acctd/serve.h"

struct feeds;

int feeds_new(const char *location, struct feeds **ret); /* -ENOMEM */
struct feeds *feeds_free(struct feeds *f);               /* always NULL; no call may be under way */

serve_fn feed_register; /* OP_DBD_REGISTER */
serve_fn feed_store;    /* OP_DBD_FEED */
