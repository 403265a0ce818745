/* outtail.h - the end of a batch script's output: a process of its own, as the user */
#pragma once

#include <stddef.h>

#include "api.pb-c.h"
#include "stepfile.pb-c.h"

#define TAIL_MOST (64u * 1024) /* bytes that are read at most */

/* Read the end of the file that the job's record names for its script's output, as the calling
 * process may; most: bytes, at most TAIL_MOST.  Fills *ret, whose path, data and trouble the
 * caller frees.  A file that cannot be read is told in ret->trouble.  Errors: -ENOMEM. */
int tail_read(const Pst__JobRecord *job, const char *node_name, size_t most, Pst__OutputTail *ret);
/* In the process that slurmd starts as "tail": become the user, answer on fd.  Exit status. */
int tail_serve(const Pst__BcastFile *file, int fd);
