/* haetcd.h - controllers whose log is in etcd (JournalType=etcd): each has a folder of its own
 *
 * The main thread's, before the controller leads. */
#pragma once

#include "ctld/ha/ha_impl.h"

/* Is etcd configured?  Then make ready to ask it: ha->terms, ha->store.  It need not answer yet. */
int haetcd_begin(struct ha *ha, struct err *err);
/* Does the copy of the log in our folder belong to this process alone?  Opens it if need be. */
bool haetcd_has_copy(struct ha *ha);
/* Bring the copy up to date; how far it goes. */
uint64_t haetcd_pull(struct ha *ha);
/* The term is ours: take the rest of the log, and be ready to write.  -EAGAIN: etcd cannot be read
 * now. */
int haetcd_take(struct ha *ha, struct err *err);
void haetcd_end(struct ha *ha);
