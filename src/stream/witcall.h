/* witcall.h - asking the witness
 *
 * Keeps its connection.  One thread at a time per object.  A call takes try_ms at most, twice. */
#pragma once

#include "stream/pactwire.h"
#include "stream/streamconf.h"
#include "stream/streamlink.h"

struct witcall;

/* link and config are borrowed.  -ENOMEM. */
int witcall_new(const struct streamlink *link, const struct stream_config *config, int try_ms,
                struct witcall **ret);
struct witcall *witcall_free(struct witcall *w); /* always NULL */

/* What is the record?  Errors: the witness cannot be reached, -EPROTO it answers nonsense. */
int witcall_read(struct witcall *w, struct witness_state *ret, struct err *err);
/* Send a change; lease (TERM_BYTES) goes with a claim.  1 done, 0 refused: *ret is what the record
 * is.  Negative: whether it was done is not known, or will be. */
int witcall_change(struct witcall *w, const struct pact_change *c, const uint8_t *lease,
                   struct witness_state *ret, struct err *err);
/* Renew the lease of the holder.  As witcall_change(); 0: another has the term. */
int witcall_renew(struct witcall *w, const struct pact_member *by, uint32_t term,
                  const uint8_t lease[TERM_BYTES], struct witness_state *ret, struct err *err);
