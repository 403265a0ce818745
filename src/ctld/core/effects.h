/* effects.h - what may leave the controller only after it is durable
 *
 * A FIFO of frames with the lsn they wait for.  The core adds, the journal's writer thread
 * releases: an answer costs no extra thread hop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conn;
struct effects;
struct reign;

int effects_new(struct effects **ret);
struct effects *effects_free(struct effects *e); /* drops what is left */
/* Send buf on conn once lsn is durable.  Takes buf, holds conn. */
void effects_add(struct effects *e, uint64_t lsn, struct conn *conn, uint8_t *buf, size_t len);
/* What leaves at once is dropped when the reign does not hold any more.  Before the first
 * effect. */
void effects_guard(struct effects *e, struct reign *reign);
/* Any thread: everything up to lsn is durable. */
void effects_release(struct effects *e, uint64_t lsn);
size_t effects_pending(const struct effects *e);
/* Did an answer not leave, or waits one still?  What it would have said may have been done.  Any
 * thread. */
bool effects_unsaid(const struct effects *e);
