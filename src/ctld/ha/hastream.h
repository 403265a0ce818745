/* hastream.h - controllers that send their log to one another (JournalType=stream)
 *
 * Each has a folder of its own; a witness says who may lead.  The main thread's, before the
 * controller leads, but for hastream_answer(). */
#pragma once

#include "ctld/ha/ha_impl.h"

struct hastream;

/* Is it configured?  Then make ready to ask the witness: ha->stream, ha->store.  It need not answer
 * yet. */
int hastream_begin(struct ha *ha, struct err *err);
/* Does the log in our folder belong to this process alone?  Opens it if need be. */
bool hastream_has_log(struct ha *ha);
/* The witness was asked: may this controller lead, by what the witness has?  And when did it last
 * hear of the active one itself, which counts as a renewal? */
void hastream_look(struct ha *ha);
/* What the log has that is acknowledged, and in which term it came. */
uint64_t hastream_committed(struct ha *ha, uint32_t *ret_term);
/* Why the witness does not answer; "": it does. */
const char *hastream_why(const struct ha *ha);
/* No stream is taken from now on; the number of the term to claim. */
uint32_t hastream_claim(struct ha *ha);
void hastream_unclaim(struct ha *ha); /* it was refused */
/* The term is ours: be ready to send. */
int hastream_take(struct ha *ha, struct err *err);
void hastream_end(struct ha *ha);
/* A request of OP_STREAM to one that stands by; on an I/O thread. */
void hastream_answer(struct ctld *ctld, struct conn *c, const struct frame *frame);
