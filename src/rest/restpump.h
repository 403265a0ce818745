/* restpump.h - HTTP on standard input and output: `slurmrestd < requests`, or a socket of inetd */
#pragma once

#include "base/err.h"

struct rest;

/* Serve what comes from `in` (both are the caller's), answers to `out`, until it ends and every
 * answer is written.  Errors: -EIO and others of read(2) and write(2), -EAGAIN no thread. */
int restpump_run(struct rest *rest, int in, int out, struct err *err);
