/* must.h - memory without which a daemon cannot go on
 *
 * For the controller's own state, where half a change would be worse than an end: the journal holds
 * what was acknowledged.  Work for one request reports -ENOMEM instead. */
#pragma once

#include <stdlib.h>

#include "base/log.h"

/* p, or the end of the process with a line in the log. */
static inline void *must(void *p)
{
    if (!p) {
        log_fatal("out of memory");
        abort();
    }
    return p;
}
