/* acctops.h - the operations of the accounting store.  Any thread; constant data. */
#pragma once

#include <stdbool.h>

#include "acctd/serve.h"

/* The row of an operation, for serve_config.  NULL: it is none of the store's. */
const struct serve_op *serve_op(unsigned op);
/* Is it an operation of the store's? */
bool serve_has(unsigned op);
