/* profsocket.h - the socket at which step daemons leave samples (stepd/use/stepprof.h)
 *
 * Main loop. */
#pragma once

#include "base/cleanup.h" /* first: libuv brings MIN and MAX of its own */

#include <stddef.h>
#include <uv.h>

#include "base/err.h"

struct profsocket;

/* Whole lines of one step, which are the socket's again when the call returns. */
typedef void profsocket_fn(void *ctx, const char *lines, size_t len);

/* Open the socket PROFILE_SOCKET below dir, to which nobody but slurmd's own user can write. */
int profsocket_open(uv_loop_t *loop, const char *dir, profsocket_fn *take, void *ctx,
                    struct profsocket **ret, struct err *err);
/* Take what has come, now. */
void profsocket_drain(struct profsocket *s);
/* What has come is taken; the memory goes in the loop's next turn.  NULL: nothing.  Always NULL. */
struct profsocket *profsocket_close(struct profsocket *s);
