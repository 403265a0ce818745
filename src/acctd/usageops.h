/* usageops.h - questions about usage, and its summing up; for acctops.c and serve.c */
#pragma once

#include "acctd/serve.h"

serve_fn usage_ask; /* OP_USAGE */
