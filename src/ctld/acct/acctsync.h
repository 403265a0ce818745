/* acctsync.h - changes of accounting records on their way into the log
 *
 * The accounting store numbers its changes.  The accounting thread, or the connection to slurmdbd,
 * posts them here in batches.  The core journals the changes that are new to it and applies them.
 *
 * A batch that begins with `clear` holds everything there is: only what differs from the present
 * is journaled, so sending all of it again costs the log nothing.  Of other batches, changes up
 * to the version reached are passed over.  A batch may thus be sent again at any time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ctld/ctld.h"

#include "assoc.pb-c.h"

/* r: 0, -ENOSPC (the journal takes nothing now: send it again later), -EUCLEAN (a change names
 * no record; nothing was taken), -ECANCELED (the controller ends).  version: reached when r is
 * 0.  Any thread; it must not wait for the core. */
typedef void acctsync_done_fn(void *arg, int r, uint64_t version);

/* Any thread.  Takes the array and the changes (malloc'd; freed with free_unpacked).  done,
 * which may be NULL, is called once:
 * after the batch is durable and in force. */
void acctsync_post(struct ctld *ctld, Pst__AcctChange **changes, size_t n, acctsync_done_fn *done,
                   void *arg);

/* Journal's writer thread: everything up to lsn is on disk. */
void acctsync_durable(struct ctld *ctld, uint64_t lsn);
/* At the end: what still waits is told -ECANCELED. */
void acctsync_end(struct ctld *ctld);
