/* hastream.h - controllers that send their log to one another (JournalType=stream)
 *
 * Each controller keeps the log in a folder of its own.  A witness (another process) says which
 * controller may lead.  All functions but hastream_answer() run on the main thread, before the
 * controller leads. */
#pragma once

#include "ctld/ha/ha_impl.h"

struct hastream;

/* If JournalType=stream is configured, make ha->stream and ha->store, so that the witness can be
 * asked.  The witness need not answer yet. */
int hastream_begin(struct ha *ha, struct err *err);
/* Does the log in our folder belong to this process alone?  Opens the log when it is not open. */
bool hastream_has_log(struct ha *ha);
/* The witness has answered.  Work out whether this controller may lead, and when the witness last
 * heard from the leading controller, which counts as a renewal of the term. */
void hastream_look(struct ha *ha);
/* The last lsn of the log that is acknowledged, and the term in which it was written. */
uint64_t hastream_committed(struct ha *ha, uint32_t *ret_term);
/* Why the witness does not answer; "": it answers. */
const char *hastream_why(const struct ha *ha);
/* Take no stream from another controller any more; gives the number of the term to claim. */
uint32_t hastream_claim(struct ha *ha);
void hastream_unclaim(struct ha *ha); /* the claim was refused */
/* The term is ours: get ready to send the log to the others. */
int hastream_take(struct ha *ha, struct err *err);
void hastream_end(struct ha *ha);
/* Answer OP_STREAM while this controller stands by.  On an I/O thread. */
void hastream_answer(struct ctld *ctld, struct conn *c, const struct frame *frame);
