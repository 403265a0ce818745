/* must.h - memory without which a daemon cannot go on
 *
 * For the controller's own state, where half a change would be worse than an end: the journal holds
 * what was acknowledged.  Work for one request reports -ENOMEM instead. */
#pragma once

#include <stdlib.h>

#include "base/log.h"

/* p, or the end of the process with a line in the log that names the function. */
#define must(p) must_have((p), __func__)
/* Go on after a call that gave back r, unless that is a failure: it can only be memory. */
#define must_do(r) must_have((r) < 0 ? NULL : (char[1]){ "" }, __func__)

static inline void *must_have(void *p, const char *where)
{
    if (!p) {
        log_fatal(ERR_NOMEM " in %s()", where);
        abort();
    }
    return p;
}
