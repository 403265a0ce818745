/* passnotes.h - what the core keeps between two decisions of the scheduler
 *
 * The notes of passes that started nothing wait for the next start, which takes them into the
 * journal.  Jobs whose start did not fit on a full disk wait until there is room.  Core thread. */
#pragma once

#include "ctld/ctld.h"

struct decisions_msg;
struct passnotes;

int passnotes_new(struct passnotes **ret);             /* -ENOMEM */
struct passnotes *passnotes_free(struct passnotes *p); /* always NULL */

/* Keep the notes that came with m; beyond PASS_NOTES_MAX the first are forgotten, as their numbers
 * show. */
void passnotes_keep(struct ctld *ctld, const struct decisions_msg *m);
/* All notes kept go into tx, which starts what the pass of this number proposed. */
void passnotes_put(struct ctld *ctld, Pst__Transaction *tx, uint64_t pass);

/* The disk is full: the scheduler learns that the proposal was refused when there is room.  Told at
 * once, it would propose it again at once. */
void passnotes_put_off(struct ctld *ctld, uint32_t job_id);
/* The disk has room: those that were put off are proposed anew. */
void passnotes_disk_free(struct ctld *ctld);
