/* watch.h - changes streamed to any number of watchers
 *
 * One thread follows the durable journal (watchproj.h), encodes each change once and keeps the
 * newest in a ring of counted batches; the I/O threads send them to their watchers.  The core takes
 * no part: what it commits becomes durable, and watch_durable() comes from the journal's writer.
 * Without a watcher nothing runs and nothing is kept.  A watcher that reads too slowly falls behind
 * the ring and is served from the journal at its own pace (watchlate.c). */
#pragma once

#include "ctld/ctld.h"

struct watch;

int watch_new(struct ctld *ctld, struct watch **ret);
struct watch *watch_stop(struct watch *w); /* after the server's threads have ended; always NULL */
/* The journal is about to be closed. */
void watch_quiesce(struct watch *w);
/* Everything up to lsn is on disk.  Any thread; without a watcher it costs one atomic load. */
void watch_durable(struct watch *w, uint64_t lsn);
/* PrivateData or rights may be others now.  Core thread. */
void watch_rights_changed(struct watch *hub);
/* OP_WATCH, on the connection's thread; the frame is borrowed. */
void watch_start(struct watch *w, struct conn *c, const struct frame *frame);
/* How many watch, and how many records the slowest has yet to take.  Any thread; w may be NULL. */
void watch_figures(struct watch *w, unsigned *ret_watchers, uint64_t *ret_lag);
void watch_conn_closed(struct watch *w, struct conn *c); /* on its thread */
