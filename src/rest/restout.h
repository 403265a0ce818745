/* restout.h - an answer on its way: made by a handler, sent by the connection's thread
 *
 * The maker hands over what it has written; the sender takes it piece by piece.  At most
 * RESTOUT_PIECES wait, so that a slow reader slows the maker and memory stays constant; several, so
 * that neither waits for the other each time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/strbuf.h"

#define RESTOUT_PIECES 2u

struct rest_out;

int restout_new(struct rest_out **ret);              /* -ENOMEM */
struct rest_out *restout_free(struct rest_out *out); /* neither thread uses it; always NULL */

/* The maker: hand over what sb holds, waiting until there is room for a piece more.  sb is empty
 * then, and has the memory of a piece that was taken.  Errors: -EPIPE nobody reads any more;
 * -ENOMEM sb could not grow. */
int restout_put(struct rest_out *out, struct strbuf *sb);
void restout_end(struct rest_out *out, int r); /* no more comes; r < 0: the answer is cut off */

/* The sender: wait until the first piece or the end.  True: the end, and no piece was put. */
bool restout_wait(struct rest_out *out);
/* Up to size bytes, waiting for the first.  0 at the end; r of restout_end() when it is cut off. */
ssize_t restout_take(struct rest_out *out, char *buf, size_t size);
void restout_drop(struct rest_out *out); /* nobody reads any more */
